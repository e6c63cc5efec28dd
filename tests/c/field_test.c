/* Fields and files on the ranks of a communicator. */
#include <unistd.h>

#include "ranks.h"

static tessera_context context;
static int rank, ranks;

/* Steps of a distributed field, with the caller's source between them, against one process. */
static void test_field(void) {
  static const char* const names[] = {NULL, "clamp", "mirror", "periodic", "constant"};
  static const char* const options[] = {NULL, "threads=2 steps=1", "halo_steps=1", "overlap=yes",
                                        "kernel=naive"};
  static const int types[] = {TESSERA_F32, TESSERA_F64, TESSERA_F16, TESSERA_BF16};
  const int dims = 1 + (int)below(3), type = types[below(4)];
  int64_t n[3] = {1, 1, 1}, low[3] = {0, 0, 0}, high[3] = {1, 1, 1}, strides[3] = {0, 0, 0};
  for (int d = 3 - dims; d < 3; ++d) n[d] = 20 + below(dims == 1 ? 300 : 9);
  const tessera_stencil stencil = {dims, "heat", NULL, NULL, names[below(5)], 2};
  matrix whole = new_matrix(type, TESSERA_ROW_MAJOR, 1, n[0] * n[1] * n[2], 0);
  tessera_field field = 0;
  void* data = NULL;
  int64_t wrong = 0, calls = 1 + below(3);
  fill_matrix(&whole, 0, 0, 5);
  CHECK(tessera_field_create(context, &stencil, type, n + 3 - dims, options[below(5)], &field) ==
        TESSERA_OK);
  CHECK(tessera_field_box(field, low + 3 - dims, high + 3 - dims) == TESSERA_OK);
  for (int64_t call = 0; call <= calls; ++call) {
    const int64_t steps = below(5);
    CHECK(tessera_field_data(field, &data, strides + 3 - dims) == TESSERA_OK);
    for (int64_t z = low[0]; z < high[0]; ++z) {
      for (int64_t y = low[1]; y < high[1]; ++y) {
        for (int64_t x = low[2]; x < high[2]; ++x) {
          unsigned char* const mine =
              (unsigned char*)data +
              size_of(type) * (size_t)((z - low[0]) * strides[0] + (y - low[1]) * strides[1] +
                                       (x - low[2]) * strides[2]);
          const double complex want = get(type, at(&whole, 0, (z * n[1] + y) * n[2] + x));
          if (call == 0)
            wrong += get(type, mine) != 0;
          else
            wrong += get(type, mine) != want;
          put(type, mine, want);
        }
      }
    }
    if (call == calls) break;
    CHECK(tessera_field_advance(field, steps) == TESSERA_OK);
    CHECK(tessera_advance(&stencil, type, n + 3 - dims, whole.data, NULL, steps, NULL) ==
          TESSERA_OK);
  }
  CHECK(wrong == 0);
  CHECK(tessera_field_free(&field) == TESSERA_OK && field == 0);
  free_matrix(&whole);
}

static void test_wrong_fields(void) {
  const int64_t n[2] = {30, 30}, none[2] = {30, 0};
  int64_t low[2], high[2];
  const int last = rank == ranks - 1;
  tessera_stencil heat = {2, "heat", NULL, NULL, NULL, 0};
  tessera_field field = 0, freed = 0;
  WRONG(tessera_field_create(context, &heat, last ? TESSERA_I32 : TESSERA_F64, n, NULL, &field),
        "type");
  WRONG(tessera_field_create(context, last ? NULL : &heat, TESSERA_F64, n, NULL, &field),
        "stencil");
  WRONG(tessera_field_create(context, &heat, TESSERA_F64, last ? none : n, NULL, &field),
        "extents");
  WRONG(tessera_field_create(context, &heat, TESSERA_F64, n, last ? "overlap=maybe" : NULL, &field),
        "options");
  WRONG(tessera_field_create(context, &heat, TESSERA_F64, n, NULL, NULL), "field");
  CHECK(tessera_field_create(context, &heat, TESSERA_F64, n, NULL, &field) == TESSERA_OK);
  WRONG(tessera_field_advance(field, last ? -1 : 1), "steps");
  if (ranks > 1) WRONG(tessera_field_advance(field, last ? 1 : 2), "arguments");
  WRONG(tessera_field_box(field, NULL, high), "low");
  freed = field;
  CHECK(tessera_field_free(&field) == TESSERA_OK);
  WRONG(tessera_field_box(freed, low, high), "field");
}

static double stored_at(int type, int64_t i, int64_t j, int64_t seed) {
  const double value = creal(value_at(type, i, j, seed));
  return is_unsigned(type) ? fabs(value) : value;
}

static void test_files(const char* name) {
  for (int i = 0; i < number_types; ++i) {
    const int type = types_of_numbers[i];
    const int64_t extents[3] = {5, 3 + below(10), 4};
    int64_t low[3] = {0, 0, 0}, high[3] = {5, 0, 4}, found[32], wrong = 0;
    int dims = 0;
    CHECK(tessera_share(extents[1], ranks, rank, low + 1, high + 1) == TESSERA_OK);
    const int64_t mine = high[1] - low[1];
    matrix data = new_matrix(type, TESSERA_ROW_MAJOR, 5 * mine, 4, 0);
    for (int64_t r = 0; r < 5 * mine; ++r)
      for (int64_t j = 0; j < 4; ++j)
        put(type, at(&data, r, j), stored_at(type, r / mine, low[1] + r % mine, j));
    CHECK(tessera_write(context, name, "/a/b", type, 3, extents, low, high, data.data,
                        i == 0 ? NULL : "existing=replace") == TESSERA_OK);
    CHECK(tessera_dataset_extents(name, "/a/b", &dims, found) == TESSERA_OK);
    CHECK(dims == 3 && found[0] == 5 && found[1] == extents[1] && found[2] == 4);
    const int64_t from[3] = {1, 1, 2}, to[3] = {4, extents[1], 3};
    matrix back = new_matrix(type, TESSERA_ROW_MAJOR, 3 * (extents[1] - 1), 1, 0);
    CHECK(tessera_read(name, "/a/b", type, 3, from, to, back.data) == TESSERA_OK);
    for (int64_t r = 0; r < back.rows; ++r) {
      const int64_t a = 1 + r / (extents[1] - 1), b = 1 + r % (extents[1] - 1);
      wrong += get(type, at(&back, r, 0)) != stored_at(type, a, b, 2);
    }
    CHECK(wrong == 0);
    CHECK(is_intact_around(&back));
    free_matrix(&data), free_matrix(&back);
  }
  double number = 0;
  const int64_t zero[3] = {0, 0, 0}, one[3] = {1, 1, 1}, far[3] = {6, 1, 1};
  CHECK(tessera_write(context, name, "/a/b", TESSERA_F64, 3, one, zero, rank == 0 ? one : zero,
                      &number, NULL) == TESSERA_CANNOT_CREATE);
  WRONG(tessera_write(context, name, "/a/b", TESSERA_F64, 3, one, zero, zero, &number,
                      "existing=replace"),
        "low");
  WRONG(tessera_write(context, name, "a/b", TESSERA_F64, 3, one, zero, one, &number, NULL),
        "dataset");
  if (ranks > 1) { /* two boxes of four elements together, of which one is in both */
    const int64_t four = 4, from = rank == 0 ? 0 : 1, to = rank == 0 ? 2 : rank == 1 ? 3 : 1;
    const double two[2] = {1, 2};
    WRONG(tessera_write(context, name, "/x", TESSERA_F64, 1, &four, &from, &to, two,
                        "existing=replace"),
          "low");
  }
  if (ranks > 1)
    WRONG(tessera_write(context, rank == 0 ? name : NULL, "/a/b", TESSERA_F64, 3, one, zero, one,
                        &number, NULL),
          "file");
  WRONG(tessera_read(name, "/a/b", TESSERA_C128, 2, zero, one, &number), "dims");
  WRONG(tessera_read(name, "/a/b", TESSERA_C128, 3, zero, far, &number), "high");
  WRONG(tessera_read(name, "/a/b", TESSERA_C128, 3, zero, one, NULL), "data");
  WRONG(tessera_read(name, "/a/b", TESSERA_RECORD(8), 3, zero, one, &number), "type");
  CHECK(tessera_read(name, "/a/b", TESSERA_F64, 3, zero, one, &number) == TESSERA_BAD_DATA);
  CHECK(tessera_read(name, "/a/c", TESSERA_F64, 3, zero, one, &number) != TESSERA_OK);
  CHECK(tessera_read("/nowhere.h5", "/a/b", TESSERA_F64, 3, zero, one, &number) ==
        TESSERA_MISSING_INPUT);
}

static void test(MPI_Comm part) {
  char name[64];
  CHECK(tessera_context_create(part, &context) == TESSERA_OK);
  CHECK(tessera_context_rank(context, &rank) == TESSERA_OK);
  CHECK(tessera_context_size(context, &ranks) == TESSERA_OK);
  for (int i = 0; i < 20; ++i) test_field();
  test_wrong_fields();
  snprintf(name, sizeof name, "c_field_test_%d.h5", (int)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, part);
  test_files(name);
  MPI_Barrier(part);
  if (rank == 0) remove(name);
  CHECK(tessera_context_free(&context) == TESSERA_OK);
}
