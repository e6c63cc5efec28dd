/* Wrong calls on ranks: one rank passes a wrong argument, and every rank gets the same code, and a
 * text that begins with the argument. No rank hangs. */
#include "ranks.h"
#include "tessera_plans.h"

enum { row = TESSERA_ROW_MAJOR, none = TESSERA_NO_TRANS, f64 = TESSERA_F64 };

static tessera_context context;
static int rank, ranks, wrong_rank;
static tessera_layout square, other;
static double a[64], b[64], c[64];
static uint64_t order[64];

/* Checks that all ranks know the wrong argument and the rank that passed it. */
#define WRONG_ON_ONE(call, argument)                         \
  do {                                                       \
    WRONG(call, argument);                                   \
    CHECK(ranks == 1 || tessera_error_rank() == wrong_rank); \
  } while (0)

/* Returns `right`, but `wrong` on one rank. */
#define OR(right, wrong) (rank == wrong_rank ? (wrong) : (right))

static int multiply(int major, int type, int op, tessera_layout layout_a, const void* from,
                    int64_t ld, void* to, const char* options) {
  return tessera_dist_matmul(context, major, type, op, none, NULL, layout_a, from, ld, square, b, 8,
                             NULL, square, to, 8, options);
}

static void test_matrices(void) {
  CHECK(multiply(row, f64, none, square, a, 8, c, NULL) == TESSERA_OK);
  WRONG_ON_ONE(multiply(OR(row, 7), f64, none, square, a, 8, c, NULL), "order");
  WRONG_ON_ONE(multiply(row, OR(f64, TESSERA_I64), none, square, a, 8, c, NULL), "type");
  WRONG_ON_ONE(multiply(row, f64, OR(none, 0), square, a, 8, c, NULL), "op_a");
  WRONG_ON_ONE(multiply(row, f64, none, OR(square, 0), a, 8, c, NULL), "layout_a");
  WRONG_ON_ONE(multiply(row, f64, none, square, OR(a, NULL), 8, c, NULL), "a");
  WRONG_ON_ONE(multiply(row, f64, none, square, a, OR(8, 7), c, NULL), "lda");
  WRONG_ON_ONE(multiply(row, f64, none, square, a, 8, OR(c, b), NULL), "c");
  WRONG_ON_ONE(multiply(row, f64, none, square, a, 8, OR(c, NULL), NULL), "c");
  WRONG_ON_ONE(multiply(row, f64, none, square, a, 8, c, OR(NULL, "algorithm=fast")), "options");
  WRONG_ON_ONE(multiply(row, f64, none, square, a, 8, c, OR(NULL, "slices=0")), "options");
  WRONG(multiply(row, f64, none, other, a, 8, c, NULL), "layout_b");
  WRONG(multiply(TESSERA_COL_MAJOR, f64, none, other, a, 8, c, NULL), "layout_b");
  if (ranks > 1)
    WRONG(multiply(row, OR(f64, TESSERA_F32), none, square, a, 8, c, NULL), "arguments");
  WRONG_ON_ONE(tessera_dist_transpose(context, row, f64, OR(none, 1), 1, square, a, 8, 0, square, b,
                                      8, NULL),
               "op");
  WRONG_ON_ONE(tessera_dist_transpose(context, row, TESSERA_U32, none, OR(1, 2), square, a, 8, 0,
                                      square, b, 8, NULL),
               "type");
  WRONG_ON_ONE(tessera_dist_transpose(context, row, f64, none, 1, square, a, 8, 0, square, b, 8,
                                      OR(NULL, "algorithm=shared")),
               "options");
  WRONG(tessera_dist_transpose(context, row, f64, none, 1, square, a, 8, 0, other, b, 8, NULL),
        "layout_b");
  WRONG_ON_ONE(
      tessera_redistribute(context, row, TESSERA_RECORD(OR(8, 0)), square, a, 8, square, b, 8),
      "type");
  WRONG(tessera_redistribute(context, row, f64, square, a, 8, other, b, 8), "layout_b");
}

static int make_plan(int major, int type, int op, tessera_layout layout_a, const char* options,
                     tessera_matmul_plan* plan) {
  return tessera_matmul_plan_create(context, major, type, op, none, layout_a, square, square,
                                    options, plan);
}

static void test_plans(void) {
  tessera_matmul_plan plan = 0, freed = 0;
  int64_t bytes = 0;
  const double zero = 0, one = 1;
  WRONG_ON_ONE(make_plan(OR(row, 7), f64, none, square, NULL, &plan), "order");
  WRONG_ON_ONE(make_plan(row, OR(f64, TESSERA_I64), none, square, NULL, &plan), "type");
  WRONG_ON_ONE(make_plan(row, f64, OR(none, 0), square, NULL, &plan), "op_a");
  WRONG_ON_ONE(make_plan(row, f64, none, OR(square, 0), NULL, &plan), "layout_a");
  WRONG_ON_ONE(make_plan(row, f64, none, square, OR(NULL, "slices=2"), &plan), "options");
  WRONG(make_plan(row, f64, none, other, NULL, &plan), "layout_b");
  WRONG_ON_ONE(tessera_matmul_plan_workspace_bytes(context, row, f64, none, none, square, square,
                                                   square, NULL, OR(&bytes, NULL)),
               "bytes");
  WRONG(tessera_matmul_plan_workspace_bytes(context, row, f64, none, none, square, other, square,
                                            NULL, &bytes),
        "layout_b");
  CHECK(plan == 0);
  CHECK(make_plan(row, f64, none, square, NULL, &plan) == TESSERA_OK);
  WRONG_ON_ONE(tessera_matmul_plan_execute(plan, NULL, OR(a, NULL), 8, b, 8, NULL, c, 8), "a");
  WRONG_ON_ONE(tessera_matmul_plan_execute(plan, NULL, a, OR(8, 7), b, 8, NULL, c, 8), "lda");
  WRONG_ON_ONE(tessera_matmul_plan_execute(plan, NULL, a, 8, OR(b, NULL), 8, NULL, c, 8), "b");
  WRONG_ON_ONE(tessera_matmul_plan_execute(plan, NULL, a, 8, b, 8, NULL, OR(c, a), 8), "c");
  WRONG_ON_ONE(tessera_matmul_plan_execute(plan, NULL, a, 8, b, 8, NULL, c, OR(8, -1)), "c");
  if (ranks > 1) {
    WRONG(tessera_matmul_plan_execute(plan, NULL, a, 8, b, 8, OR(&zero, &one), c, 8), "arguments");
    WRONG(tessera_matmul_plan_execute(plan, OR(&one, &zero), a, 8, b, 8, NULL, c, 8), "arguments");
  }
  CHECK(tessera_matmul_plan_execute(plan, NULL, a, 8, b, 8, NULL, c, 8) == TESSERA_OK);
  WRONG(tessera_matmul_plan_bytes(plan, NULL), "bytes");
  freed = plan;
  CHECK(tessera_matmul_plan_free(&plan) == TESSERA_OK);
  WRONG(tessera_matmul_plan_execute(freed, NULL, a, 8, b, 8, NULL, c, 8), "plan");
  WRONG(tessera_matmul_plan_bytes(freed, &bytes), "plan");
  WRONG(tessera_matmul_plan_free(&freed), "plan");
  CHECK(tessera_matmul_plan_free(&plan) == TESSERA_OK); /* 0 */
  WRONG(make_plan(row, f64, none, square, NULL, NULL), "plan");
}

static int make_relayout(int order_a, int type, int op, tessera_layout to, const char* options,
                         tessera_relayout_plan* plan) {
  return tessera_relayout_plan_create(context, order_a, row, type, 1, &op, &square, &to, options,
                                      plan);
}

static int start_relayout(tessera_relayout_plan plan, const double* alpha, const void* from,
                          int64_t lda, void* to, int64_t ldb) {
  return tessera_relayout_plan_start(plan, alpha, &from, &lda, NULL, &to, &ldb);
}

static void test_relayout_plans(void) {
  tessera_relayout_plan plan = 0, freed = 0;
  const int op = none;
  const double zero = 0, one = 1;
  const void* const from[1] = {a};
  void* const to[1] = {c};
  const int64_t ld[1] = {8};
  int64_t bytes = 0;
  WRONG_ON_ONE(make_relayout(OR(row, 7), f64, none, square, NULL, &plan), "order_a");
  WRONG_ON_ONE(make_relayout(row, OR(f64, TESSERA_RECORD(24)), none, square, NULL, &plan), "type");
  WRONG_ON_ONE(make_relayout(row, f64, OR(none, 0), square, NULL, &plan), "op[0]");
  WRONG_ON_ONE(make_relayout(row, f64, none, OR(square, 0), NULL, &plan), "layout_b[0]");
  WRONG_ON_ONE(make_relayout(row, f64, none, square, OR(NULL, "kernel=tiled"), &plan), "options");
  WRONG(make_relayout(row, f64, none, other, NULL, &plan), "layout_b[0]");
  WRONG_ON_ONE(tessera_relayout_plan_create(context, row, row, f64, OR(1, 0), &op, &square, &square,
                                            NULL, &plan),
               "matrices");
  WRONG_ON_ONE(tessera_relayout_plan_create(context, row, row, f64, 1, &op, OR(&square, NULL),
                                            &square, NULL, &plan),
               "layout_a");
  WRONG(make_relayout(row, f64, none, square, NULL, NULL), "plan");
  CHECK(plan == 0);
  CHECK(make_relayout(row, f64, none, square, NULL, &plan) == TESSERA_OK);
  WRONG(tessera_relayout_plan_wait(plan), "plan");
  WRONG_ON_ONE(start_relayout(plan, NULL, OR(a, NULL), 8, c, 8), "a[0]");
  WRONG_ON_ONE(start_relayout(plan, NULL, a, OR(8, 7), c, 8), "lda[0]");
  WRONG_ON_ONE(start_relayout(plan, NULL, a, 8, OR(c, a), 8), "b[0]");
  WRONG_ON_ONE(start_relayout(plan, NULL, a, 8, c, OR(8, -1)), "b[0]");
  WRONG_ON_ONE(tessera_relayout_plan_start(plan, NULL, OR(from, NULL), ld, NULL, to, ld), "a");
  WRONG_ON_ONE(tessera_relayout_plan_start(plan, NULL, from, ld, NULL, to, OR(ld, NULL)), "ldb");
  if (ranks > 1) WRONG(start_relayout(plan, OR(&one, &zero), a, 8, c, 8), "arguments");
  CHECK(start_relayout(plan, NULL, a, 8, c, 8) == TESSERA_OK);
  WRONG(start_relayout(plan, NULL, a, 8, c, 8), "plan");
  freed = plan;
  WRONG(tessera_relayout_plan_free(&plan), "plan");
  CHECK(tessera_relayout_plan_wait(plan) == TESSERA_OK);
  WRONG(tessera_relayout_plan_bytes(plan, NULL), "bytes");
  CHECK(tessera_relayout_plan_free(&plan) == TESSERA_OK && plan == 0);
  WRONG(start_relayout(freed, NULL, a, 8, c, 8), "plan");
  WRONG(tessera_relayout_plan_bytes(freed, &bytes), "plan");
  WRONG(tessera_relayout_plan_free(NULL), "plan");
  CHECK(make_relayout(row, TESSERA_I64, none, square, NULL, &plan) == TESSERA_OK);
  WRONG(start_relayout(plan, &one, a, 8, c, 8), "alpha");
  CHECK(tessera_relayout_plan_free(&plan) == TESSERA_OK);
}

static int make_permute(int type, int dims, const int64_t* extents, const int* axes,
                        const int* grid_a, const char* options, tessera_permute_plan* plan) {
  const int grid_b[2] = {1, 1};
  return tessera_permute_plan_create(context, type, dims, extents, axes, grid_a, grid_b, options,
                                     plan);
}

static void test_permute_plans(void) {
  const int64_t extents[2] = {4, 5}, negative[2] = {4, -5}, huge[2] = {INT64_MAX / 2, 8};
  const int turned[2] = {1, 0}, twice[2] = {1, 1}, one[2] = {1, 1};
  const int many[2] = {ranks, 2}, zero[2] = {0, 1};
  int64_t low[2], high[2];
  tessera_permute_plan plan = 0;
  WRONG_ON_ONE(make_permute(OR(f64, 99), 2, extents, turned, one, NULL, &plan), "type");
  WRONG_ON_ONE(make_permute(f64, OR(2, 7), extents, turned, one, NULL, &plan), "dims");
  WRONG_ON_ONE(make_permute(f64, 2, OR(extents, NULL), turned, one, NULL, &plan), "extents");
  WRONG_ON_ONE(make_permute(f64, 2, OR(extents, negative), turned, one, NULL, &plan), "extents");
  WRONG_ON_ONE(make_permute(f64, 2, OR(extents, huge), turned, one, NULL, &plan), "extents");
  WRONG_ON_ONE(make_permute(f64, 2, extents, OR(turned, twice), one, NULL, &plan), "axes");
  WRONG_ON_ONE(make_permute(f64, 2, extents, turned, OR(one, many), NULL, &plan), "grid_a");
  WRONG_ON_ONE(make_permute(f64, 2, extents, turned, OR(one, zero), NULL, &plan), "grid_a");
  WRONG_ON_ONE(make_permute(f64, 2, extents, turned, OR(one, NULL), NULL, &plan), "grid_a");
  WRONG_ON_ONE(make_permute(f64, 2, extents, turned, one, OR(NULL, "threads=x"), &plan), "options");
  CHECK(make_permute(f64, 2, extents, turned, one, NULL, &plan) == TESSERA_OK);
  WRONG(tessera_permute_plan_boxes(plan, low, high, low, NULL), "high_b");
  WRONG(tessera_permute_plan_wait(plan), "plan");
  if (ranks == 1) { /* the array is on rank 0 */
    WRONG(tessera_permute_plan_start(plan, NULL, c), "a");
    WRONG(tessera_permute_plan_start(plan, a, a + 19), "b");
  }
  CHECK(tessera_permute_plan_start(plan, a, c) == TESSERA_OK);
  WRONG(tessera_permute_plan_start(plan, a, c), "plan");
  WRONG(tessera_permute_plan_free(&plan), "plan");
  CHECK(tessera_permute_plan_wait(plan) == TESSERA_OK);
  CHECK(tessera_permute_plan_free(&plan) == TESSERA_OK && plan == 0);
  WRONG(tessera_permute_plan_start(0, a, c), "plan");
}

static int make_halo(int type, const int64_t* extents, const int64_t* widths, const int* grid,
                     const char* boundary, int fields, tessera_halo_plan* plan) {
  return tessera_halo_plan_create(context, type, 1, extents, widths, grid, boundary, 0, fields,
                                  NULL, plan);
}

static void test_halo_plans(void) {
  const int64_t extents[1] = {3 * ranks}, none_here[1] = {0}, two[1] = {2}, four[1] = {4};
  const int64_t negative[1] = {-1}, zero[1] = {0};
  const int all[1] = {ranks}, too_many[1] = {ranks + 1};
  int64_t low[1], high[1];
  void* const field[1] = {a + 2};
  void* const missing[1] = {NULL};
  tessera_halo_plan plan = 0;
  WRONG_ON_ONE(make_halo(OR(f64, TESSERA_RECORD(4)), extents, two, all, NULL, 1, &plan), "type");
  WRONG_ON_ONE(make_halo(f64, OR(extents, none_here), two, all, NULL, 1, &plan), "extents");
  WRONG_ON_ONE(make_halo(f64, extents, OR(two, negative), all, NULL, 1, &plan), "widths");
  WRONG_ON_ONE(make_halo(f64, extents, OR(two, NULL), all, NULL, 1, &plan), "widths");
  if (ranks > 1)
    WRONG_ON_ONE(make_halo(f64, extents, OR(two, four), all, NULL, 1, &plan), "widths");
  WRONG_ON_ONE(make_halo(f64, extents, two, OR(all, too_many), NULL, 1, &plan), "grid");
  WRONG_ON_ONE(make_halo(f64, extents, two, all, OR(NULL, "perodic"), 1, &plan), "boundary");
  WRONG_ON_ONE(make_halo(f64, extents, two, all, NULL, OR(1, 0), &plan), "fields");
  CHECK(make_halo(f64, extents, two, all, NULL, 1, &plan) == TESSERA_OK);
  WRONG(tessera_halo_plan_box(plan, NULL, high), "low");
  WRONG(tessera_halo_plan_box(plan, low, NULL), "high");
  WRONG(tessera_halo_plan_wait(plan), "plan");
  WRONG_ON_ONE(tessera_halo_plan_start(plan, OR(field, NULL), NULL), "field");
  WRONG_ON_ONE(tessera_halo_plan_start(plan, OR(field, missing), NULL), "field");
  WRONG_ON_ONE(tessera_halo_plan_start(plan, field, OR(NULL, zero)), "strides");
  CHECK(tessera_halo_plan_start(plan, field, NULL) == TESSERA_OK);
  WRONG(tessera_halo_plan_start(plan, field, NULL), "plan");
  WRONG(tessera_halo_plan_free(&plan), "plan");
  CHECK(tessera_halo_plan_wait(plan) == TESSERA_OK);
  CHECK(tessera_halo_plan_free(&plan) == TESSERA_OK && plan == 0);
}

static void test_keys(void) {
  const int type = f64, up = TESSERA_ASCENDING;
  const void* const columns[1] = {a};
  const void* const missing[1] = {NULL};
  int64_t count = 0;
  WRONG_ON_ONE(tessera_dist_sort(context, OR(f64, TESSERA_C64), up, 8, a, 8, &count, NULL), "type");
  WRONG_ON_ONE(tessera_dist_sort(context, f64, OR(up, 3), 8, a, 8, &count, NULL), "direction");
  WRONG_ON_ONE(tessera_dist_sort(context, f64, up, OR(8, -8), a, 8, &count, NULL), "n");
  WRONG_ON_ONE(tessera_dist_sort(context, f64, up, 8, a, OR(8, 7), &count, NULL), "capacity");
  WRONG_ON_ONE(tessera_dist_sort(context, f64, up, 8, OR(a, NULL), 8, &count, NULL), "keys");
  WRONG_ON_ONE(tessera_dist_sort(context, f64, up, 8, a, 8, OR(&count, NULL), NULL), "sorted");
  if (ranks > 1) /* too little room for the share of the rank */
    WRONG_ON_ONE(tessera_dist_sort(context, f64, up, OR(8, 0), a, OR(8, 1), &count, NULL),
                 "capacity");
  WRONG_ON_ONE(
      tessera_dist_argsort(context, OR(1, 0), &type, &up, 8, columns, 8, order, &count, NULL),
      "columns");
  WRONG_ON_ONE(
      tessera_dist_argsort(context, 1, &type, &up, 8, OR(columns, missing), 8, order, &count, NULL),
      "keys");
  WRONG_ON_ONE(
      tessera_dist_argsort(context, 1, &type, &up, 8, columns, 8, OR(order, NULL), &count, NULL),
      "permutation");
  for (uint64_t i = 0; i < 8; ++i) order[i] = i;
  order[7] = OR(7U, 4711U);
  WRONG_ON_ONE(tessera_dist_permute(context, 8, 8, a, 8, order, b, NULL), "permutation");
  WRONG_ON_ONE(tessera_dist_permute(context, OR(8, 0), 8, a, 8, order, b, NULL), "bytes");
  WRONG_ON_ONE(tessera_dist_permute(context, 8, 8, a, 8, order, OR(b, a), NULL), "to");
}

static void test_sorted(void) {
  const int up = TESSERA_ASCENDING, left = TESSERA_LEFT;
  const double keys[3] = {1, 2, 2}, reversed[3] = {3, 2, 1};
  double out[3];
  int64_t places[3], groups = 0, end = 0;
  const double* const all = ranks > 1 ? OR(keys, reversed) : reversed;
  WRONG(tessera_dist_groups(context, f64, up, 3, all, places, &groups, &end, NULL), "sorted");
  WRONG(tessera_dist_unique(context, f64, up, 3, all, out, NULL, &groups, NULL), "sorted");
  WRONG(tessera_dist_groups(context, f64, TESSERA_DESCENDING, 3, keys, places, &groups, &end, NULL),
        "sorted");
  WRONG_ON_ONE(
      tessera_dist_groups(context, OR(f64, TESSERA_C64), up, 0, NULL, NULL, &groups, &end, NULL),
      "type");
  WRONG_ON_ONE(tessera_dist_groups(context, f64, up, 0, NULL, NULL, OR(&groups, NULL), &end, NULL),
               "groups");
  WRONG_ON_ONE(tessera_dist_groups(context, f64, up, 0, NULL, NULL, &groups, OR(&end, NULL), NULL),
               "end");
  WRONG_ON_ONE(
      tessera_dist_groups(context, f64, up, OR(0, 3), keys, OR(places, NULL), &groups, &end, NULL),
      "begins");
  WRONG_ON_ONE(tessera_dist_unique(context, f64, up, OR(0, 3), keys, OR(out, (void*)keys), NULL,
                                   &groups, NULL),
               "distinct");
  WRONG_ON_ONE(tessera_dist_unique(context, f64, OR(up, 2), 0, NULL, NULL, NULL, &groups, NULL),
               "direction");
  WRONG_ON_ONE(tessera_dist_searchsorted(context, f64, up, OR(left, 2), 0, NULL, 3, keys, places),
               "side");
  WRONG_ON_ONE(tessera_dist_searchsorted(context, f64, up, left, OR(0, -1), NULL, 3, keys, places),
               "n");
  WRONG_ON_ONE(tessera_dist_searchsorted(context, f64, up, left, 0, NULL, OR(3, -3), keys, places),
               "count");
  WRONG_ON_ONE(
      tessera_dist_searchsorted(context, f64, up, left, 0, NULL, 3, OR(keys, NULL), places),
      "values");
  WRONG_ON_ONE(
      tessera_dist_searchsorted(context, f64, up, left, 0, NULL, 3, keys, OR(places, NULL)),
      "positions");
}

static void test_handles(MPI_Comm part) {
  tessera_layout layout = 0, freed = 0;
  tessera_context none_here = 0, gone = 0;
  int64_t box[4] = {0, 8, 0, 8};
  WRONG(tessera_layout_grid(context, 8, 8, ranks, 2, &layout), "grid_rows");
  WRONG(tessera_layout_grid(context, -8, 8, 0, 0, &layout), "rows");
  WRONG_ON_ONE(tessera_layout_box(context, 8, OR(8, -8), box, &layout), "cols");
  box[1] = OR(8, 9);
  WRONG_ON_ONE(tessera_layout_box(context, 8, 8, box, &layout), "box");
  box[1] = 8;
  if (ranks > 1) WRONG(tessera_layout_box(context, 8, 8, box, &layout), "box"); /* they overlap */
  box[1] = 0;
  WRONG(tessera_layout_box(context, 8, 8, box, &layout), "box"); /* they cover nothing */
  WRONG(tessera_layout_box_of(square, ranks, box), "rank");
  CHECK(tessera_layout_grid(context, 8, 8, 0, 0, &layout) == TESSERA_OK);
  freed = layout;
  CHECK(tessera_layout_free(&layout) == TESSERA_OK);
  WRONG(tessera_layout_box_of(freed, 0, box), "layout");
  WRONG(tessera_layout_free(&freed), "layout");
  WRONG(tessera_context_create(MPI_COMM_NULL, &none_here), "comm");
  CHECK(tessera_context_create(part, &gone) == TESSERA_OK);
  none_here = gone;
  CHECK(tessera_context_free(&gone) == TESSERA_OK);
  WRONG(tessera_context_rank(none_here, &rank), "context");
  WRONG(tessera_dist_sort(none_here, f64, 0, 0, a, 0, box, NULL), "context");
}

static void test(MPI_Comm part) {
  CHECK(tessera_context_create(part, &context) == TESSERA_OK);
  CHECK(tessera_context_rank(context, &rank) == TESSERA_OK);
  CHECK(tessera_context_size(context, &ranks) == TESSERA_OK);
  wrong_rank = ranks - 1;
  CHECK(tessera_layout_grid(context, 8, 8, ranks, 1, &square) == TESSERA_OK);
  CHECK(tessera_layout_grid(context, 7, 7, ranks, 1, &other) == TESSERA_OK);
  test_matrices();
  test_plans();
  test_relayout_plans();
  test_permute_plans();
  test_halo_plans();
  test_keys();
  test_sorted();
  test_handles(part);
  CHECK(tessera_layout_free(&square) == TESSERA_OK);
  CHECK(tessera_layout_free(&other) == TESSERA_OK);
  CHECK(tessera_context_free(&context) == TESSERA_OK);
}
