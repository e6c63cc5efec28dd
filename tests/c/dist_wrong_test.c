/* Wrong calls on ranks: one rank passes a wrong argument, and every rank gets the same code, and a
 * text that begins with the argument. No rank hangs. */
#include "ranks.h"

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
  test_keys();
  test_sorted();
  test_handles(part);
  CHECK(tessera_layout_free(&square) == TESSERA_OK);
  CHECK(tessera_layout_free(&other) == TESSERA_OK);
  CHECK(tessera_context_free(&context) == TESSERA_OK);
}
