#include "dist/stencil/halo_window.hpp"

#include <algorithm>

#include "dist/stencil/halo.hpp"
#include "mpi/agreement.hpp"

namespace tessera::dist::stencil {

template <class T>
HaloWindow<T>::HaloWindow(const mpi::Communicator& comm, const DistributedField<T>& u)
    : node_(comm.node()),
      node_rank_(node_.rank()),
      members_(node_.all_gather(index_t{comm.rank()})),
      memory_(node_, 2 * sent_elements(u, comm.rank()) * static_cast<index_t>(sizeof(T))) {}

template <class T>
bool HaloWindow<T>::fits(const mpi::Communicator& comm, const DistributedField<T>& u) {
  const mpi::Communicator node = comm.node();
  const index_t bytes =
      node.sum(2 * sent_elements(u, comm.rank()) * static_cast<index_t>(sizeof(T)));
  const bool room = 2 * bytes <= mpi::SharedMemory::available();  // others may want some
  const bool shares = node.size() == 1 || mpi::SharedMemory::works_here(node);
  mpi::Agreement all(comm, "plan");
  const std::size_t lacks = all.largest(room && shares ? 0 : 1),
                    wanted = all.largest(node.size() > 1 ? bytes : 0);
  all.settle();
  return all.value(lacks) == 0 && all.value(wanted) != 0;
}

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
template class HaloWindow<float>;
template class HaloWindow<double>;

}  // namespace tessera::dist::stencil
