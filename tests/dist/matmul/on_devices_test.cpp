#include "dist/matmul/on_devices.hpp"

#include <limits>

#include "base/random.hpp"
#include "dist/matmul/freivalds.hpp"
#include "kernels/matmul/textbook.hpp"
#include "mpi/device_transports.hpp"

namespace tessera::dist::matmul {
namespace {

using layout::BlockMap;

struct Case {
  index_t m, n, k;
  Op op_a = Op::none, op_b = Op::none;
  double alpha = 1, beta = 0;
};

const Case cases[] = {{40, 50, 60},
                      {64, 64, 64},
                      {257, 130, 255},
                      {40, 50, 60, Op::transpose, Op::none, -0.5, 2},
                      {33, 17, 500, Op::none, Op::transpose, 2, 0},
                      {33, 17, 501, Op::transpose, Op::transpose, 1, 1},
                      {1, 1, 900},
                      {3, 200, 1},
                      {200, 2, 3, Op::none, Op::transpose, 1, -1},
                      {2, 90, 2, Op::transpose, Op::none, 1, 1},
                      {0, 5, 5},
                      {5, 0, 5},
                      {5, 7, 0, Op::none, Op::none, 1, 3},
                      {5, 7, 6, Op::none, Op::none, 0, 3},
                      {9, 7, 6, Op::transpose, Op::transpose, 0, 0}};

/// Returns the table's device kernels; without a device a host kernel as a substitute.
std::vector<tessera::matmul::Variant> kernels() {
  std::vector<tessera::matmul::Variant> all;
  for (const auto& row : tessera::matmul::variants())
    if (row.on_device.f64 != nullptr) all.push_back(row);
  if (!machine::gpus().devices.empty()) return all;
  tessera::matmul::Variant stand_in = tessera::matmul::variants().front();
  stand_in.on_device = {
      [](const tessera::matmul::Gemm<float>& g, const tessera::matmul::Tuning& tuning,
         tessera::matmul::DeviceStream) { tessera::matmul::variants().front()(g, tuning); },
      [](const tessera::matmul::Gemm<double>& g, const tessera::matmul::Tuning& tuning,
         tessera::matmul::DeviceStream) { tessera::matmul::variants().front()(g, tuning); }};
  return {stand_in};
}

struct ProductOnDevices : ::testing::Test {
  const mpi::Communicator comm = mpi::Communicator::world();

  template <class T>
  DistributedMatrix<T> matrix(index_t rows, index_t cols, std::uint64_t stream) const {
    DistributedMatrix<T> x(comm, layout::row_blocks(rows, cols, comm.size()));
    fill_random(x, 42, stream);
    return x;
  }

  /// Returns Freivalds' ratio of the product.
  template <class T>
  double ratio(const mpi::DeviceExchange& exchange, const Case& x,
               const tessera::matmul::Variant& kernel, index_t panel_bytes, int runs = 1) {
    const auto a = x.op_a == Op::none ? matrix<T>(x.m, x.k, 1) : matrix<T>(x.k, x.m, 1);
    const auto b = x.op_b == Op::none ? matrix<T>(x.k, x.n, 2) : matrix<T>(x.n, x.k, 2);
    auto c = matrix<T>(x.m, x.n, 3);
    if (x.beta == 0)
      std::fill_n(c.view().data, c.box().area(), std::numeric_limits<T>::quiet_NaN());
    const Product<T> product{static_cast<T>(x.alpha), a, x.op_a, b, x.op_b,
                             static_cast<T>(x.beta),  c};
    const Freivalds<T> check(comm, product, 5, 2);
    DeviceProduct<T> there(
        exchange, {x.m, x.n, x.k, x.op_a, x.op_b, static_cast<T>(x.alpha), static_cast<T>(x.beta)},
        {.kernel = &kernel, .threads = 2}, panel_bytes);
    mpi::Phases phases;
    for (int r = 0; r < runs; ++r) {
      there.put_a(a.view());
      there.put_b(b.view());
      there.put_c(std::as_const(c).view());
      there.run(phases);
    }
    there.get_c(c.view());
    return check.ratio();
  }
};

TEST_F(ProductOnDevices, IsRightForEveryWayShapeAndOp) {
  for (const auto& exchange : mpi::transports_here()) {
    for (const auto& kernel : kernels()) {
      for (const Case& x : cases) {
        EXPECT_LE(ratio<double>(exchange, x, kernel, 1000), Freivalds<double>::tolerance)
            << name(exchange.transport()) << ' ' << kernel.name << ' ' << x.m << " x " << x.n
            << " x " << x.k;
        EXPECT_LE(ratio<float>(exchange, x, kernel, 0), Freivalds<float>::tolerance)
            << name(exchange.transport()) << ' ' << kernel.name << ' ' << x.m << " x " << x.n
            << " x " << x.k;
      }
    }
  }
}

TEST_F(ProductOnDevices, RepeatedRunsDoNotRace) {
  const auto all = kernels();
  for (const auto& exchange : mpi::transports_here())
    EXPECT_LE(ratio<double>(exchange, {300, 280, 310}, all.back(), 20000, 10),
              Freivalds<double>::tolerance)
        << name(exchange.transport());
}

/// Sums of small integers are exact in any order.
TEST_F(ProductOnDevices, HasTheBitsOfTheHostOnWholeNumbers) {
  const index_t m = 70, n = 45, k = 130;
  const auto value = [](std::uint64_t stream, index_t place) {
    return static_cast<double>(random_bits(1, stream, place) % 17) - 8;
  };
  const auto block = [&](std::uint64_t stream, index_t cols, const layout::Range& rows) {
    machine::Buffer<double> x(rows.size() * cols);
    for (index_t i = 0; i < x.size(); ++i) x[i] = value(stream, rows.begin * cols + i);
    return x;
  };
  const layout::Range mine = BlockMap(m, comm.size()).range(comm.rank());
  const layout::Range mine_of_b = BlockMap(k, comm.size()).range(comm.rank());
  const auto a = block(1, k, mine), b = block(2, n, mine_of_b), whole_b = block(2, n, {0, k});
  machine::Buffer<double> want(mine.size() * n), got(mine.size() * n);
  tessera::matmul::naive<double>(
      {1.0, matrix_view(a.data(), mine.size(), k), Op::none, matrix_view(whole_b.data(), k, n),
       Op::none, 0.0, matrix_view(want.data(), mine.size(), n)},
      {});
  for (const auto& exchange : mpi::transports_here()) {
    for (const auto& kernel : kernels()) {
      DeviceProduct<double> there(exchange, {.m = m, .n = n, .k = k},
                                  {.kernel = &kernel, .threads = 1}, 8000);
      there.put_a(matrix_view(a.data(), mine.size(), k));
      there.put_b(matrix_view(b.data(), mine_of_b.size(), n));
      mpi::Phases phases;
      there.run(phases);
      std::fill(got.begin(), got.end(), std::numeric_limits<double>::quiet_NaN());
      there.get_c(matrix_view(got.data(), mine.size(), n));
      index_t wrong = 0;
      for (index_t i = 0; i < got.size(); ++i) wrong += got[i] == want[i] ? 0 : 1;
      EXPECT_EQ(wrong, 0) << name(exchange.transport()) << ' ' << kernel.name;
    }
  }
}

TEST(DevicePanels, CoverTheRowsOfAllOnceAndTakeFromDifferentOwners) {
  for (const index_t ranks : {1, 2, 3, 5}) {
    for (const index_t extent : {0, 1, 4, 17, 100}) {
      for (const index_t most : {1, 3, 20, 1000}) {
        const BlockMap rows(extent, ranks);
        std::vector<std::vector<DevicePanel>> of;
        for (index_t rank = 0; rank < ranks; ++rank) of.push_back(device_panels(rows, rank, most));
        for (index_t rank = 0; rank < ranks; ++rank) {
          const auto& mine = of[static_cast<std::size_t>(rank)];
          EXPECT_EQ(mine.front(), (DevicePanel{rank, rows.range(rank)}));
          EXPECT_EQ(mine.size(), of.front().size());
          std::vector<int> taken(static_cast<std::size_t>(extent), 0);
          for (std::size_t p = 0; p < mine.size(); ++p) {
            for (index_t i = mine[p].rows.begin; i < mine[p].rows.end; ++i)
              ++taken[static_cast<std::size_t>(i)];
            EXPECT_LE(mine[p].rows.size(), p == 0 ? extent : most);
            for (index_t other = 0; other < rank; ++other)
              EXPECT_NE(of[static_cast<std::size_t>(other)][p].owner, mine[p].owner);
          }
          for (const int times : taken) EXPECT_EQ(times, 1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::dist::matmul
