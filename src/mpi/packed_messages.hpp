#pragma once
// Packed messages of plans, in the memory of the host: set up once, exchanged again and again.

#include <span>
#include <vector>

#include "base/index.hpp"
#include "machine/buffer.hpp"
#include "mpi/repeated.hpp"

namespace tessera::inline v1::mpi {

/// The bytes that go to a rank, or come from it.
struct PackedMessage {
  int peer = 0;
  index_t bytes = 0;
};

/// Where messages are that follow each other in one buffer.
class PackedOrder {
 public:
  PackedOrder() = default;
  explicit PackedOrder(std::span<const PackedMessage> messages)
      : messages_(messages.begin(), messages.end()) {
    for (const PackedMessage& message : messages) begins_.push_back(begins_.back() + message.bytes);
  }
  [[nodiscard]] std::size_t count() const { return messages_.size(); }
  [[nodiscard]] const PackedMessage& operator[](std::size_t m) const { return messages_[m]; }
  [[nodiscard]] index_t begin(std::size_t m) const { return begins_[m]; }
  [[nodiscard]] index_t total() const { return begins_.back(); }

  /// Returns the messages in a buffer, as RepeatedMessages takes them.
  template <class Message, class Byte>
  [[nodiscard]] std::vector<Message> in(Byte* buffer) const {
    std::vector<Message> all;
    for (std::size_t m = 0; m < count(); ++m) {
      const auto& [peer, bytes] = messages_[m];
      all.push_back({peer, {buffer + begin(m), static_cast<std::size_t>(bytes)}});
    }
    return all;
  }

 private:
  std::vector<PackedMessage> messages_;
  std::vector<index_t> begins_{0};
};

/// Returns the messages from one buffer, and into another. Local.
[[nodiscard]] inline RepeatedMessages repeated(const Communicator& comm, const PackedOrder& out,
                                               const std::byte* from, const PackedOrder& in,
                                               std::byte* to) {
  return {comm, out.in<RepeatedMessages::Out>(from), in.in<RepeatedMessages::In>(to)};
}

/// RepeatedMessages with their memory.
class PackedMessages {
 public:
  PackedMessages() = default;
  /// Allocates the memory. Local.
  PackedMessages(const Communicator& comm, std::span<const PackedMessage> out,
                 std::span<const PackedMessage> in)
      : out_(out),
        in_(in),
        outgoing_(out_.total()),
        incoming_(in_.total()),
        messages_(repeated(comm, out_, outgoing_.data(), in_, incoming_.data())) {}

  /// Return the memory of a message, to be packed or unpacked.
  [[nodiscard]] std::byte* out(std::size_t m) { return outgoing_.data() + out_.begin(m); }
  [[nodiscard]] std::byte* in(std::size_t m) { return incoming_.data() + in_.begin(m); }
  [[nodiscard]] index_t sent_bytes() const { return out_.total(); }
  [[nodiscard]] index_t received_bytes() const { return in_.total(); }

  /// As those of RepeatedMessages.
  void start_receives() { messages_.start_receives(); }
  void start_send(std::size_t m) { messages_.start_send(m); }
  [[nodiscard]] std::span<const std::size_t> arrived() { return messages_.arrived(); }
  void finish() { messages_.finish(); }

 private:
  PackedOrder out_, in_;
  machine::Buffer<std::byte> outgoing_, incoming_;
  RepeatedMessages messages_;
};

}  // namespace tessera::inline v1::mpi
