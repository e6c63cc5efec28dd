// Leaf kernels of the transpose with reported loads and stores, in lanes of 16 bytes: of the sizes
// and stores that are traced.

#include "lab/locality/tracer.hpp"

#define TESSERA_ISA traced
#define TESSERA_LOADED(from, bytes) locality::report(locality::Access::Kind::load, from, bytes)
#define TESSERA_STORED(to, bytes) locality::report(locality::Access::Kind::store, to, bytes)

#include "kernels/transpose/panels.hpp"

namespace tessera::inline v1::transpose::traced {
namespace {

template <int Bytes>
void leaf_of(const Leaf& leaf) {
  if (leaf.store == Store::cached)
    walk_strips<Bytes, Store::cached, 1, Ahead::nothing>(leaf, leaf.strip, nullptr);
  else
    panels_leaf<Bytes, Store::streaming>(leaf, leaf.strip, nullptr);
}

void leaf_sized(const Leaf& leaf) { leaf.bytes == 4 ? leaf_of<4>(leaf) : leaf_of<8>(leaf); }

}  // namespace

extern const LeafSet leaf_set;
const LeafSet leaf_set{leaf_sized, nullptr, nullptr, simd::fence_streams};

}  // namespace tessera::inline v1::transpose::traced
