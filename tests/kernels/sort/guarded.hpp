#pragma once
// Device memory for tests of the device sorts.

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/index.hpp"
#include "machine/cuda.hpp"

namespace tessera::inline v1::sort {

/// Device memory between sentinels, initialised with values that no test expects.
template <class T>
class Guarded {
 public:
  explicit Guarded(index_t n)
      : n_(n), host_(static_cast<std::size_t>(n + 2 * guard)), device_(n + 2 * guard) {
    std::memset(host_.data(), fill, host_.size() * sizeof(T));
    copy(device_.data(), host_.data(), cudaMemcpyHostToDevice);
  }
  [[nodiscard]] T* data() const { return device_.data() + guard; }
  void put(const std::vector<T>& values) {
    std::copy(values.begin(), values.end(), host_.begin() + guard);
    copy(device_.data(), host_.data(), cudaMemcpyHostToDevice);
  }
  [[nodiscard]] std::vector<T> take() {
    copy(host_.data(), device_.data(), cudaMemcpyDeviceToHost);
    return {host_.begin() + guard, host_.begin() + guard + n_};
  }
  [[nodiscard]] bool sentinels_stand() {
    (void)take();
    const auto stands = [](const T& x) {
      unsigned char bytes[sizeof(T)];
      std::memcpy(bytes, &x, sizeof(T));
      return std::all_of(bytes, bytes + sizeof(T), [](unsigned char byte) { return byte == fill; });
    };
    return std::all_of(host_.begin(), host_.begin() + guard, stands) &&
           std::all_of(host_.end() - guard, host_.end(), stands);
  }

 private:
  static constexpr index_t guard = 256;  // elements: keeps the alignment
  static constexpr unsigned char fill = 0x5b;
  void copy(T* to, const T* from, cudaMemcpyKind kind) const {
    machine::cuda::check(cudaMemcpy(to, from, host_.size() * sizeof(T), kind), "cudaMemcpy");
    machine::cuda::check(cudaDeviceSynchronize(),
                         "cudaDeviceSynchronize");  // copies of pageable memory may still be in
                                                    // flight
  }
  index_t n_;
  std::vector<T> host_;
  machine::cuda::DeviceBuffer<T> device_;
};

}  // namespace tessera::inline v1::sort
