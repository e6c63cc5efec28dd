#pragma once
// The layers around a rank's box that its neighbours own, where the box lies on a device.

#include <map>
#include <vector>

#include "dist/stencil/scheme.hpp"
#include "kernels/stencil/resident.hpp"
#include "layout/grid_layout.hpp"
#include "mpi/device_exchange.hpp"

namespace tessera::dist::stencil {

using tessera::stencil::ResidentKernels;

/// Exchanges the layers that some steps need. What a neighbour takes is packed by a kernel into one
/// piece of memory: its own, where the ranks reach each other's (then a message of a byte says that
/// it is there), else this rank's, from where it travels.
///
/// What arrives has two halves of the memory, by turns, as in HaloWindow: a rank that packs for
/// exchange e has heard that its neighbours' pieces of e - 1 are packed, and those were packed when
/// they had unpacked e - 2, whose half e takes.
template <class T>
class DeviceHalo {
 public:
  /// Room for exchanges of up to most_steps, of so many levels of all fields together. Collective.
  DeviceHalo(const mpi::DeviceExchange& exchange, const Scheme& scheme,
             const layout::GridLayout& grid, index_t most_steps, index_t levels,
             const ResidentKernels<T>& kernels);

  /// Begins an exchange: what neighbours need for so many steps goes from the levels (their points
  /// (0, 0, 0)) to where they take it. The same steps on every rank.
  void pack(index_t steps, std::span<T* const> levels, const Index3& stride,
            machine::device::StreamHandle stream);
  /// When all of it is packed: until what this rank needs is here.
  void travel();
  /// It goes into the levels.
  void unpack(std::span<T* const> levels, const Index3& stride,
              machine::device::StreamHandle stream) const;

  /// Received in the exchange under way.
  [[nodiscard]] index_t messages() const;
  [[nodiscard]] index_t received_bytes() const;
  /// Whether this rank has neighbours.
  [[nodiscard]] bool any() const { return elements_[0] > 0; }

  /// Of a device's memory that a rank takes at most, whatever the way.
  [[nodiscard]] static index_t device_bytes(const Scheme& scheme, const layout::GridLayout& grid,
                                            index_t rank, index_t most_steps, index_t levels);

 private:
  /// What goes to a peer, or comes from it: all its pieces of a level, in the order of directions,
  /// then those of the next level.
  struct PeerGroup {
    int peer = 0;
    index_t base = 0;              ///< elements before it
    index_t elements = 0;          ///< of a level
    std::vector<Box3> pieces;      ///< local boxes
    index_t there = 0;             ///< of what goes out: elements before it in the peer's half
    std::byte told = std::byte{};  ///< that it is there
  };
  struct PackPattern {
    std::vector<PeerGroup> out, in;
  };
  [[nodiscard]] static std::vector<PeerGroup> groups(std::vector<layout::HaloPiece> pieces,
                                                     index_t levels);
  [[nodiscard]] static index_t total(const std::vector<PeerGroup>& groups, index_t levels);
  [[nodiscard]] std::vector<PeerGroup> receives(index_t rank, index_t steps) const;
  [[nodiscard]] PackPattern& pattern_of(index_t steps);
  /// Where a group begins: in this rank's half of what arrives, or where it is packed.
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
  index_t elements_[2] = {0, 0};             ///< of a half of what arrives, of what leaves
  std::vector<index_t> half_of_;             ///< elements of a half, by rank
  mpi::PeerMemory arriving_;                 ///< two halves
  machine::device::Block leaving_;           ///< where the ranks do not reach each other's memory
  std::map<index_t, PackPattern> patterns_;  ///< by steps
  PackPattern* pattern_ = nullptr;           ///< of the exchange under way
  index_t half_ = 0;
};

}  // namespace tessera::dist::stencil
