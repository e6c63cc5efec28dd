/* The functions of one process against naive loops, at random shapes. */
#include "check.h"

static const int numbers[] = {TESSERA_F32,  TESSERA_F64, TESSERA_C64,
                              TESSERA_C128, TESSERA_F16, TESSERA_BF16}; /* halves: products */
static const int orders[] = {TESSERA_ROW_MAJOR, TESSERA_COL_MAJOR};
static const int ops[] = {TESSERA_NO_TRANS, TESSERA_TRANS, TESSERA_CONJ_TRANS};

static void test_matmul(void) {
  static const char* options[] = {NULL, "", "threads=3", " kernel=auto threads=1 ", "kernel=naive"};
  const int type = numbers[below(6)], order = orders[below(2)];
  const int op_a = ops[below(3)], op_b = ops[below(3)];
  const int64_t m = below(40), n = below(40), k = below(40);
  matrix a = new_matrix(type, order, op_a == TESSERA_NO_TRANS ? m : k,
                        op_a == TESSERA_NO_TRANS ? k : m, below(4));
  matrix b = new_matrix(type, order, op_b == TESSERA_NO_TRANS ? k : n,
                        op_b == TESSERA_NO_TRANS ? n : k, below(4));
  matrix c = new_matrix(type, order, m, n, below(4));
  fill_matrix(&a, 0, 0, 1);
  fill_matrix(&b, 0, 0, 2);
  fill_matrix(&c, 0, 0, 3);
  unsigned char alpha[16], beta[16];
  const double complex two = type == TESSERA_C64 || type == TESSERA_C128 ? 2 - I : 2;
  put_factor(type, alpha, two);
  put_factor(type, beta, -1);
  const int scaled = (int)below(2), adds = (int)below(2);
  const int code =
      tessera_matmul(order, type, op_a, op_b, m, n, k, scaled ? alpha : NULL, a.data, a.ld, b.data,
                     b.ld, adds ? beta : NULL, c.data, c.ld, options[below(is_half(type) ? 4 : 5)]);
  CHECK(code == TESSERA_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double complex sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        const unsigned char* const x = op_a == TESSERA_NO_TRANS ? at(&a, i, p) : at(&a, p, i);
        const unsigned char* const y = op_b == TESSERA_NO_TRANS ? at(&b, p, j) : at(&b, j, p);
        sum += applied(op_a, get(type, x)) * applied(op_b, get(type, y));
      }
      sum = (scaled ? two : 1) * sum - (adds ? value_at(type, i, j, 3) : 0);
      wrong += get(type, at(&c, i, j)) == rounded(type, sum) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  CHECK(is_intact_around(&c));
  free_matrix(&a), free_matrix(&b), free_matrix(&c);
}

/* What does not compute with halves names them. */
static void test_halves_refused(void) {
  uint16_t a[4] = {0}, b[4] = {0}, c[4] = {0};
  const int row = TESSERA_ROW_MAJOR, none = TESSERA_NO_TRANS, f16 = TESSERA_F16;
  const char* const naive = "kernel=naive";
  WRONG(tessera_matmul(row, f16, none, none, 2, 2, 2, NULL, a, 2, b, 2, NULL, c, 2, naive),
        "options");
  CHECK(strstr(tessera_error_text(), "f16") != NULL);
  WRONG(tessera_transpose(row, TESSERA_BF16, TESSERA_TRANS, 2, 2, 2.0, a, 2, 0, b, 2, NULL),
        "type");
  CHECK(strstr(tessera_error_text(), "TESSERA_BF16") != NULL);
  WRONG(tessera_sort(TESSERA_BF16, TESSERA_ASCENDING, 4, a, NULL), "type");
  CHECK(strstr(tessera_error_text(), "TESSERA_BF16") != NULL);
}

static void test_transpose(void) {
  static const int others[] = {TESSERA_BF16, TESSERA_F16, TESSERA_I8, TESSERA_RECORD(7),
                               TESSERA_RECORD(64)};
  const int is_number = (int)below(2);
  const int type = is_number ? numbers[below(4)] : others[below(5)], order = orders[below(2)];
  const int op = ops[1 + below(2)];
  const int64_t m = below(70), n = below(70);
  const double alpha = is_number ? (double)below(3) : 1, beta = is_number ? (double)below(2) : 0;
  matrix a = new_matrix(type, order, m, n, below(4)), b = new_matrix(type, order, n, m, below(4));
  fill_matrix(&a, 0, 0, 1);
  fill_matrix(&b, 0, 0, 2);
  CHECK(tessera_transpose(order, type, op, m, n, alpha, a.data, a.ld, beta, b.data, b.ld,
                          below(2) ? NULL : "threads=2") == TESSERA_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) {
      unsigned char want[64];
      const double complex value = applied(op, value_at(type, j, i, 1));
      put(type, want, is_number ? alpha * value + beta * value_at(type, i, j, 2) : value);
      wrong += is_number ? get(type, want) != get(type, at(&b, i, j))
                         : memcmp(want, at(&b, i, j), size_of(type)) != 0;
    }
  }
  CHECK(wrong == 0);
  CHECK(is_intact_around(&b));
  free_matrix(&a), free_matrix(&b);
}

/* Two axes of a column-major cube exchanged, from every second element, into rows with gaps. */
static void test_rearrange(void) {
  const int type = below(2) ? numbers[below(4)] : TESSERA_RECORD(1 + below(64));
  const int64_t n[3] = {1 + below(9), below(9), 1 + below(9)}, gap = below(3);
  const int64_t from[3] = {2, 2 * n[0], 2 * n[0] * (n[1] + 1)}, to[3] = {n[2] + gap, 900, 1};
  const size_t size = size_of(type);
  static unsigned char a[2 * 9 * 10 * 10 * 64], b[500000];
  unsigned char* const into = b + sentinel;
  for (size_t i = 0; i < sizeof a; ++i) a[i] = (unsigned char)below(256);
  memset(b, fill, sizeof b);
  CHECK(tessera_rearrange(type, 3, n, a, from, into, to, below(2) ? NULL : "threads=2") ==
        TESSERA_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < n[0]; ++i) {
    for (int64_t j = 0; j < n[1]; ++j) {
      for (int64_t k = 0; k < n[2]; ++k) {
        unsigned char* const got = into + (size_t)(i * to[0] + j * to[1] + k) * size;
        wrong +=
            memcmp(got, a + (size_t)(i * from[0] + j * from[1] + k * from[2]) * size, size) != 0;
        memset(got, fill, size);
      }
    }
  }
  for (size_t i = 0; i < sizeof b; ++i) wrong += b[i] != fill;
  CHECK(wrong == 0);
}

static int type_now;
static int sign_now;
static const unsigned char* keys_now;

/* The order of keys: NaN last, by number. */
static int compare(const void* x, const void* y) {
  const double p = creal(get(type_now, x)), q = creal(get(type_now, y));
  if (isnan(p) || isnan(q)) return (isnan(p) != 0) - (isnan(q) != 0);
  return sign_now * ((p > q) - (p < q));
}

static int compare_places(const void* x, const void* y) {
  const uint64_t i = *(const uint64_t*)x, j = *(const uint64_t*)y;
  const size_t size = size_of(type_now);
  const int order = compare(keys_now + i * size, keys_now + j * size);
  return order != 0 ? order : (i > j) - (i < j);
}

static void test_sort(void) {
  const int type = types_of_numbers[below(key_types)], direction = (int)below(2);
  const int64_t n = below(3) == 0 ? below(5) : below(9000);
  matrix keys = new_matrix(type, TESSERA_ROW_MAJOR, 1, n, 0);
  uint64_t* const places = malloc(((size_t)n + 1) * 16);
  uint64_t* const want = places + n + 1;
  const int64_t kinds = n / 2 < range_of(type) ? n / 2 + 1 : range_of(type);
  for (int64_t i = 0; i < n; ++i) {
    put(type, at(&keys, 0, i), (double)(below(kinds) - (is_unsigned(type) ? 0 : kinds / 2)));
    if (is_real(type) && below(50) == 0) put(type, at(&keys, 0, i), NAN);
  }
  unsigned char* const sorted = malloc(keys.bytes + 1);
  memcpy(sorted, keys.data, keys.bytes);
  type_now = type, sign_now = direction == TESSERA_ASCENDING ? 1 : -1, keys_now = keys.data;
  qsort(sorted, (size_t)n, size_of(type), compare);
  for (int64_t i = 0; i < n; ++i) want[i] = (uint64_t)i;
  qsort(want, (size_t)n, 8, compare_places);
  places[n] = 4711;
  CHECK(tessera_argsort(type, direction, n, keys.data, places, NULL) == TESSERA_OK);
  CHECK(memcmp(places, want, (size_t)n * 8) == 0 && places[n] == 4711);
  CHECK(tessera_sort(type, direction, n, keys.data, below(2) ? NULL : "threads=2") == TESSERA_OK);
  CHECK(memcmp(keys.data, sorted, keys.bytes) == 0);
  CHECK(is_intact_around(&keys));
  free(places), free(sorted), free_matrix(&keys);
}

static const char* const boundaries[] = {NULL,      "clamp",    "mirror",
                                         "reflect", "periodic", "constant"};

/* Returns the index that i outside of 0 .. n - 1 repeats; -1: none. */
static int64_t source(const char* boundary, int64_t i, int64_t n) {
  while (i < 0 || i >= n) {
    const int low = i < 0;
    if (boundary == NULL || strcmp(boundary, "clamp") == 0) return low ? 0 : n - 1;
    if (strcmp(boundary, "constant") == 0) return -1;
    if (n == 1) return 0;
    if (strcmp(boundary, "periodic") == 0) i += low ? n : -n;
    if (strcmp(boundary, "mirror") == 0) i = low ? -i : 2 * n - 2 - i;
    if (strcmp(boundary, "reflect") == 0) i = low ? -1 - i : 2 * n - 1 - i;
  }
  return i;
}

static double neighbour(const double* u, const int64_t* n, const int64_t* p,
                        const tessera_stencil* s) {
  int64_t place = 0;
  for (int d = 0; d < 3; ++d) {
    const int64_t i = source(s->boundary, p[d], n[d]);
    if (i < 0) return s->boundary_value;
    place = place * n[d] + i;
  }
  return u[place];
}

static void test_stencil(void) {
  static const int types[] = {TESSERA_F32, TESSERA_F64, TESSERA_F16, TESSERA_BF16};
  const int dims = 1 + (int)below(3), type = types[below(4)];
  int64_t n[3] = {1, 1, 1}, shape[3] = {1, 1, 1}, strides[3] = {0, 0, 1};
  for (int d = 3 - dims; d < 3; ++d)
    n[d] = 3 + below(dims == 1 ? 200 : 11), shape[d] = 1 + below(4);
  double weights[64];
  for (int i = 0; i < 64; ++i) weights[i] = (double)(1 + below(3)) / (is_half(type) ? 64 : 1);
  const tessera_stencil stencil = {
      dims, NULL, shape + 3 - dims, weights, boundaries[below(6)], (double)below(5)};
  const int64_t steps = below(4), points = n[0] * n[1] * n[2];
  const int is_padded = (int)below(2);
  strides[1] = n[2] + (is_padded ? 3 : 0);
  strides[0] = n[1] * strides[1] + (is_padded ? 5 : 0);
  matrix u = new_matrix(type, TESSERA_ROW_MAJOR, 1, n[0] * strides[0], 0);
  double* const now = malloc((size_t)points * 16);
  double* const next = now + points;
  for (int64_t i = 0; i < points; ++i) {
    now[i] = (double)below(3);
    put(type, at(&u, 0, i / (n[1] * n[2]) * strides[0] + i / n[2] % n[1] * strides[1] + i % n[2]),
        now[i]);
  }
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t i = 0; i < points; ++i) {
      next[i] = 0;
      for (int64_t w = 0; w < shape[0] * shape[1] * shape[2]; ++w) {
        const int64_t p[3] = {i / (n[1] * n[2]) + w / (shape[1] * shape[2]) - shape[0] / 2,
                              i / n[2] % n[1] + w / shape[2] % shape[1] - shape[1] / 2,
                              i % n[2] + w % shape[2] - shape[2] / 2};
        next[i] += weights[w] * neighbour(now, n, p, &stencil);
      }
    }
    memcpy(now, next, (size_t)points * 8);
  }
  CHECK(tessera_advance(&stencil, type, n + 3 - dims, u.data, is_padded ? strides + 3 - dims : NULL,
                        steps, below(2) ? NULL : "threads=2") == TESSERA_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < points; ++i) {
    unsigned char* const got =
        at(&u, 0, i / (n[1] * n[2]) * strides[0] + i / n[2] % n[1] * strides[1] + i % n[2]);
    const double difference = fabs(creal(get(type, got)) - now[i]);
    const double of_step = type == TESSERA_F16 ? 0x1p-11 : type == TESSERA_BF16 ? 0x1p-8 : 0;
    const double relative = type == TESSERA_F32 ? 1e-6 : 1.1 * (double)steps * of_step;
    wrong += difference <= relative * fabs(now[i]) + (of_step > 0 ? 0x1p-22 : 0) ? 0 : 1;
    memset(got, fill, size_of(type));
  }
  CHECK(wrong == 0);
  u.cols = 0; /* all other bytes are sentinels */
  CHECK(is_intact_around(&u));
  free(now), free_matrix(&u);
}

int main(void) {
  for (int i = 0; i < 300; ++i) {
    test_matmul();
    test_transpose();
    test_rearrange();
    test_sort();
    test_stencil();
  }
  test_halves_refused();
  return failures == 0 ? 0 : 1;
}
