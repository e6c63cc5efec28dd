// Scaled updates. Transposed blocks pass through a scratch block in the L1, which has the
// orientation of b.

#include "kernels/transpose/update.hpp"

#include "kernels/transpose/combine.hpp"
#include "kernels/transpose/leaf.hpp"
#include "machine/fork_join.hpp"
#include "machine/kept.hpp"

namespace tessera::inline v1::transpose {
namespace {

constexpr index_t leaf_side = 64;

/// Returns the function for a type, float or double.
template <class T>
auto combine_of(const CombineSet& set) {
  if constexpr (std::is_same_v<T, float>)
    return set.f32;
  else
    return set.f64;
}

/// Copies a block into scratch rows, transposed if op says so.
template <class T>
void fetch(const Update<T>& u, const Submatrix& block, const LeafSet& leaves, T* scratch) {
  if (u.op == Op::transpose) {
    const auto a = records(u.a.block(block.j, block.i, block.cols, block.rows));
    leaves.transpose({a.data, a.stride(), reinterpret_cast<std::byte*>(scratch),
                      leaf_side * index_t{sizeof(T)}, a.rows, a.cols, a.bytes, Store::cached});
  } else {
    for (index_t i = 0; i < block.rows; ++i)
      std::copy_n(&u.a(block.i + i, block.j), block.cols, scratch + i * leaf_side);
  }
}

template <class T>
void conjugate_rows(T* scratch, const Submatrix& block) {
  for (index_t i = 0; i < block.rows; ++i) {
    auto* const parts = reinterpret_cast<Real<T>*>(scratch + i * leaf_side);
    for (index_t j = 0; j < block.cols; ++j) parts[2 * j + 1] = -parts[2 * j + 1];
  }
}

template <class T>
void update_leaf(const Update<T>& u, const Submatrix& block, const CombineSet& combines,
                 const LeafSet& leaves) {
  constexpr index_t parts = sizeof(T) / sizeof(Real<T>);
  alignas(64) T scratch[leaf_side * leaf_side];
  const bool conjugates = parts == 2 && u.conjugate == Conjugate::yes;
  const bool fetches = u.op == Op::transpose || conjugates;
  if (fetches && u.alpha != 0) {
    fetch(u, block, leaves, scratch);
    if constexpr (parts == 2) {
      if (conjugates) conjugate_rows(scratch, block);
    }
  }
  const bool reads_a = !fetches && u.alpha != 0;  // otherwise a may be absent
  const auto combine = combine_of<Real<T>>(combines);
  for (index_t i = 0; i < block.rows; ++i) {
    const T* const row = reads_a ? &u.a(block.i + i, block.j) : scratch + i * leaf_side;
    combine(u.alpha, reinterpret_cast<const Real<T>*>(row), u.beta,
            reinterpret_cast<Real<T>*>(&u.b(block.i + i, block.j)), parts * block.cols);
  }
}

template <class T>
void update_any(const Update<T>& u, const Tuning& tuning) {
  if (u.b.empty()) return;
  if (u.op == Op::transpose && u.alpha == 1 && u.beta == 0 && u.conjugate == Conjugate::no) {
    cache_oblivious(records(u.a), records(u.b), tuning);
    return;
  }
  const CombineSet& combines = combine_set(machine::isa());
  const LeafSet& leaves = leaf_set(machine::isa());
  machine::Kept<Submatrix> kept;
  std::vector<Submatrix>& blocks = kept.all();
  list_leaves({0, 0, u.b.rows, u.b.cols}, {leaf_side, 4 * leaf_side}, blocks);
  machine::parallel(threads_of(tuning), [&] {
    machine::parallel_for(0, static_cast<index_t>(blocks.size()), 1, [&](index_t at, index_t) {
      const Submatrix& block = blocks[static_cast<std::size_t>(at)];
      for (index_t j = 0; j < block.cols; j += leaf_side)
        update_leaf(u, {block.i, block.j + j, block.rows, std::min(leaf_side, block.cols - j)},
                    combines, leaves);
    });
  });
}

}  // namespace

void update(const Update<float>& u, const Tuning& tuning) { update_any(u, tuning); }
void update(const Update<double>& u, const Tuning& tuning) { update_any(u, tuning); }
void update(const Update<std::complex<float>>& u, const Tuning& tuning) { update_any(u, tuning); }
void update(const Update<std::complex<double>>& u, const Tuning& tuning) { update_any(u, tuning); }

}  // namespace tessera::inline v1::transpose
