#pragma once
// Pipeline of pieces: while two are in flight in each direction, the next is packed and the last
// one unpacked (double buffering). Private to this folder.

#include <algorithm>
#include <array>
#include <optional>

#include "dist/transpose/plan.hpp"
#include "kernels/transpose/records.hpp"
#include "machine/buffer.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"

namespace tessera::inline v1::dist::transpose {

/// pack(box, to) writes the piece of the target's `box` to contiguous memory; unpack(box, from)
/// copies an arrived piece to its place; records of `bytes` bytes. A step packs its piece before it
/// unpacks the received one.
template <class Pack, class Unpack>
class Pipeline {
 public:
  Pipeline(const mpi::Communicator& comm, const std::vector<Step>& steps, index_t bytes,
           const Pack& pack, const Unpack& unpack, mpi::Phases& phases)
      : comm_(comm), steps_(steps), bytes_(bytes), pack_(pack), unpack_(unpack), phases_(phases) {
    index_t most_out = 0, most_in = 0;
    for (const Step& step : steps) {
      if (step.send) most_out = std::max(most_out, step.send->box.area() * bytes);
      if (!step.receive) continue;
      most_in = std::max(most_in, step.receive->box.area() * bytes);
      receives_.push_back(*step.receive);
    }
    for (Slot& slot : out_) slot.memory = machine::Buffer<std::byte>(most_out);
    for (Slot& slot : in_) slot.memory = machine::Buffer<std::byte>(most_in);
  }

  /// Calls `overlapped` once, when the first pieces are in flight.
  template <class Overlapped>
  void run(const Overlapped& overlapped) {
    for (std::size_t k = 0; k < in_.size(); ++k) post_receive();
    bool idle = true;
    for (const Step& step : steps_) {
      if (step.send) send(*step.send);
      if (idle) overlapped();
      idle = false;
      if (step.receive) receive();
    }
    if (idle) overlapped();
    const mpi::PhaseScope scope(phases_, "exchange");
    for (Slot& slot : out_) arrive(slot);
  }

 private:
  struct Slot {
    machine::Buffer<std::byte> memory;
    mpi::Request request;
    std::optional<mpi::InFlight> flight;
  };
  static constexpr int tag = 201;

  [[nodiscard]] tessera::transpose::Records piece(Slot& slot, const layout::Box& box) const {
    return {slot.memory.data(), box.rows.size(), box.cols.size(), box.cols.size(), bytes_};
  }
  [[nodiscard]] std::span<std::byte> bytes_of(Slot& slot, const layout::Box& box) const {
    return slot.memory.span().first(static_cast<std::size_t>(box.area() * bytes_));
  }

  void send(const Message& message) {
    Slot& slot = out_[sent_++ % out_.size()];
    {
      const mpi::PhaseScope scope(phases_, "exchange");
      arrive(slot);
    }
    {
      const mpi::PhaseScope scope(phases_, "compute");
      pack_(message.box, piece(slot, message.box));
    }
    slot.request = comm_.send(bytes_of(slot, message.box), static_cast<int>(message.peer), tag);
    slot.flight.emplace(phases_);
  }

  static void arrive(Slot& slot) {
    slot.request.wait();
    slot.flight.reset();
  }

  void post_receive() {
    if (posted_ == receives_.size()) return;
    const Message& message = receives_[posted_];
    Slot& slot = in_[posted_++ % in_.size()];
    slot.request = comm_.receive(bytes_of(slot, message.box), static_cast<int>(message.peer), tag);
  }

  void receive() {
    const Message& message = receives_[received_];
    Slot& slot = in_[received_++ % in_.size()];
    {
      const mpi::PhaseScope scope(phases_, "exchange");
      slot.request.wait();
    }
    {
      const mpi::PhaseScope scope(phases_, "unpack");
      unpack_(message.box, piece(slot, message.box));
    }
    post_receive();
  }

  const mpi::Communicator& comm_;
  const std::vector<Step>& steps_;
  index_t bytes_;
  const Pack& pack_;
  const Unpack& unpack_;
  mpi::Phases& phases_;
  std::vector<Message> receives_;
  std::array<Slot, 2> out_, in_;
  std::size_t sent_ = 0, posted_ = 0, received_ = 0;
};

}  // namespace tessera::inline v1::dist::transpose
