#pragma once
// Pieces of device memory as messages, in rounds of strips: while those of a round travel, those of
// the next are packed and those of the last one unpacked. Behind DeviceExchange.

#include <array>

#include "machine/device.hpp"
#include "machine/nccl.hpp"
#include "mpi/communicator.hpp"
#include "mpi/device_way.hpp"

namespace tessera::mpi {

class DeviceMessages {
 public:
  /// nccl may be nullptr with the other ways. The way ipc has no messages: they go staged.
  DeviceMessages(const Communicator& comm, DeviceWay way, machine::Nccl* nccl);

  /// Strips of at most strip_bytes; 0: what suits the way.
  void exchange(std::span<const DeviceOut> out, std::span<const DeviceIn> in, index_t strip_bytes);

 private:
  using Out = DeviceRounds<const std::byte>;
  using In = DeviceRounds<std::byte>;

  /// Where the strips of every other round lie while they travel, unless they are contiguous and go
  /// directly.
  struct Slots {
    machine::device::Block memory;
    machine::device::Event moved;  ///< packed, or unpacked
  };

  void make_room(std::array<Slots, 2>& slots, index_t bytes);
  [[nodiscard]] std::byte* place(const Slots& slots, index_t slot) const {
    return slots.memory.data() + slot * strip_bytes_;
  }
  template <class Byte>
  [[nodiscard]] bool directly(const DeviceStrip<Byte>& strip) const {
    return home_ == machine::device::Home::device && strip.contiguous();
  }
  /// Where a strip is sent from, or received into.
  [[nodiscard]] const std::byte* source(const DeviceStrip<const std::byte>& strip,
                                        const Slots& slots) const {
    return directly(strip) ? strip.bytes.data : place(slots, strip.slot);
  }
  [[nodiscard]] std::byte* target(const DeviceStrip<std::byte>& strip, const Slots& slots) const {
    return directly(strip) ? strip.bytes.data : place(slots, strip.slot);
  }
  void pack(const Out& out, std::size_t round);
  void unpack(const In& in, std::size_t round);
  void by_messages(const Out& out, const In& in);
  void by_nccl(const Out& out, const In& in);

  Communicator comm_;
  machine::Nccl* nccl_;
  machine::device::Home home_;  ///< of the slots
  index_t strip_bytes_ = 0;
  machine::device::Stream packing_, travelling_, unpacking_;
  std::array<Slots, 2> out_, in_;
  std::array<machine::device::Event, 2> arrived_;
};

}  // namespace tessera::mpi
