// Invalid calls of the installed headers' functions throw an Error that names the argument, in
// every build.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "dist/matmul/freivalds.hpp"
#include "dist/matmul/multiply.hpp"
#include "dist/sort/argsort.hpp"
#include "dist/sort/select.hpp"
#include "dist/stencil/advance.hpp"
#include "dist/stencil/plan.hpp"
#include "dist/transpose/axes.hpp"
#include "dist/transpose/transpose.hpp"
#include "kernels/transpose/permute.hpp"
#include "mpi/exchange.hpp"
#include "mpi/transfer.hpp"

namespace tessera {
namespace {

using dist::DistributedMatrix;
using dist::DistributedRecords;
using mpi::Communicator;

/// Expects that `call` throws Error(usage) of the argument.
void expect_named(const std::string& argument, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << argument << ": nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    EXPECT_EQ(error.argument(), argument) << error.what();
  }
}

class WrongCalls : public testing::Test {
 protected:
  [[nodiscard]] DistributedMatrix<double> matrix(index_t rows, index_t cols) const {
    return {comm, layout::row_blocks(rows, cols, comm.size())};
  }
  [[nodiscard]] DistributedRecords records(index_t rows, index_t cols, index_t bytes) const {
    return {comm, layout::row_blocks(rows, cols, comm.size()), bytes};
  }
  void multiply(const dist::matmul::Product<double>& product,
                const dist::matmul::Method& method = {}) const {
    mpi::Phases phases;
    dist::matmul::multiply<double>(comm, product, method, phases);
  }
  void transpose(const dist::transpose::Task& task,
                 const dist::transpose::Method& method = {}) const {
    mpi::Phases phases;
    dist::transpose::transpose_matrix(comm, task, method, phases);
  }

  Communicator comm = Communicator::world();
};

TEST_F(WrongCalls, OfProductsNameTheMatrix) {
  const auto a = matrix(50, 70), b = matrix(70, 30), other_b = matrix(80, 30);
  auto c = matrix(50, 30), narrow_c = matrix(50, 29), tall_c = matrix(60, 30);
  auto square = matrix(40, 40);
  expect_named("b", [&] { multiply({.a = a, .b = other_b, .c = c}); });
  expect_named("b",
               [&] { multiply({.a = a, .op_a = dist::matmul::Op::transpose, .b = b, .c = c}); });
  expect_named("b",
               [&] { multiply({.a = a, .b = b, .op_b = dist::matmul::Op::transpose, .c = c}); });
  expect_named("c", [&] { multiply({.a = a, .b = b, .c = tall_c}); });
  expect_named("c", [&] { multiply({.a = a, .b = b, .c = narrow_c}); });
  expect_named("c", [&] { multiply({.a = square, .b = square, .c = square}); });
  expect_named("c", [&] {
    const auto other = matrix(40, 40);
    multiply({.a = other, .b = square, .c = square});
  });
  expect_named("a", [&] {
    const DistributedMatrix<double> alone(Communicator::self(), layout::row_blocks(50, 70, 1)),
        nowhere;
    if (comm.size() == 1) {
      auto nothing = matrix(0, 0);
      return multiply({.a = nowhere, .b = nowhere, .c = nothing});
    }
    multiply({.a = alone, .b = b, .c = c});
  });
  expect_named("b", [&] {
    dist::matmul::Freivalds<double>(
        comm, dist::matmul::Product<double>{.a = a, .b = other_b, .c = c}, 1, 1);
  });
  const dist::matmul::Product<double> right{.a = a, .b = b, .c = c};
  expect_named("threads", [&] { multiply(right, {.threads = 0}); });
  expect_named("panel", [&] { multiply(right, {.panel = 0}); });
  expect_named("rounds", [&] { multiply(right, {.rounds = 0}); });
  expect_named("held_price", [&] { multiply(right, {.rounds = 2, .held_price = 0}); });
  expect_named("slices", [&] { multiply(right, {.slices = -1}); });
  expect_named("grid", [&] { multiply(right, {.grid = {7, 5}}); });
  expect_named("weights", [&] { multiply(right, {.weights = std::vector<double>(9, 1.0)}); });
}

TEST_F(WrongCalls, OfLayoutsNameTheLayout) {
  const index_t ranks = comm.size();
  const auto on = [&](const layout::MatrixLayout& layout) {
    return [this, layout] { DistributedMatrix<float>(comm, layout); };
  };
  expect_named("layout", on(layout::row_blocks(50, 70, ranks + 1)));
  auto hole = layout::row_blocks(50, 70, ranks);
  --hole.boxes.back().rows.end;
  expect_named("layout", on(hole));
  auto beyond = layout::row_blocks(50, 70, ranks);
  ++beyond.boxes.back().cols.end;
  expect_named("layout", on(beyond));
  if (ranks > 1) {
    auto overlap = layout::row_blocks(ranks * 10, 70, ranks);
    overlap.boxes.back().rows.begin -= 5;
    expect_named("layout", on(overlap));
    overlap.boxes.front().cols.begin = 35;  // as many elements as the matrix has
    expect_named("layout", on(overlap));
  }
  expect_named("offsets", [] { (void)layout::row_blocks(10, 5, {0, 7, 4, 10}); });
  expect_named("offsets", [] { (void)layout::row_blocks(10, 5, {0, 9}); });
  expect_named("extent", [] { (void)layout::BlockMap(10, 0); });
  expect_named("grid", [] { (void)layout::grid_blocks({10, 2}, {10, 2}, {2, 3}); });
  expect_named("bytes", [&] { (void)records(5, 6, 65); });
  expect_named("bytes", [&] { (void)records(5, 6, 0); });
  expect_named("layout", [&] { records(7, 9, 8).rename(layout::row_blocks(9, 8, ranks)); });
}

TEST_F(WrongCalls, OfTransposesNameTheArgument) {
  const auto a = records(7, 9, 8);
  auto same = records(7, 9, 8), right = records(9, 7, 8), shorter = records(9, 7, 4);
  expect_named("b", [&] { transpose({.a = a, .b = same}); });
  expect_named("b", [&] { transpose({.a = a, .op = dist::transpose::Op::none, .b = right}); });
  expect_named("b", [&] { transpose({.a = a, .b = shorter}); });
  auto square = records(8, 8, 8);
  expect_named("b", [&] { transpose({.a = square, .b = square}); });
  expect_named("scale.number", [&] {
    transpose({.a = a, .b = right, .scale = {.number = dist::transpose::Number::f32, .alpha = 2}});
  });
  expect_named("piece_bytes", [&] { transpose({.a = a, .b = right}, {.piece_bytes = 0}); });
  const std::vector<index_t> extents{3, 4, 5};
  const auto permuted = [&](const std::vector<int>& axes) {
    return [&extents, axes] { (void)dist::transpose::permuted(extents, axes); };
  };
  expect_named("axes", permuted({0, 0, 1}));
  expect_named("axes", permuted({0, 1, 3}));
  expect_named("axes", permuted({0, 1, -1}));
  expect_named("axes", permuted({1, 0}));
  const std::vector<int> twice{0, 0, 1}, whole{2, 0, 1};
  expect_named("axes", [&] { (void)dist::transpose::axes_part(extents, twice, 0, 1); });
  expect_named("rank", [&] { (void)dist::transpose::axes_part(extents, whole, 2, 2); });
  std::vector<std::byte> from(60), to(60);
  expect_named("axes", [&] { transpose::permute(extents, twice, 1, from.data(), to.data(), {}); });
  expect_named("bytes", [&] { transpose::permute(extents, whole, 0, from.data(), to.data(), {}); });
  expect_named("to", [&] { transpose::permute(extents, whole, 1, from.data(), from.data(), {}); });
}

TEST_F(WrongCalls, OfSortsNameTheArgument) {
  std::vector<double> items(100), spare(100);
  mpi::Phases phases;
  const auto sort = [&](const dist::sort::Room<double>& room, const dist::sort::Method& method) {
    return [&, room, method] {
      dist::sort::sort_keys(comm, room, dist::sort::Order::ascending, method, phases);
    };
  };
  expect_named("room.spare", sort({items.data(), items.data(), 100}, {}));
  expect_named("room.spare", sort({items.data(), nullptr, 100}, {}));
  expect_named("room.n", sort({items.data(), spare.data(), -1}, {}));
  expect_named("method.kernel", sort({items.data(), spare.data(), 100}, {.kernel = "bogo"}));
  expect_named("method.threads", sort({items.data(), spare.data(), 100}, {.threads = 0}));
  std::vector<std::uint64_t> permutation(100);
  const auto by = [&](const layout::BlockMap& map,
                      const std::vector<dist::sort::KeyColumn>& columns) {
    return [&, map, columns] { argsort(comm, map, columns, {}, permutation.data(), phases); };
  };
  expect_named("map", by({100, comm.size() + 1}, {}));
  expect_named("columns", by({100, comm.size()}, {}));
  dist::sort::KeyColumn missing;
  missing.form.bytes = 8;
  expect_named("columns", by({100, comm.size()}, {missing}));
  const dist::sort::BitsPass pass = [](const dist::sort::BitsPiece& piece) {
    const std::vector<std::uint64_t> bits{3, 1, 2};
    piece(bits);
  };
  for (const index_t position : {index_t{-1}, index_t{3} * comm.size()}) {
    expect_named("positions",
                 [&] { (void)dist::sort::select(comm, pass, std::span(&position, 1)); });
  }
  expect_named("q", [] { (void)dist::sort::quantile_place(1.5, 10); });
  expect_named("n", [] { (void)dist::sort::quantile_place(0.5, 0); });
}

TEST_F(WrongCalls, OfStencilsNameTheArgument) {
  using namespace dist::stencil;
  const Scheme scheme{tessera::stencil::named_stencil("heat", 2), {}, {{1, 60, 60}}, {}};
  const auto plan = [&](PlanRequest request) { return [request] { (void)make_plan(request); }; };
  expect_named("steps", plan({.scheme = scheme, .steps = -1}));
  expect_named("ranks", plan({.scheme = scheme, .ranks = 0}));
  expect_named("parts", plan({.scheme = scheme, .parts = Index3{{1, 0, 1}}}));
  const auto grid = make_plan({.scheme = scheme, .ranks = comm.size(), .halo_steps = 2}).grid;
  const auto field = [&](const layout::GridLayout& where, index_t rank, index_t halo_steps,
                         index_t fields) {
    return [&scheme, where, rank, halo_steps, fields] {
      DistributedField<double>(scheme, where, rank, halo_steps, fields);
    };
  };
  auto other = grid;
  other.global[1] = 50;
  expect_named("grid", field(other, 0, 1, 1));
  expect_named("rank", field(grid, comm.size(), 1, 1));
  expect_named("halo_steps", field(grid, 0, 0, 1));
  if (comm.size() > 1) expect_named("halo_steps", field(grid, 0, 61, 1));
  expect_named("fields", field(grid, 0, 1, 0));
  mpi::Phases phases;
  DistributedField<double> u(scheme, grid, comm.rank(), 2);
  expect_named("steps", [&] { advance(comm, u, -1, {}, phases); });
  expect_named("method.threads", [&] { advance(comm, u, 1, {.threads = 0}, phases); });
  if (comm.size() > 1) {
    expect_named("u", [&] { advance(Communicator::self(), u, 1, {}, phases); });
    DistributedField<double> others(scheme, grid, (comm.rank() + 1) % comm.size(), 2);
    expect_named("u", [&] { advance(comm, others, 1, {}, phases); });
  }
  auto alone = tessera::stencil::whole_field<double>(scheme.stencil, scheme.global);
  auto sweep = tessera::stencil::whole_sweep(scheme.stencil, scheme.sides, alone, 1, 1);
  const auto& naive = tessera::stencil::variants().front();
  sweep.level[1] = sweep.level[0];
  expect_named("level", [&] { run(naive, sweep); });
  sweep.level[1].extent[2] = 59;
  expect_named("level", [&] { run(naive, sweep); });
}

TEST_F(WrongCalls, OfMessagesNameTheArgument) {
  std::vector<std::byte> data(8);
  const int none = comm.size();
  expect_named("peer", [&] { comm.send(data, none, 1).wait(); });
  expect_named("peer", [&] { comm.receive(data, -1, 1).wait(); });
  expect_named("root", [&] { comm.broadcast(std::span(data), none); });
  expect_named("root", [&] { (void)comm.gather(std::string("x"), -1); });
  expect_named("color", [&] { (void)comm.split(-1, 0); });
  expect_named("rows", [&] { (void)comm.grid_lines(comm.size() + 1, 1); });
  expect_named(
      "all", [&] { comm.all_gather(std::span<const std::byte>(data), std::span(data).first(1)); });
  const std::vector<index_t> many(static_cast<std::size_t>(comm.size()) + 1, 0);
  expect_named("values", [&] { (void)comm.all_to_all(many); });
  expect_named("bytes_to", [&] { mpi::exchange(comm, data, many, data, many); });
  const std::vector<index_t> too_many(static_cast<std::size_t>(comm.size()), 9);
  expect_named("bytes_to", [&] { mpi::exchange(comm, data, too_many, data, too_many); });
  const auto layout = layout::row_blocks(comm.size() * 2, 3, comm.size());
  std::vector<double> elements(6);
  const MatrixView<double> right = matrix_view(elements.data(), 2, 3),
                           wrong = matrix_view(elements.data(), 1, 3);
  expect_named("from", [&] { mpi::redistribute<double>(comm, layout, wrong, layout, right); });
  expect_named("to", [&] { mpi::redistribute<double>(comm, layout, right, layout, wrong); });
  expect_named("need", [&] {
    mpi::redistribute<double>(comm, layout, right, layout::row_blocks(2, 3, comm.size() + 1),
                              right);
  });
}

}  // namespace
}  // namespace tessera
