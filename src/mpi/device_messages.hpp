#pragma once
// Messages of device memory, in double-buffered rounds of strips: while the strips of a round
// travel, those of the next are packed and those of the last unpacked. Implementation of
// DeviceExchange.

#include <array>

#include "machine/device.hpp"
#include "machine/nccl.hpp"
#include "mpi/communicator.hpp"
#include "mpi/device_transport.hpp"

namespace tessera::inline v1::mpi {

class DeviceMessages {
 public:
  /// Requires nccl for the transport nccl only. ipc has no messages: strips are staged.
  DeviceMessages(const Communicator& comm, DeviceTransport transport, machine::Nccl* nccl);

  /// Exchanges pieces in strips of at most strip_bytes; 0: by the transport. See DeviceExchange.
  void exchange(std::span<const DeviceOut> out, std::span<const DeviceIn> in, index_t strip_bytes);

 private:
  using Out = DeviceRounds<const std::byte>;
  using In = DeviceRounds<std::byte>;

  /// The buffer of strips in transit of every second round; contiguous device strips bypass it if
  /// the transport takes device memory.
  struct Slots {
    machine::device::Allocation memory;
    machine::device::Event moved;  ///< packed or unpacked
  };

  void make_room(std::array<Slots, 2>& slots, index_t bytes);
  [[nodiscard]] std::byte* place(const Slots& slots, index_t slot) const {
    return slots.memory.data() + slot * strip_bytes_;
  }
  template <class Byte>
  [[nodiscard]] bool directly(const DeviceStrip<Byte>& strip) const {
    return home_ == machine::device::Home::device && strip.contiguous();
  }
  /// Return the memory from which a strip is sent, or into which it is received.
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

}  // namespace tessera::inline v1::mpi
