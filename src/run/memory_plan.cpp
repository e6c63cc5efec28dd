#include "run/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "machine/topology.hpp"
#include "mpi/agreement.hpp"
#include "mpi/runtime.hpp"

namespace tessera::run {
namespace {

/// The smallest number of ranks, of those tried, on which no rank needs more than `allowed`; 0 if none does.
index_t smallest_fit(index_t ranks, index_t allowed, const std::function<index_t(index_t)>& most_on) {
  constexpr index_t most_tried = 512;
  for (index_t tried = ranks + 1; tried <= most_tried; tried += std::max<index_t>(1, tried / 8)) {
    if (most_on(tried) <= allowed) return tried;
  }
  return 0;
}

/// What a node's ranks may plan to use together.
index_t free_memory() { return static_cast<index_t>(0.9 * static_cast<double>(machine::available_memory())); }

}  // namespace

index_t free_share(const mpi::Communicator& comm) { return -comm.max(-(free_memory() / comm.node().size())); }

index_t memory_allowance(const mpi::Communicator& comm, const Values& point) {
  const index_t limit = point.bytes("memory"), share = free_share(comm);
  return limit > 0 ? std::min(limit, share) : share;
}

void require_memory(const mpi::Communicator& comm, const Values& point, index_t bytes,
                    const std::function<index_t(index_t)>& most_on) {
  const mpi::Communicator node = comm.node();
  const index_t limit = point.bytes("memory");
  const index_t free = free_memory();
  const index_t on_node = node.sum(bytes);
  mpi::together(comm, "plan", [&] {
    const bool over_limit = limit > 0 && bytes > limit;
    if (!over_limit && on_node <= free) return;
    const std::string need = over_limit
                                 ? fmt::format("this would take {} on rank {} and --memory allows {}",
                                               human_bytes(bytes), comm.rank(), human_bytes(limit))
                                 : fmt::format("{} on {} would take {} and 90 % of its free memory is {}",
                                               counted(node.size(), "rank"), mpi::host_name(),
                                               human_bytes(on_node), human_bytes(free));
    const index_t fit = over_limit ? smallest_fit(comm.size(), limit, most_on) : 0;
    throw Error(ExitCode::memory, need + (fit > 0      ? fmt::format("; {} would fit", counted(fit, "rank"))
                                          : over_limit ? "; allow more or choose smaller sizes"
                                                       : "; use more nodes or smaller sizes"));
  });
}

void print_if_too_large(const mpi::Communicator& comm, const Values& point, index_t bytes,
                        const std::function<index_t(index_t)>& most_on) {
  if (point.has("ranks")) {
    const index_t limit = point.bytes("memory"), most = most_on(point.integer("ranks"));
    if (comm.is_root() && limit > 0 && most > limit)
      fmt::print("it would not run: a rank would take {} and --memory allows {}\n", human_bytes(most),
                 human_bytes(limit));
    return;
  }
  try {
    require_memory(comm, point, bytes, most_on);
  } catch (const mpi::AgreedError& error) {
    if (comm.is_root()) fmt::print("it would not run: {}\n", error.what());
  }
}

}  // namespace tessera::run
