// Planned products of random shapes in random distributions: bits, memory around the arrays, what
// is allocated, wrong calls.

#include "dist/matmul/multiply_plan.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "dist/matmul/laid_out.hpp"
#include "dist/relayout/placed.hpp"
#include "kernels/matmul/cache_oblivious.hpp"

namespace tessera::dist::matmul {
namespace {

using mpi::Communicator;
using relayout::LocalArray;
using relayout::pick;
using relayout::Placed;
using relayout::Random;
using relayout::StorageOrder;

/// A matrix in a distribution: its local arrays, rows apart by more than their elements.
template <class T>
struct Held {
  Placed placed;
  StorageOrder order = StorageOrder::row_major;
  index_t rank = 0;
  std::vector<std::vector<T>> memory;
  std::vector<index_t> ld;

  static constexpr index_t margin = 16;
  [[nodiscard]] static T sentinel() { return T(-77); }

  Held(Placed where, StorageOrder stored, index_t here, index_t gap)
      : placed(std::move(where)), order(stored), rank(here) {
    const layout::Distribution& x = placed.distribution;
    for (index_t k = 0; k < x.arrays(rank); ++k) {
      const layout::Box box = x.local_box(rank, k);
      const bool by_rows = order == StorageOrder::row_major;
      const index_t outer = by_rows ? box.rows.end : box.cols.end;
      ld.push_back((by_rows ? box.cols.end : box.rows.end) + gap);
      memory.emplace_back(static_cast<std::size_t>(outer * ld.back() + 2 * margin), sentinel());
    }
  }
  [[nodiscard]] T& at(const relayout::Where& w) {
    const index_t place = order == StorageOrder::row_major ? w.row * ld[w.array] + w.col
                                                           : w.col * ld[w.array] + w.row;
    return memory[w.array][static_cast<std::size_t>(margin + place)];
  }
  /// Calls f(row, column, element) for all elements of this rank.
  template <class F>
  void each(const F& f) {
    for (index_t i = 0; i < placed.distribution.rows(); ++i)
      for (index_t j = 0; j < placed.distribution.cols(); ++j)
        if (const auto w = placed.where(rank, i, j)) f(i, j, at(*w));
  }
  [[nodiscard]] StoredMatrix stored() const { return {placed.distribution, order}; }
  template <class U = T>
  [[nodiscard]] std::vector<LocalArray<U>> arrays() {
    std::vector<LocalArray<U>> result;
    for (std::size_t k = 0; k < memory.size(); ++k)
      result.push_back({memory[k].data() + margin, ld[k]});
    return result;
  }
};

struct Case {
  index_t m, n, k;
  Op op_a, op_b;
};

template <class T>
T element(int stream, index_t i, index_t j) {
  return static_cast<T>(
      random_symmetric<Arithmetic<T>>(7, static_cast<std::uint64_t>(stream), i * 20011 + j));
}

/// Returns a matrix as rows, or its transpose.
template <class T>
std::vector<T> whole(int stream, index_t rows, index_t cols, bool turned) {
  std::vector<T> all(static_cast<std::size_t>(rows * cols));
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < cols; ++j)
      all[static_cast<std::size_t>(turned ? j * rows + i : i * cols + j)] =
          element<T>(stream, i, j);
  return all;
}

/// The product on this rank alone, as its kernel computes it.
template <class T>
std::vector<T> alone(const Case& x, Factor<T> alpha, Factor<T> beta, bool turned) {
  const Extents a = stored(x.op_a, x.m, x.k), b = stored(x.op_b, x.k, x.n);
  const std::vector<T> at = whole<T>(1, a.rows, a.cols, turned),
                       bt = whole<T>(2, b.rows, b.cols, turned);
  std::vector<T> c = whole<T>(3, x.m, x.n, turned);
  const auto view = [&](const std::vector<T>& all, const Extents& e) {
    return turned ? matrix_view(all.data(), e.cols, e.rows)
                  : matrix_view(all.data(), e.rows, e.cols);
  };
  tessera::matmul::Gemm<T> g{alpha, view(at, a), x.op_a, view(bt, b), x.op_b, beta, {}};
  if (turned) {
    std::swap(g.a, g.b);
    std::swap(g.op_a, g.op_b);
  }
  g.c = turned ? matrix_view(c.data(), x.n, x.m) : matrix_view(c.data(), x.m, x.n);
  tessera::matmul::cache_oblivious(g);
  return c;
}

template <class T>
bool same(const T& x, const T& y) {
  return std::memcmp(&x, &y, sizeof(T)) == 0;
}

template <class T>
class Fixture {
 public:
  Fixture(const Communicator& comm, Random& random, const Case& x)
      : case_(x),
        comm_(comm),
        a_(any(random, stored(x.op_a, x.m, x.k))),
        b_(any(random, stored(x.op_b, x.k, x.n))),
        c_(any(random, {x.m, x.n})) {
    a_.each([](index_t i, index_t j, T& at) { at = element<T>(1, i, j); });
    b_.each([](index_t i, index_t j, T& at) { at = element<T>(2, i, j); });
  }
  [[nodiscard]] ProductLayouts layouts() const {
    return {a_.stored(), case_.op_a, b_.stored(), case_.op_b, c_.stored()};
  }
  /// Executes and compares with the product of one rank, and all that is not c with what it was.
  void run(MultiplyPlan<T>& plan, Factor<T> alpha, Factor<T> beta) {
    c_.each([](index_t i, index_t j, T& at) { at = element<T>(3, i, j); });
    const auto a_before = a_.memory, b_before = b_.memory;
    execute(plan, alpha, beta);
    EXPECT_TRUE(same_memory(a_.memory, a_before) && same_memory(b_.memory, b_before));
    const bool turned = c_.order == StorageOrder::column_major;
    const std::vector<T> want = alone<T>(case_, alpha, beta, turned);
    index_t wrong = 0;
    c_.each([&](index_t i, index_t j, T& at) {
      wrong +=
          !same(at, want[static_cast<std::size_t>(turned ? j * case_.m + i : i * case_.n + j)]);
      at = c_.sentinel();
    });
    EXPECT_EQ(wrong, 0);
    for (const std::vector<T>& one : c_.memory)
      for (const T& x : one) EXPECT_TRUE(same(x, c_.sentinel()));
  }
  void execute(MultiplyPlan<T>& plan, Factor<T> alpha, Factor<T> beta) {
    const auto a = a_.template arrays<const T>(), b = b_.template arrays<const T>();
    const auto c = c_.arrays();
    plan.execute({alpha, a, b, beta, c});
  }
  /// Returns the bytes that three executions allocate after two.
  [[nodiscard]] std::size_t allocated_later(MultiplyPlan<T>& plan) {
    const auto a = a_.template arrays<const T>(), b = b_.template arrays<const T>();
    const auto c = c_.arrays();
    std::size_t before = 0;
    for (int k = 0; k < 5; ++k) {
      if (k == 2) before = allocated_bytes();
      plan.execute({Factor<T>(2), a, b, Factor<T>(k == 3 ? 0 : 1), c});
    }
    return allocated_bytes() - before;
  }

 private:
  Held<T> any(Random& random, const Extents& x) {
    const auto order =
        pick(random, 0, 1) == 0 ? StorageOrder::row_major : StorageOrder::column_major;
    const index_t gap = pick(random, 0, 3);
    return {relayout::any_distribution(random, x.rows, x.cols, comm_.size()), order, comm_.rank(),
            gap};
  }
  static bool same_memory(const std::vector<std::vector<T>>& x,
                          const std::vector<std::vector<T>>& y) {
    for (std::size_t k = 0; k < x.size(); ++k)
      if (std::memcmp(x[k].data(), y[k].data(), x[k].size() * sizeof(T)) != 0) return false;
    return true;
  }
  Case case_;
  const Communicator& comm_;
  Held<T> a_, b_, c_;
};

template <class T>
Factor<T> factor(double value) {
  const auto real = static_cast<Real<Factor<T>>>(value);
  if constexpr (is_complex<T>)
    return {real, Real<T>(0.25)};
  else
    return real;
}

Case any_case(Random& random) {
  constexpr Op ops[] = {Op::none, Op::transpose, Op::hermitian};
  constexpr index_t lengths[] = {0, 1, 7, 130, 515, 4500, 9001};  // several leaves from 4096 on
  const index_t k = lengths[pick(random, 0, 6)];
  const index_t most = k > 1000 ? 40 : 90;
  return {pick(random, 1, most), pick(random, 1, most), k, ops[pick(random, 0, 2)],
          ops[pick(random, 0, 2)]};
}

template <class T>
void run_random(Random& random, const Communicator& comm) {
  const Case x = any_case(random);
  SCOPED_TRACE(std::to_string(x.m) + " x " + std::to_string(x.n) + " x " + std::to_string(x.k));
  Fixture<T> fixture(comm, random, x);
  Method method;
  method.threads = static_cast<int>(pick(random, 1, 2));
  MultiplyPlan<T> plan(comm, fixture.layouts(), method);
  using Number = Factor<T>;
  fixture.run(plan, factor<T>(1.5), Number{0});
  fixture.run(plan, Number{1}, factor<T>(-0.5));
  fixture.run(plan, Number{0}, factor<T>(3));
  fixture.run(plan, Number{1}, Number{0});
}

TEST(MultiplyPlan, HasTheBitsOfOneRankInAnyDistribution) {
  const Communicator comm = Communicator::world();
  Random random(20261129);
  for (int k = 0; k < 12; ++k) {
    run_random<double>(random, comm);
    run_random<float>(random, comm);
    run_random<Complex<double>>(random, comm);
    run_random<Complex<float>>(random, comm);
    run_random<Half>(random, comm);
    run_random<BFloat16>(random, comm);
  }
}

TEST(MultiplyPlan, HasTheBitsOfMultiply) {
  const Communicator comm = Communicator::world();
  const index_t m = 61, n = 47, k = 9000;
  const auto grid = layout::nearest_square(comm.size(), m, n);
  const auto boxes = [&](index_t rows, index_t cols) {
    return layout::grid_blocks(layout::BlockMap(rows, grid.rows), layout::BlockMap(cols, grid.cols),
                               grid);
  };
  for (const double beta : {0.0, -2.0}) {
    DistributedMatrix<double> a(comm, boxes(m, k)), b(comm, boxes(k, n)), c(comm, boxes(m, n));
    fill_random(a, 1, 1);
    fill_random(b, 1, 2);
    fill_random(c, 1, 3);
    std::vector<double> got(c.view().data, c.view().data + c.box().area());
    const auto stored_as = [](const DistributedMatrix<double>& x) {
      return StoredMatrix{layout::Distribution(x.layout())};
    };
    MultiplyPlan<double> plan(comm, {stored_as(a), Op::none, stored_as(b), Op::none, stored_as(c)});
    plan.execute(1.5, {a.view().data, a.view().ld}, {b.view().data, b.view().ld}, beta,
                 {got.data(), c.view().ld});
    multiply(comm, Product<double>{.alpha = 1.5, .a = a, .b = b, .beta = beta, .c = c});
    EXPECT_EQ(std::memcmp(got.data(), c.view().data, got.size() * sizeof(double)), 0);
  }
}

template <class T>
void expect_no_allocations(const Communicator& comm, Random& random, const Case& x) {
  Fixture<T> fixture(comm, random, x);
  Method method;
  method.threads = 1;  // others might meet their first product later
  const std::size_t before = allocated_bytes();
  MultiplyPlan<T> plan(comm, fixture.layouts(), method);
  if (x.k == 300) {  // Buffers below 2 MiB
    EXPECT_GE(allocated_bytes() - before, static_cast<std::size_t>(plan.workspace_bytes()));
  }
  EXPECT_EQ(fixture.allocated_later(plan), 0U);
  EXPECT_EQ(comm.sum(plan.sent_bytes()), comm.sum(plan.received_bytes()));
}

TEST(MultiplyPlan, AllocatesNothingAfterTheSecondExecution) {
  const Communicator comm = Communicator::world();
  Random random(41);
  for (int k = 0; k < 6; ++k) {
    Case x = any_case(random);
    x.k = k % 2 == 0 ? 300 : 9001;
    expect_no_allocations<double>(comm, random, x);
    expect_no_allocations<Half>(comm, random, x);
  }
}

/// std::complex gives the bits of Complex, in plans and single products, and allocates nothing.
TEST(MultiplyPlan, TakesStdComplex) {
  using Own = Complex<double>;
  using Number = std::complex<double>;
  const Communicator comm = Communicator::world();
  const index_t m = 13, n = 9, k = 21;
  const layout::Distribution of_a(layout::row_blocks(m, k, comm.size())),
      of_b(layout::row_blocks(k, n, comm.size())), of_c(layout::row_blocks(m, n, comm.size()));
  std::vector<Own> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n)),
      c(static_cast<std::size_t>(m * n), {1, 2});
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = {1.0 + static_cast<double>(i % 7), 0.5};
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = {0.25, static_cast<double>(i % 5)};
  std::vector<Own> planned = c, single = c;
  const auto std_of = [](const std::vector<Own>& x) {
    return reinterpret_cast<const Number*>(x.data());
  };
  auto* const to = reinterpret_cast<Number*>(planned.data());
  Method method;
  method.threads = 1;
  MultiplyPlan<Own> plan(comm, {{of_a}, Op::none, {of_b}, Op::none, {of_c}}, method);
  plan.execute({2, 1}, {a.data(), k}, {b.data(), n}, {-1, 1}, {c.data(), n});
  MultiplyPlan<Number> same(comm, {{of_a}, Op::none, {of_b}, Op::none, {of_c}}, method);
  same.execute({2, 1}, {std_of(a), k}, {std_of(b), n}, {-1, 1}, {to, n});
  EXPECT_EQ(std::memcmp(planned.data(), c.data(), c.size() * sizeof(Own)), 0);
  EXPECT_EQ(same.workspace_bytes(), plan.workspace_bytes());
  multiply(comm,
           LaidOutProduct<Number>{.alpha = {2, 1},
                                  .a = {of_a, {std_of(a), k}},
                                  .b = {of_b, {std_of(b), n}},
                                  .beta = {-1, 1},
                                  .c = {of_c, {reinterpret_cast<Number*>(single.data()), n}}},
           method);
  EXPECT_EQ(std::memcmp(single.data(), c.data(), c.size() * sizeof(Own)), 0);
  same.execute({1}, {std_of(a), k}, {std_of(b), n}, {1}, {to, n});
  const std::size_t before = allocated_bytes();
  same.execute({1}, {std_of(a), k}, {std_of(b), n}, {1}, {to, n});
  EXPECT_EQ(allocated_bytes() - before, 0U);
}

/// One rank has everything where it is.
TEST(MultiplyPlan, NeedsNoBuffersOnOneRank) {
  const Communicator comm = Communicator::self();
  const StoredMatrix a{layout::Distribution(layout::row_blocks(30, 40, 1))};
  const StoredMatrix b{layout::Distribution(layout::row_blocks(40, 50, 1)),
                       StorageOrder::column_major};
  for (const auto order : {StorageOrder::row_major, StorageOrder::column_major}) {
    const StoredMatrix c{layout::Distribution(layout::row_blocks(30, 50, 1)), order};
    const MultiplyPlan<double> plan(comm, {a, Op::none, b, Op::none, c});
    EXPECT_EQ(plan.workspace_bytes(), 0);
  }
}

template <class F>
void expect_refused(const F& f, const std::string& argument) {
  try {
    f();
    ADD_FAILURE() << "no error about " << argument;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(error.argument(), argument) << error.what();
  }
}

TEST(MultiplyPlan, NamesTheWrongArgument) {
  const Communicator comm = Communicator::world();
  const auto rows = [&](index_t m, index_t n, int ranks) {
    return StoredMatrix{layout::Distribution(layout::row_blocks(m, n, ranks))};
  };
  const int p = comm.size();
  using Plan = MultiplyPlan<double>;
  const ProductLayouts good{rows(9 * p, 5, p), Op::none, rows(5, 7, p), Op::none,
                            rows(9 * p, 7, p)};
  const auto with = [&](auto member, const StoredMatrix& x) {
    ProductLayouts layouts = good;
    layouts.*member = x;
    return layouts;
  };
  for (const auto order : {StorageOrder::row_major, StorageOrder::column_major}) {
    StoredMatrix b = rows(6, 7, p), c = rows(9 * p, 8, p), a = rows(9 * p, 5, p + 1);
    a.order = b.order = c.order = order;
    expect_refused([&] { Plan(comm, with(&ProductLayouts::b, b)); }, "layouts.b");
    expect_refused([&] { Plan(comm, with(&ProductLayouts::c, c)); }, "layouts.c");
    expect_refused([&] { Plan(comm, with(&ProductLayouts::a, a)); }, "layouts.a");
  }
  layout::MatrixLayout hole = layout::row_blocks(9 * p, 5, p);
  hole.boxes.back().rows.end -= 1;
  const StoredMatrix holed{layout::Distribution(hole)};
  expect_refused([&] { Plan(comm, with(&ProductLayouts::a, holed)); }, "layouts.a");
  expect_refused([&] { Plan(comm, good, {.threads = 0}); }, "threads");
  expect_refused([&] { Plan(comm, good, {.algorithm = Algorithm::summa}); }, "method.algorithm");
  expect_refused([&] { Plan(Communicator(), good); }, "comm");

  ProductLayouts once = good;
  once.reads_c = false;
  Plan plan(comm, once);
  std::vector<double> x(static_cast<std::size_t>(9 * p * 7), 1), y = x, z = x;
  const LocalArray<const double> a{x.data(), 5}, b{y.data(), 7};
  const LocalArray<double> c{z.data(), 7};
  expect_refused([&] { plan.execute(1, a, b, 1, c); }, "beta");
  expect_refused([&] { plan.execute(1, {nullptr, 5}, b, 0, c); }, "a");
  expect_refused([&] { plan.execute(1, {x.data(), 4}, b, 0, c); }, "a");
  expect_refused([&] { plan.execute(1, a, b, 0, {z.data(), 6}); }, "c");
  expect_refused([&] { plan.execute(1, a, b, 0, {x.data(), 7}); }, "c");
  expect_refused([&] { plan.execute({1, {}, std::span(&b, 1), 0, std::span(&c, 1)}); }, "a");
  plan.execute(1, a, b, 0, c);
  EXPECT_EQ(z.front(), 5);
}

}  // namespace
}  // namespace tessera::dist::matmul
