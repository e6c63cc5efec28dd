#include "run/roll_call.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <string>

#include "machine/energy.hpp"
#include "machine/topology.hpp"
#include "mpi/runtime.hpp"

namespace tessera::inline v1::run {
namespace {

index_t hash(const std::string& text) {
  return static_cast<index_t>(std::hash<std::string>()(text));
}

}  // namespace

RollCall::RollCall(const mpi::Communicator& comm, ExitCode failed, const std::vector<Fact>& facts)
    : mine_{static_cast<index_t>(failed), hash_of(facts), hash(mpi::host_name()),
            hash(machine::topology().cpu_list), index_t{machine::may_count_energy() ? 1 : 0}},
      rank_(comm.rank()) {
  all_ = comm.all_gather(std::span<const Answer>(&mine_, 1));
}

bool RollCall::all_well() const {
  return std::all_of(all_.begin(), all_.end(), [](const Answer& one) { return one.code == 0; });
}

bool RollCall::all_failed() const {
  return std::all_of(all_.begin(), all_.end(), [](const Answer& one) { return one.code != 0; });
}

bool RollCall::same_facts() const {
  return std::all_of(all_.begin(), all_.end(),
                     [&](const Answer& one) { return one.facts == mine_.facts; });
}

Neighbours RollCall::neighbours() const {
  const auto count = [&](const auto& wanted) {
    return static_cast<int>(std::count_if(all_.begin(), all_.end(), wanted));
  };
  const auto is_here = [&](const Answer& one) { return one.host == mine_.host; };
  return {.on_host = count(is_here),
          .on_cores = count([&](const Answer& one) {
            return one.host == mine_.host && one.cores == mine_.cores;
          }),
          .before_on_host =
              static_cast<int>(std::count_if(all_.begin(), all_.begin() + rank_, is_here)),
          .count_energy = count([](const Answer& one) { return one.energy != 0; }) > 0};
}

}  // namespace tessera::inline v1::run
