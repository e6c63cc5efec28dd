/* Block-cyclic layouts, as in ScaLAPACK's descriptors, in products, transposes and copies. */
#include "distributed.h"

static void test_matmul(int type, int by_plan) {
  const int order = below(2) ? TESSERA_ROW_MAJOR : TESSERA_COL_MAJOR;
  const int op_a = TESSERA_NO_TRANS + (int)below(3), op_b = TESSERA_NO_TRANS + (int)below(3);
  const int64_t m = below(30), n = below(30), k = below(30);
  const int a_turns = op_a != TESSERA_NO_TRANS, b_turns = op_b != TESSERA_NO_TRANS;
  distributed a = new_distributed(type, order, a_turns ? k : m, a_turns ? m : k, 1);
  distributed b = new_distributed(type, order, b_turns ? n : k, b_turns ? k : n, 2);
  distributed c = new_distributed(type, order, m, n, 3);
  unsigned char alpha[16], beta[16];
  put_factor(type, alpha, 2);
  put_factor(type, beta, -1);
  if (by_plan) {
    tessera_matmul_plan plan = 0;
    int64_t before = -1, bytes = -2;
    CHECK(tessera_matmul_plan_workspace_bytes(context, order, type, op_a, op_b, a.layout, b.layout,
                                              c.layout, NULL, &before) == TESSERA_OK);
    CHECK(tessera_matmul_plan_create(context, order, type, op_a, op_b, a.layout, b.layout, c.layout,
                                     NULL, &plan) == TESSERA_OK);
    CHECK(tessera_matmul_plan_bytes(plan, &bytes) == TESSERA_OK && bytes == before);
    CHECK(tessera_matmul_plan_execute(plan, alpha, a.local.data, a.local.ld, b.local.data,
                                      b.local.ld, beta, c.local.data, c.local.ld) == TESSERA_OK);
    CHECK(tessera_matmul_plan_free(&plan) == TESSERA_OK);
  } else {
    CHECK(tessera_dist_matmul(context, order, type, op_a, op_b, alpha, a.layout, a.local.data,
                              a.local.ld, b.layout, b.local.data, b.local.ld, beta, c.layout,
                              c.local.data, c.local.ld,
                              below(2) ? NULL : "threads=2") == TESSERA_OK);
  }
  int64_t wrong = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const unsigned char* const got = element(&c, i, j);
      double complex sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += applied(op_a, a_turns ? value_at(type, p, i, 1) : value_at(type, i, p, 1)) *
               applied(op_b, b_turns ? value_at(type, j, p, 2) : value_at(type, p, j, 2));
      }
      wrong +=
          got == NULL || get(type, got) == rounded(type, 2 * sum - value_at(type, i, j, 3)) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  free_distributed(&a), free_distributed(&b), free_distributed(&c);
}

/* b = alpha op(a) + beta b; moves: by tessera_redistribute. */
static void test_transpose(int type, int moves) {
  const int order = below(2) ? TESSERA_ROW_MAJOR : TESSERA_COL_MAJOR;
  const int op = moves ? TESSERA_NO_TRANS : TESSERA_NO_TRANS + (int)below(3);
  const int turns = op != TESSERA_NO_TRANS;
  const int is_number =
      type == TESSERA_F32 || type == TESSERA_F64 || type == TESSERA_C64 || type == TESSERA_C128;
  const int64_t m = below(50), n = below(50);
  const double alpha = moves || !is_number ? 1 : (double)(1 + below(2));
  const double beta = moves || !is_number ? 0 : (double)below(2);
  distributed a = new_distributed(type, order, m, n, 1);
  distributed b = new_distributed(type, order, turns ? n : m, turns ? m : n, 2);
  const int code =
      moves ? tessera_redistribute(context, order, type, a.layout, a.local.data, a.local.ld,
                                   b.layout, b.local.data, b.local.ld)
            : tessera_dist_transpose(context, order, type, op, alpha, a.layout, a.local.data,
                                     a.local.ld, beta, b.layout, b.local.data, b.local.ld, NULL);
  CHECK(code == TESSERA_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < b.rows; ++i) {
    for (int64_t j = 0; j < b.cols; ++j) {
      unsigned char want[64];
      const unsigned char* const got = element(&b, i, j);
      const double complex value =
          applied(op, turns ? value_at(type, j, i, 1) : value_at(type, i, j, 1));
      put(type, want, beta == 0 ? alpha * value : alpha * value + beta * value_at(type, i, j, 2));
      wrong += got == NULL || memcmp(got, want, size_of(type)) == 0 ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  free_distributed(&a), free_distributed(&b);
}

static void test_wrong(void) {
  const int row = TESSERA_ROW_MAJOR;
  double a[192] = {0}, b[192];
  tessera_layout cyclic = 0, boxes = 0, none = 0;
  int64_t rows = 0, box[4];
  WRONG(tessera_layout_cyclic(context, -8, 8, 2, 2, 1, 1, 0, 0, &none), "rows");
  WRONG(tessera_layout_cyclic(context, 8, 8, 0, 2, 1, 1, 0, 0, &none), "row_block");
  WRONG(tessera_layout_cyclic(context, 8, 8, 2, -2, 1, 1, 0, 0, &none), "col_block");
  WRONG(tessera_layout_cyclic(context, 8, 8, 2, 2, ranks + 1, 1, 0, 0, &none), "grid_rows");
  WRONG(tessera_layout_cyclic(context, 8, 8, 2, 2, 1, 0, 0, 0, &none), "grid_rows");
  WRONG(tessera_layout_cyclic(context, 8, 8, 2, 2, 1, 1, 1, 0, &none), "row_source");
  WRONG(tessera_layout_cyclic(context, 8, 8, 2, 2, 1, 1, 0, -1, &none), "col_source");
  WRONG(tessera_layout_cyclic(context, 8, 8, 2, 2, 1, 1, 0, 0, NULL), "layout");
  WRONG(tessera_layout_cyclic(0, 8, 8, 2, 2, 1, 1, 0, 0, &none), "context");
  CHECK(tessera_layout_cyclic(context, 8, 8, 2, 2, 1, 1, 0, 0, &cyclic) == TESSERA_OK);
  CHECK(tessera_layout_grid(context, 8, 8, ranks, 1, &boxes) == TESSERA_OK);
  WRONG(tessera_layout_box_of(cyclic, 0, box), "layout");
  WRONG(tessera_layout_local(cyclic, ranks, &rows, &rows), "rank");
  WRONG(tessera_layout_local(cyclic, 0, NULL, &rows), "rows");
  WRONG(tessera_redistribute(context, row, TESSERA_RECORD(24), cyclic, a, 8, boxes, b, 8), "type");
  WRONG(tessera_dist_matmul(context, row, TESSERA_F64, TESSERA_NO_TRANS, TESSERA_NO_TRANS, NULL,
                            cyclic, a, 8, cyclic, a, 8, NULL, boxes, b, 8, "slices=2"),
        "options");
  WRONG(tessera_redistribute(context, row, TESSERA_F64, cyclic, a, rank == 0 ? 7 : 8, boxes, b, 8),
        "lda");
  CHECK(tessera_layout_free(&cyclic) == TESSERA_OK && tessera_layout_free(&boxes) == TESSERA_OK);
}

static void test(MPI_Comm part) {
  static const int types[] = {TESSERA_F32,       TESSERA_F64, TESSERA_C64,
                              TESSERA_C128,      TESSERA_I32, TESSERA_U64,
                              TESSERA_RECORD(1), TESSERA_F16, TESSERA_RECORD(16)};
  static const int numbers[] = {TESSERA_F32,  TESSERA_F64, TESSERA_C64,
                                TESSERA_C128, TESSERA_F16, TESSERA_BF16};
  CHECK(tessera_context_create(part, &context) == TESSERA_OK);
  CHECK(tessera_context_rank(context, &rank) == TESSERA_OK);
  CHECK(tessera_context_size(context, &ranks) == TESSERA_OK);
  for (int i = 0; i < 36; ++i) test_matmul(numbers[i % 6], i % 4 < 2);
  for (int i = 0; i < 18; ++i) {
    test_transpose(types[i % 9], 0);
    test_transpose(types[i % 9], 1);
  }
  test_wrong();
  CHECK(tessera_context_free(&context) == TESSERA_OK);
}
