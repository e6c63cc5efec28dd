#include "dist/transpose/transpose.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/hash.hpp"
#include "dist/transpose/checksum.hpp"
#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"

namespace tessera::dist::transpose {
namespace {

using layout::BlockMap;
using layout::MatrixLayout;
using tessera::transpose::Indices;

/// Returns byte k of the record at (i, j), a code of its position.
std::byte code(index_t i, index_t j, index_t k) {
  return static_cast<std::byte>(mix64(static_cast<std::uint64_t>((i * 100003 + j) * 67 + k)) >> 56);
}

void fill(DistributedRecords& matrix) {
  const Records view = matrix.view();
  for (index_t i = 0; i < view.rows; ++i) {
    for (index_t j = 0; j < view.cols; ++j) {
      for (index_t k = 0; k < view.bytes; ++k)
        view.at(i, j)[k] = code(matrix.box().rows.begin + i, matrix.box().cols.begin + j, k);
    }
  }
}

void poison(DistributedRecords& matrix) {
  if (matrix.box().area() > 0)
    std::memset(matrix.view().data, 0xa5,
                static_cast<std::size_t>(matrix.box().area() * matrix.bytes()));
}

/// Returns the number of positions where the matrix differs from op of fill()'s.
index_t wrong(const DistributedRecords& matrix, Op op) {
  const ConstRecords view = matrix.view();
  index_t count = 0;
  for (index_t i = 0; i < view.rows; ++i) {
    for (index_t j = 0; j < view.cols; ++j) {
      const index_t row = matrix.box().rows.begin + i, col = matrix.box().cols.begin + j;
      for (index_t k = 0; k < view.bytes; ++k)
        count += view.at(i, j)[k] == (op == Op::transpose ? code(col, row, k) : code(row, col, k))
                     ? 0
                     : 1;
    }
  }
  return count;
}

struct Shape {
  index_t rows, cols;
};
const Shape shapes[] = {{0, 0}, {0, 5},   {5, 0},   {1, 1},    {1, 97},  {97, 1},
                        {2, 3}, {31, 37}, {64, 64}, {65, 129}, {200, 11}};

Method method_of(Algorithm algorithm, index_t piece_bytes = 512) {
  return {.algorithm = algorithm, .tuning = {.threads = 2}, .piece_bytes = piece_bytes};
}

/// Node of the test: all ranks, or pairs of ranks as if every two shared memory.
enum class Nodes { whole, pairs };
mpi::Communicator node_of(const mpi::Communicator& comm, Nodes nodes) {
  return nodes == Nodes::whole ? comm.node() : comm.split(comm.rank() / 2, comm.rank());
}

DistributedRecords target(const mpi::Communicator& comm, MatrixLayout layout, index_t bytes,
                          Algorithm algorithm, Nodes nodes = Nodes::whole) {
  return algorithm == Algorithm::shared
             ? DistributedRecords(comm, std::move(layout), bytes, node_of(comm, nodes))
             : DistributedRecords(comm, std::move(layout), bytes);
}

MatrixLayout result_home(const mpi::Communicator& comm, const Shape& s, Op op) {
  return op == Op::transpose ? layout::row_blocks(s.cols, s.rows, comm.size())
                             : layout::row_blocks(s.rows, s.cols, comm.size());
}

TEST(TransposeMatrix, MovesEveryByteForEveryAlgorithmShapeAndOp) {
  const auto comm = mpi::Communicator::world();
  for (const auto& info : algorithms()) {
    for (const Shape& s : shapes) {
      for (const Op op : {Op::transpose, Op::none}) {
        DistributedRecords a(comm, layout::row_blocks(s.rows, s.cols, comm.size()), 8);
        fill(a);
        auto b = target(comm, result_home(comm, s, op), 8, info.algorithm);
        poison(b);
        mpi::Phases phases;
        transpose_matrix(comm, {a, op, b}, method_of(info.algorithm), phases);
        EXPECT_EQ(comm.sum(wrong(b, op)), 0) << info.name << ' ' << s.rows << " x " << s.cols;
        EXPECT_EQ(comm.sum(wrong(a, Op::none)), 0);
      }
    }
  }
}

TEST(TransposeMatrix, MovesEveryByteWhereRowsGoBySpeed) {
  const auto comm = mpi::Communicator::world();
  ForecastRequest q{.rows = 97, .cols = 61, .ranks = comm.size(), .ranks_per_node = comm.size()};
  for (const double first : {0.001, 1.0, 40.0, 1e9}) {
    q.weights.assign(static_cast<std::size_t>(comm.size()), 1);
    q.weights.front() = first;
    q.weights.back() += 0.5;
    for (const auto& info : algorithms()) {
      for (const Op op : {Op::transpose, Op::none}) {
        DistributedRecords a(comm, q.home(q.rows, q.cols), 8);
        fill(a);
        const MatrixLayout home =
            op == Op::transpose ? q.home(q.cols, q.rows) : q.home(q.rows, q.cols);
        auto b = target(comm, home, 8, info.algorithm);
        poison(b);
        mpi::Phases phases;
        transpose_matrix(comm, {a, op, b}, method_of(info.algorithm), phases);
        EXPECT_EQ(comm.sum(wrong(b, op)), 0) << info.name << ' ' << first;
      }
    }
    index_t held = 0;
    for (const Forecast& f : forecast(q, method_of(Algorithm::pairwise))) held += f.home_bytes;
    EXPECT_EQ(held, 2 * q.rows * q.cols * q.element_bytes);
  }
}

TEST(TransposeMatrix, MovesRecordsOfAnySize) {
  const auto comm = mpi::Communicator::world();
  for (const auto& info : algorithms()) {
    for (const index_t bytes : {1, 2, 3, 4, 12, 16, 24, 37, 64}) {
      DistributedRecords a(comm, layout::row_blocks(43, 29, comm.size()), bytes);
      fill(a);
      auto b = target(comm, layout::row_blocks(29, 43, comm.size()), bytes, info.algorithm);
      poison(b);
      mpi::Phases phases;
      transpose_matrix(comm, {a, Op::transpose, b}, method_of(info.algorithm), phases);
      EXPECT_EQ(comm.sum(wrong(b, Op::transpose)), 0) << info.name << ' ' << bytes;
    }
  }
}

TEST(TransposeMatrix, OverlaysAnyTwoLayouts) {
  const auto comm = mpi::Communicator::world();
  const auto p = static_cast<index_t>(comm.size());
  const auto layouts = [&](index_t rows, index_t cols) {
    const auto grid = layout::nearest_square(p, rows, cols);
    MatrixLayout reversed = layout::row_blocks(rows, cols, p);
    std::reverse(reversed.boxes.begin(), reversed.boxes.end());
    MatrixLayout on_last{rows, cols, std::vector<layout::Box>(static_cast<std::size_t>(p))};
    on_last.boxes.back() = {{0, rows}, {0, cols}};
    return std::vector<MatrixLayout>{
        layout::row_blocks(rows, cols, p),
        layout::grid_blocks(BlockMap(rows, 1), BlockMap(cols, p), {1, p}),
        layout::grid_blocks(BlockMap(rows, grid.rows, 8), BlockMap(cols, grid.cols, 4), grid),
        reversed, on_last};
  };
  for (const auto& info : algorithms()) {
    for (const Op op : {Op::transpose, Op::none}) {
      for (const MatrixLayout& from : layouts(53, 38)) {
        for (const MatrixLayout& to : op == Op::transpose ? layouts(38, 53) : layouts(53, 38)) {
          DistributedRecords a(comm, from, 4);
          fill(a);
          auto b = target(comm, to, 4, info.algorithm);
          poison(b);
          mpi::Phases phases;
          transpose_matrix(comm, {a, op, b}, method_of(info.algorithm, 100), phases);
          EXPECT_EQ(comm.sum(wrong(b, op)), 0) << info.name;
        }
      }
    }
  }
}

TEST(TransposeMatrix, ComposesSharedMemoryWithMessagesBetweenNodes) {
  const auto comm = mpi::Communicator::world();
  for (const Shape& s : shapes) {
    DistributedRecords a(comm, layout::row_blocks(s.rows, s.cols, comm.size()), 8);
    fill(a);
    auto b = target(comm, result_home(comm, s, Op::transpose), 8, Algorithm::shared, Nodes::pairs);
    poison(b);
    mpi::Phases phases;
    transpose_matrix(comm, {a, Op::transpose, b}, method_of(Algorithm::shared), phases);
    EXPECT_EQ(comm.sum(wrong(b, Op::transpose)), 0) << s.rows << " x " << s.cols;
  }
}

TEST(TransposeMatrix, RepeatedRunsDoNotRace) {
  const auto comm = mpi::Communicator::world();
  for (const auto& info : algorithms()) {
    DistributedRecords a(comm, layout::row_blocks(90, 70, comm.size()), 8);
    fill(a);
    auto b = target(comm, layout::row_blocks(70, 90, comm.size()), 8, info.algorithm);
    for (int repetition = 0; repetition < 20; ++repetition) {
      poison(b);
      mpi::Phases phases;
      transpose_matrix(comm, {a, Op::transpose, b}, method_of(info.algorithm), phases);
      ASSERT_EQ(comm.sum(wrong(b, Op::transpose)), 0) << info.name;
    }
  }
}

TEST(TransposeMatrix, EveryKernelServes) {
  const auto comm = mpi::Communicator::world();
  const bool gpu = !machine::gpus().devices.empty();
  for (const Variant& kernel : tessera::transpose::variants()) {
    if (kernel.out_of_place == nullptr || (kernel.space == Space::device && !gpu)) continue;
    for (const auto& info : algorithms()) {
      DistributedRecords a(comm, layout::row_blocks(61, 83, comm.size()), 4);
      fill(a);
      auto b = target(comm, layout::row_blocks(83, 61, comm.size()), 4, info.algorithm);
      Method method = method_of(info.algorithm);
      method.kernel = &kernel;
      mpi::Phases phases;
      transpose_matrix(comm, {a, Op::transpose, b}, method, phases);
      EXPECT_EQ(comm.sum(wrong(b, Op::transpose)), 0) << info.name << ' ' << kernel.name;
    }
  }
}

template <class T>
T value(index_t i, index_t j, index_t stream) {
  return static_cast<T>(
      static_cast<double>(mix64(static_cast<std::uint64_t>(stream * 1000003 + i * 1009 + j)) >>
                          40) /
          1e6 -
      8);
}

template <class T>
void check_scaled(Number number, Nodes nodes) {
  const auto comm = mpi::Communicator::world();
  const index_t rows = 47, cols = 33;
  const auto set = [&](DistributedRecords& matrix, index_t stream) {
    for (index_t i = 0; i < matrix.view().rows; ++i) {
      for (index_t j = 0; j < matrix.view().cols; ++j) {
        const T x = value<T>(matrix.box().rows.begin + i, matrix.box().cols.begin + j, stream);
        std::memcpy(matrix.view().at(i, j), &x, sizeof x);
      }
    }
  };
  for (const auto& info : algorithms()) {
    for (const auto& [alpha, beta] :
         {std::pair{1.0, 0.0}, {-0.3, 0.0}, {1.0, 1.0}, {2.5, -0.75}, {0.0, 2.0}, {0.0, 0.0}}) {
      for (const Op op : {Op::transpose, Op::none}) {
        DistributedRecords a(comm, layout::row_blocks(rows, cols, comm.size()), sizeof(T));
        set(a, 1);
        auto b =
            target(comm, result_home(comm, {rows, cols}, op), sizeof(T), info.algorithm, nodes);
        if (beta != 0) set(b, 2);
        if (beta == 0)
          std::memset(b.view().data, 0xff,
                      static_cast<std::size_t>(b.box().area()) * sizeof(T));  // NaN
        mpi::Phases phases;
        transpose_matrix(comm, {a, op, b, {number, alpha, beta}}, method_of(info.algorithm),
                         phases);
        for (index_t i = 0; i < b.view().rows; ++i) {
          for (index_t j = 0; j < b.view().cols; ++j) {
            const index_t row = b.box().rows.begin + i, col = b.box().cols.begin + j;
            const T from = op == Op::transpose ? value<T>(col, row, 1) : value<T>(row, col, 1);
            T want = static_cast<T>(alpha) * from;
            if (beta != 0) want = want + static_cast<T>(beta) * value<T>(row, col, 2);
            T got;
            std::memcpy(&got, b.view().at(i, j), sizeof got);
            ASSERT_EQ(got, want) << info.name << ' ' << alpha << ' ' << beta << " at " << row
                                 << ", " << col;
          }
        }
      }
    }
  }
}

TEST(TransposeMatrix, ScalesAndAddsWithTheSameBitsForEveryAlgorithm) {
  check_scaled<double>(Number::f64, Nodes::whole);
  check_scaled<float>(Number::f32, Nodes::pairs);
}

TEST(TransposeMatrix, RefusesSharedWithoutSharedMemory) {
  const auto comm = mpi::Communicator::world();
  if (comm.size() == 1) GTEST_SKIP() << "one rank reaches everything";
  DistributedRecords a(comm, layout::row_blocks(4, 4, comm.size()), 8), b(comm, a.layout(), 8);
  mpi::Phases phases;
  EXPECT_THROW(transpose_matrix(comm, {a, Op::transpose, b}, method_of(Algorithm::shared), phases),
               Error);
}

TEST(TransposeInPlace, SwapsSquaresOnAnyNumberOfRanks) {
  const auto comm = mpi::Communicator::world();
  for (const index_t n : {0, 1, 2, 5, 64, 97}) {
    for (const index_t bytes : {1, 8, 12}) {
      DistributedRecords a(comm, layout::row_blocks(n, n, comm.size()), bytes);
      fill(a);
      mpi::Phases phases;
      transpose_in_place(comm, a, method_of(Algorithm::pairwise, 200), phases);
      EXPECT_EQ(comm.sum(wrong(a, Op::transpose)), 0) << n << ' ' << bytes;
    }
  }
}

TEST(TransposeInPlace, TakesRectanglesOnOneRankOnly) {
  const auto comm = mpi::Communicator::world();
  DistributedRecords a(comm, layout::row_blocks(31, 50, comm.size()), 8);
  fill(a);
  mpi::Phases phases;
  if (comm.size() > 1) {
    EXPECT_THROW(transpose_in_place(comm, a, method_of(Algorithm::pairwise), phases), Error);
    return;
  }
  transpose_in_place(comm, a, method_of(Algorithm::pairwise), phases);
  EXPECT_EQ(a.rows(), 50);
  EXPECT_EQ(wrong(a, Op::transpose), 0);
}

TEST(MatrixChecksum, TellsATransposeFromAnythingElse) {
  const auto comm = mpi::Communicator::world();
  DistributedRecords a(comm, layout::row_blocks(40, 30, comm.size()), 8);
  fill(a);
  const auto right = matrix_checksum(comm, a, Indices::as_stored, 5, 1);
  auto b = target(comm, layout::row_blocks(30, 40, comm.size()), 8, Algorithm::pairwise);
  mpi::Phases phases;
  transpose_matrix(comm, {a, Op::transpose, b}, method_of(Algorithm::pairwise), phases);
  EXPECT_EQ(matrix_checksum(comm, b, Indices::swapped, 5, 1), right);
  EXPECT_NE(matrix_checksum(comm, b, Indices::as_stored, 5, 1), right);
  if (comm.is_root()) std::swap(*b.view().at(0, 1), *b.view().at(0, 2));
  EXPECT_NE(matrix_checksum(comm, b, Indices::swapped, 5, 1), right);
}

}  // namespace
}  // namespace tessera::dist::transpose
