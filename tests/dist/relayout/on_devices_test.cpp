// Plans of relayouts in device memory, by every transport, against the formula on the host.

#include <gtest/gtest.h>

#include <complex>
#include <optional>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "dist/relayout/cases.hpp"
#include "dist/relayout/cyclic.hpp"
#include "machine/gpu.hpp"
#include "mpi/device_transports.hpp"

namespace tessera::dist::relayout {
namespace {

template <class T>
class DeviceRelayouts : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>, std::int64_t,
                             std::uint16_t, unsigned char, Three>;
TYPED_TEST_SUITE(DeviceRelayouts, Types);

/// Several matrices in a plan, which is executed twice; a changes after start.
TYPED_TEST(DeviceRelayouts, AreThoseOfTheFormulaBetweenAnyDistributions) {
  using T = TypeParam;
  const std::array ops{Op::none, Op::transpose, Op::hermitian};
  for (const mpi::DeviceExchange& exchange : mpi::transports_here()) {
    const Communicator& comm = exchange.comm();
    Random random(2030);
    for (int round = 0; round < 12; ++round) {
      std::vector<Case<T>> cases;
      cases.reserve(2);
      for (int m = 0; m < 1 + round % 2; ++m)
        cases.emplace_back(random, comm, pick(random, 0, 70), pick(random, 1, 150),
                           ops[static_cast<std::size_t>(pick(random, 0, 2))]);
      std::vector<Relayout> relayouts;
      for (const Case<T>& x : cases) relayouts.push_back(x.relayout);
      Plan plan(exchange, relayouts, sizeof(T));
      for (int execution = 0; execution < 2; ++execution) {
        std::vector<OnDevice<T>> a, b;
        std::vector<Memory<T>> memory;
        for (Case<T>& x : cases) {
          a.emplace_back(x.from);
          b.emplace_back(x.to);
          x.a_views = a.back().template views<const T>(x.from);
          x.b_views = b.back().template views<T>(x.to);
          memory.push_back(x.memory());
        }
        plan.start<T>(memory);
        for (std::size_t m = 0; m < cases.size(); ++m) {
          Local<T> other = cases[m].from;
          for (auto& array : other.arrays) std::fill(array.begin(), array.end(), T{});
          a[m].upload(other);
        }
        plan.wait();
        for (std::size_t m = 0; m < cases.size(); ++m) {
          Local<T> kept = cases[m].to;
          b[m].download(cases[m].to);
          ASSERT_EQ(comm.sum(cases[m].right() ? 0 : 1), 0)
              << exchange.text() << ", round " << round << ", matrix " << m;
          cases[m].to = kept;
        }
      }
    }
  }
}

TEST(DeviceRelayoutPlans, AllocateNothingAfterTheFirstExecution) {
  for (const mpi::DeviceExchange& exchange : mpi::transports_here()) {
    if (exchange.transport() == mpi::DeviceTransport::nccl) continue;  // the library's own
    const Communicator& comm = exchange.comm();
    const index_t m = 500, n = 700;
    const Relayout matrix{cyclic(m, n, 32, comm.size()), Op::none,
                          layout::Distribution(layout::row_blocks(m, n, comm.size())),
                          StorageOrder::column_major, StorageOrder::row_major};
    index_t a_ld = 0, b_ld = 0;
    std::vector<double> a_here = memory_of(matrix.a, comm.rank(), matrix.a_order, a_ld),
                        b_here = memory_of(matrix.b, comm.rank(), matrix.b_order, b_ld);
    const Local<double> a(std::move(a_here), a_ld);
    Local<double> b(std::move(b_here), b_ld);
    const OnDevice<double> a_there(a), b_there(b);
    const auto from = a_there.views<const double>(a);
    const auto to = b_there.views<double>(b);
    const Memory<double> memory{from, to, 2, 3};
    Plan plan(exchange, std::span(&matrix, 1), sizeof(double));
    plan.execute<double>(std::span(&memory, 1));
    const std::size_t before = allocated_bytes();
    for (int k = 0; k < 3; ++k) plan.execute<double>(std::span(&memory, 1));
    EXPECT_EQ(allocated_bytes() - before, 0U) << exchange.text();
    b_there.download(b);
    EXPECT_EQ(b.arrays[0].empty() ? -161 : b.arrays[0].front(), -161);  // -1, 4 times 3 b - 2
    EXPECT_EQ(comm.sum(plan.sent_bytes()), comm.sum(plan.received_bytes()));
    EXPECT_GE(plan.buffer_bytes(), plan.sent_bytes());
  }
}

/// By the transport that the library chooses, two plans in flight.
TEST(DeviceRelayoutPlans, LetTheCallerWorkBetweenStartAndWait) {
  const Communicator comm = mpi::transports_here().front().comm();
  const index_t m = 131, n = 90;
  const Relayout there{layout::Distribution(layout::row_blocks(m, n, comm.size())), Op::none,
                       cyclic(m, n, 7, comm.size())};
  const Relayout back{there.b, Op::none, there.a};
  index_t a_ld = 0, b_ld = 0;
  std::vector<double> a_here = memory_of(there.a, comm.rank(), there.a_order, a_ld),
                      b_here = memory_of(there.b, comm.rank(), there.b_order, b_ld);
  Local<double> a(std::move(a_here), a_ld);
  const Local<double> b(std::move(b_here), b_ld);
  for (std::size_t i = 0; i < a.arrays[0].size(); ++i)
    a.arrays[0][i] = static_cast<double>(i) + 1e6 * comm.rank();
  Local<double> c = a;
  std::fill(c.arrays[0].begin(), c.arrays[0].end(), -1);
  const OnDevice<double> at_a(a), at_b(b), at_c(c);
  const auto from = at_a.views<const double>(a), passed = at_b.views<const double>(b);
  const auto to = at_b.views<double>(b), last = at_c.views<double>(c);
  const Memory<double> going{from, to}, coming{passed, last};
  Plan plan(comm, std::span(&there, 1), sizeof(double), 1, Space::device);
  Plan second(comm, std::span(&back, 1), sizeof(double), 1, Space::device);
  EXPECT_THROW(plan.wait(), Error);
  for (int k = 0; k < 3; ++k) {
    plan.start<double>(std::span(&going, 1));
    EXPECT_THROW(plan.start<double>(std::span(&going, 1)), Error);
    EXPECT_EQ(comm.sum(1), comm.size());
    plan.wait();
    second.start<double>(std::span(&coming, 1));
    plan.start<double>(std::span(&going, 1));  // into b, which is packed
    second.wait();
    plan.wait();
    at_c.download(c);
    EXPECT_EQ(c.arrays, a.arrays);
  }
}

}  // namespace
}  // namespace tessera::dist::relayout
