// The device kernels of matmul on data that lies on the device, timed by events over rotating operands: a
// line a kernel and size, with its rate as a share of the vendor's library in the same run.

#include "bench.hpp"
#include "kernels/matmul/cuda_mixed.hpp"

namespace tessera::matmul {
namespace {

template <class T>
struct Named {
  const char* name;
  void (*run)(const Gemm<T>&, const Tuning&, DeviceStream);
  index_t largest;  // n beyond which it would only waste the node's time
};

struct Shape {
  index_t m, n, k;
};

template <class T>
std::vector<Gemm<T>> problems(Shape shape, std::vector<gpu::cuda::DeviceBuffer<T>>& storage) {
  std::vector<Gemm<T>> made;
  std::uint64_t stream = 0;
  const auto matrix = [&](index_t rows, index_t cols) {
    storage.push_back(gpu::random_on_device<T>(rows * cols, stream++));
    return MatrixView<T>{storage.back().data(), rows, cols, cols};
  };
  for (index_t set = 0; set < gpu::sets; ++set) {
    const auto a = matrix(shape.m, shape.k), b = matrix(shape.k, shape.n), c = matrix(shape.m, shape.n);
    made.push_back({T{1}, a, Op::none, b, Op::none, T{0}, c});
  }
  return made;
}

/// A line a kernel; its repetitions and the vendor's in turn.
template <class T>
void measure(Table& table, const char* type, Shape shape, const std::vector<Named<T>>& kernels) {
  std::vector<gpu::cuda::DeviceBuffer<T>> storage;
  const std::vector<Gemm<T>> made = problems<T>(shape, storage);
  const double flops =
      2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  for (const Named<T>& kernel : kernels) {
    if (shape.m > kernel.largest) continue;
    const auto [vendor, ours] = gpu::median_seconds_in_turn(
        [&](std::size_t set, DeviceStream stream) { cublas<T>(made[set], {}, stream); },
        [&](std::size_t set, DeviceStream stream) { kernel.run(made[set], {}, stream); });
    table.add({kernel.name, type, fmt::format("{} x {} x {}", shape.m, shape.n, shape.k), human_seconds(ours),
               human_number(flops / ours / 1e12), human_number(flops / vendor / 1e12),
               fmt::format("{:.3f}", vendor / ours)});
  }
}

/// The same for operands of fewer bits than the sums; tf32 wants k along the rows of both.
template <class T>
void measure_mixed(Table& table, const char* type, Shape shape) {
  const Op op_b = sizeof(T) == 2 ? Op::none : Op::transpose;
  std::vector<gpu::cuda::DeviceBuffer<T>> operands;
  std::vector<gpu::cuda::DeviceBuffer<float>> results;
  std::vector<MixedGemm<T>> made;
  for (std::uint64_t set = 0; set < gpu::sets; ++set) {
    operands.push_back(gpu::random_on_device<T>(shape.m * shape.k, 2 * set));
    const MatrixView<const T> a{operands.back().data(), shape.m, shape.k, shape.k};
    operands.push_back(gpu::random_on_device<T>(shape.k * shape.n, 2 * set + 1));
    const index_t rows = op_b == Op::none ? shape.k : shape.n, cols = op_b == Op::none ? shape.n : shape.k;
    const MatrixView<const T> b{operands.back().data(), rows, cols, cols};
    results.emplace_back(shape.m * shape.n);
    made.push_back({1, a, Op::none, b, op_b, 0, {results.back().data(), shape.m, shape.n, shape.n}});
  }
  const double flops =
      2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  const auto [vendor, ours] = gpu::median_seconds_in_turn(
      [&](std::size_t set, DeviceStream stream) { cublas_mixed(made[set], stream); },
      [&](std::size_t set, DeviceStream stream) {
        require(cuda_wgmma(made[set], stream), ExitCode::internal, "the device takes no such product");
      });
  table.add({"cuda_tensor", type, fmt::format("{} x {} x {}", shape.m, shape.n, shape.k), human_seconds(ours),
             human_number(flops / ours / 1e12), human_number(flops / vendor / 1e12),
             fmt::format("{:.3f}", vendor / ours)});
}

int run(bool quick) {
  if (!gpu::announce()) return gpu::skipped;
  Table table({"kernel", "type", "m x n x k", "median", "TFLOP/s", "cublas", "of cublas"});
  constexpr index_t all = index_t{1} << 20;
  for (const Shape shape : {Shape{1024, 1024, 1024}, Shape{2048, 2048, 2048}, Shape{4096, 4096, 4096},
                            Shape{8192, 8192, 8192}, Shape{16384, 16384, 16384}, Shape{65536, 128, 128},
                            Shape{1000, 1100, 1050}, Shape{5000, 3000, 7001}}) {
    if (quick && shape.n > 8192) continue;
    measure<float>(table, "f32", shape,
                   {{"cuda_register", cuda_register<float>, all},
                    {"cuda_tiled", cuda_tiled<float>, 4096},
                    {"cuda_column", cuda_column<float>, 4096},
                    {"cuda_zigzag", cuda_zigzag<float>, 4096},
                    {"cuda_naive", cuda_naive<float>, 4096}});
    measure<double>(table, "f64", shape,
                    {{"cuda_tensor", cuda_tensor, all},
                     {"cuda_register", cuda_register<double>, 8192},
                     {"cuda_tiled", cuda_tiled<double>, 4096},
                     {"cuda_naive", cuda_naive<double>, 4096}});
  }
  for (const index_t n : {2048, 4096, 8192}) {
    measure_mixed<__nv_bfloat16>(table, "bf16", {n, n, n});
    measure_mixed<__half>(table, "f16", {n, n, n});
    measure_mixed<float>(table, "tf32", {n, n, n});
  }
  fmt::print("{}", table.text());
  return 0;
}

}  // namespace
}  // namespace tessera::matmul

int main(int argc, char** argv) { return tessera::matmul::run(tessera::gpu::quick(argc, argv)); }
