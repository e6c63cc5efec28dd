// Products of complex matrices as those of real ones (4M). A row of c, its real and imaginary parts
// in turn, is the row of a, likewise, times the matrix that has [[re, im], [-im, re]] for each
// element of b: as many operations as the complex product, by the real kernel, on c and a where
// they are.

#include <string>

#include "kernels/matmul/cuda_complex.cuh"

namespace tessera::inline v1::matmul {
namespace {

using namespace complex_products;

constexpr index_t panel_k = 8192;                    // at most, of the elements of a panel
constexpr index_t panel_bytes = index_t{256} << 20;  // at most, of an operand
constexpr index_t least_k = 16, least_cols = 64;     // of a panel

/// Elements [row, row + rows) x [col, col + cols) of op(x).
template <class T>
struct Part {
  MatrixView<const Complex<T>> x;
  Op op;
  index_t row, col, rows, cols;

  __device__ Complex<T> operator()(index_t i, index_t j) const {
    const index_t r = row + i, c = col + j;
    if (op == Op::none) return x.data[r * x.ld + c];
    const Complex<T> element = x.data[c * x.ld + r];
    return op == Op::hermitian ? conjugate(element) : element;
  }
};

/// Sets to[2 i + s, 2 j + t] to the real factors of factor * part(i, j).
template <class T>
__global__ void __launch_bounds__(threads) expand(Part<T> part, Complex<T> factor, T* to) {
  for_elements(part.rows, part.cols, [&](index_t i, index_t j) {
    const Complex<T> x = scaled(factor, part(i, j));
    T* const upper = to + 2 * i * 2 * part.cols + 2 * j;
    upper[0] = x.re;
    upper[1] = x.im;
    upper[2 * part.cols] = -x.im;
    upper[2 * part.cols + 1] = x.re;
  });
}

/// Copies the part to contiguous rows.
template <class T>
__global__ void __launch_bounds__(threads) pack(Part<T> part, Complex<T>* to) {
  for_elements(part.rows, part.cols,
               [&](index_t i, index_t j) { to[i * part.cols + j] = part(i, j); });
}

template <class T>
__global__ void __launch_bounds__(threads) scale(MatrixView<Complex<T>> c, Complex<T> factor) {
  for_elements(c.rows, c.cols, [&](index_t i, index_t j) { c(i, j) = scaled(factor, c(i, j)); });
}

/// Returns the matrix with its real and imaginary parts in turn.
template <class T>
MatrixView<T> parts_of(const MatrixView<Complex<T>>& x) {
  return {reinterpret_cast<T*>(x.data), x.rows, 2 * x.cols, 2 * x.ld};
}
template <class T>
MatrixView<const T> parts_of(const MatrixView<const Complex<T>>& x) {
  return {reinterpret_cast<const T*>(x.data), x.rows, 2 * x.cols, 2 * x.ld};
}

/// A product panel by panel, in work memory of the stream.
template <class T>
class Panels {
 public:
  Panels(const Gemm<Complex<T>>& g, const Tuning& tuning, DeviceStream stream)
      : g_(g),
        tuning_(tuning),
        stream_(stream),
        k_(std::min(g.k(), std::clamp(bytes() / (4 * size * least_cols), least_k, panel_k))),
        cols_(std::clamp(bytes() / (4 * k_ * size), std::min(least_cols, g.n()), g.n())),
        rows_(g.op_a == Op::none ? g.m()
                                 : std::clamp<index_t>(bytes() / (2 * k_ * size), 1, g.m())),
        expanded_(static_cast<std::size_t>(4 * k_ * cols_ * size), stream),
        packed_(g.op_a == Op::none ? 0 : static_cast<std::size_t>(2 * k_ * rows_ * size), stream) {}

  void multiply(T beta) {
    for (index_t p = 0; p < g_.k(); p += k_) {
      for (index_t j = 0; j < g_.n(); j += cols_)
        multiply_panel({p, std::min(p + k_, g_.k())}, {j, std::min(j + cols_, g_.n())},
                       p == 0 ? beta : T{1});
    }
  }

 private:
  static constexpr index_t size = sizeof(T);
  /// Returns the bytes of work memory for each operand.
  [[nodiscard]] index_t bytes() const {
    return std::min(complex_work_within(tuning_.device_memory) / 2, panel_bytes);
  }
  struct Span {
    index_t begin, end;
    [[nodiscard]] index_t size() const { return end - begin; }
  };

  void multiply_panel(Span k, Span n, T beta) {
    auto* const factors = static_cast<T*>(expanded_.data());
    const Part<T> b{g_.b, g_.op_b, k.begin, n.begin, k.size(), n.size()};
    expand<<<strided_blocks(b.rows * b.cols), threads, 0, stream_>>>(b, g_.alpha, factors);
    check_launch("expand");
    const MatrixView<const T> right{factors, 2 * b.rows, 2 * b.cols, 2 * b.cols};
    for (index_t i = 0; i < g_.m(); i += rows_) {
      const Span m{i, std::min(i + rows_, g_.m())};
      const MatrixView<Complex<T>> c = g_.c.block(m.begin, n.begin, m.size(), n.size());
      cuda_tensor(Gemm<T>{.a = left(m, k), .b = right, .beta = beta, .c = parts_of(c)}, tuning_,
                  stream_);
    }
  }
  /// Returns the rows of op(a) with their parts in turn, packed if they are columns of a.
  MatrixView<const T> left(Span m, Span k) {
    if (g_.op_a == Op::none) return parts_of(g_.a.block(m.begin, k.begin, m.size(), k.size()));
    auto* const to = static_cast<Complex<T>*>(packed_.data());
    const Part<T> a{g_.a, g_.op_a, m.begin, k.begin, m.size(), k.size()};
    pack<<<strided_blocks(a.rows * a.cols), threads, 0, stream_>>>(a, to);
    check_launch("pack");
    return parts_of(MatrixView<const Complex<T>>{to, a.rows, a.cols, a.cols});
  }

  const Gemm<Complex<T>>& g_;
  const Tuning& tuning_;
  DeviceStream stream_;
  index_t k_, cols_, rows_;  ///< of a panel
  machine::cuda::Scratch expanded_, packed_;
};

template <class T>
void multiply(const Gemm<Complex<T>>& g, const Tuning& tuning, DeviceStream stream) {
  if (g.c.empty()) return;
  T beta = g.beta.re;
  if (g.beta.im != T{0}) {
    scale<<<strided_blocks(g.c.rows * g.c.cols), threads, 0, stream>>>(g.c, g.beta);
    check_launch("scale");
    beta = T{1};
  }
  if (g.k() == 0 || g.alpha == Complex<T>{0}) {
    const MatrixView<T> c = parts_of(g.c);
    cuda_tensor(
        Gemm<T>{
            .a = {nullptr, c.rows, 0, 0}, .b = {nullptr, 0, c.cols, c.cols}, .beta = beta, .c = c},
        tuning, stream);
    return;
  }
  Panels<T>(g, tuning, stream).multiply(beta);
}

template <class T>
void add_functions(const std::string& of, std::vector<machine::DeviceFunction>& to) {
  to.push_back(machine::device_function("cuda_tensor", of + ", factors of b", expand<T>, threads));
  to.push_back(machine::device_function("cuda_tensor", of + ", rows of a", pack<T>, threads));
  to.push_back(machine::device_function("cuda_tensor", of + ", beta c", scale<T>, threads));
}

}  // namespace

void cuda_complex(const Gemm<Complex<float>>& g, const Tuning& tuning, DeviceStream stream) {
  multiply(g, tuning, stream);
}
void cuda_complex(const Gemm<Complex<double>>& g, const Tuning& tuning, DeviceStream stream) {
  multiply(g, tuning, stream);
}

void add_complex_functions(std::vector<machine::DeviceFunction>& to) {
  add_functions<float>("c64", to);
  add_functions<double>("c128", to);
}

}  // namespace tessera::inline v1::matmul
