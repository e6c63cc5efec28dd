/* Plans that get arrays of the host for those of a GPU, and the reverse: the driver that the
 * process has loaded, argument 2, knows whose memory it is. */
#include <dlfcn.h>

#include "ranks.h"
#include "tessera_plans.h"

enum { row = TESSERA_ROW_MAJOR, f64 = TESSERA_F64, n = 4 };

static tessera_context context;
static int rank, ranks;
/* Memory of the host, of the GPU, and managed memory. */
static double here[128];
static double *there, *both;

static int start_halo(tessera_halo_plan plan, double* u) {
  void* const field = u + 8;
  return tessera_halo_plan_start(plan, &field, NULL);
}
static int start_relayout(tessera_relayout_plan plan, const double* a, double* b) {
  const void* const from = a;
  void* const to = b;
  const int64_t ld = n;
  return tessera_relayout_plan_start(plan, NULL, &from, &ld, NULL, &to, &ld);
}

/* good: memory that suits a plan of the options; bad: that which does not. */
static void test_plans(const char* options, double* good, double* bad) {
  const int64_t extents[2] = {n * ranks, n}, widths[2] = {1, 0};
  const int axes[2] = {1, 0}, rows[2] = {ranks, 1}, cols[2] = {1, ranks}, op = TESSERA_NO_TRANS;
  double* const wrong = rank == ranks - 1 ? bad : good; /* on one rank */
  tessera_layout layout = 0;
  tessera_relayout_plan plan = 0;
  tessera_permute_plan turn = 0;
  tessera_halo_plan halo = 0;
  CHECK(tessera_layout_grid(context, n * ranks, n, ranks, 1, &layout) == TESSERA_OK);
  CHECK(tessera_relayout_plan_create(context, row, row, f64, 1, &op, &layout, &layout, options,
                                     &plan) == TESSERA_OK);
  CHECK(tessera_permute_plan_create(context, f64, 2, extents, axes, rows, cols, options, &turn) ==
        TESSERA_OK);
  CHECK(tessera_halo_plan_create(context, f64, 2, extents, widths, rows, "periodic", 0, 1, options,
                                 &halo) == TESSERA_OK);
  WRONG(start_relayout(plan, wrong, good + 64), "a[0]");
  WRONG(start_relayout(plan, good, wrong + 64), "b[0]");
  WRONG(tessera_permute_plan_start(turn, wrong, good + 64), "a");
  WRONG(tessera_permute_plan_start(turn, good, wrong + 64), "b");
  WRONG(start_halo(halo, wrong), "field");
  double* const suitable[] = {good, both};
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < n * n; ++i) suitable[k][i] = i;
    CHECK(start_relayout(plan, suitable[k], suitable[k] + 64) == TESSERA_OK);
    CHECK(tessera_relayout_plan_wait(plan) == TESSERA_OK);
    CHECK(suitable[k][64 + n * n - 1] == n * n - 1);
    CHECK(tessera_permute_plan_start(turn, suitable[k], suitable[k] + 64) == TESSERA_OK);
    CHECK(tessera_permute_plan_wait(turn) == TESSERA_OK);
    CHECK(start_halo(halo, suitable[k]) == TESSERA_OK);
    CHECK(tessera_halo_plan_wait(halo) == TESSERA_OK);
  }
  CHECK(tessera_relayout_plan_free(&plan) == TESSERA_OK);
  CHECK(tessera_permute_plan_free(&turn) == TESSERA_OK);
  CHECK(tessera_halo_plan_free(&halo) == TESSERA_OK);
  CHECK(tessera_layout_free(&layout) == TESSERA_OK);
}

static void test(MPI_Comm part) {
  void* const driver = dlopen(argument[2], RTLD_NOW);
  CHECK(driver != NULL);
  there = dlsym(driver, "gpu_memory");
  both = dlsym(driver, "managed_memory");
  CHECK(there != NULL && both != NULL);
  CHECK(tessera_context_create(part, &context) == TESSERA_OK);
  CHECK(tessera_context_rank(context, &rank) == TESSERA_OK);
  CHECK(tessera_context_size(context, &ranks) == TESSERA_OK);
  test_plans(NULL, here, there);
  test_plans("gpu=0", there, here);
  CHECK(tessera_context_free(&context) == TESSERA_OK);
}
