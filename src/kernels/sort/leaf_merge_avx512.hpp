#pragma once
// Merging in AVX-512 registers. Only for leaf_avx512.cpp; everything here has internal linkage.
//
// A register of the greatest keys so far is merged with the next keys of the run whose head is
// less, by bitonic steps (Batcher 1968; Chhugani et al. 2008). Every vector depends on the previous
// one, so a merge is cut by rank into several (Odeh et al. 2012) that are interleaved to hide
// latency.

#include <cstring>
#include <utility>

#include "kernels/sort/leaf_lanes_avx512.hpp"
#include "kernels/sort/leaf_network_avx512.hpp"

namespace tessera::inline v1::sort::avx512 {
namespace {

template <class B>
struct TwoRuns {
  const B* a;
  const B* a_end;
  const B* b;
  const B* b_end;
  B* to;
  B* to_end;

  /// Returns the number of vectors that both runs can still supply.
  [[nodiscard]] index_t steps() const {
    const index_t in_a = a_end - a, in_b = b_end - b;
    return (in_a < in_b ? in_a : in_b) / lanes<B>;
  }
};

/// Returns how many of the `rank` least keys of both runs are in a.
template <class B>
index_t share_of_first(const TwoRuns<B>& runs, index_t rank) {
  const index_t na = runs.a_end - runs.a, nb = runs.b_end - runs.b;
  index_t low = rank > nb ? rank - nb : 0, high = rank < na ? rank : na;
  while (low < high) {
    const index_t middle = low + (high - low) / 2;
    if (runs.a[middle] < runs.b[rank - middle - 1])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Removes the first `rank` keys of the merge from `runs` and returns them.
template <class B>
TwoRuns<B> take_first(TwoRuns<B>& runs, index_t rank) {
  const index_t from_a = share_of_first(runs, rank);
  const TwoRuns<B> taken{runs.a,  runs.a + from_a, runs.b, runs.b + (rank - from_a),
                         runs.to, runs.to + rank};
  runs = {taken.a_end, runs.a_end, taken.b_end, runs.b_end, taken.to_end, runs.to_end};
  return taken;
}

/// Merges the next keys into `rest`, the greatest keys so far in order; returns the least of both.
template <class B>
TESSERA_INLINE Keys<B> exchange_least(Keys<B>& rest, Keys<B> next) {
  Keys<B> v[2]{rest, simd::exchange<lanes<B> - 1>(next)};
  compare_rows(v[0], v[1]);
  merge_lanes<lanes<B> / 2>(v, std::make_index_sequence<2>{});
  rest = v[1];
  return v[0];
}

/// Merges one vector. Precondition: both runs have a vector left.
template <class B>
TESSERA_INLINE void merge_step(TwoRuns<B>& runs, Keys<B>& rest) {
  const bool from_b = *runs.b < *runs.a;
  const auto next = simd::load<Keys<B>>(from_b ? runs.b : runs.a);
  runs.b += from_b ? lanes<B> : 0;
  runs.a += from_b ? 0 : lanes<B>;
  simd::store(runs.to, exchange_least<B>(rest, next));
  runs.to += lanes<B>;
}

/// Takes the next vector of a run, padded with the greatest key at its end.
template <class B>
Keys<B> take_vector(const B*& from, const B* end) {
  const auto keys = load_keys(from, end - from);
  from = end - from < lanes<B> ? end : from + lanes<B>;
  return keys;
}

/// Merges whole vectors first, then the remainders of both runs.
template <class B>
void merge_to_the_end(TwoRuns<B> runs, Keys<B> rest) {
  while (runs.steps() > 0) merge_step(runs, rest);
  while (runs.to < runs.to_end) {
    const bool a_is_done = runs.a == runs.a_end, b_is_done = runs.b == runs.b_end;
    const bool from_b = a_is_done || (!b_is_done && *runs.b < *runs.a);
    const B*& from = from_b ? runs.b : runs.a;
    const B* const end = from_b ? runs.b_end : runs.a_end;
    if (from != end && (a_is_done || b_is_done) && greatest_key(rest) < *from) {
      simd::store(runs.to, rest);
      std::memcpy(runs.to + lanes<B>, from, static_cast<std::size_t>(end - from) * sizeof(B));
      return;
    }
    const auto least = exchange_least<B>(rest, take_vector(from, end));
    simd::store_lanes(runs.to, simd::first_lanes<Keys<B>>(runs.to_end - runs.to), least);
    runs.to += lanes<B>;
  }
}

template <class B>
void merge_alone(TwoRuns<B> runs) {
  if (runs.a == runs.a_end) {
    runs.a = std::exchange(runs.b, runs.b_end);
    runs.a_end = runs.b_end;
  }
  const auto rest = take_vector(runs.a, runs.a_end);
  merge_to_the_end(runs, rest);
}

/// Merges two runs, cut into three interleaved merges if those are long enough for the overhead of
/// their ends.
template <class B>
void merge(const B* a, index_t na, const B* b, index_t nb, B* to) {
  constexpr index_t side_by_side = 512;
  TwoRuns<B> all{a, a + na, b, b + nb, to, to + na + nb};
  if (na + nb < side_by_side) return merge_alone(all);
  const index_t third = (na + nb) / 3;
  TwoRuns<B> x = take_first(all, third), y = take_first(all, third), z = all;
  if (x.steps() == 0 || y.steps() == 0 || z.steps() == 0) {
    merge_alone(x), merge_alone(y), merge_alone(z);
    return;
  }
  auto of_x = take_vector(x.a, x.a_end), of_y = take_vector(y.a, y.a_end),
       of_z = take_vector(z.a, z.a_end);
  const auto least = [](index_t p, index_t q) { return p < q ? p : q; };
  while (const index_t steps = least(least(x.steps(), y.steps()), z.steps())) {
    for (index_t step = 0; step < steps; ++step) {
      merge_step(x, of_x);
      merge_step(y, of_y);
      merge_step(z, of_z);
    }
  }
  merge_to_the_end(x, of_x);
  merge_to_the_end(y, of_y);
  merge_to_the_end(z, of_z);
}

}  // namespace
}  // namespace tessera::inline v1::sort::avx512
