// Execution of a relayout in the memory of the host: receives are posted, every message is packed
// by all threads and sent, the local part is copied while messages travel, and messages are
// unpacked as they arrive.

#include <algorithm>
#include <atomic>

#include "dist/relayout/execution.hpp"
#include "machine/team.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::dist::relayout {
namespace {

/// Rows of one piece: the work that a thread takes at a time.
struct Chunk {
  std::size_t piece = 0;
  index_t begin = 0, end = 0;
};

/// Returns the pieces of one message, or the local ones, cut into chunks.
[[nodiscard]] std::vector<Chunk> chunks_of(const Exchange& exchange, index_t element_bytes) {
  constexpr index_t chunk_bytes = index_t{64} << 10;  // several for each thread, 10 us each
  std::vector<Chunk> chunks;
  for (std::size_t p = 0; p < exchange.pieces.size(); ++p) {
    const Piece& piece = exchange.pieces[p];
    const auto rows = static_cast<index_t>(piece.rows.size());
    const index_t row_bytes = std::max<index_t>(1, piece.elements() * element_bytes / rows);
    const index_t grain = std::max<index_t>(1, chunk_bytes / row_bytes);
    for (index_t begin = 0; begin < rows; begin += grain)
      chunks.push_back({p, begin, std::min(rows, begin + grain)});
  }
  return chunks;
}

class HostExecution : public Execution {
 public:
  HostExecution(const mpi::Communicator& comm, Part&& part, int threads)
      : Execution(std::move(part)), threads_(threads) {
    const auto& [out, in, local] = part_.schedule;
    for (const Exchange& each : out) out_.push_back(chunks_of(each, part_.bytes));
    for (const Exchange& each : in) in_.push_back(chunks_of(each, part_.bytes));
    local_ = chunks_of(local, part_.bytes);
    messages_ = mpi::PackedMessages(comm, sizes(out), sizes(in));
  }

  void start(bool reads) override {
    if (reads) {
      {
        const mpi::PhaseScope scope(phases, "exchange");
        messages_.start_receives();
      }
      for (std::size_t m = 0; m < out_.size(); ++m) {
        const mpi::PhaseScope scope(phases, "pack");
        pack(m);
        messages_.start_send(m);
      }
    }
    const mpi::PhaseScope scope(phases, "local");
    execute(part_.schedule.local, local_, [&](const Piece& piece) { return moving(piece); });
  }
  void wait(bool reads) override {
    if (!reads) {
      const mpi::PhaseScope scope(phases, "local");
      for (std::size_t m = 0; m < in_.size(); ++m) unpack(m);
      return;
    }
    for (bool more = true; more;) {
      std::span<const std::size_t> complete;
      {
        const mpi::PhaseScope scope(phases, "exchange");
        complete = messages_.arrived();
      }
      more = !complete.empty();
      const mpi::PhaseScope scope(phases, "unpack");
      for (const std::size_t m : complete) unpack(m);
    }
    const mpi::PhaseScope scope(phases, "exchange");
    messages_.finish();
  }
  [[nodiscard]] index_t buffer_bytes() const override {
    return messages_.sent_bytes() + messages_.received_bytes();
  }

 private:
  /// Moves all chunks by all threads, as ends_of(piece) returns.
  template <class EndsOf>
  void execute(const Exchange& exchange, const std::vector<Chunk>& chunks, const EndsOf& ends_of) {
    constexpr index_t alone = index_t{256} << 10;  // bytes that a team does not move faster
    const mpi::Computing computing;
    std::atomic<std::size_t> taken{0};
    const int team = exchange.elements * part_.bytes < alone ? 1 : threads_;
    machine::parallel_parts(team, [&](int, int) {
      for (std::size_t c = taken++; c < chunks.size(); c = taken++) {
        const auto& [number, begin, end] = chunks[c];
        const Piece& piece = exchange.pieces[number];
        const auto [from, to, turn, factors] = ends_of(piece);
        if (to.data == nullptr) continue;
        move_rows({piece.rows, piece.cols, from, to, turn}, kind(piece), factors, begin, end);
      }
    });
  }
  void pack(std::size_t m) {
    execute(part_.schedule.out[m], out_[m], [&](const Piece& piece) {
      return reads_a(piece) ? packing(piece, messages_.out(m)) : Ends{};  // a may be absent
    });
  }
  void unpack(std::size_t m) {
    execute(part_.schedule.in[m], in_[m],
            [&](const Piece& piece) { return unpacking(piece, messages_.in(m)); });
  }

  int threads_;
  std::vector<std::vector<Chunk>> out_, in_;
  std::vector<Chunk> local_;
  mpi::PackedMessages messages_;
};

}  // namespace

std::unique_ptr<Execution> on_host(const mpi::Communicator& comm, Part&& part, int threads) {
  return std::make_unique<HostExecution>(comm, std::move(part), threads);
}

}  // namespace tessera::inline v1::dist::relayout
