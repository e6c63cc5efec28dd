#include "run/threads.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "machine/fork_join.hpp"
#include "machine/topology.hpp"

namespace tessera::run {

void set_thread_default(const mpi::Communicator& comm) {
  const machine::Topology mine = machine::topology();
  const mpi::Communicator node = comm.node();
  const auto mask = static_cast<index_t>(std::hash<std::string>()(mine.cpu_list));
  const auto masks = node.all_gather(mask);
  const auto sharing = static_cast<int>(std::count(masks.begin(), masks.end(), mask));
  if (const char* wanted = std::getenv("OMP_NUM_THREADS"); wanted != nullptr && *wanted != '\0') return;
  machine::set_default_threads(std::max(1, mine.cores / sharing));
}

}  // namespace tessera::run
