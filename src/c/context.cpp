// Contexts: communicators with the threads of a rank.

#include "c/context.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>

#include "layout/block_map.hpp"
#include "machine/cpu_quota.hpp"
#include "machine/fork_join.hpp"
#include "machine/topology.hpp"
#include "mpi/runtime.hpp"

namespace tessera::inline v1::c {
namespace {

/// Returns the threads of this rank: OMP_NUM_THREADS, or the cores that it shares with no other
/// rank of comm. Collective.
int owned_threads(const mpi::Communicator& comm) {
  const auto hash = [](const std::string& text) {
    return static_cast<index_t>(std::hash<std::string>()(text));
  };
  const machine::Topology here = machine::topology();
  const std::array<index_t, 2> mine{hash(mpi::host_name()), hash(here.cpu_list)};
  const std::vector<index_t> all = comm.all_gather(std::span<const index_t>(mine));
  int on_host = 0, on_cores = 0;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    if (all[i] != mine[0]) continue;
    ++on_host;
    on_cores += all[i + 1] == mine[1] ? 1 : 0;
  }
  const char* const wanted = std::getenv("OMP_NUM_THREADS");
  if (wanted != nullptr && *wanted != '\0') return machine::default_threads();
  const int cores = std::max(1, here.cores / on_cores);
  return std::min(machine::default_threads(),
                  machine::busy_threads(cores, on_host, machine::cpu_quota()));
}

std::shared_ptr<Context> context_on(const mpi::Communicator& comm) {
  expect(!comm.empty(), "comm", "is MPI_COMM_NULL: must be a communicator of this rank");
  return std::make_shared<Context>(Context{comm, owned_threads(comm)});
}

template <class Value>
int ask(tessera_context context, int* to, const char* argument, const Value& value) {
  return guarded([&] {
    expect(to != nullptr, argument, "is a null pointer");
    *to = value(*context_of(context));
  });
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_context_create(MPI_Comm comm, tessera_context* context) {
  using namespace tessera;
  return c::create(context, "context", [&] { return c::context_on(mpi::Communicator(comm)); });
}

int tessera_context_create_f(MPI_Fint comm, tessera_context* context) {
  using namespace tessera;
  return c::create(context, "context",
                   [&] { return c::context_on(mpi::Communicator::from_fortran(comm)); });
}

int tessera_context_free(tessera_context* context) {
  using namespace tessera::c;
  return guarded([&] { Handles<tessera_context, Context>::all().free(context, "context"); });
}

int tessera_context_rank(tessera_context context, int* rank) {
  using namespace tessera::c;
  return ask(context, rank, "rank", [](const Context& on) { return on.comm.rank(); });
}

int tessera_context_size(tessera_context context, int* size) {
  using namespace tessera::c;
  return ask(context, size, "size", [](const Context& on) { return on.comm.size(); });
}

int tessera_context_threads(tessera_context context, int* threads) {
  using namespace tessera::c;
  return ask(context, threads, "threads", [](const Context& on) { return on.threads; });
}

int tessera_share(int64_t total, int parts, int part, int64_t* begin, int64_t* end) {
  using namespace tessera::c;
  return guarded([&] {
    expect_extent(total, "total");
    expect(parts >= 1, "parts", "is {}: must be at least 1", parts);
    expect(part >= 0 && part < parts, "part", "is {}: must be in 0 .. {}", part, parts - 1);
    expect(begin != nullptr, "begin", "is a null pointer");
    expect(end != nullptr, "end", "is a null pointer");
    const tessera::layout::Range range = tessera::layout::BlockMap(total, parts).range(part);
    *begin = range.begin;
    *end = range.end;
  });
}
