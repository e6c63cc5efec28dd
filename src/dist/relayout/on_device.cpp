// Execution of a relayout in the memory of a device, which packs, copies and unpacks piece by
// piece; their indices are tables in its memory. Without a device, the host emulates one.

#include <initializer_list>

#include "dist/relayout/execution.hpp"
#include "kernels/relayout/move_indexed.hpp"
#include "mpi/packed_on_device.hpp"

namespace tessera::inline v1::dist::relayout {
namespace {

using machine::device::Allocation, machine::device::Home;
using tessera::relayout::Indices;

/// The numbers of indices in stretches: first all of one side, then all of the other.
class Tables {
 public:
  /// Returns where the indices of the stretches begin.
  std::size_t add(const std::vector<Stretch>& stretches) {
    const std::size_t begin = numbers_.size();
    for (const auto& side : {&Stretch::from, &Stretch::to})
      for (const Stretch& stretch : stretches)
        for (index_t i = 0; i < stretch.size; ++i) numbers_.push_back(stretch.*side + i);
    return begin;
  }
  /// Copies the tables to the device.
  [[nodiscard]] Allocation upload() const {
    const index_t bytes = std::ssize(numbers_) * index_t{sizeof(index_t)};
    Allocation there(bytes, Home::device);
    if (bytes > 0)
      machine::device::upload(
          {reinterpret_cast<const std::byte*>(numbers_.data()), 1, bytes, bytes},
          {there.data(), 1, bytes, bytes}, 1);
    return there;
  }

 private:
  std::vector<index_t> numbers_;
};

/// Where the indices of a piece begin in the tables.
struct Begins {
  std::size_t rows, cols;
};

class DeviceExecution : public Execution {
 public:
  DeviceExecution(const mpi::DeviceExchange& exchange, Part&& part) : Execution(std::move(part)) {
    Schedule& schedule = part_.schedule;
    mpi::together(exchange.comm(), "allocate", [&] {
      Tables tables;
      for (Exchange& each : schedule.out) out_.push_back(begins_of(each, tables));
      for (Exchange& each : schedule.in) in_.push_back(begins_of(each, tables));
      local_ = begins_of(schedule.local, tables);
      tables_ = tables.upload();
      stream_ = std::make_unique<machine::device::Stream>();
    });
    messages_ = mpi::DevicePackedMessages::make(exchange, sizes(schedule.out), sizes(schedule.in));
  }

  void start(bool reads) override {
    if (reads) {
      const mpi::PhaseScope scope(phases, "exchange");
      messages_->start_receives();
    }
    {
      const mpi::PhaseScope scope(phases, "pack");
      machine::device::synchronize();  // the caller has filled the arrays on any stream
      for (std::size_t m = 0; reads && m < out_.size(); ++m) {
        move_all(part_.schedule.out[m], out_[m], [&](const Piece& piece) {
          return reads_a(piece) ? packing(piece, messages_->out(m)) : Ends{};  // a may be absent
        });
        messages_->packed(m, *stream_);
      }
    }
    const mpi::PhaseScope scope(phases, "local");
    move_all(part_.schedule.local, local_, [&](const Piece& piece) { return moving(piece); });
    if (reads) messages_->send();
    stream_->wait();  // a may be written
  }
  void wait(bool reads) override {
    if (reads) {
      const mpi::PhaseScope scope(phases, "exchange");
      for (auto complete = messages_->arrived(*stream_); !complete.empty();
           complete = messages_->arrived(*stream_))
        for (const std::size_t m : complete) unpack(m);
    } else {
      for (std::size_t m = 0; m < in_.size(); ++m) unpack(m);
    }
    {
      const mpi::PhaseScope scope(phases, "unpack");
      stream_->wait();
    }
    const mpi::PhaseScope scope(phases, "exchange");
    if (reads) messages_->finish();
  }
  [[nodiscard]] index_t buffer_bytes() const override {
    return messages_->buffer_bytes() + tables_.size();
  }

 private:
  /// Makes the tables of all pieces of a message, which then need no stretches.
  static std::vector<Begins> begins_of(Exchange& exchange, Tables& tables) {
    std::vector<Begins> all;
    for (Piece& piece : exchange.pieces) {
      all.push_back({tables.add(piece.rows), tables.add(piece.cols)});
      piece.rows = {};
      piece.cols = {};
    }
    return all;
  }
  [[nodiscard]] Indices indices(std::size_t begin, index_t n) const {
    const index_t* const from = reinterpret_cast<const index_t*>(tables_.data()) + begin;
    return {from, from + n, n};
  }
  /// Moves all pieces, as ends_of(piece) returns.
  template <class EndsOf>
  void move_all(const Exchange& exchange, const std::vector<Begins>& begins,
                const EndsOf& ends_of) const {
    for (std::size_t p = 0; p < begins.size(); ++p) {
      const Piece& piece = exchange.pieces[p];
      const auto [from, to, turn, factors] = ends_of(piece);
      if (to.data == nullptr) continue;
      move_({indices(begins[p].rows, piece.packed_rows), indices(begins[p].cols, piece.packed_cols),
             from, to, turn},
            kind(piece), factors, *stream_);
    }
  }
  void unpack(std::size_t m) const {
    move_all(part_.schedule.in[m], in_[m],
             [&](const Piece& piece) { return unpacking(piece, messages_->in(m)); });
  }

  std::vector<std::vector<Begins>> out_, in_;
  std::vector<Begins> local_;
  Allocation tables_;
  std::unique_ptr<machine::device::Stream> stream_;
  std::unique_ptr<mpi::DevicePackedMessages> messages_;
  tessera::relayout::DeviceMove move_ = tessera::relayout::device_move();
};

}  // namespace

std::unique_ptr<Execution> on_device(const mpi::DeviceExchange& exchange, Part&& part) {
  return std::make_unique<DeviceExecution>(exchange, std::move(part));
}

}  // namespace tessera::inline v1::dist::relayout
