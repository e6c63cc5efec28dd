#include "mpi/device_messages.hpp"
#include "mpi/tags.hpp"

#include <algorithm>

namespace tessera::inline v1::mpi {
namespace {

namespace device = machine::device;

/// Staged strips fill both directions of the bus several times per millisecond; messages of NCCL
/// have a start-up cost of some 20 microseconds.
constexpr index_t staged_strip = index_t{8} << 20, nccl_strip = index_t{64} << 20;
/// The maximal memory of all slots of a rank, on the node or the device.
constexpr index_t most_slots = index_t{512} << 20;

MatrixView<std::byte> packed(std::byte* at, const MatrixView<const std::byte>& like) {
  return {at, like.rows, like.cols, like.cols};
}

template <class Byte>
std::span<Byte> whole(Byte* at, index_t bytes) {
  return {at, static_cast<std::size_t>(bytes)};
}

}  // namespace

namespace {

/// Returns the memory that holds strips in transit.
device::Home home_of(DeviceTransport transport) {
  switch (transport) {
    case DeviceTransport::nccl:
    case DeviceTransport::mpi:
      return device::Home::device;
    case DeviceTransport::ipc:
    case DeviceTransport::staged:
      break;
  }
  return device::Home::pinned;
}

}  // namespace

DeviceMessages::DeviceMessages(const Communicator& comm, DeviceTransport transport,
                               machine::Nccl* nccl)
    : comm_(comm),
      nccl_(transport == DeviceTransport::nccl ? nccl : nullptr),
      home_(home_of(transport)) {}

void DeviceMessages::make_room(std::array<Slots, 2>& slots, index_t bytes) {
  for (Slots& one : slots)
    if (one.memory.size() < bytes) one.memory = device::Allocation(bytes, home_);
}

void DeviceMessages::exchange(std::span<const DeviceOut> out, std::span<const DeviceIn> in,
                              index_t strip_bytes) {
  // Sender and receiver must compute the same strips, so nothing here may depend on the rank.
  const index_t most = std::max<index_t>(1, most_slots / (4 * comm_.size()));
  const index_t suits = std::min(nccl_ != nullptr ? nccl_strip : staged_strip, most);
  strip_bytes_ = strip_bytes > 0 ? strip_bytes : suits;
  const Out out_rounds = device_rounds(out, strip_bytes_);
  const In in_rounds = device_rounds(in, strip_bytes_);
  make_room(out_, out_rounds.peers * strip_bytes_);
  make_room(in_, in_rounds.peers * strip_bytes_);
  if (nccl_ != nullptr)
    by_nccl(out_rounds, in_rounds);
  else
    by_messages(out_rounds, in_rounds);
}

void DeviceMessages::pack(const Out& out, std::size_t round) {
  Slots& slots = out_[round % 2];
  for (const auto& strip : out.of(round)) {
    if (!directly(strip))
      device::copy(strip.bytes, packed(place(slots, strip.slot), strip.bytes), packing_);
  }
  slots.moved.record(packing_);
}

void DeviceMessages::unpack(const In& in, std::size_t round) {
  Slots& slots = in_[round % 2];
  for (const auto& strip : in.of(round)) {
    if (!directly(strip))
      device::copy(packed(place(slots, strip.slot), strip.bytes), strip.bytes, unpacking_);
  }
  slots.moved.record(unpacking_);
}

/// Sends strips by MPI; the host waits for their packing.
void DeviceMessages::by_messages(const Out& out, const In& in) {
  const std::size_t rounds = std::max(out.rounds.size(), in.rounds.size());
  if (rounds > 0) pack(out, 0);
  for (std::size_t r = 0; r < rounds; ++r) {
    const Slots &from = out_[r % 2], &to = in_[r % 2];
    std::vector<Request> arriving, leaving;
    if (r >= 2) to.moved.wait();
    for (const auto& strip : in.of(r))
      arriving.push_back(
          comm_.receive(whole(target(strip, to), strip.size()), strip.peer, tag::device));
    from.moved.wait();
    for (const auto& strip : out.of(r))
      leaving.push_back(
          comm_.send(whole(source(strip, from), strip.size()), strip.peer, tag::device));
    if (r + 1 < rounds) pack(out, r + 1);  // its previous content was received in the last round
    wait_all(arriving);
    unpack(in, r);
    wait_all(leaving);
  }
  unpacking_.wait();
}

/// Sends strips by NCCL; the device executes everything, ordered by events.
void DeviceMessages::by_nccl(const Out& out, const In& in) {
  const std::size_t rounds = std::max(out.rounds.size(), in.rounds.size());
  for (std::size_t r = 0; r < rounds; ++r) {
    const std::size_t q = r % 2;
    if (r >= 2) arrived_[q].before_next(packing_);
    pack(out, r);
    out_[q].moved.before_next(travelling_);
    if (r >= 2) in_[q].moved.before_next(travelling_);
    nccl_->begin();
    for (const auto& strip : out.of(r))
      nccl_->send(source(strip, out_[q]), strip.size(), strip.peer, travelling_);
    for (const auto& strip : in.of(r))
      nccl_->receive(target(strip, in_[q]), strip.size(), strip.peer, travelling_);
    nccl_->end();
    arrived_[q].record(travelling_);
    arrived_[q].before_next(unpacking_);
    unpack(in, r);
  }
  unpacking_.wait();
  travelling_.wait();
}

}  // namespace tessera::inline v1::mpi
