#pragma once
// What rounding of the operands adds to the error bounds of Freivalds' check.

#include <vector>

#include "dist/matmul/freivalds.hpp"

namespace tessera::inline v1::dist::matmul {

/// The elements of a matrix as kernels see them after rounding to `bits`: for the check of the
/// product that they compute. Only f32 is rounded.
template <class T>
class RoundedStrips : public MatrixStrips<T> {
 public:
  RoundedStrips(const MatrixStrips<T>& strips, const tessera::matmul::RoundingError& rounding)
      : strips_(strips), rounding_(rounding) {}
  void each(const typename MatrixStrips<T>::Body& body) const override;

 private:
  const MatrixStrips<T>& strips_;
  const tessera::matmul::RoundingError& rounding_;
};

/// Returns for each row i of c (m) a bound of |c x - alpha A B x| beyond that of sums in f32, where
/// A = op(a) and B = op(b) are rounded to `bits`, x (n) is the check's vector and `bound` (m) is
/// |alpha| |A| |B| |x|. With s = of_sums + k of_each, L_i and M_j the largest elements of row i of
/// A and of column j of B, D_i and F_j what they are off (of_largest L_i + absolute),
/// X = sum |x_j| M_j and F = sum |x_j| F_j, that is
///
///   s bound_i + |alpha| k (1 + s) (D_i (X + F) + L_i F)
///
/// Non-finite elements are ignored. Zeros for complex T, which no kernel rounds. Collective.
template <class T>
[[nodiscard]] std::vector<double> rounding_bounds(const mpi::Communicator& comm,
                                                  const PassingProduct<T>& product,
                                                  const tessera::matmul::RoundingError& rounding,
                                                  const std::vector<double>& x,
                                                  const std::vector<double>& bound);

}  // namespace tessera::inline v1::dist::matmul
