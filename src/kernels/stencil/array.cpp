#include "kernels/stencil/array.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::stencil {
namespace {

constexpr index_t grain = 1 << 15;  // points times steps for which a thread pays off

/// Calls f(z, y) for each row of a level on `threads` threads.
template <class F>
void for_each_row(const Index3& extent, int threads, const F& f) {
  const index_t rows_of_task = std::max<index_t>(1, grain / extent[2]);
  machine::parallel(threads, [&] {
    machine::parallel_for(0, extent[0] * extent[1], rows_of_task, [&](index_t begin, index_t end) {
      for (index_t row = begin; row < end; ++row) f(row / extent[1], row % extent[1]);
    });
  });
}

}  // namespace

template <class T>
void advance(const ArrayMarch& march) {
  require_argument(!march.stencil.two_levels(), "stencil",
                   "needs the field of the previous step: must need one field");
  if (march.extent.volume() == 0) return;
  constexpr auto size = static_cast<index_t>(sizeof(T));
  const index_t grains = march.extent.volume() / grain * std::max<index_t>(march.steps, 1);
  const auto threads = static_cast<int>(std::clamp<index_t>(grains, 1, march.threads));
  Field<T> field = whole_field<T>(march.stencil, march.extent);
  const Sweep<T> sweep = whole_sweep(march.stencil, march.sides, field, march.steps, threads);
  for_each_row(march.extent, threads, [&](index_t z, index_t y) {
    const std::byte* const from = march.from + z * march.from_stride[0] + y * march.from_stride[1];
    T* const to = sweep.level[0].row(z, y);
    for (index_t x = 0; x < march.extent[2]; ++x)
      std::memcpy(to + x, from + x * march.from_stride[2], size);
  });
  if (march.steps > 0) run(march.kernel == nullptr ? best(sweep) : *march.kernel, sweep);
  for_each_row(march.extent, threads, [&](index_t z, index_t y) {
    std::byte* const to = march.to + z * march.to_stride[0] + y * march.to_stride[1];
    const T* const from = sweep.level[march.steps % 2].row(z, y);
    for (index_t x = 0; x < march.extent[2]; ++x)
      std::memcpy(to + x * march.to_stride[2], from + x, size);
  });
}

template <class T>
index_t workspace_bytes(const ArrayMarch& march) {
  constexpr index_t other = index_t{64} << 10;  // headers, the engine's tables of images
  const auto taps = static_cast<index_t>(march.stencil.taps.size());
  const Index3 &n = march.extent, &radius = march.stencil.radius;
  index_t images = 0;  // ghosts by dimension that repeat a point
  for (int d = 0; d < 3; ++d) images += n[d] + 2 * radius[d];
  const auto index = static_cast<index_t>(sizeof(index_t));
  return Field<T>::bytes(march.stencil.dims, n, ghosts_for(march.stencil, 1, {})) +
         taps * (4 * index_t{sizeof(Tap)} + 2 * index) + 4 * images * index + other;
}

template void advance<Half>(const ArrayMarch& march);
template void advance<BFloat16>(const ArrayMarch& march);
template void advance<float>(const ArrayMarch& march);
template void advance<double>(const ArrayMarch& march);
template index_t workspace_bytes<Half>(const ArrayMarch& march);
template index_t workspace_bytes<BFloat16>(const ArrayMarch& march);
template index_t workspace_bytes<float>(const ArrayMarch& march);
template index_t workspace_bytes<double>(const ArrayMarch& march);

}  // namespace tessera::inline v1::stencil
