// smpi_scale <bytes/s of a rank when all send to all> [workload]...: runs workloads on the ranks of
// a simulated machine and prints a line for each: verdict, traffic, simulated time and the plan's
// prediction. Computing takes no simulated time: only the communication is compared.

#include <fmt/core.h>

#include <cstdio>

#include "links.hpp"
#include "mpi/probes.hpp"
#include "mpi/runtime.hpp"
#include "problems.hpp"
#include "traffic.hpp"

namespace tessera::smpi {
namespace {

void measure(const mpi::Communicator& comm, const mpi::Network& network, const Workload& workload) {
  const Run run = workload.prepare(comm, network);
  comm.barrier();
  traffic() = {};
  comm.barrier();
  const double start = MPI_Wtime();
  run.work();
  const double seconds = comm.max(MPI_Wtime() - start);
  const Traffic sent = traffic();
  const Outcome outcome = run.check();
  if (!comm.is_root()) return;
  fmt::print("{},{},{},{:016x},{},{},{},{:.9f},{:.9f}\n", workload.name, comm.size(),
             outcome.right ? "right" : "WRONG", outcome.digest, sent.messages, sent.bytes,
             sent.collectives / comm.size(), seconds, run.predicted());
  std::fflush(stdout);
}

constexpr int few_ranks = 16;  // all-to-all among more takes long to simulate

/// Returns the measured network; for many ranks with the platform's all-to-all bandwidth.
mpi::Network network_of(const mpi::Communicator& comm, double crowd_bandwidth) {
  if (comm.size() == 1) return {};
  if (comm.size() <= few_ranks) return mpi::network(mpi::measure_messages(comm, 0), comm.size());
  mpi::MessageCosts costs = mpi::measure_messages(comm, 0, mpi::Probe::pair);
  mpi::measure_shifts(comm, 0, costs);
  costs.all_to_all_bandwidth = crowd_bandwidth * comm.size();
  return mpi::network(costs, comm.size());
}

ExitCode body(const mpi::Communicator& comm, int count, char** arguments) {
  require(count > 1, ExitCode::usage,
          "smpi_scale <bytes/s of a rank when all send to all> [workload]...");
  if (comm.is_root()) queue_on_lanes();
  comm.barrier();
  const mpi::Network network = network_of(comm, std::stod(arguments[1]));
  if (comm.is_root())
    fmt::print(
        "# latency {:.3f} us, a message more {:.3f} us, bandwidth {:.2f} GB/s, a rank of all "
        "{:.2f} GB/s\n",
        network.latency * 1e6, network.message * 1e6, network.bandwidth / 1e9,
        network.crowd_bandwidth / 1e9);
  for (const Workload& workload : workloads()) {
    bool asked = count == 2;
    for (int i = 2; i < count; ++i) asked = asked || workload.name == arguments[i];
    if (asked) measure(comm, network, workload);
  }
  return ExitCode::ok;
}

}  // namespace
}  // namespace tessera::smpi

int main(int argc, char** argv) {
  return tessera::mpi::run_main(&argc, &argv, [&](const tessera::mpi::Communicator& comm) {
    return tessera::smpi::body(comm, argc, argv);
  });
}
