// The device kernels of matmul on data that lies on the device, timed by events over rotating operands: a
// line a kernel and size, with its rate as a share of the vendor's library in the same run.

#include "bench.hpp"
#include "kernels/matmul/cuda.hpp"

namespace tessera::matmul {
namespace {

template <class T>
struct Named {
  const char* name;
  void (*run)(const Gemm<T>&, const Tuning&, DeviceStream);
  index_t largest;  // n beyond which it would only waste the node's time
};

template <class T>
void measure(Table& table, const char* type, index_t n, const std::vector<Named<T>>& kernels) {
  std::vector<gpu::cuda::DeviceBuffer<T>> storage;
  std::vector<Gemm<T>> problems;
  for (index_t s = 0; s < gpu::sets; ++s) {
    for (std::uint64_t part = 0; part < 3; ++part)
      storage.push_back(gpu::random_on_device<T>(n * n, 3 * static_cast<std::uint64_t>(s) + part));
    const auto view = [&](std::size_t back) {
      return matrix_view(storage[storage.size() - back].data(), n, n);
    };
    problems.push_back({T{1}, view(3), Op::none, view(2), Op::none, T{0}, view(1)});
  }
  const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  const auto seconds_of = [&](const Named<T>& kernel) {
    return gpu::median_seconds(
        [&](std::size_t set, DeviceStream stream) { kernel.run(problems[set], {}, stream); });
  };
  const double vendor = seconds_of(kernels.front());
  for (const Named<T>& kernel : kernels) {
    if (n > kernel.largest) continue;
    const double seconds = seconds_of(kernel);
    table.add({kernel.name, type, std::to_string(n), human_seconds(seconds),
               human_number(flops / seconds / 1e12), fmt::format("{:.3f}", vendor / seconds)});
  }
}

int run(bool quick) {
  if (!gpu::announce()) return gpu::skipped;
  Table table({"kernel", "type", "n", "median", "TFLOP/s", "of cublas"});
  for (const index_t n : {1024, 2048, 4096, 8192, 16384}) {
    if (quick && n > 8192) continue;
    measure<float>(table, "f32", n,
                   {{"cublas", cublas<float>, n},
                    {"cuda_register", cuda_register<float>, n},
                    {"cuda_tiled", cuda_tiled<float>, 4096},
                    {"cuda_column", cuda_column<float>, 4096},
                    {"cuda_zigzag", cuda_zigzag<float>, 4096},
                    {"cuda_naive", cuda_naive<float>, 4096}});
    measure<double>(table, "f64", n,
                    {{"cublas", cublas<double>, n},
                     {"cuda_tensor", cuda_tensor, n},
                     {"cuda_register", cuda_register<double>, n},
                     {"cuda_tiled", cuda_tiled<double>, 4096},
                     {"cuda_naive", cuda_naive<double>, 4096}});
  }
  fmt::print("{}", table.text());
  return 0;
}

}  // namespace
}  // namespace tessera::matmul

int main(int argc, char** argv) { return tessera::matmul::run(tessera::gpu::quick(argc, argv)); }
