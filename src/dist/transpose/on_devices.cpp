// The transpose on devices: one pass directly into peer memory, or pack and send.

#include "dist/transpose/on_devices.hpp"

#include "dist/transpose/blocks.hpp"
#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::dist::transpose {
namespace {

namespace device = machine::device;
using layout::Box;
using machine::device_ld;
using tessera::transpose::in_bytes;

/// Alignment of packed pieces, in bytes.
constexpr index_t aligned = 256;

index_t row_bytes(const Box& box, index_t bytes) {
  return device_ld(box.cols.size(), bytes) * bytes;
}
index_t block_bytes(const Box& box, index_t bytes) {
  return box.rows.size() * row_bytes(box, bytes);
}

layout::MatrixLayout turned(const DeviceTask& task) {
  return task.op == Op::transpose ? layout::transposed(task.a) : task.a;
}

/// Returns the bytes that a rank packs for all others.
index_t packed_bytes(const DeviceTask& task, index_t rank, bool reaches) {
  index_t sum = 0;
  if (reaches || task.op != Op::transpose) return sum;
  for (const layout::PeerBlock& piece : outgoing(turned(task), task.b, rank)) {
    if (piece.peer != rank) sum += round_up(piece.box.area() * task.bytes, aligned);
  }
  return sum;
}

const Variant& kernel_of(const Method& method) {
  const Variant* const kernel =
      method.kernel != nullptr ? method.kernel : tessera::transpose::best_device();
  require(
      kernel != nullptr && kernel->on_device != nullptr, ExitCode::usage,
      "transpose in device memory needs a device kernel; use a cuda_ kernel in a build with CUDA");
  return *kernel;
}

device::Turn turn_of(OwnPart own) {
  return own == OwnPart::ahead ? device::Turn::first : device::Turn::any;
}

}  // namespace

index_t DeviceTranspose::device_bytes(const DeviceTask& task, index_t rank) {
  constexpr index_t messages = index_t{512} << 20;  // in flight
  return block_bytes(task.a.of(rank), task.bytes) + block_bytes(task.b.of(rank), task.bytes) +
         packed_bytes(task, rank, false) + messages;
}

DeviceTranspose::DeviceTranspose(const mpi::DeviceExchange& exchange, DeviceTask task,
                                 const Method& method, OwnPart own)
    : exchange_(exchange),
      task_(std::move(task)),
      source_layout_(turned(task_)),
      kernel_(kernel_of(method)),
      tuning_(method.tuning),
      own_(own),
      b_(exchange, block_bytes(task_.b.of(exchange.comm().rank()), task_.bytes)),
      own_stream_(turn_of(own)) {
  const index_t rank = exchange.comm().rank();
  mpi::together(exchange.comm(), "allocate", [&] {
    a_ = device::Allocation(block_bytes(task_.a.of(rank), task_.bytes), device::Home::device);
    packed_ =
        device::Allocation(packed_bytes(task_, rank, exchange.reaches()), device::Home::device);
  });
}

Records DeviceTranspose::block_of_b(index_t rank, std::byte* data) const {
  const Box& box = task_.b.of(rank);
  return {data, box.rows.size(), box.cols.size(), device_ld(box.cols.size(), task_.bytes),
          task_.bytes};
}

ConstRecords DeviceTranspose::source(const Box& box) const {
  const Box& whole = task_.a.of(exchange_.comm().rank());
  const ConstRecords a{a_.data(), whole.rows.size(), whole.cols.size(),
                       device_ld(whole.cols.size(), task_.bytes), task_.bytes};
  return part(a, whole, task_.op == Op::transpose ? layout::transposed(box) : box);
}

void DeviceTranspose::put(const ConstRecords& a) {
  const ConstRecords to = source(source_layout_.of(exchange_.comm().rank()));
  device::upload(in_bytes(a), {a_.data(), to.rows, to.cols * to.bytes, to.stride()},
                 threads_of(tuning_));
}

void DeviceTranspose::get(const Records& b) {
  device::download(in_bytes(block_of_b(exchange_.comm().rank(), b_.data())), in_bytes(b),
                   threads_of(tuning_));
}

void DeviceTranspose::move(const Box& box, const Records& to, device::StreamHandle stream) const {
  const ConstRecords from = source(box);
  if (task_.op == Op::transpose)
    kernel_.on_device(from, to, tuning_, stream);
  else
    device::copy(in_bytes(from), in_bytes(to), stream);
}

void DeviceTranspose::own_part() {
  const index_t rank = exchange_.comm().rank();
  const Box common = intersect(source_layout_.of(rank), task_.b.of(rank));
  if (common.empty()) return;
  move(common, part(block_of_b(rank, b_.data()), task_.b.of(rank), common), own_stream_);
}

void DeviceTranspose::write_to_peers() {
  const index_t ranks = exchange_.comm().size(), rank = exchange_.comm().rank();
  for (index_t phase = 1; phase < ranks;
       ++phase) {  // peers in rotation: ranks do not all write to the same memory at once
    const index_t peer = (rank + phase) % ranks;
    const Box common = intersect(source_layout_.of(rank), task_.b.of(peer));
    if (common.empty()) continue;
    move(common, part(block_of_b(peer, b_.of(static_cast<int>(peer))), task_.b.of(peer), common),
         peer_streams_[phase % 2]);
  }
}

void DeviceTranspose::write_straight(mpi::Phases& phases) {
  const auto fence = [&] {
    const mpi::PhaseScope scope(phases, "exchange");
    exchange_.comm().barrier();
  };
  fence();  // no rank reads or writes its own block any more
  {
    const mpi::PhaseScope scope(phases, "compute");
    const mpi::Computing computing;
    if (own_ == OwnPart::first) own_part();
    write_to_peers();
    if (own_ != OwnPart::first) own_part();
    for (const device::Stream& stream : peer_streams_) stream.wait();
    own_stream_.wait();
  }
  fence();
}

void DeviceTranspose::pack_and_send(mpi::Phases& phases) {
  const index_t rank = exchange_.comm().rank();
  std::vector<mpi::DeviceOut> out;
  std::vector<mpi::DeviceIn> in;
  {
    const mpi::PhaseScope scope(phases, "compute");
    const mpi::Computing computing;
    index_t at = 0;
    for (const layout::PeerBlock& piece : outgoing(source_layout_, task_.b, rank)) {
      if (piece.peer == rank) continue;
      ConstRecords from = source(piece.box);
      if (task_.op == Op::transpose) {
        const Records packed{packed_.data() + at, piece.box.rows.size(), piece.box.cols.size(),
                             piece.box.cols.size(), task_.bytes};
        move(piece.box, packed, peer_streams_[0]);
        at += round_up(piece.box.area() * task_.bytes, aligned);
        from = packed;
      }
      out.push_back({static_cast<int>(piece.peer), in_bytes(from)});
    }
    peer_streams_[0].wait();
    own_part();
  }
  for (const layout::PeerBlock& piece : incoming(source_layout_, task_.b, rank)) {
    if (piece.peer == rank) continue;
    in.push_back({static_cast<int>(piece.peer),
                  in_bytes(part(block_of_b(rank, b_.data()), task_.b.of(rank), piece.box))});
  }
  const mpi::PhaseScope scope(phases, "exchange");
  exchange_.exchange(out, in);
  own_stream_.wait();
}

void DeviceTranspose::run(mpi::Phases& phases) {
  if (exchange_.reaches())
    write_straight(phases);
  else
    pack_and_send(phases);
}

}  // namespace tessera::inline v1::dist::transpose
