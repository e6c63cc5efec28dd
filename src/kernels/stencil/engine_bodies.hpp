#pragma once
// The member functions of Engine, for the files that instantiate it with plain and with traced
// elements.

#include <algorithm>

#include "base/instrument.hpp"
#include "kernels/stencil/engine.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::stencil {
template <class F>
void for_each_row(const Box3& box, const F& f) {
  for (index_t z = box.low[0]; z < box.high[0]; ++z) {
    for (index_t y = box.low[1]; y < box.high[1]; ++y) f(z, y);
  }
}

/// Returns the box as one point of x, for work on rows that must not be cut along x.
inline Box3 whole_rows(Box3 box) {
  box.high[2] = box.low[2] + 1;
  return box;
}

template <class T>
Engine<T>::Engine(const Sweep<T>& sweep, Loops loops, Stores stores, machine::Isa isa)
    : sweep_(sweep) {
  const Index3 stride = sweep.level[0].stride;
  for (const Tap& tap : sweep.stencil.taps) {
    weights_.push_back(static_cast<Arithmetic<T>>(tap.weight));
    offsets_.push_back(tap.offset[0] * stride[0] + tap.offset[1] * stride[1] + tap.offset[2]);
  }
  taps_ = {weights_.data(), offsets_.data(), static_cast<index_t>(offsets_.size()),
           static_cast<Arithmetic<T>>(sweep.stencil.previous), machine::has_small_first_level()};
  // Sums that are finished later stay in cache.
  KernelKey key = kernel_key(sweep.stencil, loops, sweep.terms.any() ? Stores::cached : stores);
  if (sweep.terms.any()) choose_terms(isa);
  key.previous = key.previous && !keeps_past_;
  kernel_ = row_kernel<T>(key, isa);
  make_images();
  if (sweep.steps > 0) fill_boundary();
}

template <class T>
void Engine<T>::choose_terms(machine::Isa isa) {
  if constexpr (!is_traced<T> && !is_stored_half<T>) {  // traced elements and halves have none
    const Terms<T>& terms = sweep_.terms;
    weight_sum_ = static_cast<T>(sweep_.stencil.tap_sum());
    keeps_past_ =
        sweep_.stencil.two_levels() && (terms.has(Term::coefficients) || terms.has(Term::walls));
    finish_ = term_kernel<T>({terms.has(Term::coefficients), keeps_past_, terms.has(Term::source),
                              terms.has(Term::mask), terms.has(Term::walls)},
                             isa);
  }
}

constexpr index_t part_planes = 4, part_rows = 4;  // as many as the vector kernels block
constexpr index_t part_bytes =
    4096;  // of a row: the sums of a part, at most 64 KiB, stay in L2, in 2-D in L1

/// Computes interior() in parts, so that sums are finished while they are cached.
template <class T>
void Engine<T>::with_terms(index_t step, const Box3& box) const {
  constexpr index_t width = part_bytes / static_cast<index_t>(sizeof(T));
  const auto end_of = [](index_t from, index_t most, index_t end) {
    return std::min(from + most, end);
  };
  for (index_t z = box.low[0]; z < box.high[0]; z += part_planes) {
    for (index_t y = box.low[1]; y < box.high[1]; y += part_rows) {
      for (index_t x = box.low[2]; x < box.high[2];) {
        const index_t to =
            end_of(x, width - (x % width + width) % width, box.high[2]);  // whole lines
        part_with_terms(
            step, {{{z, y, x}},
                   {{end_of(z, part_planes, box.high[0]), end_of(y, part_rows, box.high[1]), to}}});
        x = to;
      }
    }
  }
}

template <class T>
void Engine<T>::part_with_terms(index_t step, const Box3& part) const {
  const GridView<T>& in = sweep_.level[step % 2];
  const GridView<T>& out = sweep_.level[(step + 1) % 2];
  const Terms<T>& terms = sweep_.terms;
  const Index3 size = part.size();
  constexpr index_t most = part_planes * part_rows * (part_bytes / static_cast<index_t>(sizeof(T)));
  T past[most];  // the sums replace it
  const auto each_row = [&](const auto& f) {
    for (index_t row = 0; row < size[0] * size[1]; ++row)
      f(part.low[0] + row / size[1], part.low[1] + row % size[1], past + row * size[2]);
  };
  if (keeps_past_) {
    each_row([&](index_t z, index_t y, T* kept) {
      std::copy_n(out.row(z, y) + part.low[2], size[2], kept);
    });
  }
  kernel_(taps_,
          {&in(part.low), &out(part.low), in.stride[1], in.stride[0], size[0], size[1], size[2]});
  each_row([&](index_t z, index_t y, const T* kept) {
    const index_t x = part.low[2];
    finish_({in.row(z, y) + x, out.row(z, y) + x, kept, terms.row(Term::coefficients, z, y, x),
             terms.row(Term::source, z, y, x), terms.row(Term::mask, z, y, x),
             terms.row(Term::walls, z, y, x), weight_sum_, taps_.previous,
             static_cast<Arithmetic<T>>(terms.source_factor), size[2]});
  });
}

/// Returns the points with valid values once a level is computed (level 0: once exchanged).
template <class T>
Box3 Engine<T>::valid(index_t level) const {
  Box3 box{{}, sweep_.extent()};
  for (int d = 0; d < 3; ++d) {
    const index_t margin = sweep_.stencil.radius[d] * (sweep_.steps - level);
    if (sweep_.edge(d, 0) == Edge::exchanged) box.low[d] -= margin;
    if (sweep_.edge(d, 1) == Edge::exchanged) box.high[d] += margin;
  }
  return box;
}

/// Returns valid(0) with the ghost layers of the boundary.
template <class T>
Box3 Engine<T>::with_ghosts() const {
  Box3 box = valid(0);
  for (int d = 0; d < 3; ++d) {
    if (sweep_.edge(d, 0) != Edge::exchanged) box.low[d] -= sweep_.stencil.radius[d];
    if (sweep_.edge(d, 1) != Edge::exchanged) box.high[d] += sweep_.stencil.radius[d];
  }
  return box;
}

template <class T>
index_t Engine<T>::source(int d, index_t i) const {
  const auto& sides = sweep_.sides[static_cast<std::size_t>(d)];
  const index_t p = i + sweep_.origin[d];
  if (p >= 0 && p < sweep_.global[d]) return i;
  if (sweep_.edge(d, p < 0 ? 0 : 1) == Edge::exchanged)
    return i;  // periodic dimension: its index here
  return source_index(sides[p < 0 ? 0 : 1].kind, p, sweep_.global[d]) - sweep_.origin[d];
}

/// Returns the constant or given side that i is beyond in dimension d, or nullptr.
template <class T>
const Side* Engine<T>::fixed_side(int d, index_t i) const {
  const index_t p = i + sweep_.origin[d];
  if (p >= 0 && p < sweep_.global[d]) return nullptr;
  const Side& side = sweep_.sides[static_cast<std::size_t>(d)][p < 0 ? 0 : 1];
  return is_fixed(side.kind) ? &side : nullptr;
}

template <class T>
void Engine<T>::make_images() {
  const Box3 all = with_ghosts();
  const Box3 inner = valid(0);
  for (int d = 0; d < 3; ++d) {
    plain_low_[d] = all.low[d];
    plain_high_[d] = all.high[d];
    const auto add = [&](index_t ghost) {
      if (sweep_.global[d] == 0 || fixed_side(d, ghost) != nullptr) return false;
      images_[d].push_back({source(d, ghost), ghost});
      return true;
    };
    for (index_t ghost = all.low[d]; ghost < inner.low[d]; ++ghost) {
      if (add(ghost)) plain_low_[d] = std::max(plain_low_[d], images_[d].back().source + 1);
    }
    for (index_t ghost = inner.high[d]; ghost < all.high[d]; ++ghost) {
      if (add(ghost)) plain_high_[d] = std::min(plain_high_[d], images_[d].back().source);
    }
  }
  // A wrapped dimension: the low ghosts repeat the high end.
  for (int d = 0; d < 3; ++d) {
    if (sweep_.edge(d, 0) != Edge::wrapped || images_[d].empty()) continue;
    plain_low_[d] = std::min(sweep_.stencil.radius[d], sweep_.extent()[d]);
    plain_high_[d] = std::max<index_t>(sweep_.extent()[d] - sweep_.stencil.radius[d], 0);
  }
}

template <class T>
bool Engine<T>::touches_boundary(const Box3& box) const {
  for (int d = 0; d < 3; ++d) {
    if (box.low[d] < plain_low_[d] || box.high[d] > plain_high_[d]) return true;
  }
  return false;
}

/// Writes every ghost that repeats one of u[z, y, x0:x1].
template <class T>
void Engine<T>::publish(const GridView<T>& u, index_t z, index_t y, index_t x0, index_t x1) const {
  T* from = u.row(z, y);
  const auto copy_along_x = [&](T* to) {
    for (const Image& x : images_[2]) {
      if (x.source >= x0 && x.source < x1) to[x.ghost] = from[x.source];
    }
  };
  const auto copy_to = [&](index_t to_z, index_t to_y) {
    T* to = u.row(to_z, to_y);
    std::copy(from + x0, from + x1, to + x0);
    copy_along_x(to);
  };
  const auto copies_along_y = [&](index_t to_z) {
    for (const Image& image : images_[1]) {
      if (image.source == y) copy_to(to_z, image.ghost);
    }
  };
  copy_along_x(from);
  if (y >= plain_low_[1] && y < plain_high_[1] && z >= plain_low_[0] && z < plain_high_[0]) return;
  copies_along_y(z);
  for (const Image& image : images_[0]) {
    if (image.source != z) continue;
    copy_to(image.ghost, y);
    copies_along_y(image.ghost);
  }
}

/// Returns whether some side is constant or given.
template <class T>
bool Engine<T>::has_fixed_side() const {
  const Box3 all = with_ghosts(), inner = valid(0);
  for (int d = 0; d < 3; ++d) {
    if (all.low[d] < inner.low[d] && fixed_side(d, all.low[d]) != nullptr) return true;
    if (all.high[d] > inner.high[d] && fixed_side(d, all.high[d] - 1) != nullptr) return true;
  }
  return false;
}

/// Writes the constant ghosts of a row, or of a ghost row, in the first `levels` levels.
template <class T>
void Engine<T>::fix_row(index_t z, index_t y, index_t levels) const {
  const Box3 all = with_ghosts();
  const Box3 inner = valid(0);
  const auto fix = [&](const Side& side, index_t from_z, index_t from_y, index_t x0, index_t x1) {
    const T* given = sweep_.level[0].row(from_z, from_y);
    for (index_t level = 0; level < levels; ++level) {
      T* to = sweep_.level[level].row(z, y);
      if (side.kind == Boundary::given && to == given) continue;  // other rows read it concurrently
      for (index_t x = x0; x < x1; ++x)
        to[x] = side.kind == Boundary::given ? given[x] : static_cast<T>(side.value);
    }
  };
  if (const Side* side = fixed_side(0, z)) return fix(*side, z, y, all.low[2], all.high[2]);
  const index_t from_z = source(0, z);
  if (const Side* side = fixed_side(1, y)) return fix(*side, from_z, y, all.low[2], all.high[2]);
  const index_t from_y = source(1, y);
  if (const Side* side = fixed_side(2, all.low[2]))
    fix(*side, from_z, from_y, all.low[2], inner.low[2]);
  if (const Side* side = fixed_side(2, all.high[2] - 1))
    fix(*side, from_z, from_y, inner.high[2], all.high[2]);
}

template <class T>
void Engine<T>::fill_boundary() const {
  if (sweep_.extent().volume() == 0) return;
  const Box3 inner = valid(0);
  const index_t levels = std::min<index_t>(sweep_.steps, 2);
  machine::parallel(sweep_.threads, [&] {
    if (has_fixed_side()) {
      for_pieces(whole_rows(with_ghosts()), sweep_.threads, [&](const Box3& piece) {
        for_each_row(piece, [&](index_t z, index_t y) { fix_row(z, y, levels); });
      });
    }
    for_pieces(whole_rows(inner), sweep_.threads, [&](const Box3& piece) {
      for_each_row(piece, [&](index_t z, index_t y) {
        publish(sweep_.level[0], z, y, inner.low[2], inner.high[2]);
      });
    });
  });
}

template <class T>
void Engine<T>::compute(index_t step, const Box3& box) const {
  interior(step, box);
  const bool last = step + 1 == sweep_.steps;  // the ghosts of the last level are never read
  if (last || !touches_boundary(box)) return;
  const GridView<T>& out = sweep_.level[(step + 1) % 2];
  for_each_row(box, [&](index_t z, index_t y) { publish(out, z, y, box.low[2], box.high[2]); });
}

}  // namespace tessera::inline v1::stencil
