#pragma once
// Macro-kernels of a leaf, for any vector type of Simd<T>. Only for files of tessera_isa_source,
// which may share no symbols between instruction sets, and for the file that instantiates them on
// traced elements.

#include <cstdint>

#include "kernels/matmul/leaf_micro.hpp"
#include "kernels/matmul/leaf_narrow.hpp"

namespace tessera::inline v1::TESSERA_ISA {
namespace {

using matmul::Following;
using matmul::LeafKernels;

template <class T>
MicroRow<T> micro_row(const LeafTile<T>& t) {
  return {.k = t.k,
          .a = t.a,
          .a_row = t.a_row,
          .a_step = t.a_step,
          .b = t.b,
          .b_step = t.b_step,
          .b_panel = t.b_panel,
          .alpha = t.alpha,
          .beta = t.beta,
          .c = t.c,
          .ldc = t.ldc,
          .onto = t.onto,
          .ldonto = t.ldonto,
          .below = t.a,
          .later = t.b,
          .later_step = 0,
          .panels = 1,
          .tail = Simd<T>::lanes,
          .store = Store::cached};
}

/// Returns rows [i, i_end) and columns [j, j_end) of a tile with unpacked operands.
template <class T>
LeafTile<T> part(const LeafTile<T>& t, index_t i, index_t i_end, index_t j, index_t j_end) {
  LeafTile<T> out = t;
  out.m = i_end - i;
  out.n = j_end - j;
  out.a += i * t.a_row;
  out.b += j;
  out.c += i * t.ldc + j;
  out.onto = t.onto == nullptr ? nullptr : t.onto + i * t.ldonto + j;
  return out;
}

/// Multiplies unpacked operands: outer loop over strips of b, inner loop over rows of a.
template <class T>
void multiply_free(const LeafTile<T>& t, Following<T> next) {
  constexpr index_t lanes = Simd<T>::lanes;
  constexpr index_t most = Simd<T>::registers == 32 ? 4 : 2;
  if (is_narrow(t, t.n % lanes)) {
    const index_t wide = t.n / lanes * lanes, rows = t.m / 4 * 4;
    multiply_narrow(part(t, 0, rows, wide, t.n));
    if (rows < t.m) multiply_free(part(t, rows, t.m, wide, t.n), next);
    if (wide > 0) multiply_free(part(t, 0, t.m, 0, wide), next);
    return;
  }
  const index_t vectors = (t.n + lanes - 1) / lanes, strips = (vectors + most - 1) / most;
  MicroRow<T> row = micro_row(t);
  Soon<T> soon;
  // Does not prefetch if the steps are too few for more than a part of the operands.
  const index_t run = next.end - next.begin, lines_of_a = t.m * ((run + line<T> - 1) / line<T>);
  const bool fetches = run > 0 && t.k >= 4 && t.a_step == 1 &&
                       2 * strips * (t.m / Shape<T>::mr) * (t.k / 4) >= lines_of_a;
  if (fetches) {
    soon = {t.a + next.begin, t.a + next.end, run,
            t.a_row,          lines_of_a,     t.b + next.begin * t.b_step};
  }
  const bool lines = t.b_step % line<T> == 0 && reinterpret_cast<std::uintptr_t>(t.b) % 64 == 0;
  const index_t rows_of_four = lines && t.k <= few_steps ? rows_of_few : rows_of_many;
  for (index_t first = 0; first < vectors;) {
    // The widest strips, f32 n = 96: 0.979 of peak for four and two vectors, 0.956 for three and
    // three. Never a strip of one vector after a wider one.
    const index_t left = vectors - first;
    const index_t width = left == most + 1 ? (left + 1) / 2 : smaller(left, most);
    const index_t mr = width < 4 ? Shape<T>::mr : rows_of_four;
    row.b = t.b + first * lanes;
    row.a = t.a;
    row.c = t.c + first * lanes;
    row.onto = t.onto == nullptr ? nullptr : t.onto + first * lanes;
    first += width;
    if (first == vectors) row.tail = t.n - (vectors - 1) * lanes;
    const bool cut = row.tail < lanes;
    const auto& micro_of = cut ? micros<T, Form::free_cut>.of : micros<T, Form::free>.of;
    const index_t slivers = t.m / mr, rest = t.m % mr;
    if (fetches && soon.left > 0) {
      const auto& fetching = cut ? micros<T, Form::fetching_cut>.of : micros<T, Form::fetching>.of;
      fetching[mr - 1][width - 1](row, slivers, &soon);
    } else {
      micro_of[mr - 1][width - 1](row, slivers, nullptr);
    }
    row.a += slivers * mr * t.a_row;
    row.c += slivers * mr * t.ldc;
    row.onto = row.onto == nullptr ? nullptr : row.onto + slivers * mr * t.ldonto;
    if (rest > 0) micro_of[rest - 1][width - 1](row, 1, nullptr);
  }
}

// The last slivers of a tile prefetch the panels of the next, three vectors per step in twelve
// slivers.
constexpr index_t fetching_slivers = 12;

/// Multiplies a tile: outer loop over slivers, inner loop over panels, so the sliver stays in the
/// first-level cache while the panels stream past.
template <class T>
void multiply(const LeafTile<T>& t, Following<T> next, Store store) {
  constexpr index_t mr = Shape<T>::mr;
  constexpr index_t nr = Shape<T>::nr;
  constexpr index_t lanes = Simd<T>::lanes;
  constexpr index_t most = Shape<T>::vectors;
  if (t.a_sliver == mr * t.a_row && t.b_panel == nr) return multiply_free(t, next);
  const bool packed_b = t.b_step == nr && t.b_panel == nr * t.k;
  const index_t vectors = (t.n + lanes - 1) / lanes;
  const index_t panels = t.n / nr, rest = vectors - panels * most,
                tail = t.n - (vectors - 1) * lanes;
  const Form form = packed_b && t.a_row == 1 && t.a_step == mr ? Form::packed
                    : packed_b && t.a_step == 1                ? Form::packed_b
                                                               : Form::free;
  const auto& whole = form == Form::packed     ? micros<T, Form::packed>.of
                      : form == Form::packed_b ? micros<T, Form::packed_b>.of
                                               : micros<T, Form::free>.of;
  const auto& edge = form == Form::free && tail < lanes ? micros<T, Form::free_cut>.of : whole;
  for (index_t i = 0; i < t.m; i += mr) {
    const index_t rows = smaller(mr, t.m - i);
    MicroRow<T> row = micro_row(t);
    row.a += i / mr * t.a_sliver;
    row.c += i * t.ldc;
    row.onto = t.onto == nullptr ? nullptr : t.onto + i * t.ldonto;
    row.panels = panels;
    row.store = store;
    const index_t left = (t.m - i - 1) / mr;  // slivers after this one
    row.below = left > 0 || next.a == nullptr ? row.a + t.a_sliver : next.a;
    if (next.b != nullptr && left < fetching_slivers) {
      row.later = next.b + (fetching_slivers - 1 - left) * panels * (t.k / 4 * lanes);
      row.later_step = lanes;
    }
    if (panels > 0) whole[rows - 1][most - 1](row, 1, nullptr);
    if (rest == 0) continue;
    row.b += panels * t.b_panel;
    row.c += panels * nr;
    row.onto = row.onto == nullptr ? nullptr : row.onto + panels * nr;
    row.below += panels * (form == Form::packed_b ? t.k / 32 * line<T> : t.k / 4 * lanes);
    row.later += panels * (t.k / 4 * row.later_step);
    row.panels = 1;
    row.tail = tail;
    edge[rows - 1][rest - 1](row, 1, nullptr);
  }
  if (store == Store::past_caches) simd::fence_streams();
}

template <class T>
constexpr LeafKernels<T> kernels{Shape<T>::mr, Shape<T>::nr, multiply<T>,
                                 pack_a<T>,    pack_b<T>,    add<T>};

}  // namespace
}  // namespace tessera::inline v1::TESSERA_ISA
