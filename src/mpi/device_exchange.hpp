#pragma once
// Ranks that talk GPU to GPU.

#include <memory>

#include "machine/device.hpp"
#include "mpi/communicator.hpp"
#include "mpi/device_way.hpp"

namespace tessera::mpi {

/// The way that the ranks of a communicator agreed on, with what it needs. Copies refer to the same
/// one. Every rank's device is current before it is made, and stays so.
class DeviceExchange {
 public:
  /// The way that is wanted ("auto" or a name), tried on every rank: the same on all of them.
  /// Throws Error(usage) on every rank where a named one cannot be had. Collective.
  [[nodiscard]] static DeviceExchange choose(const Communicator& comm, const std::string& wanted);
  /// A way that the caller knows to be there; not nccl, which has to be chosen.
  DeviceExchange(const Communicator& comm, DeviceWay way);

  [[nodiscard]] const Communicator& comm() const;
  [[nodiscard]] DeviceWay way() const;
  /// The way's name, and why better ones were not taken.
  [[nodiscard]] const std::string& text() const;
  /// Whether each rank reaches the memory of the others (PeerMemory::of).
  [[nodiscard]] bool reaches() const { return way() == DeviceWay::ipc || comm().size() == 1; }

  /// in = what the peers sent: pieces for a peer arrive in its pieces from this rank, in their
  /// order, of the same shapes. What goes out must be there when it is called; what came in is
  /// there on return. Of a rank's own pieces none is its own. Where ranks reach each other's memory
  /// they need it not, and it goes staged.
  void exchange(std::span<const DeviceOut> out, std::span<const DeviceIn> in) const;

  /// Of a strip that travels in one go; 0: what suits the way.
  void set_strip_bytes(index_t bytes) const;

 private:
  struct State;
  explicit DeviceExchange(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// Memory on the device of every rank, which the others reach where the way allows it. Move only.
class PeerMemory {
 public:
  PeerMemory() = default;
  /// Uninitialised. Throws on every rank where one has not the room. Collective over
  /// exchange.comm().
  PeerMemory(const DeviceExchange& exchange, index_t bytes);
  PeerMemory(PeerMemory&& other) noexcept;
  PeerMemory& operator=(PeerMemory&& other) noexcept;
  /// Collective, unless an exception is on its way that no other rank knows of.
  ~PeerMemory();

  [[nodiscard]] std::byte* data() const { return own_.data(); }
  [[nodiscard]] index_t size() const { return own_.size(); }
  /// The memory of a rank; nullptr where it is empty or not reached.
  [[nodiscard]] std::byte* of(int rank) const { return all_[static_cast<std::size_t>(rank)]; }

 private:
  Communicator comm_ = Communicator::self();
  machine::device::Block own_;
  std::vector<machine::device::Mapped> mapped_;
  std::vector<std::byte*> all_;
};

}  // namespace tessera::mpi
