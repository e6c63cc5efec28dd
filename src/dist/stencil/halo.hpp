#pragma once
// The layers around a rank's box that its neighbours own.

#include <vector>

#include "dist/stencil/field.hpp"
#include "dist/stencil/halo_window.hpp"
#include "mpi/communicator.hpp"

namespace tessera::dist::stencil {

/// Exchanges the layers that so many steps need, of every field's current level and, for stencils
/// of two levels, of the one before, in one message a neighbour; or through the field's window,
/// where it has one, with neighbours of the same node. Keeps its buffers from one exchange to the
/// next.
template <class T>
class Halo {
 public:
  Halo(const mpi::Communicator& comm, const DistributedField<T>& field, index_t steps);

  [[nodiscard]] index_t steps() const { return steps_; }
  /// Receives before sends. The inner layers may change again when it returns, the outer ones are
  /// not there yet.
  void start(DistributedField<T>& field, int threads);
  /// Waits, then fills the outer layers.
  void finish(DistributedField<T>& field, int threads);

  [[nodiscard]] index_t messages() const {
    return static_cast<index_t>(receives_.size());
  }  ///< received

 private:
  /// Through a window a message is one byte: that the layers are there.
  struct HaloMessage {
    layout::HaloPiece piece;
    index_t offset;             ///< of its first element in the buffer
    bool in_window = false;     ///< of the same node, and there is a window
    index_t window_offset = 0;  ///< of a part received: in what its peer sends
    std::byte there = std::byte{};
    [[nodiscard]] int peer() const { return static_cast<int>(piece.peer); }
  };
  [[nodiscard]] std::vector<HaloMessage> parts(const std::vector<layout::HaloPiece>& pieces) const;
  [[nodiscard]] index_t total(const std::vector<HaloMessage>& parts) const;
  void look_for_neighbours(const DistributedField<T>& field);
  /// What travels, in the order of a message.
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

}  // namespace tessera::dist::stencil
