#pragma once
// Arguments of a PBLAS routine: matrices by descriptors, and what is wrong with them.

#include <string>

#include "layout/distribution.hpp"
#include "mpi/blacs.hpp"

namespace tessera::inline v1::scalapack {

/// A submatrix as a routine gets it: the descriptor of 9 entries (type 1), or of 11 (type 2, with
/// the sizes of the first blocks), and the place of the submatrix in it, from 0.
struct Matrix {
  int type = 0, context = -1;
  int m = 0, n = 0;        ///< of the whole matrix
  int imb = 0, inb = 0;    ///< first block
  int mb = 0, nb = 0;      ///< other blocks
  int rsrc = 0, csrc = 0;  ///< place of the first block in the grid
  int lld = 0;
  int i = 0, j = 0;

  /// ia and ja are counted from 1.
  Matrix(int ia, int ja, const int* descriptor);

  [[nodiscard]] layout::CyclicMap rows(int parts) const { return {m, mb, parts, rsrc, imb}; }
  [[nodiscard]] layout::CyclicMap cols(int parts) const { return {n, nb, parts, csrc, inb}; }
  /// Returns the distribution of the submatrix of `rows` x `cols` over a grid of that size, whose
  /// places are all ranks row by row.
  [[nodiscard]] layout::Distribution distribution(index_t rows, index_t cols,
                                                  const mpi::BlacsGrid& grid) const;
};

/// The checks of one call. What is wrong is reported as the PBLAS do: a line on standard error, the
/// number of the first argument that is wrong (its entry of the descriptor as 100 * number +
/// entry), and the end of the job. A program that has its own PB_Cabort, as the testers of the
/// PBLAS, is asked instead.
class Arguments {
 public:
  /// The routine's name in capitals, and the number of the first descriptor.
  Arguments(const char* routine, int context, int descriptor);

  [[nodiscard]] const mpi::BlacsGrid& grid() const { return grid_; }
  /// Checks that one of N, T, C is given, in either case.
  void check_op(char op, int number, const char* name);
  /// Positions of a matrix's arguments: those of its rows and columns, and of its descriptor, which
  /// ia and ja precede.
  struct Numbers {
    int rows = 0, cols = 0, descriptor = 0;
  };
  /// Checks a submatrix of rows x cols, unless the context is wrong.
  void check(const char* name, index_t rows, index_t cols, const Matrix& x, Numbers numbers);
  /// Returns true if all is right; otherwise reports, and returns false if that returns.
  [[nodiscard]] bool right() const;

 private:
  void note(int code, const std::string& problem);
  void check_blocks(const char* name, const Matrix& x, int first);
  void check_extents(const char* name, index_t rows, index_t cols, const Matrix& x,
                     Numbers numbers);
  void check_ld(const char* name, const Matrix& x, int first);

  const char* routine_;
  int context_;
  mpi::BlacsGrid grid_;
  int least_;  ///< smallest code: 100 * number + entry
};

/// Runs f; an Error ends the job with its message.
template <class F>
void guarded(const char* routine, int context, const F& f);
[[noreturn]] void die(const char* routine, int context, const std::string& problem);
template <class F>
void guarded(const char* routine, int context, const F& f) {
  try {
    f();
  } catch (const std::exception& error) {
    die(routine, context, error.what());
  }
}

}  // namespace tessera::inline v1::scalapack
