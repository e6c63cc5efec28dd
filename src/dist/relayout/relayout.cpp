// Plans of relayouts: checks of what they are made of, and of what executions bind.

#include "dist/relayout/relayout.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "dist/relayout/execution.hpp"
#include "dist/relayout/local_arrays.hpp"
#include "mpi/device_exchange.hpp"

namespace tessera::inline v1::dist::relayout {

namespace {

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
  /// make(part) returns the execution.
  template <class Make>
  State(std::span<const Relayout> relayouts, index_t element_bytes, Space where, index_t rank,
        index_t ranks, const Make& make)
      : bytes(element_bytes), place(where) {
    std::vector<Stored> all;
    Part part;
    for (const Relayout& matrix : relayouts) {
      all.push_back(stored(matrix));
      part.turn.push_back(all.back().turn);
      ops.push_back(matrix.op);
      needed_a.push_back(stored_boxes(matrix.a, matrix.a_order, rank));
      needed_b.push_back(stored_boxes(matrix.b, matrix.b_order, rank));
    }
    part.bytes = bytes;
    part.schedule = make_schedule(all, rank, ranks);
    pack_side(part.schedule.out, Side::to);
    pack_side(part.schedule.in, Side::from);
    for (const Exchange& each : part.schedule.out) sent_bytes += each.elements * bytes;
    for (const Exchange& each : part.schedule.in) received_bytes += each.elements * bytes;
    messages = std::ssize(part.schedule.out);
    execution = make(std::move(part));
    for (std::size_t m = 0; m < ops.size(); ++m) {
      execution->bound[m].a.reserve(needed_a[m].size());
      execution->bound[m].b.reserve(needed_b[m].size());
    }
  }

  /// Returns whether any matrix is read; without, nothing is sent.
  [[nodiscard]] bool reads_a() const {
    return std::any_of(execution->bound.begin(), execution->bound.end(),
                       [](const Bound& x) { return x.factors.alpha != Complex<double>{0}; });
  }

  index_t bytes;
  Space place;
  std::vector<Op> ops;
  std::vector<std::vector<layout::Box>> needed_a, needed_b;
  std::size_t next = 0;  ///< matrix that is bound next
  index_t sent_bytes = 0, received_bytes = 0, messages = 0;
  std::unique_ptr<Execution> execution;
  bool started = false;
};

namespace {

/// Throws as the constructors of Plan.
void check_plan(const mpi::Communicator& comm, std::span<const Relayout> matrices, index_t bytes) {
  machine::find_driver();
  require_argument(!comm.empty(), "comm", "is an empty communicator");
  require_argument(bytes >= 1 && bytes <= 64, "bytes",
                   fmt::format("is {}: must be from 1 to 64", bytes));
  for (std::size_t m = 0; m < matrices.size(); ++m) check_matrix(matrices[m], m, comm.size());
}

}  // namespace

Plan::Plan(const mpi::Communicator& comm, std::span<const Relayout> matrices, index_t bytes,
           int threads, Space place) {
  check_plan(comm, matrices, bytes);
  require_argument(threads >= 1, "threads", fmt::format("is {}: must be at least 1", threads));
  state_ = std::make_unique<State>(matrices, bytes, place, comm.rank(), comm.size(),
                                   [&](Part&& part) -> std::unique_ptr<Execution> {
                                     if (place == Space::host)
                                       return on_host(comm, std::move(part), threads);
                                     return on_device(mpi::DeviceExchange::shared(comm),
                                                      std::move(part));
                                   });
}
Plan::Plan(const mpi::DeviceExchange& exchange, std::span<const Relayout> matrices, index_t bytes) {
  const mpi::Communicator& comm = exchange.comm();
  check_plan(comm, matrices, bytes);
  state_ =
      std::make_unique<State>(matrices, bytes, Space::device, comm.rank(), comm.size(),
                              [&](Part&& part) { return on_device(exchange, std::move(part)); });
}
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

index_t Plan::sent_bytes() const { return state_->sent_bytes; }
index_t Plan::received_bytes() const { return state_->received_bytes; }
index_t Plan::buffer_bytes() const { return state_->execution->buffer_bytes(); }
index_t Plan::messages() const { return state_->messages; }
const mpi::Phases& Plan::phases() const { return state_->execution->phases; }

void Plan::begin(std::size_t matrices, index_t bytes) {
  if (state_->started)
    throw Error(ExitCode::usage, "start: the plan is started already; call wait first");
  if (matrices != state_->execution->bound.size())
    throw Error::of_argument("memory", fmt::format("has {} matrices: the plan has {}", matrices,
                                                   state_->execution->bound.size()));
  if (bytes != state_->bytes)
    throw Error::of_argument(
        "memory", fmt::format("has elements of {} bytes: the plan has {}", bytes, state_->bytes));
  state_->next = 0;
  for (Bound& matrix : state_->execution->bound) {
    matrix.a.clear();
    matrix.b.clear();
  }
}

void Plan::add_source(Array<const std::byte> array) {
  Bound& matrix = state_->execution->bound[state_->next];
  if (matrix.a.size() < matrix.a.capacity()) matrix.a.push_back(array);
}
void Plan::add_target(Array<std::byte> array) {
  Bound& matrix = state_->execution->bound[state_->next];
  if (matrix.b.size() < matrix.b.capacity()) matrix.b.push_back(array);
}

void Plan::finish_matrix(Factors factors, std::optional<Element> number) {
  const std::size_t m = state_->next++;
  Bound& matrix = state_->execution->bound[m];
  const auto name = [m](const char* member) { return fmt::format("memory[{}].{}", m, member); };
  const auto &a = state_->needed_a[m], &b = state_->needed_b[m];
  const auto check = [&](const auto& arrays, const auto& needed, const char* member) {
    check_arrays(arrays, needed, [&] { return name(member); });
    check_reach(arrays, needed, state_->place, [&] { return name(member); });
  };
  if (factors.alpha != Complex<double>{0}) check(matrix.a, a, "a");
  check(matrix.b, b, "b");
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
  state_->started = true;
  state_->execution->start(state_->reads_a());
}

void Plan::wait() {
  State& s = *state_;
  if (!s.started) throw Error(ExitCode::usage, "wait: the plan is not started; call start first");
  s.started = false;
  s.execution->wait(s.reads_a());
}

}  // namespace tessera::inline v1::dist::relayout
