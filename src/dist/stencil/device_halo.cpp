// Halo exchange between devices, directly into peer memory or by messages.

#include "dist/stencil/device_halo.hpp"

#include <algorithm>

#include "mpi/agreement.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

namespace device = machine::device;
using tessera::stencil::HaloPieces;

constexpr index_t aligned = 64;  // elements: groups begin at multiples of cache lines
constexpr int tag = 311;

}  // namespace

template <class T>
auto DeviceHalo<T>::groups(std::vector<layout::HaloPiece> pieces, index_t levels)
    -> std::vector<PeerGroup> {
  // The tag identifies the direction, so both ends sort into the same order.
  std::sort(pieces.begin(), pieces.end(),
            [](const layout::HaloPiece& a, const layout::HaloPiece& b) {
              return a.peer != b.peer ? a.peer < b.peer : a.tag < b.tag;
            });
  std::vector<PeerGroup> all;
  index_t base = 0;
  for (const layout::HaloPiece& piece : pieces) {
    const int peer = narrow<int>(piece.peer);
    if (all.empty() || all.back().peer != peer) {
      if (!all.empty()) base += round_up(levels * all.back().elements, aligned);
      all.push_back({peer, base, 0, {}, 0, std::byte{}});
    }
    all.back().pieces.push_back(piece.box);
    all.back().elements += piece.box.volume();
  }
  return all;
}

template <class T>
index_t DeviceHalo<T>::total(const std::vector<PeerGroup>& groups, index_t levels) {
  return groups.empty() ? 0
                        : groups.back().base + round_up(levels * groups.back().elements, aligned);
}

template <class T>
auto DeviceHalo<T>::receives(index_t rank, index_t steps) const -> std::vector<PeerGroup> {
  return groups(
      layout::halo_receives(grid_, rank, times(scheme_.stencil.radius, steps), scheme_.periodic()),
      levels_);
}

template <class T>
index_t DeviceHalo<T>::device_bytes(const Scheme& scheme, const layout::GridLayout& grid,
                                    index_t rank, index_t most_steps, index_t levels) {
  constexpr index_t messages = index_t{512} << 20;  // in flight
  const Index3 depth = times(scheme.stencil.radius, most_steps);
  const auto elements = [&](const std::vector<layout::HaloPiece>& pieces) {
    return total(groups(pieces, levels), levels);
  };
  const index_t in = elements(layout::halo_receives(grid, rank, depth, scheme.periodic())),
                out = elements(layout::halo_sends(grid, rank, depth, scheme.periodic()));
  return in == 0 ? 0 : size_of<T> * (2 * in + out) + messages;
}

template <class T>
DeviceHalo<T>::DeviceHalo(const mpi::DeviceExchange& exchange, const Scheme& scheme,
                          const layout::GridLayout& grid, index_t most_steps, index_t levels,
                          const ResidentKernels<T>& kernels)
    : exchange_(exchange), scheme_(scheme), grid_(grid), levels_(levels), kernels_(kernels) {
  const index_t rank = exchange.comm().rank();
  for (index_t r = 0; r < exchange.comm().size(); ++r)
    half_of_.push_back(total(receives(r, most_steps), levels));
  const auto sends =
      layout::halo_sends(grid, rank, times(scheme.stencil.radius, most_steps), scheme.periodic());
  elements_[0] = half_of_[static_cast<std::size_t>(rank)];
  elements_[1] = total(groups(sends, levels), levels);
  arriving_ = mpi::PeerMemory(exchange, 2 * elements_[0] * size_of<T>);
  mpi::together(exchange.comm(), "allocate", [&] {
    if (!exchange.reaches())
      leaving_ = device::Allocation(elements_[1] * size_of<T>, device::Home::device);
  });
}

/// Every rank computes the offsets of its packed pieces in its neighbours' memory, without
/// communication.
template <class T>
auto DeviceHalo<T>::pattern_of(index_t steps) -> PackPattern& {
  const auto known = patterns_.find(steps);
  if (known != patterns_.end()) return known->second;
  const int rank = exchange_.comm().rank();
  PackPattern pattern;
  pattern.in = receives(rank, steps);
  pattern.out = groups(
      layout::halo_sends(grid_, rank, times(scheme_.stencil.radius, steps), scheme_.periodic()),
      levels_);
  for (PeerGroup& group : pattern.out) {
    for (const PeerGroup& taken : receives(group.peer, steps))
      if (taken.peer == rank) group.there = taken.base;
  }
  return patterns_.emplace(steps, std::move(pattern)).first->second;
}

template <class T>
T* DeviceHalo<T>::arrived(const PeerGroup& group) const {
  return reinterpret_cast<T*>(arriving_.data()) + half_ * elements_[0] + group.base;
}

template <class T>
T* DeviceHalo<T>::packed(const PeerGroup& group) const {
  if (!exchange_.reaches()) return reinterpret_cast<T*>(leaving_.data()) + group.base;
  const index_t before = half_ * half_of_[static_cast<std::size_t>(group.peer)] + group.there;
  return reinterpret_cast<T*>(arriving_.of(group.peer)) + before;
}

template <class T>
template <class Place>
HaloPieces<T> DeviceHalo<T>::pieces_of(const std::vector<PeerGroup>& groups, std::size_t level,
                                       const Index3& stride, const Place& place) const {
  HaloPieces<T> pieces;
  pieces.stride = stride;
  for (const PeerGroup& group : groups) {
    T* at = place(group) + static_cast<index_t>(level) * group.elements;
    for (const Box3& box : group.pieces) {
      pieces.add(box, at);
      at += box.volume();
    }
  }
  return pieces;
}

template <class T>
void DeviceHalo<T>::pack(index_t steps, std::span<T* const> levels, const Index3& stride,
                         device::StreamHandle stream) {
  pattern_ = &pattern_of(steps);
  half_ = 1 - half_;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const auto place = [&](const PeerGroup& group) { return packed(group); };
    kernels_.pack(pieces_of(pattern_->out, level, stride, place), levels[level], stream);
  }
}

template <class T>
void DeviceHalo<T>::travel() {
  const mpi::Communicator& comm = exchange_.comm();
  if (exchange_.reaches()) {
    std::vector<mpi::Request> notices;
    for (PeerGroup& group : pattern_->in)
      notices.push_back(comm.receive({&group.notice, 1}, group.peer, tag));
    for (PeerGroup& group : pattern_->out)
      notices.push_back(comm.send({&group.notice, 1}, group.peer, tag));
    mpi::wait_all(notices);
    return;
  }
  std::vector<mpi::DeviceOut> out;
  std::vector<mpi::DeviceIn> in;
  const auto bytes = [&](const PeerGroup& group) { return levels_ * group.elements * size_of<T>; };
  for (const PeerGroup& group : pattern_->out)
    out.push_back({group.peer, matrix_view(reinterpret_cast<const std::byte*>(packed(group)), 1,
                                           bytes(group))});
  for (const PeerGroup& group : pattern_->in)
    in.push_back(
        {group.peer, matrix_view(reinterpret_cast<std::byte*>(arrived(group)), 1, bytes(group))});
  exchange_.exchange(out, in);
}

template <class T>
void DeviceHalo<T>::unpack(std::span<T* const> levels, const Index3& stride,
                           device::StreamHandle stream) const {
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const auto place = [&](const PeerGroup& group) { return arrived(group); };
    kernels_.unpack(pieces_of(pattern_->in, level, stride, place), levels[level], stream);
  }
}

template <class T>
index_t DeviceHalo<T>::messages() const {
  return pattern_ == nullptr ? 0 : static_cast<index_t>(pattern_->in.size());
}

template <class T>
index_t DeviceHalo<T>::received_bytes() const {
  index_t elements = 0;
  if (pattern_ != nullptr)
    for (const PeerGroup& group : pattern_->in) elements += levels_ * group.elements;
  return elements * size_of<T>;
}

template class DeviceHalo<Half>;
template class DeviceHalo<float>;
template class DeviceHalo<double>;

}  // namespace tessera::inline v1::dist::stencil
