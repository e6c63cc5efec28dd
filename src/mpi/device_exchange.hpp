#pragma once
// Exchange of device memory between ranks.

#include <memory>

#include "machine/device.hpp"
#include "mpi/communicator.hpp"
#include "mpi/device_transport.hpp"

namespace tessera::inline v1::machine {
class Nccl;
}

namespace tessera::inline v1::mpi {

/// The transport on which the ranks of a communicator agreed, with its state. Copies refer to the
/// same state. Every rank's device must be current before construction, and stay current.
class DeviceExchange {
 public:
  /// Selects the wanted transport ("auto" or a name), tried on every rank; the result is the same
  /// on all of them. Throws Error(usage) on every rank if a named one is not available. Collective.
  [[nodiscard]] static DeviceExchange choose(const Communicator& comm, const std::string& wanted);
  /// Returns that of "auto", or, where all ranks still hold one for this communicator and their
  /// current devices, the same again: a communicator of NCCL takes some tenths of a second, and
  /// memory. Collective.
  [[nodiscard]] static DeviceExchange shared(const Communicator& comm);
  /// Uses a transport that the caller knows to be available; not nccl, which needs choose().
  DeviceExchange(const Communicator& comm, DeviceTransport transport);

  [[nodiscard]] const Communicator& comm() const;
  [[nodiscard]] DeviceTransport transport() const;
  /// Returns the name of the transport, and why preferred ones were rejected.
  [[nodiscard]] const std::string& text() const;
  /// Returns whether every rank can access the memory of the others (PeerMemory::of).
  [[nodiscard]] bool reaches() const {
    return transport() == DeviceTransport::ipc || comm().size() == 1;
  }

  /// Returns the communicator of NCCL; nullptr with other transports.
  [[nodiscard]] machine::Nccl* nccl() const;

  /// Receives into `in` what the peers send from their `out`. The pieces of a pair of ranks match
  /// in order and shape; no piece is addressed to the rank itself. `out` must be complete before
  /// the call, and `in` is complete on return. With ipc, which needs no messages, the pieces are
  /// staged.
  void exchange(std::span<const DeviceOut> out, std::span<const DeviceIn> in) const;

  /// Sets the bytes of a strip, the unit of transfer; 0: by the transport.
  void set_strip_bytes(index_t bytes) const;

 private:
  struct State;
  explicit DeviceExchange(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// Memory on the device of every rank, accessible to the others if the transport permits. Move
/// only.
class PeerMemory {
 public:
  PeerMemory() = default;
  /// Allocates uninitialised memory. Throws on every rank if one has insufficient memory.
  /// Collective over exchange.comm().
  PeerMemory(const DeviceExchange& exchange, index_t bytes);
  PeerMemory(PeerMemory&& other) noexcept;
  PeerMemory& operator=(PeerMemory&& other) noexcept;
  /// Unmaps and frees the memory. Collective, unless an exception unknown to the other ranks is
  /// propagating.
  ~PeerMemory();

  [[nodiscard]] std::byte* data() const { return own_.data(); }
  [[nodiscard]] index_t size() const { return own_.size(); }
  /// Returns the memory of a rank; nullptr if it is empty or not accessible.
  [[nodiscard]] std::byte* of(int rank) const { return all_[static_cast<std::size_t>(rank)]; }

 private:
  Communicator comm_;
  machine::device::Allocation own_;
  std::vector<machine::device::Mapped> mapped_;
  std::vector<std::byte*> all_;
};

}  // namespace tessera::inline v1::mpi
