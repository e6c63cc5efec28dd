/* Wrong calls of functions of one process: a code, and a text that begins with the argument. */
#include <pthread.h>

#include "check.h"

enum { row = TESSERA_ROW_MAJOR, col = TESSERA_COL_MAJOR, none = TESSERA_NO_TRANS };

static double a[64], b[64], c[64];
static uint64_t places[64];

/* Arguments of a product of 4 x 6 and 6 x 5 that is right as it is. */
typedef struct {
  int order, type, op_a, op_b;
  int64_t m, n, k, lda, ldb, ldc;
  const void *a, *b;
  void* c;
  const char* options;
} product;
static const product right = {row, TESSERA_F64, none, none, 4, 5, 6, 6, 5, 5, a, b, c, NULL};

static int multiply(product p) {
  return tessera_matmul(p.order, p.type, p.op_a, p.op_b, p.m, p.n, p.k, NULL, p.a, p.lda, p.b,
                        p.ldb, NULL, p.c, p.ldc, p.options);
}

/* Checks that the product is refused if `field` has that value. */
#define WRONG_PRODUCT(field, value, argument) \
  do {                                        \
    product p = right;                        \
    p.field = value;                          \
    WRONG(multiply(p), argument);             \
  } while (0)

static void test_products(void) {
  CHECK(multiply(right) == TESSERA_OK);
  WRONG_PRODUCT(order, 0, "order");
  WRONG_PRODUCT(type, 0, "type");
  WRONG_PRODUCT(type, TESSERA_I32, "type");
  WRONG_PRODUCT(type, TESSERA_RECORD(8), "type");
  WRONG_PRODUCT(op_a, 'T', "op_a");
  WRONG_PRODUCT(op_b, -1, "op_b");
  WRONG_PRODUCT(m, -1, "m");
  WRONG_PRODUCT(n, INT64_MIN, "n");
  WRONG_PRODUCT(k, -6, "k");
  WRONG_PRODUCT(a, NULL, "a");
  WRONG_PRODUCT(b, NULL, "b");
  WRONG_PRODUCT(c, NULL, "c");
  WRONG_PRODUCT(lda, 5, "lda");
  WRONG_PRODUCT(ldb, 4, "ldb");
  WRONG_PRODUCT(ldc, 0, "ldc");
  WRONG_PRODUCT(lda, INT64_MAX, "a");
  WRONG_PRODUCT(c, a + 23, "c");
  WRONG_PRODUCT(c, b, "c");
  WRONG_PRODUCT(options, "threads", "options");
  WRONG_PRODUCT(options, "threads=-1", "options");
  WRONG_PRODUCT(options, "threads=2 threads=2", "options");
  WRONG_PRODUCT(options, "thread=2", "options");
  WRONG_PRODUCT(options, "kernel=faster", "options");
  WRONG_PRODUCT(options, "kernel=cuda_naive", "options");
  product by_columns = right;
  by_columns.order = col; /* 4 x 6 by columns: lda 4 suffices, ldc 3 does not */
  by_columns.lda = 4, by_columns.ldb = 6, by_columns.ldc = 3;
  WRONG(multiply(by_columns), "ldc");
  product empty = right;
  empty.m = 0, empty.a = empty.c = NULL;
  CHECK(multiply(empty) == TESSERA_OK);
}

static void test_rearrangements(void) {
  const int64_t n[2] = {3, 4}, negative[2] = {3, -4}, rows[2] = {4, 1}, none_of[2] = {0, 1},
                twice[2] = {2, 1}, huge[2] = {INT64_MAX / 16, 1};
  const int type = TESSERA_F64;
  CHECK(tessera_rearrange(type, 2, n, a, rows, b, NULL, NULL) == TESSERA_OK);
  WRONG(tessera_rearrange(0, 2, n, a, rows, b, NULL, NULL), "type");
  WRONG(tessera_rearrange(type, 0, n, a, rows, b, NULL, NULL), "dims");
  WRONG(tessera_rearrange(type, 7, n, a, rows, b, NULL, NULL), "dims");
  WRONG(tessera_rearrange(type, 2, NULL, a, rows, b, NULL, NULL), "extents");
  WRONG(tessera_rearrange(type, 2, negative, a, rows, b, NULL, NULL), "extents");
  WRONG(tessera_rearrange(type, 2, n, NULL, rows, b, NULL, NULL), "a");
  WRONG(tessera_rearrange(type, 2, n, a, none_of, b, NULL, NULL), "a_strides");
  WRONG(tessera_rearrange(type, 2, n, a, huge, b, NULL, NULL), "a_strides");
  WRONG(tessera_rearrange(type, 2, n, a, rows, NULL, NULL, NULL), "b");
  WRONG(tessera_rearrange(type, 2, n, a, rows, a + 11, NULL, NULL), "b");
  WRONG(tessera_rearrange(type, 2, n, a, rows, b, twice, NULL), "b_strides");
  WRONG(tessera_rearrange(type, 2, n, a, rows, b, NULL, "kernel=naive"), "options");
}

static void test_transposes(void) {
  WRONG(tessera_transpose(row, TESSERA_F64, none, 2, 3, 1, a, 3, 0, b, 2, NULL), "op");
  WRONG(tessera_transpose(row, TESSERA_F64, TESSERA_TRANS, 2, 3, 1, a, 2, 0, b, 2, NULL), "lda");
  WRONG(tessera_transpose(row, TESSERA_F64, TESSERA_TRANS, 2, 3, 1, a, 3, 0, b, 1, NULL), "ldb");
  WRONG(tessera_transpose(row, TESSERA_F64, TESSERA_TRANS, 3, 3, 1, a, 3, 0, a, 3, NULL), "b");
  WRONG(tessera_transpose(row, TESSERA_RECORD(65), TESSERA_TRANS, 2, 3, 1, a, 3, 0, b, 2, NULL),
        "type");
  WRONG(tessera_transpose(row, TESSERA_I64, TESSERA_TRANS, 2, 3, 2, a, 3, 0, b, 2, NULL), "type");
  WRONG(
      tessera_transpose(row, TESSERA_F64, TESSERA_TRANS, 2, 3, 1, a, 3, 0, b, 2, "kernel=in_place"),
      "options");
}

static void test_sorts(void) {
  WRONG(tessera_sort(TESSERA_C64, TESSERA_ASCENDING, 3, a, NULL), "type");
  WRONG(tessera_sort(TESSERA_F16 + 1, TESSERA_ASCENDING, 3, a, NULL), "type");
  WRONG(tessera_sort(TESSERA_F64, 2, 3, a, NULL), "direction");
  WRONG(tessera_sort(TESSERA_F64, TESSERA_ASCENDING, -3, a, NULL), "n");
  WRONG(tessera_sort(TESSERA_F64, TESSERA_ASCENDING, 3, NULL, NULL), "keys");
  WRONG(tessera_sort(TESSERA_F64, TESSERA_ASCENDING, 3, a, "kernel=quick"), "options");
  WRONG(tessera_argsort(TESSERA_F64, TESSERA_ASCENDING, 3, a, NULL, NULL), "permutation");
  WRONG(tessera_argsort(TESSERA_F64, TESSERA_ASCENDING, 3, places, places + 2, NULL),
        "permutation");
}

static void test_stencils(void) {
  const int64_t extents[2] = {4, 5}, negative[2] = {4, -5}, shape[2] = {3, 3}, overlap[2] = {1, 1};
  const int64_t huge[2] = {INT64_MAX / 2, 8};
  const double not_finite[9] = {[4] = NAN};
  tessera_stencil heat = {2, "heat", NULL, NULL, NULL, 0};
  CHECK(tessera_advance(&heat, TESSERA_F64, extents, a, NULL, 1, NULL) == TESSERA_OK);
  WRONG(tessera_advance(NULL, TESSERA_F64, extents, a, NULL, 1, NULL), "stencil");
  WRONG(tessera_advance(&heat, TESSERA_I64, extents, a, NULL, 1, NULL), "type");
  WRONG(tessera_advance(&heat, TESSERA_F64, NULL, a, NULL, 1, NULL), "extents");
  WRONG(tessera_advance(&heat, TESSERA_F64, negative, a, NULL, 1, NULL), "extents");
  WRONG(tessera_advance(&heat, TESSERA_F64, extents, NULL, NULL, 1, NULL), "u");
  WRONG(tessera_advance(&heat, TESSERA_F64, extents, a, overlap, 1, NULL), "strides");
  WRONG(tessera_advance(&heat, TESSERA_F64, extents, a, NULL, -1, NULL), "steps");
  heat.dims = 4;
  WRONG(tessera_advance(&heat, TESSERA_F64, extents, a, NULL, 1, NULL), "stencil");
  heat.dims = 2, heat.name = NULL;
  WRONG(tessera_advance(&heat, TESSERA_F64, extents, a, NULL, 1, NULL), "stencil");
  heat.shape = shape, heat.weights = b;
  heat.boundary = "given";
  WRONG(tessera_advance(&heat, TESSERA_F64, extents, a, NULL, 1, NULL), "stencil");
  heat.name = "wave";
  WRONG(tessera_advance(&heat, TESSERA_F64, extents, a, NULL, 1, NULL), "stencil");
  heat.name = "heta", heat.boundary = NULL;
  WRONG(tessera_advance(&heat, TESSERA_F64, extents, a, NULL, 1, NULL), "stencil");
  CHECK(strstr(tessera_error_text(), "heat") != NULL);
  heat.name = "heat", heat.boundary = "perodic";
  WRONG(tessera_advance(&heat, TESSERA_F64, extents, a, NULL, 1, NULL), "stencil");
  CHECK(strstr(tessera_error_text(), "periodic") != NULL);
  heat.name = NULL, heat.boundary = NULL, heat.weights = not_finite;
  WRONG(tessera_advance(&heat, TESSERA_F64, extents, a, NULL, 1, NULL), "stencil");
  CHECK(strstr(tessera_error_text(), "weight 4 is not finite") != NULL);
  heat.name = "heat";
  WRONG(tessera_advance(&heat, TESSERA_F64, huge, a, NULL, 1, NULL), "extents");
}

static void test_workspaces(void) {
  const int64_t extents[2] = {4, 5}, negative[2] = {4, -5};
  const tessera_stencil heat = {2, "heat", NULL, NULL, NULL, 0};
  int64_t bytes = 0;
  WRONG(tessera_sort_workspace_bytes(TESSERA_C64, 3, NULL, &bytes), "type");
  WRONG(tessera_sort_workspace_bytes(TESSERA_F64, -3, NULL, &bytes), "n");
  WRONG(tessera_sort_workspace_bytes(TESSERA_F64, 3, "kernel", &bytes), "options");
  WRONG(tessera_sort_workspace_bytes(TESSERA_F64, 3, NULL, NULL), "bytes");
  WRONG(tessera_argsort_workspace_bytes(TESSERA_F64, -3, NULL, &bytes), "n");
  WRONG(tessera_argsort_workspace_bytes(TESSERA_F64, 3, "kernel=radix", &bytes), "options");
  WRONG(tessera_advance_workspace_bytes(NULL, TESSERA_F64, extents, NULL, &bytes), "stencil");
  WRONG(tessera_advance_workspace_bytes(&heat, TESSERA_F64, negative, NULL, &bytes), "extents");
  WRONG(tessera_advance_workspace_bytes(&heat, TESSERA_F64, extents, NULL, NULL), "bytes");
  WRONG(tessera_use_workspace(a, -1), "bytes");
  WRONG(tessera_use_workspace(NULL, 8), "memory");
  CHECK(tessera_use_workspace(NULL, 0) == TESSERA_OK);
}

/* Handles and communicators before MPI is initialised. */
static void test_handles(void) {
  tessera_context context = 0;
  tessera_layout layout = 0;
  int rank = 0;
  int64_t begin = 0, end = 0;
  CHECK(tessera_context_free(&context) == TESSERA_OK);
  CHECK(tessera_layout_free(&layout) == TESSERA_OK);
  WRONG(tessera_context_free(NULL), "context");
  WRONG(tessera_context_rank(context, &rank), "context");
  WRONG(tessera_layout_grid(context, 1, 1, 0, 0, &layout), "context");
  WRONG(tessera_layout_grid(context, 1, 1, 0, 0, NULL), "layout");
  WRONG(tessera_context_create(MPI_COMM_WORLD, &context), "comm");
  CHECK(context == 0);
  WRONG(tessera_share(-1, 2, 0, &begin, &end), "total");
  WRONG(tessera_share(10, 2, 2, &begin, &end), "part");
  WRONG(tessera_share(10, 0, 0, &begin, &end), "parts");
  WRONG(tessera_share(10, 2, 0, NULL, &end), "begin");
  CHECK(tessera_share(10, 3, 1, &begin, &end) == TESSERA_OK && begin == 4 && end == 7);
}

static void test_codes(void) {
  CHECK(strcmp(tessera_code_name(TESSERA_OK), "TESSERA_OK") == 0);
  CHECK(strcmp(tessera_code_name(85), "TESSERA_STOPPED_EARLY") == 0);
  CHECK(strcmp(tessera_code_name(1), "") == 0);
  CHECK(strchr(tessera_version(), '.') != NULL);
  CHECK(tessera_error_rank() == -1);
  CHECK(tessera_set_log(NULL, NULL) == TESSERA_OK);
}

/* Returns data if the last error of the thread stays its own while another thread makes others. */
static void* fail_in_turn(void* data) {
  const char* const name = data;
  for (int i = 0; i < 2000; ++i) {
    product p = right;
    if (strcmp(name, "lda") == 0) p.lda = 1;
    if (strcmp(name, "k") == 0) p.k = -i - 1;
    if (multiply(p) != TESSERA_USAGE || strcmp(tessera_error_argument(), name) != 0) return NULL;
  }
  return data;
}

static void test_threads(void) {
  static char names[2][4] = {"lda", "k"};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, fail_in_turn, names[i]) == 0);
  for (int i = 0; i < 2; ++i) {
    void* kept = NULL;
    CHECK(pthread_join(threads[i], &kept) == 0 && kept == names[i]);
  }
}

int main(void) {
  test_threads();
  test_products();
  test_rearrangements();
  test_transposes();
  test_sorts();
  test_stencils();
  test_workspaces();
  test_handles();
  test_codes();
  return failures == 0 ? 0 : 1;
}
