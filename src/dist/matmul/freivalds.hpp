#pragma once
// Freivalds' probabilistic check of a matrix product (Freivalds 1977): three matrix-vector
// products, O(mk + kn + mn) operations, instead of another product.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "dist/matmul/multiply.hpp"

namespace tessera::inline v1::dist::matmul {

/// A matrix that is streamed in parts, in memory or on disk.
template <class T>
class MatrixStrips {
 public:
  using Body = std::function<void(const layout::Box& box, MatrixView<const T> part)>;
  virtual ~MatrixStrips() = default;
  /// Calls body for each of this rank's parts; the parts of all ranks partition the matrix. Several
  /// threads may call body at once, for parts of different rows.
  virtual void each(const Body& body) const = 0;
};

/// This rank's block of a distributed matrix.
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

/// c = alpha * op(a) op(b) + beta * old_c, the matrices as stored; old_c may be null if beta == 0.
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

/// The check of one product. Precondition: constructed before the product if beta != 0, since it
/// reads the old c.
template <class T>
class Freivalds {
 public:
  /// Draws the vector x from the seed and, if beta != 0, multiplies the old c by it. Collective.
  Freivalds(const mpi::Communicator& comm, const Product<T>& product, std::uint64_t seed,
            int threads);
  Freivalds(const mpi::Communicator& comm, PassingProduct<T> product, std::uint64_t seed,
            int threads);
  /// As above, but multiplies the operands by the vector here instead of in ratio(), as a and b
  /// stream them, for example while they are loaded and in a cache. Streams b first. Collective.
  Freivalds(const mpi::Communicator& comm, const Product<T>& product, std::uint64_t seed,
            int threads, const MatrixStrips<T>& a, const MatrixStrips<T>& b);

  /// Returns, on every rank the same, the largest |c x - (alpha op(a) (op(b) x) + beta c0 x)| over
  /// u (|alpha| |op(a)| (|op(b)| |x|) + |beta| |c0| |x|), u the unit roundoff of T. A correct
  /// product stays below `tolerance` (at most 4.1 was observed, for positive data); a wrong element
  /// of c is detected if it is off by more than tolerance units of its row's bound. The denominator
  /// includes the error of underflow.
  ///
  /// If an operand holds NaN or infinity, the corresponding row or column of c must be non-finite
  /// throughout and the rest is checked as usual; otherwise the ratio is NaN, which fails. In that
  /// case only, a row is skipped if its old c is not finite, or if its bound is near or beyond the
  /// largest number of T, since c may then overflow correctly. Complex numbers are treated as the
  /// real matrices (re, -im; im, re). Collective.
  [[nodiscard]] double ratio() const { return outcome({}).ratio; }

  /// The ratio for the operands as kernels round them, with a bound that allows for what else they
  /// may be off (rounding_bounds); and the relative error of c, |c x - want| / |want| in the
  /// Euclidean norm for the operands as they are: for this x an estimate, up to a few per cent from
  /// a thousand rows on, of the error in the Frobenius norm.
  struct Outcome {
    double ratio = 0, error = 0;
  };
  /// As ratio(), for kernels that round their operands. Collective.
  [[nodiscard]] Outcome outcome(const tessera::matmul::RoundingError& rounding) const;

  static constexpr double tolerance = 16;

 private:
  struct Sides {
    std::vector<double> value;  // (m); a complex vector has two rows
    std::vector<double> bound;
  };
  struct Mask {
    std::vector<double> rows,
        cols;  // 1 for rows of op(a) or columns of op(b) that hold a non-finite number
    bool any = false;
  };
  void take_start();
  /// Returns this rank's part of op(matrix) times the vector. An empty bound requests none.
  [[nodiscard]] Sides through(const MatrixStrips<T>& matrix, Op op, const Sides& vector,
                              index_t rows, const Mask* mask) const;
  [[nodiscard]] Sides summed(Sides mine) const;
  [[nodiscard]] Sides operands_through(const MatrixStrips<T>& a, const MatrixStrips<T>& b,
                                       const std::vector<double>& x, const Mask* mask) const;
  [[nodiscard]] Mask find_nonfinite() const;
  [[nodiscard]] std::vector<double> draw_vector(const Mask* mask) const;
  [[nodiscard]] bool c_is_nonfinite_where(const Mask& mask) const;
  [[nodiscard]] Outcome outcome(const Mask* mask,
                                const tessera::matmul::RoundingError& rounding) const;

  mpi::Communicator comm_;
  PassingProduct<T> product_;
  std::uint64_t seed_;
  int threads_;
  Sides start_;         // the old c times the vector
  Sides masked_start_;  // the same without the columns in which op(b) is not finite
  std::optional<Sides>
      seen_;  // this rank's part of op(a) (op(b) x), once the operands were streamed
};

}  // namespace tessera::inline v1::dist::matmul
