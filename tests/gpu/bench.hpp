#pragma once
// What the benches on a GPU share: data on the device, times of kernels by events over rotating problems.

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "base/statistics.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "machine/buffer.hpp"
#include "machine/cuda.hpp"
#include "machine/gpu.hpp"

namespace tessera::gpu {

namespace cuda = machine::cuda;

/// More than the second-level cache together (60 MB) where one is at least 20 MB.
inline constexpr index_t sets = 3;

/// count random values in device memory, never zeros: some kernels run faster on those.
template <class T>
cuda::DeviceBuffer<T> random_on_device(index_t count, std::uint64_t stream) {
  machine::Buffer<T> host(count);
#pragma omp parallel for
  for (index_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<T>)
      host[i] = random_symmetric<T>(1, stream, i);
    else
      host[i] = static_cast<T>(random_bits(1, stream, i));
  }
  cuda::DeviceBuffer<T> device(count);
  cuda::check(cudaMemcpy(device.data(), host.data(), static_cast<std::size_t>(count) * sizeof(T),
                         cudaMemcpyHostToDevice),
              "cudaMemcpy");
  return device;
}

/// Median seconds of run(number, stream) by events; number rotates through 0..sets-1.
template <class Run>
double median_seconds(const Run& run, int repetitions = 9) {
  constexpr int warmups = 2;
  const cuda::Stream stream;
  std::vector<double> samples;
  for (int r = -warmups; r < repetitions; ++r) {
    cuda::Stopwatch watch(stream);
    run(static_cast<std::size_t>((r + warmups) % sets), stream);
    const double seconds = watch.seconds();
    if (r >= 0) samples.push_back(seconds);
  }
  return summarize(samples).median;
}

inline bool quick(int argc, char** argv) { return argc > 1 && std::string_view(argv[1]) == "--quick"; }

/// Names the device, or says why there is none.
inline bool announce() {
  const machine::Gpus& gpus = machine::gpus();
  if (gpus.devices.empty())
    fmt::print("skipped: {}\n", gpus.reason);
  else
    fmt::print("{}\n", gpus.devices.front().name);
  return !gpus.devices.empty();
}
inline constexpr int skipped = 77;

}  // namespace tessera::gpu
