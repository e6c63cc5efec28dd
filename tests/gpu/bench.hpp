#pragma once
// Common parts of the GPU benches: device data, and kernel times by events over rotating problems.

#include <fmt/core.h>

#include <string_view>
#include <utility>
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

/// Together larger than the second-level cache (60 MB) if each is at least 20 MB.
inline constexpr index_t sets = 3;

/// Returns count random values in device memory, without zeros, on which some kernels run faster.
template <class T>
cuda::DeviceBuffer<T> random_on_device(index_t count, std::uint64_t stream) {
  machine::Buffer<T> host(count);
#pragma omp parallel for
  for (index_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      host[i] = random_symmetric<T>(1, stream, i);
    } else if constexpr (std::is_integral_v<T>) {
      host[i] = static_cast<T>(random_bits(1, stream, i));
    } else {  // 16-bit floating point
      host[i] = static_cast<T>(random_symmetric<float>(1, stream, i));
    }
  }
  cuda::DeviceBuffer<T> device(count);
  cuda::upload(device.data(), host.data(), static_cast<std::size_t>(count));
  return device;
}

/// Returns the median seconds by events of a(number, stream) and b(number, stream), run alternately
/// under the same clock and temperature; number rotates through 0..sets-1.
template <class A, class B>
std::pair<double, double> median_seconds_in_turn(const A& a, const B& b, int repetitions = 9) {
  constexpr int warmups = 2;
  const cuda::Stream stream;
  std::vector<double> samples[2];
  for (int r = -warmups; r < repetitions; ++r) {
    const auto number = static_cast<std::size_t>((r + warmups) % sets);
    const auto timed = [&](const auto& run, std::vector<double>& to) {
      cuda::Stopwatch watch(stream);
      run(number, stream);
      const double seconds = watch.seconds();
      if (r >= 0) to.push_back(seconds);
    };
    timed(a, samples[0]);
    timed(b, samples[1]);
  }
  return {summarize(samples[0]).median, summarize(samples[1]).median};
}

/// Returns the median seconds by events of run(number, stream); number rotates through 0..sets-1.
template <class Run>
double median_seconds(const Run& run, int repetitions = 9) {
  return median_seconds_in_turn([](std::size_t, cudaStream_t) {}, run, repetitions).second;
}

inline bool quick(int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "--quick";
}

/// Prints the device, or the reason why there is none.
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
