// Double-buffered halos in the shared memory of a node.

#include "dist/stencil/halo_window.hpp"

#include <algorithm>

#include "dist/stencil/plan.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

/// Returns the window bytes of these ranks, twice what each sends.
template <class T>
std::vector<index_t> room_bytes(const DistributedField<T>& u, const std::vector<index_t>& ranks) {
  std::vector<index_t> bytes;
  for (const index_t rank : ranks)
    bytes.push_back(2 * sent_elements(u.scheme(), u.grid(), rank, u.halo_steps()) * u.fields() *
                    static_cast<index_t>(sizeof(T)));
  return bytes;
}

}  // namespace

template <class T>
HaloWindow<T>::HaloWindow(const mpi::Communicator& comm, const DistributedField<T>& u)
    : node_(comm.node()),
      node_rank_(node_.rank()),
      members_(comm.ranks_of(node_)),
      memory_(node_, room_bytes(u, members_)) {}

template <class T>
T* HaloWindow<T>::half_of(int node_rank) const {
  const index_t elements = memory_.size_of(node_rank) / static_cast<index_t>(2 * sizeof(T));
  return reinterpret_cast<T*>(memory_.of(node_rank)) + half_ * elements;
}

template <class T>
const T* HaloWindow<T>::of(index_t rank) const {
  const auto member = std::find(members_.begin(), members_.end(), rank);
  return member == members_.end() ? nullptr : half_of(static_cast<int>(member - members_.begin()));
}

template class HaloWindow<Half>;
template class HaloWindow<BFloat16>;
template class HaloWindow<float>;
template class HaloWindow<double>;

}  // namespace tessera::inline v1::dist::stencil
