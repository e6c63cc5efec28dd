#pragma once
// The check that costs three matrix-vector products instead of a matrix product (Freivalds 1977).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "dist/matmul/multiply.hpp"

namespace tessera::dist::matmul {

/// A matrix that passes by in parts, wherever it lies.
template <class T>
class MatrixStrips {
 public:
  using Body = std::function<void(const layout::Box& box, MatrixView<const T> part)>;
  virtual ~MatrixStrips() = default;
  /// Calls body for every part that is this rank's; the ranks' parts are the matrix, all of it
  /// once. Several threads may call at once, for parts of different rows.
  virtual void each(const Body& body) const = 0;
};

/// What this rank holds of a matrix.
template <class T>
class HeldPart : public MatrixStrips<T> {
 public:
  explicit HeldPart(const DistributedMatrix<T>& matrix) : matrix_(matrix) {}
  void each(const typename MatrixStrips<T>::Body& body) const override {
    body(matrix_.box(), matrix_.view());
  }

 private:
  const DistributedMatrix<T>& matrix_;
};

/// c = alpha * op(a) op(b) + beta * old_c, the matrices as stored; old_c may be missing when beta
/// == 0.
template <class T>
struct PassingProduct {
  index_t m = 0, n = 0, k = 0;
  T alpha = T{1};
  std::shared_ptr<const MatrixStrips<T>> a;
  Op op_a = Op::none;
  std::shared_ptr<const MatrixStrips<T>> b;
  Op op_b = Op::none;
  T beta = T{0};
  std::shared_ptr<const MatrixStrips<T>> old_c, c;
};

/// Take it before the product when beta != 0: it needs the old c.
template <class T>
class Freivalds {
 public:
  /// Collective. Draws the vector x from the seed and, when beta != 0, multiplies the old c by it.
  Freivalds(const mpi::Communicator& comm, const Product<T>& product, std::uint64_t seed,
            int threads);
  Freivalds(const mpi::Communicator& comm, PassingProduct<T> product, std::uint64_t seed,
            int threads);
  /// The operands are multiplied by the vector here and not in ratio(), as they pass by in a and b:
  /// while they are loaded, say, when a cache holds them anyhow. b passes first.
  Freivalds(const mpi::Communicator& comm, const Product<T>& product, std::uint64_t seed,
            int threads, const MatrixStrips<T>& a, const MatrixStrips<T>& b);

  /// Collective; the same on every rank: the largest |c x - (alpha op(a) (op(b) x) + beta c0 x)|
  /// over u (|alpha| |op(a)| (|op(b)| |x|) + |beta| |c0| |x|), u the unit roundoff of T. A right
  /// product stays below `tolerance` (at most 4.1 was seen, for positive data); a wrong element of
  /// c shows if it is off by more than tolerance units of its row's bound. The denominator also has
  /// what underflow explains. Where an operand holds NaN or infinity, its row or column of c must
  /// be non-finite throughout, and the rest is checked as ever; else the ratio is NaN, which fails.
  /// Only where numbers are not finite, a row is passed over when its old c is not, or when its
  /// bound is near or beyond the largest number of T, for then c may overflow rightly. Complex
  /// numbers are taken for the real matrices (re, -im; im, re).
  [[nodiscard]] double ratio() const;

  static constexpr double tolerance = 16;

 private:
  struct Sides {
    std::vector<double> value;  // (m); a complex vector in two rows
    std::vector<double> bound;
  };
  struct Mask {
    std::vector<double> rows,
        cols;  // 1 where op(a) (by row) or op(b) (by column) holds a non-finite number
    bool any = false;
  };
  void take_start();
  /// This rank's part of the sums. No abs_x: no bound is asked for.
  [[nodiscard]] Sides through(const MatrixStrips<T>& matrix, Op op, const std::vector<double>& x,
                              const std::vector<double>& abs_x, index_t rows,
                              const Mask* mask) const;
  [[nodiscard]] Sides summed(Sides mine) const;
  [[nodiscard]] Sides operands_through(const MatrixStrips<T>& a, const MatrixStrips<T>& b,
                                       const std::vector<double>& x, const Mask* mask) const;
  [[nodiscard]] Mask find_nonfinite() const;
  [[nodiscard]] std::vector<double> draw_vector(const Mask* mask) const;
  [[nodiscard]] bool c_is_nonfinite_where(const Mask& mask) const;
  [[nodiscard]] double ratio(const Mask* mask) const;

  mpi::Communicator comm_;
  PassingProduct<T> product_;
  std::uint64_t seed_;
  int threads_;
  Sides start_;         // the old c by the vector
  Sides masked_start_;  // the same without the columns where op(b) is not finite
  std::optional<Sides>
      seen_;  // this rank's part of op(a) (op(b) x), where the operands have passed by
};

}  // namespace tessera::dist::matmul
