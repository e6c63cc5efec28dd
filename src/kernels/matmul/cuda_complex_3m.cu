// Products of complex matrices by three real ones (3M; Karatsuba's and Gauss' formula) instead of
// four: with P = re(A) re(B), Q = im(A) im(B) and S = (re(A) + im(A)) (re(B) + im(B)), the real
// part is P - Q and the imaginary part S - P - Q. The error of both is as small as that of four
// products in relation to |A| |B|, but an imaginary part that is small in relation to the real one
// may lose its digits (Higham 1992).

#include <string>

#include "kernels/matmul/cuda_complex.cuh"

namespace tessera::inline v1::matmul {
namespace {

using namespace complex_products;

constexpr index_t largest_edge = 4096, least_edge = 16;  // of a block of c; k is half of it

/// Returns the edge of blocks whose planes take 6 edge^2 elements of the work memory.
index_t edge_of(const Tuning& tuning, index_t element_bytes) {
  const index_t bytes = complex_work_within(tuning.device_memory);
  index_t edge = largest_edge;
  while (edge > least_edge && 6 * edge * edge * element_bytes > bytes) edge /= 2;
  return edge;
}

/// A stored operand's real parts, imaginary parts and their sums, each (rows, cols) with aligned
/// rows, one after the other.
template <class T>
struct Planes {
  T* data;
  index_t rows, cols;

  [[nodiscard]] TESSERA_HD index_t ld() const { return (cols + 3) / 4 * 4; }
  [[nodiscard]] TESSERA_HD MatrixView<T> plane(int number) const {
    return {data + number * rows * ld(), rows, cols, ld()};
  }
};

enum class Conjugate { no, yes };

template <class T>
__global__ void __launch_bounds__(threads)
    split(MatrixView<const Complex<T>> x, Conjugate conjugates, Complex<T> factor, Planes<T> to) {
  for_elements(x.rows, x.cols, [&](index_t i, index_t j) {
    Complex<T> here = x(i, j);
    if (conjugates == Conjugate::yes) here = conjugate(here);
    here = scaled(factor, here);
    to.plane(0)(i, j) = here.re;
    to.plane(1)(i, j) = here.im;
    to.plane(2)(i, j) = here.re + here.im;
  });
}

/// Computes c = (P - Q, S - P - Q) + beta c; does not read c when beta == 0.
template <class T>
__global__ void __launch_bounds__(threads)
    combine(Planes<T> products, Complex<T> beta, MatrixView<Complex<T>> c) {
  for_elements(c.rows, c.cols, [&](index_t i, index_t j) {
    const T p = products.plane(0)(i, j), q = products.plane(1)(i, j), s = products.plane(2)(i, j);
    const Complex<T> sum{p - q, s - p - q};
    c(i, j) = beta == Complex<T>{0} ? sum : sum + scaled(beta, c(i, j));
  });
}

/// A product in blocks of c, panel by panel of k, in work memory of the stream.
template <class T>
class Blocks {
 public:
  Blocks(const Gemm<Complex<T>>& g, const Tuning& tuning, DeviceStream stream)
      : g_(g),
        tuning_(tuning),
        stream_(stream),
        m_(std::min(g.m(), edge_of(tuning, sizeof(T)))),
        n_(std::min(g.n(), edge_of(tuning, sizeof(T)))),
        k_(std::min(g.k(), edge_of(tuning, sizeof(T)) / 2)),
        a_(bytes(m_, k_), stream),
        b_(bytes(k_, n_), stream),
        products_(bytes(m_, n_), stream) {}

  void multiply() {
    for (index_t i = 0; i < g_.m(); i += m_) {
      for (index_t j = 0; j < g_.n(); j += n_)
        block(g_.c.block(i, j, std::min(m_, g_.m() - i), std::min(n_, g_.n() - j)), i, j);
    }
  }

 private:
  /// Returns the bytes of planes in either order of rows and columns.
  static std::size_t bytes(index_t rows, index_t cols) {
    return static_cast<std::size_t>(3 * round_up(rows, 4) * round_up(cols, 4)) * sizeof(T);
  }

  void block(const MatrixView<Complex<T>>& c, index_t i, index_t j) {
    const Planes<T> products{static_cast<T*>(products_.data()), c.rows, c.cols};
    for (index_t p = 0; p < g_.k(); p += k_) {
      const index_t k = std::min(k_, g_.k() - p);
      const Planes<T> a = planes(g_.a, g_.op_a, {i, p, c.rows, k}, Complex<T>{1}, a_.data()),
                      b = planes(g_.b, g_.op_b, {p, j, k, c.cols}, g_.alpha, b_.data());
      for (int number = 0; number < 3; ++number)
        cuda_tensor(Gemm<T>{.a = a.plane(number),
                            .op_a = real(g_.op_a),
                            .b = b.plane(number),
                            .op_b = real(g_.op_b),
                            .beta = p == 0 ? T{0} : T{1},
                            .c = products.plane(number)},
                    tuning_, stream_);
    }
    combine<<<strided_blocks(c.rows * c.cols), threads, 0, stream_>>>(products, g_.beta, c);
    check_launch("combine");
  }

  struct Place {
    index_t row, col, rows, cols;  ///< of op(x)
  };
  Planes<T> planes(const MatrixView<const Complex<T>>& x, Op op, Place at, Complex<T> factor,
                   void* to) const {
    const MatrixView<const Complex<T>> part = turns(op) ? x.block(at.col, at.row, at.cols, at.rows)
                                                        : x.block(at.row, at.col, at.rows, at.cols);
    const Planes<T> made{static_cast<T*>(to), part.rows, part.cols};
    split<<<strided_blocks(part.rows * part.cols), threads, 0, stream_>>>(
        part, op == Op::hermitian ? Conjugate::yes : Conjugate::no, factor, made);
    check_launch("split");
    return made;
  }
  static Op real(Op op) { return turns(op) ? Op::transpose : Op::none; }

  const Gemm<Complex<T>>& g_;
  const Tuning& tuning_;
  DeviceStream stream_;
  index_t m_, n_, k_;  ///< of a panel
  machine::cuda::Scratch a_, b_, products_;
};

template <class T>
void multiply(const Gemm<Complex<T>>& g, const Tuning& tuning, DeviceStream stream) {
  if (g.c.empty()) return;
  if (g.k() == 0 || g.alpha == Complex<T>{0}) return cuda_complex(g, tuning, stream);
  Blocks<T>(g, tuning, stream).multiply();
}

template <class T>
void add_functions(const std::string& of, std::vector<machine::DeviceFunction>& to) {
  const char* const name = "cuda_tensor_3m";
  to.push_back(machine::device_function(name, of + ", parts of operands", split<T>, threads));
  to.push_back(machine::device_function(name, of + ", parts of c", combine<T>, threads));
}

}  // namespace

void cuda_complex_3m(const Gemm<Complex<float>>& g, const Tuning& tuning, DeviceStream stream) {
  multiply(g, tuning, stream);
}
void cuda_complex_3m(const Gemm<Complex<double>>& g, const Tuning& tuning, DeviceStream stream) {
  multiply(g, tuning, stream);
}

void add_complex_3m_functions(std::vector<machine::DeviceFunction>& to) {
  add_functions<float>("c64", to);
  add_functions<double>("c128", to);
}

}  // namespace tessera::inline v1::matmul
