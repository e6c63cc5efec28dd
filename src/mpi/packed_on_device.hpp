#pragma once
// Packed messages of plans, in device memory: set up once, exchanged again and again by the
// transports of DeviceExchange.

#include <memory>
#include <span>

#include "machine/device.hpp"
#include "mpi/device_exchange.hpp"
#include "mpi/packed_messages.hpp"

namespace tessera::inline v1::mpi {

/// As PackedMessages; exchanging them allocates nothing. Each execution calls start_receives(),
/// packed() for every message, send(), arrived() until it returns none, and finish().
class DevicePackedMessages {
 public:
  /// Allocates the memory. With ipc it is collective, and so is the destructor; otherwise local.
  [[nodiscard]] static std::unique_ptr<DevicePackedMessages> make(
      const DeviceExchange& exchange, std::span<const PackedMessage> out,
      std::span<const PackedMessage> in);
  DevicePackedMessages(const DevicePackedMessages&) = delete;
  DevicePackedMessages& operator=(const DevicePackedMessages&) = delete;
  virtual ~DevicePackedMessages() = default;

  /// Returns the device memory into which a message is packed.
  [[nodiscard]] virtual std::byte* out(std::size_t m) const = 0;
  /// Returns the device memory that holds a message from its arrival to finish(). With ipc it is
  /// the sender's.
  [[nodiscard]] virtual const std::byte* in(std::size_t m) const = 0;

  virtual void start_receives() = 0;
  /// Marks a message as packed by the work that the stream has now.
  virtual void packed(std::size_t m, machine::device::StreamHandle stream) = 0;
  /// Sends the messages in order, as soon as each is packed; returns once they are on their way.
  virtual void send() = 0;
  /// Waits for messages that are not yet reported, and returns the numbers of some that later work
  /// of the stream can read; none if all are reported.
  [[nodiscard]] virtual std::span<const std::size_t> arrived(
      machine::device::StreamHandle stream) = 0;
  /// Waits until the messages are sent. What reads in() must be complete before.
  virtual void finish() = 0;

  [[nodiscard]] index_t sent_bytes() const { return out_.total(); }
  [[nodiscard]] index_t received_bytes() const { return in_.total(); }
  /// Returns the bytes of the buffers on the device and on the host.
  [[nodiscard]] virtual index_t buffer_bytes() const = 0;

 protected:
  DevicePackedMessages(std::span<const PackedMessage> out, std::span<const PackedMessage> in)
      : out_(out), in_(in) {}

  PackedOrder out_, in_;
};

}  // namespace tessera::inline v1::mpi
