/* Plans of relayouts, permutations and halos, against every element by its global place. */
#include "distributed.h"
#include "tessera_plans.h"

enum { row = TESSERA_ROW_MAJOR, none = TESSERA_NO_TRANS, f64 = TESSERA_F64 };

/* --- Relayouts ----------------------------------------------------------------------------- */

enum { most_matrices = 3 };

static int is_number(int type) {
  return type == TESSERA_F32 || type == TESSERA_F64 || type == TESSERA_C64 || type == TESSERA_C128;
}

/* Returns the elements of b that are not alpha op(a) + beta b. */
static int64_t wrong_elements(const distributed* b, int type, int op, double alpha, double beta,
                              int64_t seed) {
  const int turns = op != none;
  int64_t wrong = 0;
  for (int64_t i = 0; i < b->rows; ++i) {
    for (int64_t j = 0; j < b->cols; ++j) {
      const unsigned char* const got = element(b, i, j);
      const double complex value =
          applied(op, turns ? value_at(type, j, i, seed) : value_at(type, i, j, seed));
      unsigned char want[64];
      put(type, want, alpha * value + (beta == 0 ? 0 : beta * value_at(type, i, j, seed + 1)));
      if (got == NULL) continue;
      wrong += is_number(type) ? get(type, got) != get(type, want)
                               : memcmp(got, want, size_of(type)) != 0;
    }
  }
  return wrong;
}

static void test_relayout(int type, const char* options) {
  const int order_a = below(2) ? row : TESSERA_COL_MAJOR;
  const int order_b = below(2) ? row : TESSERA_COL_MAJOR;
  const int matrices = 1 + (int)below(most_matrices), scaled = is_number(type) && below(2);
  distributed a[most_matrices], b[most_matrices];
  tessera_layout layout_a[most_matrices], layout_b[most_matrices];
  const void* from[most_matrices];
  void* to[most_matrices];
  int64_t lda[most_matrices], ldb[most_matrices], bytes = -1;
  double alpha[most_matrices], beta[most_matrices];
  unsigned char alphas[16 * most_matrices], betas[16 * most_matrices];
  int op[most_matrices];
  tessera_relayout_plan plan = 0;
  for (int k = 0; k < matrices; ++k) {
    op[k] = none + (int)below(3);
    const int64_t m = below(40), n = below(40), seed = 10 * k;
    a[k] = new_distributed(type, order_a, m, n, seed);
    b[k] = new_distributed(type, order_b, op[k] == none ? m : n, op[k] == none ? n : m, seed + 1);
    alpha[k] = scaled ? (double)below(3) : 1;
    beta[k] = scaled ? (double)below(3) - 1 : 0;
    put(type, alphas + (size_t)k * size_of(type), alpha[k]);
    put(type, betas + (size_t)k * size_of(type), beta[k]);
    layout_a[k] = a[k].layout, layout_b[k] = b[k].layout;
    from[k] = a[k].local.data, to[k] = b[k].local.data;
    lda[k] = a[k].local.ld, ldb[k] = b[k].local.ld;
  }
  CHECK(tessera_relayout_plan_create(context, order_a, order_b, type, matrices, op, layout_a,
                                     layout_b, options, &plan) == TESSERA_OK);
  CHECK(tessera_relayout_plan_bytes(plan, &bytes) == TESSERA_OK && bytes >= 0);
  for (int execution = 0; execution < 2; ++execution) {
    for (int k = 0; k < matrices; ++k) refill(&b[k], 10 * k + 1);
    CHECK(tessera_relayout_plan_start(plan, scaled ? alphas : NULL, from, lda,
                                      scaled ? betas : NULL, to, ldb) == TESSERA_OK);
    for (int k = 0; k < matrices; ++k) refill(&a[k], 4711); /* was read */
    CHECK(tessera_relayout_plan_wait(plan) == TESSERA_OK);
    for (int k = 0; k < matrices; ++k) {
      CHECK(wrong_elements(&b[k], type, op[k], alpha[k], beta[k], 10 * k) == 0);
      refill(&a[k], 10 * k);
    }
  }
  CHECK(tessera_relayout_plan_free(&plan) == TESSERA_OK && plan == 0);
  for (int k = 0; k < matrices; ++k) free_distributed(&a[k]), free_distributed(&b[k]);
}

/* --- Permutations -------------------------------------------------------------------------- */

enum { most_axes = 6 };

static void random_grid(int* grid, int dims) {
  int left = ranks;
  for (int d = 0; d < dims; ++d) grid[d] = 1;
  for (int trial = 0; trial < 3; ++trial) {
    const int d = (int)below(dims), parts = 1 + (int)below(left);
    grid[d] *= parts;
    left /= parts;
  }
}

/* Advances index within [low, high), the last axis fastest; returns 0 behind the last one. */
static int next_index(int64_t* index, const int64_t* low, const int64_t* high, int dims) {
  for (int d = dims - 1; d >= 0; --d) {
    if (++index[d] < high[d]) return 1;
    index[d] = low[d];
  }
  return 0;
}

static int64_t volume(const int64_t* low, const int64_t* high, int dims) {
  int64_t all = 1;
  for (int d = 0; d < dims; ++d) all *= high[d] - low[d];
  return all;
}

/* Writes, or compares with what is there, the elements of a share; `axes`: axis k of the share is
 * axis axes[k] of the array, whose elements have the values of their places. */
static int64_t visit_share(int type, matrix* share, const int64_t* low, const int64_t* high,
                           const int* axes, int dims, int writes) {
  int64_t index[most_axes], place = 0, wrong = 0;
  memcpy(index, low, sizeof index);
  if (volume(low, high, dims) == 0) return 0;
  do {
    unsigned char want[64];
    int64_t mixed[2] = {0, 0};
    for (int k = 0; k < dims; ++k) mixed[axes[k] % 2] += index[k] * (1 + 37 * (axes[k] / 2));
    put(type, want, value_at(type, mixed[0], mixed[1], 3));
    unsigned char* const here = at(share, 0, place++);
    if (writes) memcpy(here, want, size_of(type));
    wrong += memcmp(here, want, size_of(type)) == 0 ? 0 : 1;
  } while (next_index(index, low, high, dims));
  return wrong;
}

static void clear(matrix* share) {
  for (int64_t i = 0; i < share->cols; ++i) memset(at(share, 0, i), 0, size_of(share->type));
}

static void test_permute(int type, const char* options) {
  static const int same[most_axes] = {0, 1, 2, 3, 4, 5};
  const int dims = 1 + (int)below(most_axes);
  int axes[most_axes], grid_a[most_axes], grid_b[most_axes];
  int64_t extents[most_axes], low_a[most_axes] = {0}, high_a[most_axes] = {0};
  int64_t low_b[most_axes] = {0}, high_b[most_axes] = {0}, bytes = -1;
  tessera_permute_plan plan = 0;
  for (int d = 0; d < dims; ++d) axes[d] = d, extents[d] = below(dims > 3 ? 6 : 14);
  for (int d = dims - 1; d > 0; --d) {
    const int other = (int)below(d + 1), kept = axes[d];
    axes[d] = axes[other], axes[other] = kept;
  }
  random_grid(grid_a, dims);
  random_grid(grid_b, dims);
  CHECK(tessera_permute_plan_create(context, type, dims, extents, axes, grid_a, grid_b, options,
                                    &plan) == TESSERA_OK);
  CHECK(tessera_permute_plan_boxes(plan, low_a, high_a, low_b, high_b) == TESSERA_OK);
  CHECK(tessera_permute_plan_bytes(plan, &bytes) == TESSERA_OK && bytes >= 0);
  matrix a = new_matrix(type, row, 1, volume(low_a, high_a, dims), 0);
  matrix b = new_matrix(type, row, 1, volume(low_b, high_b, dims), 0);
  for (int execution = 0; execution < 2; ++execution) {
    visit_share(type, &a, low_a, high_a, same, dims, 1);
    clear(&b);
    CHECK(tessera_permute_plan_start(plan, a.data, b.data) == TESSERA_OK);
    clear(&a); /* was read */
    CHECK(tessera_permute_plan_wait(plan) == TESSERA_OK);
    CHECK(visit_share(type, &b, low_b, high_b, axes, dims, 0) == 0);
  }
  CHECK(is_intact_around(&a) && is_intact_around(&b));
  CHECK(tessera_permute_plan_free(&plan) == TESSERA_OK && plan == 0);
  free_matrix(&a), free_matrix(&b);
}

/* --- Halos --------------------------------------------------------------------------------- */

typedef struct {
  int type, dims;
  const char* boundary;
  int64_t extents[3], widths[3], low[3], high[3], stride[3];
  matrix memory; /* of the box and its ghost layers, with gaps between rows */
} field;

static double complex point(const field* u, const int64_t* at, int number) {
  return value_at(u->type, at[0] + 50 * at[1], at[2], number);
}

/* Returns whether a point outside has a value of the field's, and moves it there. */
static int origin(const field* u, int64_t* at) {
  for (int d = 0; d < u->dims; ++d) {
    const int64_t n = u->extents[d];
    while (at[d] < 0 || at[d] >= n) {
      if (strcmp(u->boundary, "periodic") == 0)
        at[d] += at[d] < 0 ? n : -n;
      else if (strcmp(u->boundary, "clamp") == 0)
        at[d] = at[d] < 0 ? 0 : n - 1;
      else if (strcmp(u->boundary, "reflect") == 0)
        at[d] = at[d] < 0 ? -1 - at[d] : 2 * n - 1 - at[d];
      else
        return 0;
    }
  }
  return 1;
}

static field new_field(int type, int dims, const char* boundary, const int64_t* extents,
                       const int64_t* widths, tessera_halo_plan plan, int64_t gap) {
  field u = {.type = type, .dims = dims, .boundary = boundary};
  int64_t rows = 1, cols = 1;
  CHECK(tessera_halo_plan_box(plan, u.low, u.high) == TESSERA_OK);
  for (int d = 0; d < dims; ++d) {
    u.extents[d] = extents[d], u.widths[d] = widths[d];
    const int64_t n = u.high[d] == u.low[d] ? 0 : u.high[d] - u.low[d] + 2 * widths[d];
    *(d < dims - 1 ? &rows : &cols) *= n;
  }
  u.memory = new_matrix(type, row, rows, cols, gap);
  u.stride[dims - 1] = 1;
  if (dims > 1) u.stride[dims - 2] = u.memory.ld;
  if (dims > 2) u.stride[0] = (u.high[1] - u.low[1] + 2 * widths[1]) * u.memory.ld;
  return u;
}

/* Returns the address of a global point in the box or its ghost layers. */
static unsigned char* place_of(const field* u, const int64_t* p) {
  int64_t place = 0;
  for (int d = 0; d < u->dims; ++d) place += (p[d] - u->low[d] + u->widths[d]) * u->stride[d];
  return u->memory.data + (size_t)place * size_of(u->type);
}

/* Writes the points of the box, or compares all with its ghost layers; returns how many differ. */
static int64_t visit_field(field* u, int number, int writes) {
  int64_t low[3], high[3], p[3] = {0}, wrong = 0;
  if (volume(u->low, u->high, u->dims) == 0) return 0;
  for (int d = 0; d < u->dims; ++d) {
    p[d] = low[d] = u->low[d] - (writes ? 0 : u->widths[d]);
    high[d] = u->high[d] + (writes ? 0 : u->widths[d]);
  }
  do {
    unsigned char want[64];
    int64_t from[3] = {p[0], p[1], p[2]};
    const int is_point = origin(u, from);
    if (!is_point && strcmp(u->boundary, "given") == 0)
      memset(want, fill, size_of(u->type));
    else
      put(u->type, want, is_point ? point(u, from, number) : 7);
    if (writes) memcpy(place_of(u, p), want, size_of(u->type));
    wrong += memcmp(place_of(u, p), want, size_of(u->type)) == 0 ? 0 : 1;
  } while (next_index(p, low, high, u->dims));
  return wrong;
}

static void test_halo(int type, const char* options) {
  static const char* boundaries[] = {"clamp", "periodic", "reflect", "constant", "given"};
  const char* const boundary = boundaries[below(5)];
  const int dims = 1 + (int)below(3), fields = 1 + (int)below(2), is_dense = (int)below(2);
  int grid[3];
  int64_t extents[3], widths[3], strides[6], bytes = -1;
  field u[2];
  void* first[2] = {NULL, NULL};
  tessera_halo_plan plan = 0;
  random_grid(grid, dims);
  for (int d = 0; d < dims; ++d) {
    widths[d] = below(3);
    extents[d] = grid[d] * (1 + widths[d]) + below(5);
  }
  CHECK(tessera_halo_plan_create(context, type, dims, extents, widths, below(2) ? grid : NULL,
                                 boundary, 7, fields, options, &plan) == TESSERA_OK);
  CHECK(tessera_halo_plan_bytes(plan, &bytes) == TESSERA_OK && bytes >= 0);
  for (int f = 0; f < fields; ++f) {
    u[f] = new_field(type, dims, boundary, extents, widths, plan, is_dense ? 0 : below(4));
    for (int d = 0; d < dims; ++d) strides[f * dims + d] = u[f].stride[d];
    if (volume(u[f].low, u[f].high, dims) > 0) first[f] = place_of(&u[f], u[f].low);
  }
  for (int execution = 0; execution < 2; ++execution) {
    for (int f = 0; f < fields; ++f) visit_field(&u[f], f + execution, 1);
    CHECK(tessera_halo_plan_start(plan, first, is_dense ? NULL : strides) == TESSERA_OK);
    CHECK(tessera_halo_plan_wait(plan) == TESSERA_OK);
    for (int f = 0; f < fields; ++f) CHECK(visit_field(&u[f], f + execution, 0) == 0);
  }
  for (int f = 0; f < fields; ++f) {
    CHECK(is_intact_around(&u[f].memory));
    free_matrix(&u[f].memory);
  }
  CHECK(tessera_halo_plan_free(&plan) == TESSERA_OK && plan == 0);
}

/* --- Several at once ----------------------------------------------------------------------- */

/* Two plans that are started before either is awaited, in the opposite order. */
static void test_in_flight(void) {
  const int64_t extents[2] = {6 * ranks, 5}, widths[2] = {1, 0};
  const int axes[2] = {1, 0}, rows[2] = {ranks, 1};
  double a[30], b[30] = {0}, u[40] = {0};
  void* const field = u + 5;
  int64_t wrong = 0;
  tessera_permute_plan turn = 0;
  tessera_halo_plan halo = 0;
  for (int i = 0; i < 30; ++i) a[i] = u[5 + i] = 30 * rank + i;
  CHECK(tessera_permute_plan_create(context, f64, 2, extents, axes, rows, (int[2]){1, ranks}, NULL,
                                    &turn) == TESSERA_OK);
  CHECK(tessera_halo_plan_create(context, f64, 2, extents, widths, rows, "periodic", 0, 1, NULL,
                                 &halo) == TESSERA_OK);
  CHECK(tessera_permute_plan_start(turn, a, b) == TESSERA_OK);
  CHECK(tessera_halo_plan_start(halo, &field, NULL) == TESSERA_OK);
  CHECK(tessera_halo_plan_wait(halo) == TESSERA_OK);
  CHECK(tessera_permute_plan_wait(turn) == TESSERA_OK);
  for (int i = 0; i < 30; ++i) wrong += b[i] == 30 * rank + i % 6 * 5 + i / 6 ? 0 : 1;
  for (int i = 0; i < 40; ++i)
    wrong += u[i] == (30 * (rank + ranks) + i - 5) % (30 * ranks) ? 0 : 1;
  CHECK(wrong == 0);
  CHECK(tessera_permute_plan_free(&turn) == TESSERA_OK);
  CHECK(tessera_halo_plan_free(&halo) == TESSERA_OK);
}

/* Plans of relayouts and permutations for GPUs on some ranks only. */
static void test_one_on_the_host(void) {
  const char* const options = rank == ranks - 1 ? NULL : "gpu=0";
  const int64_t extents[2] = {6, 5};
  const int axes[2] = {1, 0}, one[2] = {1, 1}, op = none;
  tessera_permute_plan turn = 0;
  tessera_relayout_plan plan = 0;
  tessera_layout layout = 0;
  WRONG(tessera_permute_plan_create(context, f64, 2, extents, axes, one, one, options, &turn),
        "arguments");
  CHECK(tessera_layout_grid(context, 6, 5, ranks, 1, &layout) == TESSERA_OK);
  WRONG(tessera_relayout_plan_create(context, row, row, f64, 1, &op, &layout, &layout, options,
                                     &plan),
        "arguments");
  CHECK(tessera_layout_free(&layout) == TESSERA_OK);
}

static void test(MPI_Comm part) {
  static const int types[] = {TESSERA_F32, TESSERA_F64, TESSERA_C64, TESSERA_C128,      TESSERA_I32,
                              TESSERA_I64, TESSERA_U8,  TESSERA_F16, TESSERA_RECORD(16)};
  static const int records[] = {TESSERA_F64, TESSERA_C128, TESSERA_RECORD(3), TESSERA_RECORD(24)};
  static const char* const on_gpus[] = {"gpu=0", "gpu=1 threads=1"};
  CHECK(tessera_context_create(part, &context) == TESSERA_OK);
  CHECK(tessera_context_rank(context, &rank) == TESSERA_OK);
  CHECK(tessera_context_size(context, &ranks) == TESSERA_OK);
  for (int i = 0; i < 45; ++i) test_relayout(types[i % 9], i % 2 == 0 ? NULL : "threads=2");
  for (int i = 0; i < 80; ++i) test_permute(records[i % 4], NULL);
  for (int i = 0; i < 91; ++i) test_halo(types_of_numbers[i % number_types], NULL);
  for (int i = 0; i < 6; ++i) test_halo(TESSERA_BF16, NULL);
  if (arguments > 1 && strcmp(argument[2], "emulated") == 0) {
    for (int i = 0; i < 91; ++i) test_halo(types_of_numbers[i % number_types], on_gpus[rank % 2]);
    for (int i = 0; i < 36; ++i) test_relayout(types[i % 9], on_gpus[rank % 2]);
    for (int i = 0; i < 40; ++i) test_permute(records[i % 4], on_gpus[rank % 2]);
    if (ranks > 1) test_one_on_the_host();
  } else if (tessera_sort(f64, TESSERA_ASCENDING, 0, NULL, "gpu=0") != TESSERA_OK) { /* no GPU */
    tessera_halo_plan plan = 0;
    const int64_t n = 2 * ranks, width = 1;
    const char* const last = rank == ranks - 1 ? "gpu=0" : NULL;
    WRONG(tessera_halo_plan_create(context, TESSERA_F64, 1, &n, &width, NULL, NULL, 0, 1, last,
                                   &plan),
          "options");
    CHECK(strstr(tessera_error_text(), "cannot use") != NULL);
  }
  test_in_flight();
  CHECK(tessera_context_free(&context) == TESSERA_OK);
}
