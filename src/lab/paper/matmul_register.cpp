// The register-blocked product on paper: tiles of both operands with k slowest in shared memory, by
// asynchronous copies several stages ahead; a thread holds a tile of C and fragments of the
// operands.

#include <fmt/core.h>

#include <limits>

#include "base/error.hpp"
#include "lab/paper/product.hpp"

namespace tessera::inline v1::paper {
namespace {

/// The tiles that cuda_register takes: in f32 the small one, that of products which do not fill the
/// device.
template <class T>
struct Shape {
  static constexpr index_t m = 64, n = 64, k = 16, stages = 4, tm = 8, tn = 8;
  static constexpr std::size_t stores = 4;  ///< elements per store
};
template <>
struct Shape<double> {
  static constexpr index_t m = 128, n = 64, k = 16, stages = 4, tm = 8, tn = 4;
  static constexpr std::size_t stores = 1;
};

template <class T>
class Tiles : public Shape<T> {
 public:
  using S = Shape<T>;
  static constexpr index_t vector = 16 / static_cast<index_t>(sizeof(T));
  static constexpr index_t threads = S::m / S::tm * (S::n / S::tn);
  static constexpr index_t lanes_m = 4, lanes_n = lanes / lanes_m;
  static constexpr index_t warps_m = S::m / (lanes_m * S::tm);
  static constexpr index_t a_pitch = S::m + vector, b_pitch = S::n;
  using Sums = std::array<T, static_cast<std::size_t>(S::tm* S::tn)>;

  Tiles(Block& block, Product<T>& product, index_t row0, index_t col0)
      : block_(block),
        p_(product),
        row0_(row0),
        col0_(col0),
        a_(block.shared<T>("tile of a", S::stages * S::k * a_pitch)),
        b_(block.shared<T>("tile of b", S::stages * S::k * b_pitch)),
        sums_(block.registers<Sums>()) {}

  void multiply() {
    for (index_t k0 = 0; k0 < p_.k; k0 += S::k) {
      block_.phase([&](Warp& warp) { copy(warp, k0); });
      block_.phase([&](Warp& warp) { add_products(warp); });
    }
    block_.phase([&](Warp& warp) { store(warp); });
  }

 private:
  /// Row of a and columns of b that a thread copies first, and how many rows all threads copy.
  static constexpr index_t a_rows = threads / S::k, b_rows = threads / (S::n / vector);

  void copy(Warp& warp, index_t k0) {
    std::array<Register<T>, static_cast<std::size_t>(S::m / a_rows)> a;
    std::array<Register<std::array<T, static_cast<std::size_t>(vector)>>,
               static_cast<std::size_t>(S::k / b_rows)>
        b;
    const auto a_row = [](const Thread& t, std::size_t j) {
      return t.number / S::k + static_cast<index_t>(j) * a_rows;
    };
    const auto a_col = [](const Thread& t) { return t.number % S::k; };
    const auto b_row = [](const Thread& t, std::size_t j) {
      return t.number / (S::n / vector) + static_cast<index_t>(j) * b_rows;
    };
    const auto b_col = [](const Thread& t) { return t.number % (S::n / vector) * vector; };
    for (std::size_t j = 0; j < a.size(); ++j)
      warp.where(
          [&](const Thread& t) { return row0_ + a_row(t, j) < p_.m && k0 + a_col(t) < p_.k; },
          [&] {
            a[j] = warp.load(p_.a, [&](const Thread& t) {
              return (row0_ + a_row(t, j)) * p_.k + k0 + a_col(t);
            });
          });
    for (std::size_t j = 0; j < b.size(); ++j)
      warp.where(
          [&](const Thread& t) { return k0 + b_row(t, j) < p_.k && col0_ + b_col(t) < p_.n; },
          [&] {
            b[j] = warp.template load_vector<static_cast<std::size_t>(vector)>(
                p_.b,
                [&](const Thread& t) { return (k0 + b_row(t, j)) * p_.n + col0_ + b_col(t); });
          });
    for (std::size_t j = 0; j < a.size(); ++j)
      warp.store(
          a_, [&](const Thread& t) { return a_col(t) * a_pitch + a_row(t, j); },
          [&](const Thread& t) { return a[j][t]; });
    for (std::size_t j = 0; j < b.size(); ++j)
      warp.template store_vector<static_cast<std::size_t>(vector)>(
          b_, [&](const Thread& t) { return b_row(t, j) * b_pitch + b_col(t); },
          [&](const Thread& t) { return b[j][t]; });
  }

  // A warp is lanes_m x lanes_n threads; the rows and columns of a thread are vectors, contiguous
  // across the warp.
  static index_t row(const Thread& t, index_t i) {
    return t.number / lanes % warps_m * lanes_m * S::tm + t.lane % lanes_m * vector +
           i / vector * lanes_m * vector + i % vector;
  }
  static index_t col(const Thread& t, index_t j) {
    return t.number / lanes / warps_m * lanes_n * S::tn + t.lane / lanes_m * vector +
           j / vector * lanes_n * vector + j % vector;
  }
  static std::size_t number(index_t i, index_t j) {
    return static_cast<std::size_t>(i * S::tn + j);
  }

  void add_products(Warp& warp) {
    Register<Sums>& sum = sums_[warp.number()];
    constexpr auto count = static_cast<std::size_t>(vector);
    for (index_t step = 0; step < S::k; ++step) {
      std::array<Register<std::array<T, count>>, static_cast<std::size_t>(S::tm / vector)> x;
      std::array<Register<std::array<T, count>>, static_cast<std::size_t>(S::tn / vector)> y;
      for (std::size_t g = 0; g < x.size(); ++g)
        x[g] = warp.template load_vector<count>(a_, [&](const Thread& t) {
          return step * a_pitch + row(t, static_cast<index_t>(g) * vector);
        });
      for (std::size_t g = 0; g < y.size(); ++g)
        y[g] = warp.template load_vector<count>(b_, [&](const Thread& t) {
          return step * b_pitch + col(t, static_cast<index_t>(g) * vector);
        });
      warp.each([&](const Thread& t) {
        for (index_t i = 0; i < S::tm; ++i) {
          for (index_t j = 0; j < S::tn; ++j)
            sum[t][number(i, j)] +=
                x[static_cast<std::size_t>(i) / count][t][static_cast<std::size_t>(i) % count] *
                y[static_cast<std::size_t>(j) / count][t][static_cast<std::size_t>(j) % count];
        }
      });
      warp.operations(2 * S::tm * S::tn);
    }
  }

  void store(Warp& warp) {
    const bool whole = row0_ + S::m <= p_.m && col0_ + S::n <= p_.n;
    for (index_t i = 0; i < S::tm; ++i) {
      for (index_t j = 0; j < S::tn;) {
        if (whole) {
          store_from<S::stores>(warp, i, j);
          j += static_cast<index_t>(S::stores);
          continue;
        }
        warp.where(
            [&](const Thread& t) { return row0_ + row(t, i) < p_.m && col0_ + col(t, j) < p_.n; },
            [&] { store_from<1>(warp, i, j); });
        ++j;
      }
    }
  }
  template <std::size_t count>
  void store_from(Warp& warp, index_t i, index_t j) {
    warp.template store_vector<count>(
        p_.c, [&](const Thread& t) { return (row0_ + row(t, i)) * p_.n + col0_ + col(t, j); },
        [&](const Thread& t) {
          std::array<T, count> elements;
          for (std::size_t e = 0; e < count; ++e)
            elements[e] = sums_[warp.number()][t][number(i, j) + e];
          return elements;
        });
  }

  Block& block_;
  Product<T>& p_;
  index_t row0_, col0_;
  Array<T> a_, b_;
  std::vector<Register<Sums>> sums_;
};

template <class T>
void run_typed(Meter& meter, const Request& r) {
  using K = Tiles<T>;
  Product<T> p(meter, r.problem);
  meter.phases_ahead = K::stages - 1;
  meter.thread_bytes = std::numeric_limits<index_t>::max();  // copies pass the registers by
  const index_t across = ceil_div(p.n, K::n);
  launch(meter, ceil_div(p.m, K::m) * across, K::threads, [&](Block& block) {
    K(block, p, block.number() / across * K::m, block.number() % across * K::n).multiply();
  });
  p.check(r.problem.kernel);
}

void run(Meter& meter, Request& r) {
  if (r.problem.element_bytes == 4) return run_typed<float>(meter, r);
  run_typed<double>(meter, r);
}

void check(const Request& r) {
  const index_t vector = 16 / r.problem.element_bytes;
  require(r.problem.n % vector == 0 && r.problem.k % vector == 0, ExitCode::usage,
          fmt::format("cuda_register runs on paper with rows of whole vectors: --n and --k must be "
                      "multiples of {}",
                      vector));
}

}  // namespace

PaperKernel register_kernel() { return {"matmul", "cuda_register", 165, 168, run, check}; }

}  // namespace tessera::inline v1::paper
