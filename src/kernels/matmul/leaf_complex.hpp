#pragma once
// The leaf for complex elements, with the real multiplications of the definition. Packed operands
// store real and imaginary parts separately, so that the inner loop is fma of whole vectors:
//
//   A: sliver[p] = re[0:mr] im[0:mr]          B: panel[p] = re[0:nr] im[0:nr]
//
// and packing conjugates. A may also be read unpacked in rows, because its parts are broadcast one
// by one. C is interleaved again when the sum of a chunk is added to it. Only for files of
// tessera_isa_source.

#include "kernels/matmul/leaf_complex_micro.hpp"
#include "kernels/matmul/leaf_complex_pack.hpp"
#include "kernels/matmul/leaf_kernels.hpp"

namespace tessera::inline v1::TESSERA_ISA {
namespace {

template <class T>
using ComplexMicro = void (*)(const ComplexRow<T>&);

template <class T, bool packed_a, int R, int V>
constexpr ComplexMicro<T> pick_complex() {
  if constexpr (R <= ComplexShape<T>::mr && V <= ComplexShape<T>::vectors)
    return complex_row<T, R, V, packed_a>;
  return nullptr;
}
/// of[R - 1][V - 1]: edges use the kernel of their size.
template <class T, bool p>
struct ComplexMicros {
  ComplexMicro<T> of[6][3] = {
      {pick_complex<T, p, 1, 1>(), pick_complex<T, p, 1, 2>(), pick_complex<T, p, 1, 3>()},
      {pick_complex<T, p, 2, 1>(), pick_complex<T, p, 2, 2>(), pick_complex<T, p, 2, 3>()},
      {pick_complex<T, p, 3, 1>(), pick_complex<T, p, 3, 2>(), pick_complex<T, p, 3, 3>()},
      {pick_complex<T, p, 4, 1>(), pick_complex<T, p, 4, 2>(), pick_complex<T, p, 4, 3>()},
      {pick_complex<T, p, 5, 1>(), pick_complex<T, p, 5, 2>(), pick_complex<T, p, 5, 3>()},
      {pick_complex<T, p, 6, 1>(), pick_complex<T, p, 6, 2>(), pick_complex<T, p, 6, 3>()}};
};
template <class T, bool packed_a>
constexpr ComplexMicros<T, packed_a> complex_micros{};

// The number of last slivers of a tile that prefetch the panels of the next: twelve lines per step
// over all slivers, a quarter of a line per step and panel.
template <class T>
constexpr index_t fetching_complex_slivers = 48 / panels_of_tile<T>;

/// Multiplies a tile. Precondition: B is packed; A is packed or has contiguous rows.
template <class T>
void multiply_complex(const LeafTile<Complex<T>>& t, Following<Complex<T>> next, Store /*store*/) {
  constexpr index_t mr = ComplexShape<T>::mr, nr = ComplexShape<T>::nr, lanes = Simd<T>::lanes;
  constexpr index_t most = ComplexShape<T>::vectors;
  const bool packed_a = t.a_row == 1 && t.a_step == mr;
  const auto& micros = packed_a ? complex_micros<T, true>.of : complex_micros<T, false>.of;
  const index_t vectors = (t.n + lanes - 1) / lanes, panels = t.n / nr,
                rest = vectors - panels * most;
  constexpr index_t fetching = fetching_complex_slivers<T>;
  // One vector after a panel of three: split into two and two, enough sums to hide the latency of
  // fma.
  const bool halves = most == 3 && rest == 1 && panels > 0;
  for (index_t i = 0; i < t.m; i += mr) {
    const auto& micro_of = micros[smaller(mr, t.m - i) - 1];
    const index_t left = (t.m - i - 1) / mr;  // slivers after this one
    const bool fetches = next.b != nullptr && left < fetching;
    /// Multiplies `count` strips of `width` vectors from vector `first` on.
    const auto strips = [&](index_t first, index_t width, index_t count) {
      if (count == 0) return;
      const index_t within = first % most, j = first * lanes;
      const bool crosses = within + width > most;
      const ComplexRow<T> row{
          .k = t.k,
          .a = parts_of(t.a) + 2 * (i / mr * t.a_sliver),
          .a_row = 2 * t.a_row,
          .b = parts_of(t.b) + 2 * (first / most * t.b_panel) + within * lanes,
          .b_panel = 2 * t.b_panel,
          .b_last = crosses ? 2 * t.b_panel - within * lanes : (width - 1) * lanes,
          .alpha_re = t.alpha.re,
          .alpha_im = t.alpha.im,
          .beta_re = t.beta.re,
          .beta_im = t.beta.im,
          .c = parts_of(t.c) + 2 * (i * t.ldc + j),
          .ldc = 2 * t.ldc,
          .onto = t.onto == nullptr ? nullptr : parts_of(t.onto) + 2 * (i * t.ldonto + j),
          .ldonto = 2 * t.ldonto,
          .panels = count,
          .tail = first + width * count == vectors ? t.n - (vectors - 1) * lanes : lanes,
          .below =
              parts_of(left > 0 || next.a == nullptr ? t.a + (i / mr + 1) * t.a_sliver : next.a),
          .later = fetches ? parts_of(next.b) + (fetching - 1 - left) * panels * (t.k / 4 * line<T>)
                           : parts_of(t.b),
          .later_step = fetches ? line<T> : 0};
      micro_of[width - 1](row);
    };
    const index_t whole = panels - (halves ? 1 : 0);
    strips(0, most, whole);
    if (halves) {
      strips(whole * most, 2, 1);
      strips(whole * most + 2, 2, 1);
    } else if (rest > 0) {
      strips(panels * most, rest, 1);
    }
  }
}

template <class T>
void add_complex(const Complex<T>* value, Complex<T>* into, index_t n) {
  add(parts_of(value), parts_of(into), 2 * n);
}

template <class T>
constexpr LeafKernels<Complex<T>> complex_kernels{ComplexShape<T>::mr, ComplexShape<T>::nr,
                                                  multiply_complex<T>, pack_complex_a<T>,
                                                  pack_complex_b<T>,   add_complex<T>};

}  // namespace
}  // namespace tessera::inline v1::TESSERA_ISA
