// Packed messages of device memory: by MPI, from device memory or through pinned host memory; by
// NCCL; or read from the senders' memory, between two messages of a byte.

#include "mpi/packed_on_device.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "machine/nccl.hpp"

namespace tessera::inline v1::mpi {
namespace {

namespace device = machine::device;
using device::Allocation, device::Home, device::StreamHandle;

/// Points of streams, one a message.
class Marks {
 public:
  explicit Marks(std::size_t count) : events_(std::make_unique<device::Event[]>(count)) {}
  device::Event& operator[](std::size_t m) { return events_[m]; }

 private:
  std::unique_ptr<device::Event[]> events_;
};

/// Messages by MPI: of device memory, or through pinned memory of the host.
class ByMpi : public DevicePackedMessages {
 public:
  ByMpi(const Communicator& comm, Home home, std::span<const PackedMessage> out,
        std::span<const PackedMessage> in)
      : DevicePackedMessages(out, in),
        outgoing_(out_.total(), Home::device),
        incoming_(in_.total(), Home::device),
        marks_(out.size()) {
    if (home == Home::pinned) {
      staged_out_ = Allocation(out_.total(), Home::pinned);
      staged_in_ = Allocation(in_.total(), Home::pinned);
      stages_ = true;
    }
    messages_ = repeated(comm, out_, (stages_ ? staged_out_ : outgoing_).data(), in_,
                         (stages_ ? staged_in_ : incoming_).data());
  }

  [[nodiscard]] std::byte* out(std::size_t m) const override {
    return outgoing_.data() + out_.begin(m);
  }
  [[nodiscard]] const std::byte* in(std::size_t m) const override {
    return incoming_.data() + in_.begin(m);
  }
  void start_receives() override { messages_.start_receives(); }
  void packed(std::size_t m, StreamHandle stream) override {
    marks_[m].record(stream);
    if (!stages_) return;
    marks_[m].before_next(copying_);
    copy(outgoing_, staged_out_, out_, m, copying_);
    marks_[m].record(copying_);
  }
  void send() override {
    for (std::size_t m = 0; m < out_.count(); ++m) {
      marks_[m].wait();
      messages_.start_send(m);
    }
  }
  std::span<const std::size_t> arrived(StreamHandle stream) override {
    const std::span<const std::size_t> complete = messages_.arrived();
    if (stages_)
      for (const std::size_t m : complete) copy(staged_in_, incoming_, in_, m, stream);
    return complete;
  }
  void finish() override { messages_.finish(); }
  [[nodiscard]] index_t buffer_bytes() const override {
    return (stages_ ? 2 : 1) * (out_.total() + in_.total());
  }

 private:
  static void copy(const Allocation& from, const Allocation& to, const PackedOrder& order,
                   std::size_t m, StreamHandle stream) {
    const index_t n = order[m].bytes, at = order.begin(m);
    if (n > 0) device::copy({from.data() + at, 1, n, n}, {to.data() + at, 1, n, n}, stream);
  }

  Allocation outgoing_, incoming_, staged_out_, staged_in_;
  Marks marks_;
  device::Stream copying_;
  bool stages_ = false;
  RepeatedMessages messages_;
};

/// Messages by NCCL, which the device sends when they are packed.
class ByNccl : public DevicePackedMessages {
 public:
  ByNccl(const DeviceExchange& exchange, std::span<const PackedMessage> out,
         std::span<const PackedMessage> in)
      : DevicePackedMessages(out, in),
        exchange_(exchange),
        outgoing_(out_.total(), Home::device),
        incoming_(in_.total(), Home::device),
        all_(in.size()) {
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  [[nodiscard]] std::byte* out(std::size_t m) const override {
    return outgoing_.data() + out_.begin(m);
  }
  [[nodiscard]] const std::byte* in(std::size_t m) const override {
    return incoming_.data() + in_.begin(m);
  }
  void start_receives() override { is_reported_ = false; }
  void packed(std::size_t, StreamHandle stream) override {
    packed_.record(stream);
    packed_.before_next(travelling_);
  }
  void send() override {
    machine::Nccl& nccl = *exchange_.nccl();
    nccl.begin();
    for (std::size_t m = 0; m < out_.count(); ++m)
      nccl.send(out(m), out_[m].bytes, out_[m].peer, travelling_);
    for (std::size_t m = 0; m < in_.count(); ++m)
      nccl.receive(incoming_.data() + in_.begin(m), in_[m].bytes, in_[m].peer, travelling_);
    nccl.end();
    arrived_.record(travelling_);
  }
  std::span<const std::size_t> arrived(StreamHandle stream) override {
    if (std::exchange(is_reported_, true)) return {};
    arrived_.before_next(stream);
    return all_;
  }
  void finish() override { travelling_.wait(); }
  [[nodiscard]] index_t buffer_bytes() const override { return out_.total() + in_.total(); }

 private:
  DeviceExchange exchange_;
  Allocation outgoing_, incoming_;
  std::vector<std::size_t> all_;
  device::Stream travelling_;
  device::Event packed_, arrived_;
  bool is_reported_ = false;
};

/// Packed memory that the receivers read in place: a signal of a byte follows the packing, and
/// another one, in the opposite direction, the reading.
class ByPeerMemory : public DevicePackedMessages {
 public:
  ByPeerMemory(const DeviceExchange& exchange, std::span<const PackedMessage> out,
               std::span<const PackedMessage> in)
      : DevicePackedMessages(out, in),
        outgoing_(exchange, out_.total()),
        marks_(out.size()),
        readable_(exchange.comm(), signals(out), signals(in)),
        read_(exchange.comm(), signals(in), signals(out)) {
    std::vector<index_t> begins(static_cast<std::size_t>(exchange.comm().size()), 0);
    for (std::size_t m = 0; m < out.size(); ++m)
      begins[static_cast<std::size_t>(out[m].peer)] = out_.begin(m);
    begins = exchange.comm().all_to_all(begins);
    for (const PackedMessage& message : in) {
      const auto begin = begins[static_cast<std::size_t>(message.peer)];
      sources_.push_back(message.bytes == 0 ? nullptr : outgoing_.of(message.peer) + begin);
    }
  }

  [[nodiscard]] std::byte* out(std::size_t m) const override {
    return outgoing_.data() + out_.begin(m);
  }
  [[nodiscard]] const std::byte* in(std::size_t m) const override { return sources_[m]; }
  void start_receives() override { readable_.start_receives(); }
  void packed(std::size_t m, StreamHandle stream) override { marks_[m].record(stream); }
  void send() override {
    for (std::size_t m = 0; m < out_.count(); ++m) {
      marks_[m].wait();
      readable_.start_send(m);
    }
  }
  std::span<const std::size_t> arrived(StreamHandle) override { return readable_.arrived(); }
  void finish() override {
    read_.start_receives();  // not before: after those of the start of any other plan
    for (std::size_t m = 0; m < in_.count(); ++m) read_.start_send(m);
    while (!read_.arrived().empty()) {
    }
    readable_.finish();
    read_.finish();
  }
  [[nodiscard]] index_t buffer_bytes() const override { return out_.total(); }

 private:
  /// Returns a message of one byte for each.
  static std::vector<PackedMessage> signals(std::span<const PackedMessage> messages) {
    std::vector<PackedMessage> all;
    for (const PackedMessage& message : messages) all.push_back({message.peer, 1});
    return all;
  }

  PeerMemory outgoing_;
  Marks marks_;
  PackedMessages readable_, read_;
  std::vector<const std::byte*> sources_;
};

}  // namespace

std::unique_ptr<DevicePackedMessages> DevicePackedMessages::make(
    const DeviceExchange& exchange, std::span<const PackedMessage> out,
    std::span<const PackedMessage> in) {
  if (exchange.comm().size() > 1) {
    if (exchange.transport() == DeviceTransport::ipc)
      return std::make_unique<ByPeerMemory>(exchange, out, in);
    if (exchange.transport() == DeviceTransport::nccl)
      return std::make_unique<ByNccl>(exchange, out, in);
  }
  return std::make_unique<ByMpi>(
      exchange.comm(), exchange.transport() == DeviceTransport::mpi ? Home::device : Home::pinned,
      out, in);
}

}  // namespace tessera::inline v1::mpi
