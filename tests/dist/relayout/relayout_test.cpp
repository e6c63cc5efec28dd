#include "dist/relayout/relayout.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/hash.hpp"
#include "dist/relayout/cyclic.hpp"
#include "dist/relayout/placed.hpp"
#include "mpi/agreement.hpp"

namespace tessera::dist::relayout {
namespace {

using mpi::Communicator;

/// A record that no number type matches.
struct Three {
  std::array<unsigned char, 3> bytes;
  friend bool operator==(const Three&, const Three&) = default;
};

/// Returns the element (i, j) of matrix `which`: a small integer, so that updates are exact.
template <class T>
T value(int which, index_t i, index_t j) {
  const std::uint64_t code = mix64(static_cast<std::uint64_t>((i * 10007 + j) * 5 + which));
  const auto part = [&](int shift) { return static_cast<float>((code >> shift) % 31) - 15; };
  if constexpr (mpi::is_any_complex<T>) {
    return {part(0), part(8)};
  } else if constexpr (std::is_same_v<T, Three>) {
    return {{static_cast<unsigned char>(code), static_cast<unsigned char>(code >> 8),
             static_cast<unsigned char>(code >> 16)}};
  } else {
    return static_cast<T>(part(0));
  }
}

template <class T>
T conjugated(const T& x) {
  if constexpr (mpi::is_any_complex<T>)
    return std::conj(x);
  else
    return x;
}

/// The local arrays of a rank, with gaps between rows and at the end that hold sentinels.
template <class T>
struct Local {
  std::vector<std::vector<T>> arrays;
  std::vector<index_t> ld;
  StorageOrder order;

  Local(const Placed& placed, index_t rank, StorageOrder storage) : order(storage) {
    struct Extents {
      index_t rows = 0, cols = 0;
    };
    std::vector<Extents> extents;
    const auto& d = placed.distribution;
    for (index_t i = 0; i < d.rows(); ++i) {
      for (index_t j = 0; j < d.cols(); ++j) {
        const auto at = placed.where(rank, i, j);
        if (!at) continue;
        extents.resize(std::max(extents.size(), at->array + 1));
        auto& [rows, cols] = extents[at->array];
        rows = std::max(rows, at->row + 1);
        cols = std::max(cols, at->col + 1);
      }
    }
    extents.resize(static_cast<std::size_t>(d.arrays(rank)));  // of empty blocks too
    for (const auto& [rows, cols] : extents) {
      const bool by_rows = order == StorageOrder::row_major;
      const auto gap = static_cast<index_t>((ld.size() + static_cast<std::size_t>(rank)) % 4);
      ld.push_back((by_rows ? cols : rows) + gap);
      arrays.emplace_back(static_cast<std::size_t>((by_rows ? rows : cols) * ld.back() + 2));
      std::memset(static_cast<void*>(arrays.back().data()), 0xff, arrays.back().size() * sizeof(T));
    }
  }
  T& at(const Where& w) {
    const index_t offset = order == StorageOrder::row_major ? w.row * ld[w.array] + w.col
                                                            : w.col * ld[w.array] + w.row;
    return arrays[w.array][static_cast<std::size_t>(offset)];
  }
  template <class Element>
  [[nodiscard]] std::vector<LocalArray<Element>> views() {
    std::vector<LocalArray<Element>> result;
    for (std::size_t k = 0; k < arrays.size(); ++k) result.push_back({arrays[k].data(), ld[k]});
    return result;
  }
};

/// Sets every element that the rank has to f(i, j).
template <class T, class F>
void fill(const Placed& placed, index_t rank, Local<T>& local, const F& f) {
  for (index_t i = 0; i < placed.distribution.rows(); ++i) {
    for (index_t j = 0; j < placed.distribution.cols(); ++j) {
      if (const auto at = placed.where(rank, i, j)) local.at(*at) = f(i, j);
    }
  }
}

template <class T>
bool same_bytes(const Local<T>& x, const Local<T>& y) {
  for (std::size_t k = 0; k < x.arrays.size(); ++k) {
    if (std::memcmp(x.arrays[k].data(), y.arrays[k].data(), x.arrays[k].size() * sizeof(T)) != 0)
      return false;
  }
  return true;
}

/// One matrix of a random case: its relayout, its memory, and what b must become.
template <class T>
struct Case {
  using Factor = typename Memory<T>::Factor;
  Placed a, b;
  Relayout relayout;
  Local<T> from, to, want;
  std::vector<LocalArray<const T>> a_views;
  std::vector<LocalArray<T>> b_views;
  Factor alpha{1}, beta{0};

  static Placed source(Random& random, index_t rows, index_t cols, Op op, index_t ranks) {
    return turns(op) ? any_distribution(random, cols, rows, ranks)
                     : any_distribution(random, rows, cols, ranks);
  }
  static StorageOrder order(Random& random) {
    return pick(random, 0, 1) == 0 ? StorageOrder::row_major : StorageOrder::column_major;
  }
  Case(Random& random, const Communicator& comm, index_t rows, index_t cols, Op op)
      : a(source(random, rows, cols, op, comm.size())),
        b(any_distribution(random, rows, cols, comm.size())),
        relayout{a.distribution, op, b.distribution, order(random), order(random)},
        from(a, comm.rank(), relayout.a_order),
        to(b, comm.rank(), relayout.b_order),
        want(to),
        a_views(from.template views<const T>()),
        b_views(to.template views<T>()) {
    if constexpr (Scalable<T>) {
      alpha = value<T>(7, pick(random, 0, 9), 1);
      beta = value<T>(8, pick(random, 0, 9), 2);
      if (pick(random, 0, 3) == 0) alpha = T{1};
      if (pick(random, 0, 3) == 0) alpha = T{0};
      if (pick(random, 0, 2) == 0) beta = T{0};
    }
    fill(a, comm.rank(), from, [](index_t i, index_t j) { return value<T>(0, i, j); });
    // What beta == 0 leaves unread keeps its sentinel, a NaN.
    if (beta != Factor{0})
      fill(b, comm.rank(), to, [](index_t i, index_t j) { return value<T>(1, i, j); });
    want = to;
    b_views = to.template views<T>();
    fill(b, comm.rank(), want, [&](index_t i, index_t j) {
      const T x = turns(op) ? value<T>(0, j, i) : value<T>(0, i, j);
      if constexpr (!Scalable<T>)
        return x;
      else {
        const T term = alpha == T{0} ? T{0} : alpha * (op == Op::hermitian ? conjugated(x) : x);
        return beta == T{0} ? term + T{0} : term + beta * value<T>(1, i, j);
      }
    });
  }
  [[nodiscard]] Memory<T> memory() const { return {a_views, b_views, alpha, beta}; }
  [[nodiscard]] bool right() const {
    for (std::size_t k = 0; k < to.arrays.size(); ++k) {
      for (std::size_t e = 0; e < to.arrays[k].size(); ++e) {
        const T &got = to.arrays[k][e], &expected = want.arrays[k][e];
        const bool equal = got == expected || std::memcmp(&got, &expected, sizeof(T)) == 0;
        if (!equal) return false;  // sentinels are NaN, compared by their bytes
      }
    }
    return true;
  }
};

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
