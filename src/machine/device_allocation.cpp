// Moves of device blocks, in builds with and without CUDA.

#include <utility>

#include "machine/device.hpp"

namespace tessera::machine::device {

Allocation::Allocation(Allocation&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      home_(other.home_) {}

Allocation& Allocation::operator=(Allocation&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(home_, other.home_);
  return *this;
}

}  // namespace tessera::machine::device
