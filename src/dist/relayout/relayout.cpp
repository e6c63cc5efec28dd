// Execution of a relayout: receives are posted, every message is packed by all threads and sent,
// the local part is copied while messages travel, and messages are unpacked as they arrive.

#include "dist/relayout/relayout.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>

#include "base/error.hpp"
#include "dist/relayout/local_arrays.hpp"
#include "dist/relayout/schedule.hpp"
#include "layout/home.hpp"
#include "machine/buffer.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/repeated.hpp"

namespace tessera::inline v1::dist::relayout {

using tessera::relayout::Array;
using tessera::relayout::BlockMove;
using tessera::relayout::ElementKind;
using tessera::relayout::Factors;

namespace {

/// Rows of one piece: the work that a thread takes at a time.
struct Chunk {
  std::size_t piece = 0;
  index_t begin = 0, end = 0;
};

/// The pieces of one message, or the local ones, cut into chunks.
struct Work {
  std::vector<Piece> pieces;
  std::vector<Chunk> chunks;
  std::byte* packed = nullptr;
  index_t bytes = 0;
  index_t peer = 0;
};

[[nodiscard]] Work make_work(Exchange&& exchange, index_t element_bytes) {
  constexpr index_t chunk_bytes = index_t{64} << 10;  // several for each thread, 10 us each
  Work work{
      std::move(exchange.pieces), {}, nullptr, exchange.elements * element_bytes, exchange.peer};
  for (std::size_t p = 0; p < work.pieces.size(); ++p) {
    const Piece& piece = work.pieces[p];
    const auto rows = static_cast<index_t>(piece.rows.size());
    const index_t row_bytes = std::max<index_t>(1, piece.elements() * element_bytes / rows);
    const index_t grain = std::max<index_t>(1, chunk_bytes / row_bytes);
    for (index_t begin = 0; begin < rows; begin += grain)
      work.chunks.push_back({p, begin, std::min(rows, begin + grain)});
  }
  return work;
}

enum class Side { from, to };
/// Numbers the packed side of all stretches consecutively: a message is read and written in order.
void pack_side(std::vector<Stretch>& stretches, Side side) {
  index_t next = 0;
  for (Stretch& stretch : stretches) {
    (side == Side::from ? stretch.from : stretch.to) = next;
    next += stretch.size;
  }
}
void pack_side(std::vector<Exchange>& exchanges, Side side) {
  for (Exchange& exchange : exchanges) {
    for (Piece& piece : exchange.pieces) {
      pack_side(piece.rows, side);
      pack_side(piece.cols, side);
    }
  }
}

/// What executions bind to a matrix.
struct Bound {
  std::vector<Array<const std::byte>> a;
  std::vector<Array<std::byte>> b;
  Factors factors;
  ElementKind kind;
};

/// Throws Error(usage) unless shapes and ranks agree, and a has every element once.
void check_matrix(const Relayout& matrix, std::size_t number, index_t ranks) {
  const auto& [a, op, b, a_order, b_order] = matrix;
  const auto require_of = [&](bool holds, const char* name, const std::string& problem) {
    require_argument(holds, fmt::format("matrices[{}].{}", number, name), problem);
  };
  require_of(a.ranks() == ranks, "a",
             fmt::format("is distributed over {} ranks: comm has {}", a.ranks(), ranks));
  require_of(b.ranks() == ranks, "b",
             fmt::format("is distributed over {} ranks: comm has {}", b.ranks(), ranks));
  const auto [rows, cols] =
      turns(op) ? std::pair(a.cols(), a.rows()) : std::pair(a.rows(), a.cols());
  require_of(b.rows() == rows && b.cols() == cols, "b",
             fmt::format("is {} x {}: op(a) is {} x {}", b.rows(), b.cols(), rows, cols));
  require_of(a.elements() == a.rows() * a.cols(), "a",
             fmt::format("has {} elements in its parts: must have {} x {}", a.elements(), a.rows(),
                         a.cols()));
}

}  // namespace

struct Plan::State {
  State(const mpi::Communicator& communicator, std::span<const Relayout> relayouts,
        index_t element_bytes, int thread_count)
      : comm(communicator), bytes(element_bytes), threads(thread_count) {
    std::vector<Stored> all;
    for (const Relayout& matrix : relayouts) {
      all.push_back(stored(matrix));
      turn.push_back(all.back().turn);
      ops.push_back(matrix.op);
      needed_a.push_back(stored_boxes(matrix.a, matrix.a_order, comm.rank()));
      needed_b.push_back(stored_boxes(matrix.b, matrix.b_order, comm.rank()));
      bound.emplace_back();
      bound.back().a.reserve(needed_a.back().size());
      bound.back().b.reserve(needed_b.back().size());
    }
    Schedule schedule = make_schedule(all, comm.rank(), comm.size());
    pack_side(schedule.out, Side::to);
    pack_side(schedule.in, Side::from);
    local = make_work(std::move(schedule.local), bytes);
    for (Exchange& exchange : schedule.out) out.push_back(make_work(std::move(exchange), bytes));
    for (Exchange& exchange : schedule.in) in.push_back(make_work(std::move(exchange), bytes));
    allocate();
  }

  void allocate() {
    index_t total_out = 0, total_in = 0;
    for (const Work& work : out) total_out += work.bytes;
    for (const Work& work : in) total_in += work.bytes;
    packed_out = machine::Buffer<std::byte>(total_out);
    packed_in = machine::Buffer<std::byte>(total_in);
    std::vector<mpi::RepeatedMessages::Out> sends;
    std::vector<mpi::RepeatedMessages::In> receives;
    const auto place = [](std::vector<Work>& works, machine::Buffer<std::byte>& buffer,
                          auto& list) {
      index_t offset = 0;
      for (Work& work : works) {
        work.packed = buffer.data() + offset;
        offset += work.bytes;
        list.push_back(
            {static_cast<int>(work.peer), {work.packed, static_cast<std::size_t>(work.bytes)}});
      }
    };
    place(out, packed_out, sends);
    place(in, packed_in, receives);
    messages = mpi::RepeatedMessages(comm, sends, receives);
  }

  [[nodiscard]] Array<std::byte> packed(const Work& work, const Piece& piece) const {
    return {work.packed + piece.offset * bytes, piece.packed_cols};
  }

  /// Moves all chunks of a work by all threads; move_of(piece) returns the arrays.
  enum class Into { message, memory };
  template <class MoveOf>
  void execute(const Work& work, Into into, const MoveOf& move_of) {
    constexpr index_t alone = index_t{256} << 10;  // bytes that a team does not move faster
    const mpi::Computing computing;
    std::atomic<std::size_t> taken{0};
    machine::parallel_parts(work.bytes < alone ? 1 : threads, [&](int, int) {
      for (std::size_t c = taken++; c < work.chunks.size(); c = taken++) {
        const auto& [piece_number, begin, end] = work.chunks[c];
        const Piece& piece = work.pieces[piece_number];
        if (into == Into::message && !reads_a(piece)) continue;  // a may be absent
        const auto [move, factors] = move_of(piece);
        move_rows(move, bound[piece.matrix].kind, factors, begin, end);
      }
    });
  }
  /// Returns the array of a, perhaps absent if it is not read.
  [[nodiscard]] Array<const std::byte> source(const Piece& piece) const {
    const auto& arrays = bound[piece.matrix].a;
    const auto k = static_cast<std::size_t>(piece.a_array);
    return k < arrays.size() ? arrays[k] : Array<const std::byte>{};
  }
  [[nodiscard]] const Array<std::byte>& target(const Piece& piece) const {
    return bound[piece.matrix].b[static_cast<std::size_t>(piece.b_array)];
  }

  void pack(const Work& work) {
    execute(work, Into::message, [&](const Piece& piece) {
      return std::pair(
          BlockMove{piece.rows, piece.cols, source(piece), packed(work, piece), turn[piece.matrix]},
          Factors{});
    });
  }
  void unpack(const Work& work) {
    execute(work, Into::memory, [&](const Piece& piece) {
      const Array<std::byte> from = packed(work, piece);
      return std::pair(BlockMove{piece.rows, piece.cols, {from.data, from.ld}, target(piece)},
                       bound[piece.matrix].factors);
    });
  }
  void copy_local() {
    execute(local, Into::memory, [&](const Piece& piece) {
      return std::pair(
          BlockMove{piece.rows, piece.cols, source(piece), target(piece), turn[piece.matrix]},
          bound[piece.matrix].factors);
    });
  }

  [[nodiscard]] bool reads_a(const Piece& piece) const {
    return bound[piece.matrix].factors.alpha != Complex<double>{0};
  }
  /// Returns whether any matrix is read; without, nothing is sent.
  [[nodiscard]] bool reads_a() const {
    return std::any_of(bound.begin(), bound.end(),
                       [](const Bound& x) { return x.factors.alpha != Complex<double>{0}; });
  }

  mpi::Communicator comm;
  index_t bytes;
  int threads;
  std::vector<Turn> turn;
  std::vector<Op> ops;
  std::vector<std::vector<layout::Box>> needed_a, needed_b;
  std::vector<Bound> bound;
  std::size_t next = 0;  ///< matrix that is bound next
  Work local;
  std::vector<Work> out, in;
  machine::Buffer<std::byte> packed_out, packed_in;
  mpi::RepeatedMessages messages;
  mpi::Phases phases;
  bool started = false;
};

Plan::Plan(const mpi::Communicator& comm, std::span<const Relayout> matrices, index_t bytes,
           int threads) {
  require_argument(!comm.empty(), "comm", "is an empty communicator");
  require_argument(bytes >= 1 && bytes <= 64, "bytes",
                   fmt::format("is {}: must be from 1 to 64", bytes));
  require_argument(threads >= 1, "threads", fmt::format("is {}: must be at least 1", threads));
  for (std::size_t m = 0; m < matrices.size(); ++m) check_matrix(matrices[m], m, comm.size());
  state_ = std::make_unique<State>(comm, matrices, bytes, threads);
}
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

index_t Plan::sent_bytes() const { return state_->packed_out.size(); }
index_t Plan::received_bytes() const { return state_->packed_in.size(); }
index_t Plan::messages() const { return static_cast<index_t>(state_->out.size()); }
const mpi::Phases& Plan::phases() const { return state_->phases; }

void Plan::begin(std::size_t matrices, index_t bytes) {
  if (state_->started)
    throw Error(ExitCode::usage, "start: the plan is started already; call wait first");
  if (matrices != state_->bound.size())
    throw Error::of_argument(
        "memory", fmt::format("has {} matrices: the plan has {}", matrices, state_->bound.size()));
  if (bytes != state_->bytes)
    throw Error::of_argument(
        "memory", fmt::format("has elements of {} bytes: the plan has {}", bytes, state_->bytes));
  state_->next = 0;
  for (Bound& matrix : state_->bound) {
    matrix.a.clear();
    matrix.b.clear();
  }
}

void Plan::add_source(Array<const std::byte> array) {
  Bound& matrix = state_->bound[state_->next];
  if (matrix.a.size() < matrix.a.capacity()) matrix.a.push_back(array);
}
void Plan::add_target(Array<std::byte> array) {
  Bound& matrix = state_->bound[state_->next];
  if (matrix.b.size() < matrix.b.capacity()) matrix.b.push_back(array);
}

void Plan::finish_matrix(Factors factors, std::optional<Element> number) {
  const std::size_t m = state_->next++;
  Bound& matrix = state_->bound[m];
  const auto name = [m](const char* member) { return fmt::format("memory[{}].{}", m, member); };
  const auto &a = state_->needed_a[m], &b = state_->needed_b[m];
  if (factors.alpha != Complex<double>{0}) check_arrays(matrix.a, a, [&] { return name("a"); });
  check_arrays(matrix.b, b, [&] { return name("b"); });
  if (overlap(matrix.a, a, matrix.b, b)) throw Error::of_argument(name("b"), "overlaps a");
  factors.conjugates = factors.conjugates && state_->ops[m] == Op::hermitian;
  if (!number.has_value() && !factors.plain()) {
    throw Error::of_argument(fmt::format("memory[{}].alpha", m),
                             "is not 1, or beta is not 0: elements of this type are only moved");
  }
  matrix.factors = factors;
  matrix.kind = {state_->bytes, number.value_or(Element::f64)};
}

void Plan::start_messages() {
  State& s = *state_;
  s.started = true;
  if (s.reads_a()) {
    {
      const mpi::PhaseScope scope(s.phases, "exchange");
      s.messages.start_receives();
    }
    for (std::size_t k = 0; k < s.out.size(); ++k) {
      const mpi::PhaseScope scope(s.phases, "pack");
      s.pack(s.out[k]);
      s.messages.start_send(k);
    }
  }
  const mpi::PhaseScope scope(s.phases, "local");
  s.copy_local();
}

void Plan::wait() {
  State& s = *state_;
  if (!s.started) throw Error(ExitCode::usage, "wait: the plan is not started; call start first");
  s.started = false;
  if (!s.reads_a()) {
    const mpi::PhaseScope scope(s.phases, "local");
    for (const Work& work : s.in) s.unpack(work);
    return;
  }
  for (bool more = true; more;) {
    std::span<const std::size_t> complete;
    {
      const mpi::PhaseScope scope(s.phases, "exchange");
      complete = s.messages.arrived();
    }
    more = !complete.empty();
    const mpi::PhaseScope scope(s.phases, "unpack");
    for (const std::size_t k : complete) s.unpack(s.in[k]);
  }
  const mpi::PhaseScope scope(s.phases, "exchange");
  s.messages.finish();
}

}  // namespace tessera::inline v1::dist::relayout
