// Conversion of a sweep into the form of device kernels.

#include "kernels/stencil/cuda_sweep.hpp"

namespace tessera::inline v1::stencil {
namespace {

constexpr index_t line_bytes = 128;
constexpr index_t margin_bytes = 64;
constexpr index_t rows_behind = 16;  // a kernel's last block of rows may begin at the last row

template <class T>
Line line_of(const Sweep<T>& sweep, int d) {
  const auto& sides = sweep.sides[static_cast<std::size_t>(d)];
  const index_t radius = sweep.stencil.radius[d];
  Line line;
  line.end = sweep.extent()[d];
  line.origin = sweep.origin[d];
  line.global = sweep.global[d];
  for (int side = 0; side < 2; ++side) {
    line.kind[side] = sides[static_cast<std::size_t>(side)].kind;
    line.value[side] = sides[static_cast<std::size_t>(side)].value;
    line.exchanged[side] = sweep.edge(d, side) == Edge::exchanged;
  }
  // A ghost repeats a point at most one radius from the edge; of a periodic dimension, from the
  // other edge.
  line.plain_begin = line.begin;
  line.plain_end = line.end;
  if (line.exchanged[0]) {
    line.plain_begin = line.begin = -radius * sweep.steps;
  } else {
    line.before = radius;
    if (radius > 0 && !line.fixed(0)) line.plain_begin += radius + 1;
  }
  if (line.exchanged[1]) {
    line.plain_end = line.end += radius * sweep.steps;
  } else {
    line.after = radius;
    if (radius > 0 && !line.fixed(1)) line.plain_end -= radius + 1;
  }
  return line;
}

template <class T>
void set_star(const Stencil& stencil, DeviceSweep<T>& device) {
  const index_t r = stencil.radius[2];
  if (stencil.form != Form::chain || stencil.rule != Rule::linear || r < 1 || r > 4) return;
  const auto count = static_cast<index_t>(stencil.taps.size()), full = 2 * stencil.dims * r + 1;
  bool middle = false;
  for (int d = 3 - stencil.dims; d < 3; ++d) {
    if (stencil.radius[d] != r) return;
  }
  for (const Tap& tap : stencil.taps) {
    const Index3 o = tap.offset;
    const int axes = (o[0] != 0) + (o[1] != 0) + (o[2] != 0);
    if (axes > 1) return;
    middle = middle || axes == 0;
  }
  if (count != full - (middle ? 0 : 1)) return;
  for (index_t k = 0; k < count; ++k) {
    const index_t at = !middle && k >= stencil.dims * r ? k + 1 : k;
    device.weight[at] =
        static_cast<Arithmetic<T>>(stencil.taps[static_cast<std::size_t>(k)].weight);
  }
  device.star = static_cast<int>(r);
  device.hollow = !middle;
}

template <class T>
void set_square(const Stencil& stencil, DeviceSweep<T>& device) {
  const index_t r = stencil.radius[2], width = 2 * r + 1;
  if (stencil.form != Form::chain || stencil.dims != 2 || r < 1 || r > largest_square) return;
  if (stencil.radius[1] != r || static_cast<index_t>(stencil.taps.size()) != width * width) return;
  for (index_t k = 0; k < width * width; ++k)
    device.weight[k] = static_cast<Arithmetic<T>>(stencil.taps[static_cast<std::size_t>(k)].weight);
  device.square = static_cast<int>(r);
}

}  // namespace

DeviceShape device_shape(const Line (&line)[3], index_t element_bytes) {
  const index_t per_line = line_bytes / element_bytes, margin = margin_bytes / element_bytes;
  const auto low = [&](int d) { return line[d].before - line[d].begin; };
  const auto high = [&](int d) { return line[d].end + line[d].after; };
  const index_t in_front = round_up(low(2) + margin, per_line);
  const index_t row = in_front + round_up(high(2) + margin, per_line);
  const index_t plane = checked_mul(low(1) + high(1), row, "size of a device field");
  const index_t planes = low(0) + high(0);
  return {{{plane, row, 1}},
          low(0) * plane + low(1) * row + in_front,
          checked_mul(planes, plane, "size of a device field") + rows_behind * row};
}

template <class T>
DeviceSweep<T> device_sweep(const Sweep<T>& sweep) {
  const Stencil& stencil = sweep.stencil;
  check_on_devices(sweep.sides);
  DeviceSweep<T> device;
  device.dims = stencil.dims;
  device.extent = sweep.extent();
  device.radius = stencil.radius;
  device.steps = sweep.steps;
  device.part.high = device.extent;
  for (int d = 0; d < 3; ++d) {
    device.line[d] = line_of(sweep, d);
    for (int side = 0; side < 2; ++side)
      if (device.line[d].exchanged[side]) device.part.front[d][side] = Front::retreats;
  }
  device.stride = device_shape(device.line, static_cast<index_t>(sizeof(T))).stride;
  device.form = stencil.form;
  device.rule = stencil.rule;
  device.two_levels = stencil.two_levels();
  device.previous = static_cast<Arithmetic<T>>(stencil.previous);
  device.taps = static_cast<index_t>(stencil.taps.size());
  if (stencil.form == Form::box)
    device.weight[0] = static_cast<Arithmetic<T>>(stencil.taps[0].weight);
  set_star(stencil, device);
  set_square(stencil, device);
  return device;
}

template DeviceSweep<Half> device_sweep(const Sweep<Half>&);
template DeviceSweep<float> device_sweep(const Sweep<float>&);
template DeviceSweep<double> device_sweep(const Sweep<double>&);

}  // namespace tessera::inline v1::stencil
