#include "dist/relayout/relayout.hpp"

#include <gtest/gtest.h>

#include <array>

#include "dist/relayout/cases.hpp"
#include "dist/relayout/cyclic.hpp"
#include "mpi/agreement.hpp"

namespace tessera::dist::relayout {
namespace {

template <class T>
class Relayouts : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>, std::int32_t,
                             std::int64_t, unsigned char, Three>;
TYPED_TEST_SUITE(Relayouts, Types);

TYPED_TEST(Relayouts, AreThoseOfTheFormulaBetweenAnyDistributions) {
  const Communicator comm = Communicator::world();
  Random random(2026);
  const std::array ops{Op::none, Op::transpose, Op::hermitian};
  for (int round = 0; round < 60; ++round) {
    const Op op = ops[static_cast<std::size_t>(pick(random, 0, 2))];
    const index_t rows = pick(random, 0, 45), cols = pick(random, 1, 40);
    Case<TypeParam> x(random, comm, rows, cols, op);
    const Local<TypeParam> before = x.from;
    relayout(comm, x.relayout, x.memory());
    ASSERT_TRUE(x.right()) << "round " << round << ", " << rows << " x " << cols;
    ASSERT_TRUE(same_bytes(before, x.from)) << "a was written";
  }
}

TYPED_TEST(Relayouts, OfSeveralMatricesSendOneMessageAPair) {
  const Communicator comm = Communicator::world();
  Random random(7);
  for (int round = 0; round < 10; ++round) {
    std::vector<Case<TypeParam>> cases;
    cases.reserve(3);
    for (int m = 0; m < 3; ++m)
      cases.emplace_back(random, comm, pick(random, 1, 30), pick(random, 1, 30), Op::transpose);
    std::vector<Relayout> relayouts;
    std::vector<Memory<TypeParam>> memory;
    for (Case<TypeParam>& x : cases) {
      x.a_views = x.from.template views<const TypeParam>();
      x.b_views = x.to.template views<TypeParam>();
      relayouts.push_back(x.relayout);
      memory.push_back(x.memory());
    }
    Plan plan(comm, relayouts, sizeof(TypeParam));
    EXPECT_LE(plan.messages(), comm.size() - 1);
    plan.execute<TypeParam>(memory);
    for (const Case<TypeParam>& x : cases) ASSERT_TRUE(x.right()) << "round " << round;
  }
}

TEST(RelayoutReplicas, AllReceiveTheElements) {
  const Communicator comm = Communicator::world();
  const index_t m = 13, n = 9;
  const layout::Distribution everywhere(layout::BlockCyclic{{m, 4, comm.size(), -1}, {n, 4, 1, -1}},
                                        comm.size());
  const layout::MatrixLayout rows = layout::row_blocks(m, n, comm.size());
  const Relayout matrix{layout::Distribution(rows), Op::none, everywhere};
  std::vector<double> a, b(static_cast<std::size_t>(m * n));
  for (index_t i = rows.of(comm.rank()).rows.begin; i < rows.of(comm.rank()).rows.end; ++i)
    for (index_t j = 0; j < n; ++j) a.push_back(value<double>(0, i, j));
  const LocalArray<const double> from{a.data(), n};
  const LocalArray<double> to{b.data(), n};
  relayout(comm, matrix, Memory<double>{std::span(&from, 1), std::span(&to, 1)});
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j)
      ASSERT_EQ(b[static_cast<std::size_t>(i * n + j)], value<double>(0, i, j));
}

/// Returns the message of the error that f throws; "" if none.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}
void expect_names(const std::string& message, const std::string& argument) {
  EXPECT_NE(message.find(argument), std::string::npos) << message << " does not name " << argument;
}

TEST(RelayoutErrors, NameTheArgument) {
  const Communicator comm = Communicator::world();
  const index_t ranks = comm.size();
  const layout::Distribution x = cyclic(20, 30, 4, ranks), y = cyclic(30, 20, 4, ranks);
  const auto plan = [&](const Relayout& matrix, index_t bytes) {
    return error_of([&] { Plan(comm, std::span(&matrix, 1), bytes); });
  };
  expect_names(plan({x, Op::none, y}, 8), "matrices[0].b");
  expect_names(plan({x, Op::transpose, x}, 8), "matrices[0].b");
  expect_names(plan({cyclic(20, 30, 4, ranks + 1), Op::none, x}, 8), "matrices[0].a");
  expect_names(plan({x, Op::none, cyclic(20, 30, 4, ranks + 1)}, 8), "matrices[0].b");
  expect_names(plan({x, Op::none, x}, 0), "bytes");
  expect_names(plan({x, Op::none, x}, 65), "bytes");
  layout::MatrixLayout hole = layout::row_blocks(20, 30, ranks);
  hole.boxes.back().rows.end = hole.boxes.back().rows.begin;
  expect_names(plan({layout::Distribution(hole), Op::none, x}, 8), "matrices[0].a");

  // One rank's memory does not fit: every rank must learn of it.
  std::vector<double> a(600), b(600);
  const auto call = [&](const LocalArray<const double>& from, const LocalArray<double>& to) {
    return error_of([&] {
      relayout(comm, Relayout{x, Op::none, x},
               Memory<double>{std::span(&from, 1), std::span(&to, 1)});
    });
  };
  const bool first = comm.rank() == 0;
  expect_names(call({a.data(), first ? 0 : 30}, {b.data(), 30}), "memory[0].a has the ld");
  expect_names(call({a.data(), 30}, {b.data(), first ? 1 : 30}), "memory[0].b has the ld");
  expect_names(call({a.data(), 30}, {first ? nullptr : b.data(), 30}), "memory[0].b");
  expect_names(call({a.data(), 30}, {first ? a.data() : b.data(), 30}), "memory[0].b");
  EXPECT_EQ(call({a.data(), 30}, {b.data(), 30}), "");
  expect_names(error_of([&] {
                 relayout(comm, Relayout{x, Op::none, x}, Memory<double>{{}, {}, 1, 0});
               }),
               "memory[0].a");
}

TEST(RelayoutErrors, NameWhatIsWrongWithADistribution) {
  using layout::BlockCyclic;
  using layout::BlockGrid;
  using layout::Box;
  using layout::Distribution;
  const auto cyclic_error = [](const BlockCyclic& x) {
    return error_of([&] { Distribution(x, 4); });
  };
  expect_names(cyclic_error({{-1, 2, 2}, {9, 2, 2}}), "rows");
  expect_names(cyclic_error({{9, 0, 2}, {9, 2, 2}}), "rows");
  expect_names(cyclic_error({{9, 2, 2}, {9, 2, 0}}), "cols");
  expect_names(cyclic_error({{9, 2, 2}, {9, 2, 2, 2}}), "cols");
  expect_names(cyclic_error({{9, 2, 2}, {9, 2, 3}}), "ranks");
  expect_names(cyclic_error({{9, 2, 2}, {9, 2, 2}, {0, 1, 2}}), "ranks");
  expect_names(cyclic_error({{9, 2, 2}, {9, 2, 2}, {0, 1, 2, 4}}), "ranks");
  expect_names(cyclic_error({{9, 2, 2}, {9, 2, 2}, {}, Box{{0, 10}, {0, 9}}}), "box.rows");
  expect_names(cyclic_error({{9, 2, 2}, {9, 2, 2}, {}, Box{{0, 9}, {-1, 9}}}), "box.cols");
  const auto grid_error = [](const BlockGrid& x) { return error_of([&] { Distribution(x, 4); }); };
  expect_names(grid_error({{1, 9}, {0, 9}, {0}}), "row_splits");
  expect_names(grid_error({{0, 9}, {0, 9, 8}, {0, 1}}), "col_splits");
  expect_names(grid_error({{0, 9}, {0, 9}, {0, 1}}), "owners");
  expect_names(grid_error({{0, 9}, {0, 9}, {4}}), "owners");
}

}  // namespace
}  // namespace tessera::dist::relayout
