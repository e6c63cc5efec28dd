#pragma once
// Memory accesses of a tile on the device: asynchronous copies in, vectors out.

#include "kernels/cuda_async.cuh"
#include "kernels/transpose/cuda_device.cuh"
#include "kernels/transpose/turn_moves.hpp"

namespace tessera::inline v1::transpose {

/// Device accesses of the tile. Lines that are read leave the second-level cache last: a line that
/// two tiles read, and its sectors that are requested one after the other, would otherwise be
/// evicted by writes.
class DeviceMove {
 public:
  __device__ explicit DeviceMove(std::byte* tile)
      : tile_(tile), at_(static_cast<unsigned>(__cvta_generic_to_shared(tile))) {}

  __device__ __forceinline__ void copy_vector(int to, const std::byte* from) const {
    kernels::copy_async_staying(at_ + to, from, stays_);
  }
  template <int bytes>
  __device__ __forceinline__ void copy_record(int to, const std::byte* from) const {
    if constexpr (bytes >= 4)
      kernels::copy_async<bytes>(at_ + to, from);
    else
      *reinterpret_cast<Word<bytes>*>(tile_ + to) = *reinterpret_cast<const Word<bytes>*>(from);
  }
  template <int bytes>
  [[nodiscard]] __device__ __forceinline__ Word<bytes> read(int at) const {
    if constexpr (bytes == 16) {
      const uint4 v = *reinterpret_cast<const uint4*>(tile_ + at);
      return {v.x, v.y, v.z, v.w};
    } else {
      return *reinterpret_cast<const Word<bytes>*>(tile_ + at);
    }
  }
  __device__ __forceinline__ void store_vector(std::byte* to, const Vec16& v) const {
    *reinterpret_cast<uint4*>(to) = uint4{v.words[0], v.words[1], v.words[2], v.words[3]};
  }
  template <int bytes>
  __device__ __forceinline__ void store_record(std::byte* to, const Word<bytes>& record) const {
    *reinterpret_cast<Word<bytes>*>(to) = record;
  }
  /// Returns the four bytes of x and y that the selector names.
  [[nodiscard]] __device__ __forceinline__ unsigned pick(unsigned x, unsigned y,
                                                         unsigned selector) const {
    return __byte_perm(x, y, selector);
  }
  /// Returns 32 bits of low and high from bit `first` < 32 on.
  [[nodiscard]] __device__ __forceinline__ unsigned join(unsigned low, unsigned high,
                                                         int first) const {
    return __funnelshift_r(low, high, static_cast<unsigned>(first));
  }

 private:
  std::byte* tile_;
  unsigned at_;
  unsigned long long stays_ = kernels::reads_stay();
};

}  // namespace tessera::inline v1::transpose
