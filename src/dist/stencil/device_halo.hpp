#pragma once
// Halo exchange of boxes in the memory of devices: packs the layers around a rank's box that its
// neighbours own.

#include <map>
#include <vector>

#include "dist/stencil/scheme.hpp"
#include "kernels/stencil/resident.hpp"
#include "layout/grid_layout.hpp"
#include "mpi/device_exchange.hpp"

namespace tessera::inline v1::dist::stencil {

template <class T>
inline constexpr auto size_of = static_cast<index_t>(sizeof(T));

using tessera::stencil::ResidentKernels;

/// Exchanges the layers that some steps need. A kernel packs the data of a neighbour contiguously:
/// into the neighbour's memory if the ranks can access each other's (then a message of one byte
/// signals completion), otherwise into this rank's memory, from which it is sent.
///
/// The receive memory has two halves that alternate (double buffering), as in HaloWindow: a rank
/// that packs for exchange e has received the signal that its neighbours' pieces of e - 1 are
/// packed, and those were packed after the neighbours had unpacked e - 2, whose half e reuses.
template <class T>
class DeviceHalo {
 public:
  /// Allocates for exchanges of up to most_steps, of `levels` levels of all fields together.
  /// Collective.
  DeviceHalo(const mpi::DeviceExchange& exchange, const Scheme& scheme,
             const layout::GridLayout& grid, index_t most_steps, index_t levels,
             const ResidentKernels<T>& kernels);

  /// Starts an exchange: packs what neighbours need for `steps` steps from the levels (pointers to
  /// their points (0, 0, 0)). The same steps on every rank.
  void pack(index_t steps, std::span<T* const> levels, const Index3& stride,
            machine::device::StreamHandle stream);
  /// Exchanges the packed pieces and waits until this rank's halo has arrived. Precondition:
  /// packing is complete.
  void travel();
  /// Copies the received pieces into the levels.
  void unpack(std::span<T* const> levels, const Index3& stride,
              machine::device::StreamHandle stream) const;

  /// Return the counts received in the current exchange.
  [[nodiscard]] index_t messages() const;
  [[nodiscard]] index_t received_bytes() const;
  /// Returns whether this rank has neighbours.
  [[nodiscard]] bool any() const { return elements_[0] > 0; }

  /// Returns the maximal bytes of device memory that a rank uses with any transport.
  [[nodiscard]] static index_t device_bytes(const Scheme& scheme, const layout::GridLayout& grid,
                                            index_t rank, index_t most_steps, index_t levels);

 private:
  /// The pieces sent to or received from a peer: all pieces of a level, in the order of directions,
  /// then those of the next level.
  struct PeerGroup {
    int peer = 0;
    index_t base = 0;                ///< elements before it
    index_t elements = 0;            ///< of a level
    std::vector<Box3> pieces;        ///< local boxes
    index_t there = 0;               ///< of a send: elements before it in the peer's half
    std::byte notice = std::byte{};  ///< buffer of the completion signal
  };
  struct PackPattern {
    std::vector<PeerGroup> out, in;
  };
  [[nodiscard]] static std::vector<PeerGroup> groups(std::vector<layout::HaloPiece> pieces,
                                                     index_t levels);
  [[nodiscard]] static index_t total(const std::vector<PeerGroup>& groups, index_t levels);
  [[nodiscard]] std::vector<PeerGroup> receives(index_t rank, index_t steps) const;
  [[nodiscard]] PackPattern& pattern_of(index_t steps);
  /// Return the beginning of a group: in this rank's half of the receive memory, or where it is
  /// packed.
  [[nodiscard]] T* arrived(const PeerGroup& group) const;
  [[nodiscard]] T* packed(const PeerGroup& group) const;
  template <class Place>
  [[nodiscard]] tessera::stencil::HaloPieces<T> pieces_of(const std::vector<PeerGroup>& groups,
                                                          std::size_t level, const Index3& stride,
                                                          const Place& place) const;

  mpi::DeviceExchange exchange_;
  Scheme scheme_;
  layout::GridLayout grid_;
  index_t levels_ = 1;
  ResidentKernels<T> kernels_{};
  index_t elements_[2] = {0, 0};         ///< of a half of the receive memory, of the send memory
  std::vector<index_t> half_of_;         ///< elements of a half, by rank
  mpi::PeerMemory arriving_;             ///< two halves
  machine::device::Allocation leaving_;  ///< if the ranks cannot access each other's memory
  std::map<index_t, PackPattern> patterns_;  ///< by steps
  PackPattern* pattern_ = nullptr;           ///< of the current exchange
  index_t half_ = 0;
};

}  // namespace tessera::inline v1::dist::stencil
