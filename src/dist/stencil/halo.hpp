#pragma once
// The layers around a rank's box that its neighbours own.

#include <vector>

#include "dist/stencil/field.hpp"
#include "mpi/communicator.hpp"

namespace tessera::dist::stencil {

/// Exchanges the layers that so many steps need, of the current level and, for stencils of two levels, of the
/// one before, in one message a neighbour. Keeps its buffers from one exchange to the next.
template <class T>
class Halo {
 public:
  Halo(const mpi::Communicator& comm, const DistributedField<T>& field, index_t steps);

  [[nodiscard]] index_t steps() const { return steps_; }
  /// Receives before sends. The inner layers may change again when it returns, the outer ones are not there
  /// yet.
  void start(DistributedField<T>& field, int threads);
  /// Waits, then fills the outer layers.
  void finish(DistributedField<T>& field, int threads);

  [[nodiscard]] index_t messages() const { return static_cast<index_t>(receives_.size()); }  ///< received

 private:
  struct Part {
    layout::HaloPiece piece;
    index_t offset;  ///< of its first element in the buffer
    [[nodiscard]] index_t elements(index_t levels) const { return levels * piece.box.volume(); }
  };
  [[nodiscard]] std::vector<Part> parts(const std::vector<layout::HaloPiece>& pieces) const;
  [[nodiscard]] index_t total(const std::vector<Part>& parts) const;
  [[nodiscard]] std::span<std::byte> bytes_of(machine::Buffer<T>& buffer, const Part& part) const;

  mpi::Communicator comm_;
  index_t steps_, levels_;
  std::vector<Part> receives_, sends_;
  machine::Buffer<T> incoming_, outgoing_;
  std::vector<mpi::Request> arriving_, leaving_;
};

}  // namespace tessera::dist::stencil
