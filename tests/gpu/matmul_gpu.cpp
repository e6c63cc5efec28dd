// The device kernels of matmul on data that lies on the device, timed by events over rotating operands: a
// line a kernel and size, with its rate as a share of the vendor's library in the same run.

#include <fmt/format.h>

#include <vector>

#include "base/random.hpp"
#include "base/statistics.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "kernels/matmul/cuda.hpp"
#include "machine/buffer.hpp"
#include "machine/cuda.hpp"
#include "machine/gpu.hpp"

namespace tessera::matmul {
namespace {

namespace cuda = machine::cuda;

template <class T>
struct Named {
  const char* name;
  void (*run)(const Gemm<T>&, const Tuning&, DeviceStream);
  index_t largest;  // n beyond which it would only waste the node's time
};

template <class T>
cuda::DeviceBuffer<T> random_on_device(index_t count, std::uint64_t stream) {
  machine::Buffer<T> host(count);
  for (index_t i = 0; i < count; ++i) host[i] = random_symmetric<T>(1, stream, i);
  cuda::DeviceBuffer<T> device(count);
  cuda::check(cudaMemcpy(device.data(), host.data(), static_cast<std::size_t>(count) * sizeof(T),
                         cudaMemcpyHostToDevice),
              "cudaMemcpy");
  return device;
}

template <class T>
double median_seconds(const Named<T>& kernel, const std::vector<Gemm<T>>& problems) {
  const cuda::Stream stream;
  std::vector<double> samples;
  constexpr int repetitions = 9;
  for (int r = -2; r < repetitions; ++r) {
    cuda::Stopwatch watch(stream);
    kernel.run(problems[static_cast<std::size_t>(r + 2) % problems.size()], {}, stream);
    const double seconds = watch.seconds();
    if (r >= 0) samples.push_back(seconds);
  }
  return summarize(samples).median;
}

template <class T>
void measure(Table& table, const char* type, index_t n, const std::vector<Named<T>>& kernels) {
  constexpr index_t sets = 3;  // more than the second-level cache together from n = 2048 on
  std::vector<cuda::DeviceBuffer<T>> storage;
  std::vector<Gemm<T>> problems;
  for (index_t s = 0; s < sets; ++s) {
    for (std::uint64_t part = 0; part < 3; ++part)
      storage.push_back(random_on_device<T>(n * n, 3 * static_cast<std::uint64_t>(s) + part));
    const auto view = [&](std::size_t back) {
      return matrix_view(storage[storage.size() - back].data(), n, n);
    };
    problems.push_back({T{1}, view(3), Op::none, view(2), Op::none, T{0}, view(1)});
  }
  const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  const double vendor = median_seconds(kernels.front(), problems);
  for (const Named<T>& kernel : kernels) {
    if (n > kernel.largest) continue;
    const double seconds = median_seconds(kernel, problems);
    table.add({kernel.name, type, std::to_string(n), human_seconds(seconds),
               human_number(flops / seconds / 1e12), fmt::format("{:.3f}", vendor / seconds)});
  }
}

int run() {
  const machine::Gpus gpus = machine::gpus();
  if (gpus.devices.empty()) {
    fmt::print("skipped: {}\n", gpus.reason);
    return 77;
  }
  fmt::print("{}\n", gpus.devices.front().name);
  Table table({"kernel", "type", "n", "median", "TFLOP/s", "of cublas"});
  for (const index_t n : {1024, 2048, 4096, 8192, 16384}) {
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

int main() { return tessera::matmul::run(); }
