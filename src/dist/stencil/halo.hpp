#pragma once
// Halo exchange: the layers around a rank's box that its neighbours own. One message a neighbour
// and exchange.

#include <vector>

#include "dist/stencil/field.hpp"
#include "dist/stencil/halo_window.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::dist::stencil {

/// Exchanges the layers that `steps` steps need, of every field's current level and, for stencils
/// of two levels, of the previous one. Sends one message a neighbour, or uses the field's window,
/// if it has one, with neighbours of the same node. Reuses its buffers.
template <class T>
class Halo {
 public:
  Halo(const mpi::Communicator& comm, const DistributedField<T>& field, index_t steps);

  [[nodiscard]] index_t steps() const { return steps_; }
  /// Posts receives, then packs and sends. After it returns, the inner layers may be modified; the
  /// halo is not yet valid.
  void start(DistributedField<T>& field, int threads);
  /// Waits and unpacks the halo.
  void finish(DistributedField<T>& field, int threads);

  [[nodiscard]] index_t messages() const {
    return static_cast<index_t>(receives_.size());
  }  ///< received

 private:
  /// A message; through a window one byte that signals that the layers are written.
  struct HaloMessage {
    layout::HaloPiece piece;
    index_t offset;             ///< of its first element in the buffer
    bool in_window = false;     ///< the peer is on the same node and there is a window
    index_t window_offset = 0;  ///< of a received part: offset in the peer's send layout
    std::byte there = std::byte{};
    [[nodiscard]] int peer() const { return static_cast<int>(piece.peer); }
  };
  [[nodiscard]] std::vector<HaloMessage> parts(const std::vector<layout::HaloPiece>& pieces) const;
  [[nodiscard]] index_t total(const std::vector<HaloMessage>& parts) const;
  void look_for_neighbours(const DistributedField<T>& field);
  /// Returns the exchanged levels, in the order of a message.
  [[nodiscard]] std::vector<GridView<T>> views(DistributedField<T>& field) const;
  [[nodiscard]] std::span<std::byte> bytes_of(T* buffer, HaloMessage& part) const;

  mpi::Communicator comm_;
  index_t steps_, levels_;
  index_t views_;  ///< levels of all fields together
  std::shared_ptr<HaloWindow<T>> window_;
  std::vector<HaloMessage> receives_, sends_;
  machine::Buffer<T> incoming_, outgoing_;
  std::vector<mpi::Request> arriving_, leaving_;
};

}  // namespace tessera::inline v1::dist::stencil
