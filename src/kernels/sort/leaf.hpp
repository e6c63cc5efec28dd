#pragma once
// The two inner kernels of radix, compiled per instruction set: what happens to keys inside a cache.

#include <cstdint>

#include "kernels/sort/key.hpp"

namespace tessera::sort {

/// How keys find their bucket: their place in 2^12 equal slices of the sampled range, and a table from slices
/// to buckets. Keys outside the range belong to the outermost slices.
inline constexpr int slice_bits = 12;
template <class B>
struct Slices {
  B low = 0;      ///< bits of the first key of the range
  int shift = 0;  ///< slice = min((max(bits, low) - low) >> shift, 2^12 - 1)
  KeyMap<B> map{};
};

/// Raw keys of one bucket as they lie after distribution: piece p is
/// data[p * block + begin[p * stride] : p * block + begin[p * stride + 1]], begin indexing within a block.
template <class B>
struct Pieces {
  const B* data = nullptr;
  const std::uint32_t* begin = nullptr;
  index_t count = 0;
  index_t block = 0;
  index_t stride = 0;
};

/// One bucket: to[0:n] = the keys of the pieces, sorted by the mapped bits, as raw keys; work[0:n] is
/// overwritten. `to` overlaps the pieces only if there is one and it is to[0:n].
template <class B>
struct Bucket {
  Pieces<B> from;
  B* to = nullptr;
  B* work = nullptr;
  index_t n = 0;
  B low = 0, high = 0;  ///< all keys' bits lie in [low, high]
  KeyMap<B> map{};
};

/// Least and greatest of the bits seen.
template <class B>
struct Bounds {
  B low = static_cast<B>(~B{0});
  B high = 0;
};

template <class B>
struct LeafKernels {
  /// to[0:n] = the slices of raw[0:n].
  Bounds<B> (*find_slices)(const Slices<B>&, const B* raw, index_t n, std::uint16_t* to);
  void (*sort_bucket)(const Bucket<B>&);
};

namespace baseline {
extern const LeafKernels<std::uint32_t> leaf_kernels32;
extern const LeafKernels<std::uint64_t> leaf_kernels64;
}  // namespace baseline
namespace avx512 {
extern const LeafKernels<std::uint32_t> leaf_kernels32;
extern const LeafKernels<std::uint64_t> leaf_kernels64;
}  // namespace avx512

/// Those of the best instruction set here.
template <class B>
[[nodiscard]] const LeafKernels<B>& leaf_kernels();
template <>
[[nodiscard]] const LeafKernels<std::uint32_t>& leaf_kernels();
template <>
[[nodiscard]] const LeafKernels<std::uint64_t>& leaf_kernels();

}  // namespace tessera::sort
