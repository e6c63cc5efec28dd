#include "run/memory_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/text.hpp"
#include "base/timer.hpp"
#include "io/decode.hpp"
#include "machine/pages.hpp"
#include "machine/topology.hpp"
#include "mpi/agreement.hpp"
#include "mpi/runtime.hpp"
#include "run/inputs.hpp"
#include "run/session.hpp"
#include "run/storage.hpp"

namespace tessera::inline v1::run {
namespace {

// Memory that processes gained between plan and end, over all workloads from and to files: library
// pages executed for the first time and HDF5's caches; and messages in flight, more with more
// ranks.
constexpr index_t later_bytes = index_t{5} << 20, later_of_messages = index_t{5} << 19,
                  later_of_peer = index_t{1} << 17, most_of_messages = index_t{4} << 20;
constexpr index_t no_limit = std::numeric_limits<index_t>::max();
constexpr index_t later_of_thread = index_t{1} << 18;  // used part of a stack and a malloc arena

/// Returns the smallest number of ranks tried on which no rank needs more than `allowed`; 0 if none
/// suffices.
index_t smallest_fit(index_t ranks, index_t allowed,
                     const std::function<index_t(index_t)>& most_on) {
  constexpr index_t most_tried = 512;
  for (index_t tried = ranks + 1; tried <= most_tried; tried += std::max<index_t>(1, tried / 8)) {
    if (most_on(tried) <= allowed) return tried;
  }
  return 0;
}

/// Memory of this process and its libraries, bytes: resident now, and later growth.
struct ProgramMemory {
  index_t now = 0, later = 0;
  [[nodiscard]] index_t bytes() const { return now + later; }
};

/// Returns the bytes that compressing outputs needs; commands without outputs lack the options.
index_t memory_to_encode(const Values& point) {
  if (!point.all().contains("compress")) return 0;
  const StorageRequest request(point.text("compress"), point.text("chunks"), point.text("like"));
  return request.memory(largest_input_chunk(), static_cast<int>(threads_of(point)));
}

/// Figure of this machine that the kernel takes up to a millisecond to report: read ten times a
/// second at most, because the plans of thousands of small points would take longer than the
/// points.
class Recent {
 public:
  explicit Recent(index_t (*read)()) : read_(read) {}
  index_t operator()() {
    constexpr double seconds = 0.1;
    if (!since_ || since_->seconds() > seconds) value_ = read_(), since_.emplace();
    return value_;
  }

 private:
  index_t (*read_)();
  index_t value_ = 0;
  std::optional<Timer> since_;
};

/// Returns the bytes of this process in memory: exactly where --memory limits them.
index_t resident_here(bool limited) {
  static Recent recent(machine::resident);
  return limited ? machine::resident() : recent();
}

/// Returns this process's memory. With --memory makes malloc return freed blocks at once: its
/// adaptive threshold keeps later large blocks, whose gaps are reused only in part.
ProgramMemory program_here(const mpi::Communicator& comm, const Values& point) {
  const bool limited = point.bytes("memory") > 0;
  if (limited) machine::give_back_at_once();
  const char* const stated = std::getenv("TESSERA_PROGRAM_MEMORY");
  if (stated != nullptr && *stated != '\0') return {parse_bytes(stated), 0};
  const index_t messages =
      comm.size() > 1 ? std::min(most_of_messages, later_of_messages + comm.size() * later_of_peer)
                      : 0;
  const index_t chunks = io::decode_bytes(largest_input_chunk(), threads_of(point));
  return {resident_here(limited), later_bytes + messages + chunks + memory_to_encode(point) +
                                      threads_of(point) * later_of_thread};
}

/// Returns what a node's ranks may plan to use together: 90 % of its free memory, bytes.
index_t free_memory() {
  static Recent available(machine::available_memory);
  return static_cast<index_t>(0.9 * static_cast<double>(available()));
}

/// Returns what a limit leaves beyond a program of `program` bytes, rounded up to a multiple of 32
/// MiB or of the largest power of two up to limit / 16.
index_t left_of(index_t limit, index_t program) {
  constexpr index_t coarsest = index_t{32} << 20;
  const auto part = static_cast<std::uint64_t>(std::clamp<index_t>(limit / 16, 1, coarsest));
  return limit - round_up(program, static_cast<index_t>(std::bit_floor(part)));
}

}  // namespace

std::string of_program_text(index_t program) {
  return program == 0 ? "" : fmt::format(", of which {} the program itself", human_bytes(program));
}

std::string held_text(index_t bytes, index_t program) {
  return human_bytes(bytes + program) + of_program_text(program);
}

AllowanceFacts::AllowanceFacts(mpi::Agreement& agreement, const mpi::Communicator& comm,
                               const Values& point)
    : agreement_(agreement) {
  const ProgramMemory program = program_here(comm, point);
  const index_t mine = point.bytes("memory");  // limits may differ between ranks
  program_ = agreement.largest(program.bytes());
  later_ = agreement.largest(program.later);
  limit_ = agreement.largest(-(mine > 0 ? mine : no_limit));
  free_ = agreement.largest(-(free_memory() / comm.node().size()));
}

Allowance AllowanceFacts::settled() const {
  const index_t limit = agreement_.least(limit_);
  Allowance all;
  all.program = agreement_.value(program_);
  all.limit = limit == no_limit ? 0 : limit;
  all.free = std::max<index_t>(0, agreement_.least(free_) - agreement_.value(later_));
  return all;
}

Allowance::Allowance(const mpi::Communicator& comm, const Values& point) {
  mpi::Agreement agreement(comm, "plan");
  const AllowanceFacts facts(agreement, comm, point);
  agreement.settle();
  *this = facts.settled();
}

index_t Allowance::net_of_program() const {
  if (limit == 0) return free;
  const index_t left = left_of(limit, program);
  mpi::alike("plan", [&] {
    require(
        left > 0, ExitCode::memory,
        fmt::format(
            "--memory allows {}: the program itself, with its libraries, needs {}; raise --memory",
            human_bytes(limit), human_bytes(program)));
  });
  return std::min(left, free);
}

index_t require_memory(const mpi::Communicator& comm, const Values& point, const Held& held,
                       const std::function<index_t(index_t)>& most_on) {
  const mpi::Communicator node = comm.node();
  const index_t limit = point.bytes("memory");
  const index_t free = free_memory();
  const ProgramMemory program = program_here(comm, point);
  const index_t resident = held.resident() + program.bytes();
  mpi::Agreement all(comm, "plan");
  const std::size_t over = all.largest(limit > 0 && resident > limit ? 1 : 0),
                    most = all.largest(held.own + program.later),
                    room = all.largest(-(free / node.size()));
  all.settle();
  if (all.value(over) == 0 && all.value(most) <= all.least(room)) return resident;
  const index_t on_node = node.sum(held.own + program.later);
  mpi::together(comm, "plan", [&] {
    const bool over_limit = limit > 0 && resident > limit;
    if (!over_limit && on_node <= free) return;
    const std::string need = over_limit
                                 ? fmt::format("the run needs {} on rank {}: --memory allows {}",
                                               held_text(held.resident(), program.bytes()),
                                               comm.rank(), human_bytes(limit))
                                 : fmt::format("{} on {} {} {}: 90 % of the free memory is {}",
                                               counted(node.size(), "rank"), mpi::host_name(),
                                               node.size() == 1 ? "needs" : "need",
                                               human_bytes(on_node), human_bytes(free));
    const index_t fit =
        over_limit ? smallest_fit(comm.size(), limit - program.bytes(), most_on) : 0;
    throw Error(ExitCode::memory, need + (fit > 0 ? fmt::format("; use {}", counted(fit, "rank"))
                                          : over_limit ? "; raise --memory or choose smaller sizes"
                                                       : "; use more nodes or smaller sizes"));
  });
  return resident;
}

index_t planned_memory(const mpi::Communicator& comm, const Values& point, const Held& held) {
  return held.resident() + program_here(comm, point).bytes();
}

void require_planned_memory(const mpi::Communicator& comm, const Values& point, const Held& held,
                            const std::function<index_t(index_t)>& most_on) {
  if (!point.has("ranks")) {
    (void)require_memory(comm, point, held, most_on);
    return;
  }
  const index_t program = comm.max(program_here(comm, point).bytes());
  mpi::together(comm, "plan", [&] {
    const index_t limit = point.bytes("memory");
    if (limit == 0) return;
    const index_t most = most_on(point.integer("ranks"));
    require(
        most + program <= limit, ExitCode::memory,
        fmt::format("a rank needs {}: --memory allows {}; raise --memory, or plan for more ranks",
                    held_text(most, program), human_bytes(limit)));
  });
}

}  // namespace tessera::inline v1::run
