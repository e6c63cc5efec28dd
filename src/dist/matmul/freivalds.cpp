// Freivalds' check (Freivalds 1977) of C = alpha op(A) op(B) + beta C, with rounding bounds, in
// strips.

#include "dist/matmul/freivalds.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/error.hpp"
#include "base/random.hpp"
#include "dist/matmul/rounding.hpp"
#include "kernels/matmul/checksum.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

constexpr index_t strip_elements = index_t{1}
                                   << 18;  // elements copied at a time to mask non-finite numbers
constexpr index_t bytes_per_thread = index_t{1}
                                     << 20;  // 10 us in a cache, as long as waking a thread takes

/// The number of rows of doubles per vector: a complex vector has one row of real and one of
/// imaginary parts.
template <class T>
constexpr index_t lines = is_complex<T> ? 2 : 1;

template <class T>
std::vector<double> zeros(index_t length) {
  return std::vector<double>(static_cast<std::size_t>(lines<T> * length));
}

template <class T>
MatrixView<double> rows_of(std::vector<double>& x) {
  return matrix_view(x.data(), lines<T>, static_cast<index_t>(x.size()) / lines<T>);
}
template <class T>
MatrixView<double> rows_of(const std::vector<double>& x) {
  return rows_of<T>(const_cast<std::vector<double>&>(x));
}

bool is_finite(double x) { return std::isfinite(x); }
template <class T>
bool is_finite(Complex<T> x) {
  return std::isfinite(x.re) && std::isfinite(x.im);
}

/// Returns |re| + |im|, a bound of the factor of a real or an imaginary part.
double size(double x) { return std::abs(x); }
template <class T>
double size(Complex<T> x) {
  return std::abs(static_cast<double>(x.re)) + std::abs(static_cast<double>(x.im));
}

/// Returns factor * x in the same rows. A factor of 0 reads nothing, since x may hold NaN.
template <class T>
std::vector<double> times(T factor, const std::vector<double>& x) {
  std::vector<double> out(x.size());
  if (factor == T{0}) return out;
  if constexpr (is_complex<T>) {
    const auto from = rows_of<T>(x), to = rows_of<T>(out);
    const auto re = static_cast<double>(factor.re), im = static_cast<double>(factor.im);
    for (index_t v = 0; v < from.rows; v += 2) {
      for (index_t i = 0; i < from.cols; ++i) {
        to(v, i) = re * from(v, i) - (im == 0 ? 0 : im * from(v + 1, i));
        to(v + 1, i) = re * from(v + 1, i) + (im == 0 ? 0 : im * from(v, i));
      }
    }
  } else {
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = static_cast<double>(factor) * x[i];
  }
  return out;
}

/// Returns the bounds of factor * x, given the bounds of x.
template <class T>
std::vector<double> times_bound(T factor, const std::vector<double>& x) {
  if constexpr (is_complex<T>) {
    std::vector<double> out(x.size());
    if (factor == T{0}) return out;
    const auto from = rows_of<T>(x), to = rows_of<T>(out);
    const double re = std::abs(static_cast<double>(factor.re)),
                 im = std::abs(static_cast<double>(factor.im));
    for (index_t v = 0; v < from.rows; v += 2) {
      for (index_t i = 0; i < from.cols; ++i) {
        to(v, i) = re * from(v, i) + (im == 0 ? 0 : im * from(v + 1, i));
        to(v + 1, i) = re * from(v + 1, i) + (im == 0 ? 0 : im * from(v, i));
      }
    }
    return out;
  } else {
    return times(std::abs(factor), x);
  }
}

std::vector<double> absolute(std::vector<double> x) {
  for (double& value : x) value = std::abs(value);
  return x;
}

/// Copies a block and sets elements to zero for which keep(i, j, value) is false; i, j are global
/// indices of the stored matrix.
template <class T, class Keep>
void copy_masked(MatrixView<const T> from, const layout::Box& box, MatrixView<T> to,
                 const Keep& keep) {
  for (index_t i = 0; i < from.rows; ++i) {
    for (index_t j = 0; j < from.cols; ++j) {
      const T value = from(i, j);
      to(i, j) = keep(box.rows.begin + i, box.cols.begin + j, value) ? value : T{0};
    }
  }
}

/// Calls add(box, strip) for masked copies of a part's strips.
template <class T, class Keep, class Add>
void each_masked(const layout::Box& box, MatrixView<const T> part, const Keep& keep,
                 const Add& add) {
  const index_t strip = std::max<index_t>(1, strip_elements / std::max<index_t>(1, part.cols));
  machine::Buffer<T> copy(std::min(strip, part.rows) * part.cols);
  for (index_t i = 0; i < part.rows; i += strip) {
    const index_t count = std::min(strip, part.rows - i);
    const layout::Box rows{{box.rows.begin + i, box.rows.begin + i + count}, box.cols};
    const auto masked = matrix_view(copy.data(), count, part.cols);
    copy_masked(part.rows_range(i, count), rows, masked, keep);
    add(rows, masked);
  }
}

template <class T>
PassingProduct<T> passing(const Product<T>& product) {
  const auto held = [](const DistributedMatrix<T>& matrix) {
    return std::make_shared<HeldPart<T>>(matrix);
  };
  const auto c = held(product.c);
  return {product.m(),
          product.n(),
          product.k(),
          product.alpha,
          held(product.a),
          product.op_a,
          held(product.b),
          product.op_b,
          product.beta,
          c,
          c};
}

}  // namespace

template <class T>
Freivalds<T>::Freivalds(const mpi::Communicator& comm, const Product<T>& product,
                        std::uint64_t seed, int threads)
    : Freivalds(comm, (check(comm, product), passing(product)), seed, threads) {}

template <class T>
Freivalds<T>::Freivalds(const mpi::Communicator& comm, PassingProduct<T> product,
                        std::uint64_t seed, int threads)
    : comm_(comm), product_(std::move(product)), seed_(seed), threads_(threads) {
  require(product_.m >= 0 && product_.n >= 0 && product_.k >= 0, ExitCode::usage,
          fmt::format("m, n, k are {}, {}, {}: must be at least 0", product_.m, product_.n,
                      product_.k));
  require(product_.a && product_.b && product_.c, ExitCode::usage,
          "a, b or c is empty: the check needs all three matrices");
  require_argument(product_.old_c || product_.beta == T{0}, "old_c",
                   "is empty: the check needs the old values of c if beta is not 0");
  take_start();
}

template <class T>
Freivalds<T>::Freivalds(const mpi::Communicator& comm, const Product<T>& product,
                        std::uint64_t seed, int threads, const MatrixStrips<T>& a,
                        const MatrixStrips<T>& b)
    : comm_(comm),
      product_((check(comm, product), passing(product))),
      seed_(seed),
      threads_(threads) {
  seen_ = operands_through(a, b, draw_vector(nullptr), nullptr);
  take_start();
}

template <class T>
void Freivalds<T>::take_start() {
  if (product_.beta == T{0}) return;
  const std::vector<double> x = draw_vector(nullptr);
  start_ = summed(through(*product_.old_c, Op::none, {x, absolute(x)}, product_.m, nullptr));
  const auto finite = [](double value) { return std::isfinite(value); };
  if (seen_) {
    const Sides all = summed(*seen_);
    if (std::all_of(all.value.begin(), all.value.end(), finite))
      return;  // so the operands are finite
  }
  const Mask mask = find_nonfinite();
  if (!mask.any) return;
  const std::vector<double> masked = draw_vector(&mask);
  masked_start_ =
      summed(through(*product_.old_c, Op::none, {masked, absolute(masked)}, product_.m, &mask));
}

/// Returns numbers of both signs in [1, 2) in steps of 2^-16, and 0 in columns that the mask
/// excludes. A single wrong element of a row always changes the sum; several cancel with
/// probability 2^-17 at most (the remainder may still be below the tolerance). Products with
/// integers below 2^36 are exact.
template <class T>
std::vector<double> Freivalds<T>::draw_vector(const Mask* mask) const {
  constexpr double step = 1.0 / (1 << 16);
  std::vector<double> x = zeros<T>(product_.n);
  for (index_t v = 0; v < lines<T>; ++v) {
    for (index_t j = 0; j < product_.n; ++j) {
      const auto at = static_cast<std::size_t>(v * product_.n + j);
      const std::uint64_t bits = random_bits(seed_, 0xF0, static_cast<index_t>(at));
      x[at] = (1 + step * static_cast<double>(bits >> 48)) * ((bits & 1) != 0 ? 1 : -1);
      if (mask != nullptr && mask->cols[static_cast<std::size_t>(j)] != 0) x[at] = 0;
    }
  }
  return x;
}

template <class T>
typename Freivalds<T>::Sides Freivalds<T>::through(const MatrixStrips<T>& matrix, Op op,
                                                   const Sides& vector, index_t rows,
                                                   const Mask* mask) const {
  Sides sides{zeros<T>(rows), zeros<T>(rows)};
  const bool is_c = &matrix == product_.c.get() || &matrix == product_.old_c.get();
  const bool with_bound = !vector.bound.empty();
  const auto keep = [&](index_t row, index_t col, T value) {
    if (!is_c) return is_finite(value);
    return mask->rows[static_cast<std::size_t>(row)] == 0 &&
           mask->cols[static_cast<std::size_t>(col)] == 0;
  };
  std::mutex turned;  // strips of a transposed matrix update the same sums
  const auto add = [&](const layout::Box& part, MatrixView<const T> block) {
    const auto alone = turns(op) ? std::unique_lock(turned) : std::unique_lock<std::mutex>();
    const layout::Box logical = op == Op::none ? part : transposed(part);
    const auto in = [&](const std::vector<double>& v) {
      return rows_of<T>(v).cols_range(logical.cols.begin, logical.cols.size());
    };
    const auto out = [&](std::vector<double>& v) {
      return rows_of<T>(v).cols_range(logical.rows.begin, logical.rows.size());
    };
    const index_t bytes = part.area() * static_cast<index_t>(sizeof(T));
    const auto threads =
        static_cast<int>(std::min<index_t>(threads_, ceil_div(bytes, bytes_per_thread)));
    machine::parallel(threads, [&] {
      tessera::matmul::Vectors vectors{in(vector.value), {}, out(sides.value), {}};
      if (with_bound) {
        vectors.abs_x = in(vector.bound);
        vectors.bound = out(sides.bound);
      }
      tessera::matmul::multiply_vectors<T>(block, op, vectors);
    });
    mpi::heartbeat();
  };
  matrix.each([&](const layout::Box& box, MatrixView<const T> part) {
    if (mask == nullptr) return add(box, part);
    each_masked(box, part, keep, add);
  });
  return sides;
}

/// Sums values and bounds over the ranks in one message.
template <class T>
typename Freivalds<T>::Sides Freivalds<T>::summed(Sides mine) const {
  const auto values = static_cast<std::ptrdiff_t>(mine.value.size());
  std::vector<double> both = std::move(mine.value);
  both.insert(both.end(), mine.bound.begin(), mine.bound.end());
  comm_.sum(both);
  return {{both.begin(), both.begin() + values}, {both.begin() + values, both.end()}};
}

template <class T>
typename Freivalds<T>::Sides Freivalds<T>::operands_through(const MatrixStrips<T>& a,
                                                            const MatrixStrips<T>& b,
                                                            const std::vector<double>& x,
                                                            const Mask* mask) const {
  const Sides bx = summed(through(b, product_.op_b, {x, absolute(x)}, product_.k, mask));
  return through(a, product_.op_a, bx, product_.m, mask);
}

template <class T>
typename Freivalds<T>::Outcome Freivalds<T>::outcome(
    const tessera::matmul::RoundingError& rounding) const {
  const Outcome all = outcome(nullptr, rounding);
  if (std::isfinite(all.ratio)) return all;
  const Mask mask = find_nonfinite();
  if (!c_is_nonfinite_where(mask)) return {NAN, NAN};
  return outcome(&mask, rounding);
}

template <class T>
typename Freivalds<T>::Outcome Freivalds<T>::outcome(
    const Mask* mask, const tessera::matmul::RoundingError& rounding) const {
  const std::vector<double> x = draw_vector(mask);
  const Sides& before = mask != nullptr && mask->any ? masked_start_ : start_;
  const Sides got = summed(through(*product_.c, Op::none, {x, {}}, product_.m, mask));
  if (product_.beta != T{0} && before.value.size() < got.value.size())
    return {NAN, NAN};  // the operands were finite before the product
  const Sides want = summed(
      mask == nullptr && seen_ ? *seen_ : operands_through(*product_.a, *product_.b, x, mask));
  const bool rounds = rounding.bits > 0;
  const Sides seen =
      !rounds ? want
              : summed(operands_through(RoundedStrips<T>(*product_.a, rounding),
                                        RoundedStrips<T>(*product_.b, rounding), x, mask));
  // alpha == 0 reads neither operand and beta == 0 does not read the old c: their NaN must not
  // enter here either.
  const std::vector<double> product = times(product_.alpha, seen.value),
                            exact = times(product_.alpha, want.value),
                            product_bound = times_bound(product_.alpha, seen.bound),
                            start = times(product_.beta, before.value),
                            start_bound = times_bound(product_.beta, before.bound);
  constexpr double unit = std::numeric_limits<Real<T>>::epsilon() / 2;
  constexpr double may_overflow = std::numeric_limits<Real<T>>::max() / 4;
  const double underflow = static_cast<double>(std::numeric_limits<Real<T>>::denorm_min()) *
                           static_cast<double>(2 * lines<T> * product_.n) *
                           (size(product_.alpha) * static_cast<double>(product_.k) + 2);
  const std::vector<double> allowed = rounding_bounds(comm_, product_, rounding, x, product_bound);
  double worst = 0, errors = 0, values = 0;
  for (std::size_t i = 0; i < got.value.size(); ++i) {
    if (mask != nullptr && mask->rows[i % static_cast<std::size_t>(product_.m)] != 0) continue;
    const bool starts = product_.beta != T{0};
    const double bound = product_bound[i] + (starts ? start_bound[i] : 0);
    if (mask != nullptr && !(bound < may_overflow))
      continue;  // the operands contribute finite values: old c, or overflow
    const double old = starts ? start[i] : 0, error = std::abs(got.value[i] - (product[i] + old)),
                 most = unit * bound + underflow + allowed[i] / tolerance;
    const double off = got.value[i] - (exact[i] + old);
    errors += off * off;
    values += (exact[i] + old) * (exact[i] + old);
    if (error == 0) continue;
    const double ratio = error / most;
    if (!(ratio <= worst)) worst = ratio;
    if (std::isnan(ratio)) return {NAN, NAN};
  }
  return {worst, errors == 0 ? 0 : std::sqrt(errors / values)};
}

template <class T>
typename Freivalds<T>::Mask Freivalds<T>::find_nonfinite() const {
  Mask mask{std::vector<double>(static_cast<std::size_t>(product_.m)),
            std::vector<double>(static_cast<std::size_t>(product_.n)), false};
  const auto mark = [](const MatrixStrips<T>& matrix, bool by_row, std::vector<double>& marks) {
    matrix.each([&](const layout::Box& box, MatrixView<const T> part) {
      for (index_t i = 0; i < part.rows; ++i) {
        for (index_t j = 0; j < part.cols; ++j) {
          if (is_finite(part(i, j))) continue;
          marks[static_cast<std::size_t>(by_row ? box.rows.begin + i : box.cols.begin + j)] = 1;
        }
      }
    });
  };
  if (product_.alpha != T{0}) {
    mark(*product_.a, product_.op_a == Op::none, mask.rows);
    mark(*product_.b, turns(product_.op_b), mask.cols);
  }
  comm_.max(mask.rows);
  comm_.max(mask.cols);
  const auto marked = [](double value) { return value != 0; };
  mask.any = std::any_of(mask.rows.begin(), mask.rows.end(), marked) ||
             std::any_of(mask.cols.begin(), mask.cols.end(), marked);
  return mask;
}

template <class T>
bool Freivalds<T>::c_is_nonfinite_where(const Mask& mask) const {
  index_t wrong = 0;
  product_.c->each([&](const layout::Box& box, MatrixView<const T> part) {
    for (index_t i = 0; i < part.rows; ++i) {
      const bool row = mask.rows[static_cast<std::size_t>(box.rows.begin + i)] != 0;
      for (index_t j = 0; j < part.cols; ++j) {
        const bool expected = row || mask.cols[static_cast<std::size_t>(box.cols.begin + j)] != 0;
        wrong += expected && is_finite(part(i, j)) ? 1 : 0;
      }
    }
  });
  return comm_.sum(wrong) == 0;
}

template class Freivalds<float>;
template class Freivalds<double>;
template class Freivalds<Complex<float>>;
template class Freivalds<Complex<double>>;

}  // namespace tessera::inline v1::dist::matmul
