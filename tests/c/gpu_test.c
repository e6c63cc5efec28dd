/* Functions of one process on arrays in the memory of a GPU, against those on the host. The GPU is
 * the memory of the host (tests/python/emulated_gpu.cpp, preloaded). */
#include "check.h"

static const int numbers[] = {TESSERA_F32, TESSERA_F64, TESSERA_C64, TESSERA_C128};
static const int orders[] = {TESSERA_ROW_MAJOR, TESSERA_COL_MAJOR};

/* Returns whether two matrices of one shape have the same bytes, gaps included. */
static int are_equal(const matrix* a, const matrix* b) {
  return memcmp(a->memory, b->memory, a->bytes + 2 * sentinel) == 0;
}

static void test_matmul(void) {
  const int type = numbers[below(4)], order = orders[below(2)];
  const int op_a = TESSERA_NO_TRANS + (int)below(2), op_b = TESSERA_NO_TRANS + (int)below(2);
  const int64_t m = below(30), n = below(30), k = below(30), gap = below(4);
  matrix a = new_matrix(type, order, op_a == TESSERA_NO_TRANS ? m : k,
                        op_a == TESSERA_NO_TRANS ? k : m, below(4));
  matrix b = new_matrix(type, order, op_b == TESSERA_NO_TRANS ? k : n,
                        op_b == TESSERA_NO_TRANS ? n : k, below(4));
  matrix c = new_matrix(type, order, m, n, gap), want = new_matrix(type, order, m, n, gap);
  fill_matrix(&a, 0, 0, 1), fill_matrix(&b, 0, 0, 2);
  fill_matrix(&c, 0, 0, 3), fill_matrix(&want, 0, 0, 3);
  unsigned char two[16];
  put(type, two, 2);
  CHECK(tessera_matmul(order, type, op_a, op_b, m, n, k, two, a.data, a.ld, b.data, b.ld, two,
                       c.data, c.ld, below(2) ? "gpu=0" : "threads=2 gpu=1") == TESSERA_OK);
  CHECK(tessera_matmul(order, type, op_a, op_b, m, n, k, two, a.data, a.ld, b.data, b.ld, two,
                       want.data, want.ld, NULL) == TESSERA_OK);
  CHECK(are_equal(&c, &want));
  free_matrix(&a), free_matrix(&b), free_matrix(&c), free_matrix(&want);
}

static void test_moves(void) {
  static const int types[] = {TESSERA_F32, TESSERA_C128, TESSERA_RECORD(3), TESSERA_RECORD(64)};
  const int type = types[below(4)], order = orders[below(2)];
  const int64_t m = below(40), n = below(40), gap = below(3);
  matrix a = new_matrix(type, order, m, n, below(3));
  matrix b = new_matrix(type, order, n, m, gap), want = new_matrix(type, order, n, m, gap);
  fill_matrix(&a, 0, 0, 1);
  CHECK(tessera_transpose(order, type, TESSERA_TRANS, m, n, 1, a.data, a.ld, 0, b.data, b.ld,
                          "gpu=0") == TESSERA_OK);
  CHECK(tessera_transpose(order, type, TESSERA_TRANS, m, n, 1, a.data, a.ld, 0, want.data, want.ld,
                          NULL) == TESSERA_OK);
  CHECK(are_equal(&b, &want));
  free_matrix(&a), free_matrix(&b), free_matrix(&want);
  const int64_t extents[3] = {1 + below(9), 1 + below(9), 1 + below(9)};
  const int64_t total = extents[0] * extents[1] * extents[2];
  const int64_t strides[3] = {1, extents[0], extents[0] * extents[1]};
  matrix from = new_matrix(type, TESSERA_ROW_MAJOR, 1, total, 0);
  matrix to = new_matrix(type, TESSERA_ROW_MAJOR, 1, total, 0);
  fill_matrix(&from, 0, 0, 2);
  CHECK(tessera_rearrange(type, 3, extents, from.data, strides, to.data, NULL, "gpu=0") ==
        TESSERA_OK);
  int64_t wrong = 0;
  for (int64_t e = 0; e < total; ++e) {
    const int64_t i = e / (extents[1] * extents[2]), j = e / extents[2] % extents[1];
    wrong += memcmp(at(&to, 0, e), at(&from, 0, i + j * strides[1] + e % extents[2] * strides[2]),
                    size_of(type)) != 0;
  }
  CHECK(wrong == 0);
  CHECK(is_intact_around(&to));
  free_matrix(&from), free_matrix(&to);
}

static void test_sorts(void) {
  const int type = types_of_numbers[below(6)], direction = (int)below(2);
  const int64_t n = below(2000);
  matrix keys = new_matrix(type, TESSERA_ROW_MAJOR, 1, n, 0);
  matrix want = new_matrix(type, TESSERA_ROW_MAJOR, 1, n, 0);
  uint64_t* const places = malloc(((size_t)n + 1) * 16);
  for (int64_t i = 0; i < n; ++i) {
    put(type, at(&keys, 0, i), (double)below(n));
    if (is_real(type) && below(20) == 0) put(type, at(&keys, 0, i), below(2) ? NAN : -0.0);
  }
  memcpy(want.data, keys.data, keys.bytes);
  places[n] = 4711;
  CHECK(tessera_argsort(type, direction, n, keys.data, places, "gpu=0") == TESSERA_OK);
  CHECK(tessera_argsort(type, direction, n, keys.data, places + n + 1, NULL) == TESSERA_OK);
  CHECK(places[n] == 4711 && memcmp(places, places + n + 1, (size_t)n * 8) == 0);
  CHECK(tessera_sort(type, direction, n, keys.data, "gpu=0") == TESSERA_OK);
  CHECK(tessera_sort(type, direction, n, want.data, NULL) == TESSERA_OK);
  CHECK(are_equal(&keys, &want));
  free(places), free_matrix(&keys), free_matrix(&want);
}

static void test_wrong(void) {
  double a[4] = {0}, b[4];
  const int row = TESSERA_ROW_MAJOR, f64 = TESSERA_F64;
  WRONG(tessera_sort(f64, TESSERA_ASCENDING, 4, a, "gpu=2"), "options");
  WRONG(tessera_sort(f64, TESSERA_ASCENDING, 4, a, "gpu=-1"), "options");
  WRONG(tessera_sort(f64, TESSERA_ASCENDING, 4, a, "gpu=0 kernel=radix"), "options");
  WRONG(tessera_transpose(row, f64, TESSERA_TRANS, 2, 2, 2, a, 2, 0, b, 2, "gpu=0"), "options");
  WRONG(tessera_sort(f64, TESSERA_ASCENDING, 4, NULL, "gpu=0"), "keys");
  WRONG(tessera_sort(TESSERA_F16, TESSERA_ASCENDING, 4, a, "gpu=0"), "type");
  WRONG(tessera_argsort(TESSERA_U8, TESSERA_ASCENDING, 4, a, (uint64_t*)b, "gpu=0"), "type");
}

int main(int argc, char** argv) {
  double key = 0;
  if (argc > 1 && strcmp(argv[1], "without") == 0) { /* where there is no GPU */
    WRONG(tessera_sort(TESSERA_F64, TESSERA_ASCENDING, 1, &key, "gpu=0"), "options");
    CHECK(strstr(tessera_error_text(), "cannot use") != NULL);
    return failures == 0 ? 0 : 1;
  }
  for (int i = 0; i < 100; ++i) {
    test_matmul();
    test_moves();
    test_sorts();
  }
  test_wrong();
  return failures == 0 ? 0 : 1;
}
