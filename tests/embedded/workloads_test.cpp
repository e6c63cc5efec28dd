// All workloads on a communicator of some ranks of a program that started MPI itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "dist/matmul/freivalds.hpp"
#include "dist/sort/argsort.hpp"
#include "dist/stencil/advance.hpp"
#include "dist/stencil/halo_window.hpp"
#include "dist/stencil/plan.hpp"
#include "dist/transpose/transpose.hpp"
#include "embedded/embedded.hpp"
#include "mpi/agreement.hpp"
#include "mpi/probes.hpp"
#include "mpi/progress.hpp"
#include "mpi/transfer.hpp"

namespace tessera::embedded {
namespace {

template <class T>
index_t wrong_products(const dist::DistributedMatrix<T>& c, index_t k) {
  index_t wrong = 0;
  const auto view = c.view();
  for (index_t i = 0; i < view.rows; ++i) {
    for (index_t j = 0; j < view.cols; ++j) {
      index_t sum = 0;
      for (index_t p = 0; p < k; ++p) sum += (c.box().rows.begin + i + p) * (p - j);
      wrong += view(i, j) == static_cast<T>(static_cast<float>(sum)) ? 0 : 1;
    }
  }
  return wrong;
}

TEST_F(Embedded, Product) {
  constexpr index_t m = 41, n = 23, k = 67;
  const auto a = matrix<double>(comm, m, k, 1), b = matrix<double>(comm, k, n, -1);
  for (const dist::matmul::AlgorithmInfo& info : dist::matmul::algorithms()) {
    dist::matmul::Method method{.algorithm = info.algorithm};
    if (info.unmet != nullptr && !info.unmet(method, comm.size()).empty()) continue;
    for (const index_t slices : {1, 3}) {
      dist::DistributedMatrix<double> c(comm, layout::row_blocks(m, n, comm.size()));
      method.slices = info.uses.plans ? slices : 1;
      const dist::matmul::Product<double> product{.a = a, .b = b, .c = c};
      dist::matmul::multiply(comm, product, method);
      EXPECT_EQ(comm.sum(wrong_products(c, k)), 0) << info.name;
      dist::matmul::Freivalds<double> check(comm, product, 1, 2);
      EXPECT_LE(check.ratio(), check.tolerance);
    }
  }
  const Communicator node = comm.node();
  if (node.size() == comm.size()) {  // in memory that the ranks share
    dist::DistributedMatrix<double> c(comm, layout::row_blocks(m, n, comm.size()), node);
    dist::matmul::multiply(comm, a, b, c);
    EXPECT_EQ(comm.sum(wrong_products(c, k)), 0);
  }
}

template <class T>
class EmbeddedProduct : public Embedded {};
using Elements = testing::Types<float, double, Complex<float>, Complex<double>, std::complex<float>,
                                std::complex<double>>;
TYPED_TEST_SUITE(EmbeddedProduct, Elements);

TYPED_TEST(EmbeddedProduct, OfEveryElementDeducesIt) {
  using T = TypeParam;
  const Communicator& ranks = this->comm;
  constexpr index_t m = 21, n = 13, k = 17;
  const auto a = matrix<T>(ranks, m, k, 1), b = matrix<T>(ranks, k, n, -1);
  dist::DistributedMatrix<T> c(ranks, layout::row_blocks(m, n, ranks.size()));
  dist::matmul::multiply(ranks, a, b, c);
  EXPECT_EQ(ranks.sum(wrong_products(c, k)), 0);
  fill_random(c, 1, 0);
#if __cpp_deduction_guides >= 201907L  // clang 16 deduces no aggregate
  dist::matmul::multiply(ranks, dist::matmul::Product{.a = a, .b = b, .c = c}, {.threads = 2});
#else
  dist::matmul::multiply(ranks, dist::matmul::Product<T>{.a = a, .b = b, .c = c}, {.threads = 2});
#endif
  EXPECT_EQ(ranks.sum(wrong_products(c, k)), 0);
  mpi::Phases phases;
  dist::matmul::multiply<T>(ranks, {.a = a, .b = b, .beta = T{1}, .c = c}, {}, phases);
  EXPECT_GT(phases.of("compute"), 0);
  if (c.view().rows > 1) {
    EXPECT_NE(c.view()(1, 0), T{0});
  }
}

TEST_F(Embedded, Transpose) {
  constexpr index_t rows = 37, cols = 53, bytes = 8;
  for (const auto& info : dist::transpose::algorithms()) {
    const bool shared = info.algorithm == dist::transpose::Algorithm::shared;
    dist::DistributedRecords a(comm, layout::row_blocks(rows, cols, comm.size()), bytes);
    const auto home = layout::row_blocks(cols, rows, comm.size());
    auto b = shared ? dist::DistributedRecords(comm, home, bytes, comm.node())
                    : dist::DistributedRecords(comm, home, bytes);
    const auto number = [](const dist::DistributedRecords& x, index_t i, index_t j) {
      index_t value = 0;
      std::memcpy(&value, x.view().at(i, j), bytes);
      return value;
    };
    for (index_t i = 0; i < a.view().rows; ++i) {
      for (index_t j = 0; j < cols; ++j) {
        const index_t value = (a.box().rows.begin + i) * cols + j;
        std::memcpy(a.view().at(i, j), &value, bytes);
      }
    }
    dist::transpose::transpose_matrix(comm, {.a = a, .b = b},
                                      {.algorithm = info.algorithm, .piece_bytes = 512});
    index_t wrong = 0;
    for (index_t i = 0; i < b.view().rows; ++i)
      for (index_t j = 0; j < rows; ++j)
        wrong += number(b, i, j) == j * cols + b.box().rows.begin + i ? 0 : 1;
    EXPECT_EQ(comm.sum(wrong), 0) << info.name;
  }
}

/// Returns this rank's values after some steps, and their box.
std::pair<std::vector<double>, Box3> heat(const Communicator& comm, bool window) {
  using namespace dist::stencil;
  const Scheme scheme{tessera::stencil::named_stencil("heat", 2),
                      tessera::stencil::all_sides({Boundary::periodic, 0.0}),
                      {{1, 40, 44}},
                      {}};
  const Plan plan =
      make_plan({.scheme = scheme, .steps = 7, .ranks = comm.size(), .halo_steps = 2});
  DistributedField<double> u(scheme, plan.grid, comm.rank(), plan.halo_steps);
  const Box3 box = u.box();
  const Index3 n = box.size();
  for (index_t y = 0; y < n[1]; ++y)
    for (index_t x = 0; x < n[2]; ++x)
      u.now()(y, x) = static_cast<double>((box.low[1] + y) * 7919 % 101 + (box.low[2] + x) % 13);
  if (window) u.use(std::make_shared<HaloWindow<double>>(comm, u));
  advance(comm, u, 4, {.overlap = Overlap::yes});
  advance(comm, u, 3);
  std::vector<double> values;
  for (index_t y = 0; y < n[1]; ++y)
    for (index_t x = 0; x < n[2]; ++x) values.push_back(u.now()(y, x));
  return {values, box};
}

TEST_F(Embedded, Stencil) {
  const auto [whole, all] = heat(Communicator::self(), false);
  for (const bool window : {false, true}) {
    if (window && comm.node().size() != comm.size()) continue;
    const auto [mine, box] = heat(comm, window);
    index_t wrong = 0;
    std::size_t at = 0;
    for (index_t y = box.low[1]; y < box.high[1]; ++y)
      for (index_t x = box.low[2]; x < box.high[2]; ++x)
        wrong += mine[at++] == whole[static_cast<std::size_t>(y * all.size()[2] + x)] ? 0 : 1;
    EXPECT_EQ(comm.sum(wrong), 0);
  }
}

/// Returns keys with many equal ones, unevenly many on each rank, and those of all ranks.
template <class T>
std::pair<std::vector<T>, std::vector<T>> some_keys(const Communicator& comm) {
  std::vector<T> mine, all;
  for (int r = 0; r < comm.size(); ++r) {
    std::vector<T> keys(static_cast<std::size_t>(100 + 37 * r));
    for (std::size_t i = 0; i < keys.size(); ++i)
      keys[i] = static_cast<T>(static_cast<int>((i * 2654435761U + static_cast<unsigned>(r)) % 97) -
                               (std::is_signed_v<T> ? 48 : 0));
    if (r == comm.rank()) mine = keys;
    all.insert(all.end(), keys.begin(), keys.end());
  }
  return {mine, all};
}

template <class T>
class EmbeddedSort : public Embedded {};
using Keys = testing::Types<float, double, signed char, unsigned char, short, unsigned short, int,
                            unsigned, long, unsigned long, long long, unsigned long long>;
TYPED_TEST_SUITE(EmbeddedSort, Keys);

TYPED_TEST(EmbeddedSort, OfKeysOfEveryType) {
  const Communicator& ranks = this->comm;
  for (const auto& info : dist::sort::algorithms()) {
    auto [mine, all] = some_keys<TypeParam>(ranks);
    std::sort(all.begin(), all.end());
    dist::sort::sort_keys(ranks, mine, dist::sort::Order::ascending, {.algorithm = info.algorithm});
    const auto share =
        layout::BlockMap(static_cast<index_t>(all.size()), ranks.size()).range(ranks.rank());
    EXPECT_EQ(mine, std::vector<TypeParam>(all.begin() + share.begin, all.begin() + share.end))
        << info.name;
  }
}

TEST_F(Embedded, ArgsortOfUnevenShares) {
  struct Row {
    float unused;
    std::int32_t second;
    double first;
  };
  for (const int few : {0, 1}) {  // few: one rank has all rows
    auto [keys, all] = some_keys<int>(comm);
    if (few == 1) keys = comm.is_root() ? all : std::vector<int>{};
    const index_t before =
        few == 0 ? comm.rank() * 100 + 37 * comm.rank() * (comm.rank() - 1) / 2 : 0;
    std::vector<Row> rows, all_rows;
    const auto row_of = [](int key, index_t number) {
      return Row{0, static_cast<std::int32_t>(number % 3), static_cast<double>(key)};
    };
    for (std::size_t i = 0; i < keys.size(); ++i)
      rows.push_back(row_of(keys[i], before + static_cast<index_t>(i)));
    for (std::size_t i = 0; i < all.size(); ++i)
      all_rows.push_back(row_of(all[i], static_cast<index_t>(i)));
    const auto column = [&](auto member, Element element) {
      const auto* const data =
          rows.empty() ? nullptr : reinterpret_cast<const std::byte*>(&(rows[0].*member));
      return dist::sort::KeyColumn{
          .form = dist::sort::KeyForm::of(element), .data = data, .row_bytes = sizeof(Row)};
    };
    const auto permutation = dist::sort::argsort(
        comm, static_cast<index_t>(rows.size()),
        {column(&Row::first, Element::f64), column(&Row::second, Element::i32)});
    std::vector<std::uint64_t> want(all.size());
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = i;
    std::stable_sort(want.begin(), want.end(), [&](std::uint64_t x, std::uint64_t y) {
      return std::pair(all_rows[x].first, all_rows[x].second) <
             std::pair(all_rows[y].first, all_rows[y].second);
    });
    const auto share =
        layout::BlockMap(static_cast<index_t>(all.size()), comm.size()).range(comm.rank());
    EXPECT_EQ(permutation,
              std::vector<std::uint64_t>(want.begin() + share.begin, want.begin() + share.end));
  }
}

TEST_F(Embedded, NodesProbesAndRedistribution) {
  EXPECT_GE(comm.node().size(), 1);
  comm.barrier();
  EXPECT_GT(calls, 0) << "the watch is in the place of MPI's functions";
  if (comm.size() > 1) {
    EXPECT_GT(mpi::measure_messages(comm, 0.01).bandwidth, 0);
  }
  const auto home = layout::row_blocks(30, 20, comm.size());
  auto need = home;
  std::rotate(need.boxes.begin(), need.boxes.begin() + 1, need.boxes.end());
  const auto move = [&]<class T>(T) {
    const layout::Box &mine = home.of(comm.rank()), &wanted = need.of(comm.rank());
    std::vector<T> from(static_cast<std::size_t>(mine.area())),
        to(static_cast<std::size_t>(wanted.area()));
    std::fill(from.begin(), from.end(), static_cast<T>(comm.rank() + 1));
    mpi::redistribute(comm, home, matrix_view(from.data(), mine.rows.size(), 20), need,
                      matrix_view(to.data(), wanted.rows.size(), 20));
    const T want = static_cast<T>((comm.rank() + 1) % comm.size() + 1);
    EXPECT_EQ(std::count(to.begin(), to.end(), want), wanted.area());
  };
  move(double{}), move(int{}), move(short{}), move(1LL), move(std::complex<double>{});
}

TEST_F(Embedded, ErrorsAreAgreedOnAmongTheRanksOfThePart) {
  try {
    mpi::together(comm, "check", [&] {
      require(comm.rank() != comm.size() - 1, ExitCode::bad_data, "the last rank refuses");
    });
    ADD_FAILURE() << "no error";
  } catch (const mpi::AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_data);
    EXPECT_EQ(error.rank(), comm.size() - 1);
    EXPECT_STREQ(error.what(), "the last rank refuses");
  }
  EXPECT_EQ(comm.sum(1), comm.size());
}

TEST_F(Embedded, ErrorsNameTheArgumentAndTheRank) {
  try {
    mpi::together(comm, "check", [&] {
      require_argument(comm.rank() != comm.size() - 1, "method.threads",
                       "is 0: must be at least 1");
    });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(error.rank(), comm.size() - 1);
    EXPECT_EQ(error.argument(), "method.threads");
    EXPECT_STREQ(error.what(), "method.threads is 0: must be at least 1");
  }
  const Error other(ExitCode::io, "no file");
  EXPECT_EQ(other.argument(), "");
  EXPECT_EQ(other.rank(), -1);
}

TEST_F(Embedded, ProgressThreadsRunWhereTheLevelAllowsThem) {
  std::vector<std::byte> out(8), in(8);
  mpi::Request request = comm.receive(in, comm.rank(), 3);
  mpi::ProgressThread progress(request);
  EXPECT_EQ(progress.runs(), level == MPI_THREAD_MULTIPLE) << "the program may call MPI as well";
  progress.stop();
  comm.send(out, comm.rank(), 3).wait();
  request.wait();
}

}  // namespace
}  // namespace tessera::embedded
