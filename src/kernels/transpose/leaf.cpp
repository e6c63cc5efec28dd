// The leaf kernel for every size of records and kind of stores, compiled per instruction set.

#include "kernels/transpose/panels.hpp"
#include "kernels/transpose/swap_squares.hpp"
#include "kernels/transpose/whole_rows.hpp"

namespace tessera::inline v1::transpose::TESSERA_ISA {
namespace {

template <int Bytes>
void carried_leaf(const Leaf& leaf) {
  constexpr index_t widest = carried_columns(Bytes);
  Carry carry;
  carry.joins = leaf.b_stride == leaf.rows * Bytes;
  carry.shifts = Bytes % 4 == 0 && bytes_past_line(leaf.b) % 4 == 0 && leaf.b_stride % 4 == 0;
  panels_leaf<Bytes, Store::carried>(leaf, leaf.strip < widest ? leaf.strip : widest, &carry);
}

template <int Bytes>
void leaf_of(const Leaf& leaf) {
  switch (leaf.store) {
    case Store::cached:
      return walk_strips<Bytes, Store::cached, 1, Ahead::nothing>(leaf, leaf.strip, nullptr);
    case Store::streaming:
      return panels_leaf<Bytes, Store::streaming>(leaf, leaf.strip, nullptr);
    case Store::carried:
      return carried_leaf<Bytes>(leaf);
    case Store::joined:
      if constexpr (Bytes > 1) whole_rows<Bytes>(leaf);
  }
}

/// Calls f with the size of a record as template argument.
template <class F>
void with_size(index_t bytes, const F& f) {
  if (bytes == 1) return f.template operator()<1>();
  if (bytes == 2) return f.template operator()<2>();
  if (bytes == 4) return f.template operator()<4>();
  if (bytes == 8) return f.template operator()<8>();
  f.template operator()<16>();
}

void leaf_sized(const Leaf& leaf) {
  with_size(leaf.bytes, [&]<int Bytes>() { leaf_of<Bytes>(leaf); });
}

void swap_sized(const Mirrored& blocks) {
  with_size(blocks.bytes, [&]<int Bytes>() { swap_mirrored<Bytes>(blocks); });
}

void stream_copy(std::byte* to, const std::byte* from, index_t count) {
  const index_t off = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
  const index_t lead = off == 0 ? 0 : line_bytes - off;
  const index_t head = lead < count ? lead : count;
  __builtin_memcpy(to, from, static_cast<std::size_t>(head));
  index_t done = head;
  for (; done + line_bytes <= count; done += line_bytes) {
    for (int k = 0; k < vectors_in_line; ++k)
      stream(to + done + k * vector_bytes, load<block_count>(from + done + k * vector_bytes));
  }
  __builtin_memcpy(to + done, from + done, static_cast<std::size_t>(count - done));
}

}  // namespace

extern const LeafSet leaf_set;
const LeafSet leaf_set{leaf_sized, swap_sized, stream_copy, simd::fence_streams};

}  // namespace tessera::inline v1::transpose::TESSERA_ISA
