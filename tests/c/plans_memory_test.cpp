// What executions of plans allocate: nothing after the first ones.

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <functional>
#include <vector>

#include "allocations.hpp"
#include "tessera_plans.h"

namespace {

constexpr std::int64_t n = 64;

class PlansMemory : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(tessera_context_create(MPI_COMM_WORLD, &context_), TESSERA_OK);
    ASSERT_EQ(tessera_context_size(context_, &ranks_), TESSERA_OK);
  }
  void TearDown() override { EXPECT_EQ(tessera_context_free(&context_), TESSERA_OK); }

  /// Expects that executions allocate nothing from the third one on.
  static void expect_none(const std::function<int()>& start, const std::function<int()>& wait) {
    std::size_t before = 0;
    for (int k = 0; k < 6; ++k) {
      if (k == 2) before = tessera::allocated_bytes();
      ASSERT_EQ(start(), TESSERA_OK) << tessera_error_text();
      ASSERT_EQ(wait(), TESSERA_OK) << tessera_error_text();
    }
    EXPECT_EQ(tessera::allocated_bytes() - before, 0U);
  }

  /// Those of an emulated GPU, if the environment has one.
  const char* const options_ = std::getenv("TESSERA_EMULATED_GPU") != nullptr ? "gpu=0" : nullptr;
  tessera_context context_ = nullptr;
  int ranks_ = 0;
  std::vector<double> a_ = std::vector<double>(2 * n * n * n, 1), b_ = a_;
};

TEST_F(PlansMemory, RelayoutsAllocateNothing) {
  tessera_layout rows[2] = {}, cyclic[2] = {};
  for (int k = 0; k < 2; ++k) {
    ASSERT_EQ(tessera_layout_grid(context_, n, n, ranks_, 1, &rows[k]), TESSERA_OK);
    ASSERT_EQ(tessera_layout_cyclic(context_, n, n, 8, 4, 1, ranks_, 0, 0, &cyclic[k]), TESSERA_OK);
  }
  tessera_relayout_plan plan = nullptr;
  const int ops[2] = {TESSERA_NO_TRANS, TESSERA_TRANS};
  ASSERT_EQ(tessera_relayout_plan_create(context_, TESSERA_ROW_MAJOR, TESSERA_COL_MAJOR,
                                         TESSERA_F64, 2, ops, rows, cyclic, options_, &plan),
            TESSERA_OK);
  const void* const from[2] = {a_.data(), a_.data() + n * n};
  void* const to[2] = {b_.data(), b_.data() + n * n};
  const std::int64_t lda[2] = {n, n}, ldb[2] = {n, n};
  const double alpha[2] = {2, 1}, beta[2] = {-1, 0};
  expect_none([&] { return tessera_relayout_plan_start(plan, alpha, from, lda, beta, to, ldb); },
              [&] { return tessera_relayout_plan_wait(plan); });
  EXPECT_EQ(tessera_relayout_plan_free(&plan), TESSERA_OK);
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(tessera_layout_free(&rows[k]), TESSERA_OK);
    EXPECT_EQ(tessera_layout_free(&cyclic[k]), TESSERA_OK);
  }
}

TEST_F(PlansMemory, PermutationsAllocateNothing) {
  const std::int64_t extents[3] = {n, n, n};
  const int axes[3] = {1, 0, 2}, slabs[3] = {ranks_, 1, 1};
  tessera_permute_plan plan = nullptr;
  ASSERT_EQ(tessera_permute_plan_create(context_, TESSERA_F64, 3, extents, axes, slabs, slabs,
                                        options_, &plan),
            TESSERA_OK);
  expect_none([&] { return tessera_permute_plan_start(plan, a_.data(), b_.data()); },
              [&] { return tessera_permute_plan_wait(plan); });
  EXPECT_EQ(tessera_permute_plan_free(&plan), TESSERA_OK);
}

TEST_F(PlansMemory, HalosAllocateNothing) {
  const std::int64_t extents[2] = {n * ranks_, n}, widths[2] = {2, 1};
  for (const char* boundary : {"clamp", "periodic", "constant", "given"}) {
    tessera_halo_plan plan = nullptr;
    ASSERT_EQ(tessera_halo_plan_create(context_, TESSERA_F64, 2, extents, widths, nullptr, boundary,
                                       1, 1, options_, &plan),
              TESSERA_OK);
    void* const field = a_.data() + n * n;
    expect_none([&] { return tessera_halo_plan_start(plan, &field, nullptr); },
                [&] { return tessera_halo_plan_wait(plan); });
    EXPECT_EQ(tessera_halo_plan_free(&plan), TESSERA_OK);
  }
}

}  // namespace
