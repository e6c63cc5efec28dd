// f32 products by --precision and complex products by four and by three real ones.

#include <cublas_v2.h>

#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda.hpp"
#include "matmul_errors.hpp"

namespace tessera::matmul {
namespace {

/// Operands and results of (n, n) in device memory, in turn.
template <class T, class Part = T>
class Matrices {
 public:
  explicit Matrices(index_t n) : n_(n) {
    for (std::uint64_t set = 0; set < gpu::sets; ++set) {
      for (std::uint64_t number = 0; number < 3; ++number)
        storage_.push_back(gpu::random_on_device<Part>(
            n * n * static_cast<index_t>(sizeof(T) / sizeof(Part)), 3 * set + number));
    }
  }
  [[nodiscard]] Gemm<T> problem(std::size_t set) const {
    const auto view = [&](std::size_t number) {
      return MatrixView<T>{reinterpret_cast<T*>(storage_[3 * set + number].data()), n_, n_, n_};
    };
    return {.a = view(0), .b = view(1), .c = view(2)};
  }

 private:
  index_t n_;
  std::vector<gpu::cuda::DeviceBuffer<Part>> storage_;
};

class Handle {
 public:
  Handle() { check(cublasCreate(&handle_)); }
  ~Handle() { cublasDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  /// Multiplies by a function of cuBLAS, which sees the transposed matrices.
  template <class Number, class T>
  void run(auto function, const Gemm<T>& g, DeviceStream stream) const {
    check(cublasSetStream(handle_, stream));
    const auto in = [](const T* x) { return reinterpret_cast<const Number*>(x); };
    const auto n = narrow<int>(g.n());
    check(function(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, in(&g.alpha), in(g.b.data), n,
                   in(g.a.data), n, in(&g.beta), reinterpret_cast<Number*>(g.c.data), n));
  }

 private:
  static void check(cublasStatus_t rc) {
    require(rc == CUBLAS_STATUS_SUCCESS, ExitCode::internal,
            std::string("cublas failed: ") + cublasGetStatusString(rc));
  }
  cublasHandle_t handle_ = nullptr;
};

template <class T, class Number>
struct Side {
  const char* name;
  DeviceKernel<T> ours;
  const char* peer;
  cublasStatus_t (*theirs)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                           const Number*, const Number*, int, const Number*, int, const Number*,
                           Number*, int);
};

template <class Part, class Number>
void measure_complex(Table& table, const char* type, index_t n,
                     const std::vector<Side<Complex<Part>, Number>>& sides) {
  using T = Complex<Part>;
  const Handle handle;
  const Matrices<T, Part> matrices(n);
  const Gemm<T> first = matrices.problem(0);
  const Reference<Complex<double>> reference(n, first.a.data, first.b.data, Op::none);
  const gpu::cuda::Stream stream;
  for (const Side<T, Number>& side : sides) {
    side.ours(first, {}, stream);
    stream.wait();
    const double error = reference.error_of(first.c.data);
    handle.run<Number>(side.theirs, first, stream);
    stream.wait();
    const double peer_error = reference.error_of(first.c.data);
    const auto [vendor, ours] = gpu::median_seconds_in_turn(
        [&](std::size_t set, DeviceStream on) {
          handle.run<Number>(side.theirs, matrices.problem(set), on);
        },
        [&](std::size_t set, DeviceStream on) { side.ours(matrices.problem(set), {}, on); });
    const double flops = 4 * flops_of(n);
    table.add({side.name, type, std::to_string(n), human_seconds(ours),
               human_number(flops / ours / 1e12), side.peer, human_number(flops / vendor / 1e12),
               fmt::format("{:.3f}", vendor / ours), fmt::format("{:.1e}", error),
               fmt::format("{:.1e}", peer_error)});
  }
}

}  // namespace

void print_precisions(index_t n) {
  Table table({"f32 operands", "n", "median", "TFLOP/s", "of full", "error"});
  const Matrices<float> matrices(n);
  const Gemm<float> first = matrices.problem(0);
  const Reference<double> reference(n, first.a.data, first.b.data, Op::none);
  const gpu::cuda::Stream stream;
  double full = 0;
  for (const char* name : {"full", "tf32", "bf16", "f16", "fp8", "int8"}) {
    const Tuning tuning{.precision = precision_named(name)};
    const auto run = [&](std::size_t set, DeviceStream on) {
      cuda_tensor(matrices.problem(set), tuning, on);
    };
    run(0, stream);
    stream.wait();
    const double error = reference.error_of(first.c.data), seconds = gpu::median_seconds(run);
    if (full == 0) full = seconds;
    table.add({name, std::to_string(n), human_seconds(seconds),
               human_number(flops_of(n) / seconds / 1e12), fmt::format("{:.2f}", full / seconds),
               fmt::format("{:.1e}", error)});
  }
  fmt::print("{}", table.text());
}

void print_complex(index_t n) {
  Table table({"complex", "type", "n", "median", "TFLOP/s of 4M", "peer", "its TFLOP/s", "of peer",
               "error", "its error"});
  measure_complex<float, cuComplex>(
      table, "c64", n,
      {{"cuda_tensor", cuda_complex, "cublasCgemm", cublasCgemm},
       {"cuda_tensor_3m", cuda_complex_3m, "cublasCgemm3m", cublasCgemm3m}});
  measure_complex<double, cuDoubleComplex>(
      table, "c128", n,
      {{"cuda_tensor", cuda_complex, "cublasZgemm", cublasZgemm},
       {"cuda_tensor_3m", cuda_complex_3m, "cublasZgemm3m", cublasZgemm3m}});
  fmt::print("{}", table.text());
}

}  // namespace tessera::matmul
