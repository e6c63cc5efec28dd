#include "dist/transpose/on_devices.hpp"

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"
#include "mpi/device_transports.hpp"

namespace tessera::dist::transpose {
namespace {

using layout::BlockMap;
using layout::MatrixLayout;

/// Returns byte k of the record at (i, j), a code of its position.
std::byte code(index_t i, index_t j, index_t k, index_t salt) {
  return static_cast<std::byte>(
      mix64(static_cast<std::uint64_t>(((i * 100003 + j) * 67 + k) * 3 + salt)) >> 56);
}

/// Returns the table's device kernels; without a device a host kernel as a substitute.
std::vector<Variant> kernels() {
  std::vector<Variant> all;
  for (const Variant& row : tessera::transpose::variants())
    if (row.on_device != nullptr) all.push_back(row);
  if (!machine::gpus().devices.empty()) return all;
  Variant stand_in{{"naive", Space::host, "in the place of a device's"}};
  stand_in.on_device = [](const ConstRecords& a, const Records& b, const Tuning& tuning,
                          tessera::transpose::DeviceStream) {
    tessera::transpose::naive(a, b, tuning);
  };
  return {stand_in};
}

struct TransposeOnDevices : ::testing::Test {
  const mpi::Communicator comm = mpi::Communicator::world();

  /// Fills a from the salt, runs, and returns the number of wrong bytes of b.
  index_t wrong(DeviceTranspose& there, const DeviceTask& task, index_t salt) {
    DistributedRecords a(comm, task.a, task.bytes), b(comm, task.b, task.bytes);
    const Records from = a.view();
    for (index_t i = 0; i < from.rows; ++i)
      for (index_t j = 0; j < from.cols; ++j)
        for (index_t k = 0; k < from.bytes; ++k)
          from.at(i, j)[k] = code(a.box().rows.begin + i, a.box().cols.begin + j, k, salt);
    if (b.box().area() > 0)
      std::memset(b.view().data, 0xa5, static_cast<std::size_t>(b.box().area() * task.bytes));
    there.put(a.view());
    mpi::Phases phases;
    there.run(phases);
    there.get(b.view());
    const Records to = b.view();
    index_t count = 0;
    for (index_t i = 0; i < to.rows; ++i) {
      for (index_t j = 0; j < to.cols; ++j) {
        index_t row = b.box().rows.begin + i, col = b.box().cols.begin + j;
        if (task.op == Op::transpose) std::swap(row, col);
        for (index_t k = 0; k < to.bytes; ++k)
          count += to.at(i, j)[k] == code(row, col, k, salt) ? 0 : 1;
      }
    }
    return comm.sum(count);
  }

  index_t wrong(const mpi::DeviceExchange& exchange, const DeviceTask& task, const Variant& kernel,
                OwnPart own = OwnPart::last) {
    DeviceTranspose there(exchange, task, {.kernel = &kernel, .tuning = {.threads = 2}}, own);
    return wrong(there, task, 0);
  }

  [[nodiscard]] DeviceTask rows_of(index_t rows, index_t cols, Op op, index_t bytes) const {
    const auto a = layout::row_blocks(rows, cols, comm.size());
    return {a, op, op == Op::transpose ? layout::row_blocks(cols, rows, comm.size()) : a, bytes};
  }
};

TEST_F(TransposeOnDevices, MovesEveryByteForEveryWayShapeAndOp) {
  const auto all = kernels();
  for (const auto& exchange : mpi::transports_here()) {
    for (const auto& [rows, cols] : std::vector<std::pair<index_t, index_t>>{{0, 0},
                                                                             {0, 5},
                                                                             {5, 0},
                                                                             {1, 1},
                                                                             {1, 97},
                                                                             {97, 1},
                                                                             {2, 3},
                                                                             {31, 37},
                                                                             {64, 64},
                                                                             {65, 129},
                                                                             {200, 11},
                                                                             {257, 255}}) {
      for (const Op op : {Op::transpose, Op::none})
        EXPECT_EQ(wrong(exchange, rows_of(rows, cols, op, 8), all.back()), 0)
            << name(exchange.transport()) << ' ' << rows << " x " << cols;
    }
  }
}

TEST_F(TransposeOnDevices, MovesRecordsOfAnySizeWithEveryKernel) {
  for (const auto& exchange : mpi::transports_here())
    for (const Variant& kernel : kernels())
      for (const index_t bytes : {1, 2, 3, 4, 8, 12, 16, 24, 37, 64})
        EXPECT_EQ(wrong(exchange, rows_of(83, 61, Op::transpose, bytes), kernel), 0)
            << name(exchange.transport()) << ' ' << kernel.name << ' ' << bytes;
}

TEST_F(TransposeOnDevices, OverlaysAnyTwoLayouts) {
  const auto p = static_cast<index_t>(comm.size());
  const auto layouts = [&](index_t rows, index_t cols) {
    const auto grid = layout::nearest_square(p, rows, cols);
    MatrixLayout on_last{rows, cols, std::vector<layout::Box>(static_cast<std::size_t>(p))};
    on_last.boxes.back() = {{0, rows}, {0, cols}};
    return std::vector<MatrixLayout>{
        layout::row_blocks(rows, cols, p),
        layout::grid_blocks(BlockMap(rows, grid.rows, 8), BlockMap(cols, grid.cols, 4), grid),
        on_last};
  };
  const auto all = kernels();
  for (const auto& exchange : mpi::transports_here())
    for (const Op op : {Op::transpose, Op::none})
      for (const MatrixLayout& from : layouts(53, 38))
        for (const MatrixLayout& to : op == Op::transpose ? layouts(38, 53) : layouts(53, 38))
          EXPECT_EQ(wrong(exchange, {from, op, to, 4}, all.back()), 0)
              << name(exchange.transport());
}

TEST_F(TransposeOnDevices, RepeatedRunsDoNotRaceWheneverTheOwnPartIsMoved) {
  const auto all = kernels();
  for (const auto& exchange : mpi::transports_here()) {
    for (const OwnPart own : {OwnPart::last, OwnPart::first, OwnPart::ahead}) {
      const DeviceTask task = rows_of(190, 270, Op::transpose, 8);
      DeviceTranspose there(exchange, task, {.kernel = &all.back(), .tuning = {.threads = 2}}, own);
      for (index_t repetition = 0; repetition < 5; ++repetition)
        ASSERT_EQ(wrong(there, task, repetition % 3), 0) << name(exchange.transport());
    }
  }
}

TEST_F(TransposeOnDevices, NeedsAKernelForThem) {
  const Variant* const host = find_variant(tessera::transpose::variants(), "naive");
  EXPECT_THROW(DeviceTranspose(mpi::transports_here().back(), rows_of(4, 4, Op::transpose, 8),
                               {.kernel = host}),
               Error);
}

}  // namespace
}  // namespace tessera::dist::transpose
