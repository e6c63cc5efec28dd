// Plans of relayouts: what they allocate and send, threads, and overlap with work of the caller.

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "allocations.hpp"
#include "dist/relayout/cyclic.hpp"
#include "dist/relayout/relayout.hpp"

namespace tessera::dist::relayout {
namespace {

using mpi::Communicator;

double element(index_t i, index_t j) { return static_cast<double>((i * 10007 + j) % 8191); }

TEST(RelayoutPlan, AllocatesNothingAfterTheFirstExecution) {
  const Communicator comm = Communicator::world();
  const index_t m = 500, n = 700;
  for (const Op op : {Op::none, Op::transpose}) {
    const Relayout matrix{turns(op) ? cyclic(n, m, 32, comm.size()) : cyclic(m, n, 32, comm.size()),
                          op, layout::Distribution(layout::row_blocks(m, n, comm.size())),
                          StorageOrder::column_major, StorageOrder::row_major};
    index_t a_ld = 0, b_ld = 0;
    std::vector<double> a = memory_of(matrix.a, comm.rank(), matrix.a_order, a_ld),
                        b = memory_of(matrix.b, comm.rank(), matrix.b_order, b_ld);
    const LocalArray<const double> from{a.data(), a_ld};
    const LocalArray<double> to{b.data(), b_ld};
    const Memory<double> memory{std::span(&from, 1), std::span(&to, 1), 2, 3};
    Plan plan(comm, std::span(&matrix, 1), sizeof(double), 2);
    plan.execute<double>(std::span(&memory, 1));
    const std::size_t before = allocated_bytes();
    for (int k = 0; k < 3; ++k) plan.execute<double>(std::span(&memory, 1));
    EXPECT_EQ(allocated_bytes() - before, 0U);
    EXPECT_EQ(b.empty() ? -161 : b.front(), -161);  // -1, then 4 times 3 b - 2
    EXPECT_EQ(plan.buffer_bytes(), plan.sent_bytes() + plan.received_bytes());
    EXPECT_EQ(comm.sum(plan.sent_bytes()), comm.sum(plan.received_bytes()));
  }
}

/// Two plans in flight, a that changes after start, and collectives of the caller before wait.
TEST(RelayoutPlan, LetsTheCallerWorkBetweenStartAndWait) {
  const Communicator comm = Communicator::world();
  const index_t m = 131, n = 90;
  const Relayout there{layout::Distribution(layout::row_blocks(m, n, comm.size())), Op::none,
                       cyclic(m, n, 7, comm.size())};
  const Relayout back{there.b, Op::none, there.a};
  index_t a_ld = 0, b_ld = 0, c_ld = 0;
  std::vector<double> a = memory_of(there.a, comm.rank(), there.a_order, a_ld), c = a,
                      b = memory_of(there.b, comm.rank(), there.b_order, b_ld);
  c_ld = a_ld;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i) + 1e6 * comm.rank();
  const std::vector<double> kept = a;
  const LocalArray<const double> from{a.data(), a_ld}, passed{b.data(), b_ld};
  const LocalArray<double> to{b.data(), b_ld}, last{c.data(), c_ld};
  const Memory<double> going{std::span(&from, 1), std::span(&to, 1)};
  const Memory<double> coming{std::span(&passed, 1), std::span(&last, 1)};
  Plan plan(comm, std::span(&there, 1), sizeof(double), 2);
  Plan second(comm, std::span(&back, 1), sizeof(double));
  EXPECT_THROW(plan.wait(), Error);
  for (int k = 0; k < 3; ++k) {
    a = kept;
    plan.start<double>(std::span(&going, 1));
    EXPECT_THROW(plan.start<double>(std::span(&going, 1)), Error);
    std::fill(a.begin(), a.end(), -7);
    EXPECT_EQ(comm.sum(1), comm.size());
    plan.wait();
    std::fill(c.begin(), c.end(), -1);
    second.start<double>(std::span(&coming, 1));
    plan.start<double>(std::span(&going, 1));  // of -7, into b, which is packed
    second.wait();
    plan.wait();
    EXPECT_EQ(c, kept);
    EXPECT_EQ(b.empty() ? -7 : b.front(), -7);
  }
}

TEST(RelayoutPlan, SendsNothingThatStays) {
  const Communicator comm = Communicator::world();
  const layout::Distribution x = cyclic(97, 83, 8, comm.size());
  const Relayout matrix{x, Op::none, x};
  const Plan plan(comm, std::span(&matrix, 1), sizeof(float));
  EXPECT_EQ(plan.sent_bytes(), 0);
  EXPECT_EQ(plan.messages(), 0);
}

/// Larger blocks than a thread's share, by several threads.
TEST(RelayoutPlan, DividesLargeBlocksAmongThreads) {
  const Communicator comm = Communicator::world();
  const index_t m = 1031, n = 907;
  for (const Op op : {Op::none, Op::transpose}) {
    const auto rows = layout::row_blocks(turns(op) ? n : m, turns(op) ? m : n, comm.size());
    const Relayout matrix{layout::Distribution(rows), op, cyclic(m, n, 300, comm.size()),
                          StorageOrder::row_major, StorageOrder::column_major};
    index_t a_ld = 0, b_ld = 0;
    std::vector<double> a = memory_of(matrix.a, comm.rank(), matrix.a_order, a_ld),
                        b = memory_of(matrix.b, comm.rank(), matrix.b_order, b_ld);
    const layout::Box& box = rows.of(comm.rank());
    for (index_t i = 0; i < box.rows.size(); ++i)
      for (index_t j = 0; j < box.cols.size(); ++j)
        a[static_cast<std::size_t>(i * a_ld + j)] = element(box.rows.begin + i, j);
    const LocalArray<const double> from{a.data(), a_ld};
    const LocalArray<double> to{b.data(), b_ld};
    Plan plan(comm, std::span(&matrix, 1), sizeof(double), 3);
    const Memory<double> memory{std::span(&from, 1), std::span(&to, 1)};
    plan.execute<double>(std::span(&memory, 1));
    index_t wrong = 0;
    for (const auto& part : matrix.b.parts()) {
      if (part.rank != comm.rank()) continue;
      for (const auto& [rows_here, local_row] : matrix.b.row_segments(part))
        for (const auto& [cols_here, local_col] : matrix.b.col_segments(part))
          for (index_t i = 0; i < rows_here.size(); ++i)
            for (index_t j = 0; j < cols_here.size(); ++j) {
              const index_t row = rows_here.begin + i, col = cols_here.begin + j;
              const double want = turns(op) ? element(col, row) : element(row, col);
              wrong += b[static_cast<std::size_t>((local_col + j) * b_ld + local_row + i)] != want;
            }
    }
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace tessera::dist::relayout
