#pragma once
// Ranks that are not alike: some drive a GPU while others compute on the CPU, or run on other
// cores. Their shares go by their speed, which is measured at the start.

#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::run {

/// --gpu-ranks and --shares.
void add_shares(OptionSet& options);

/// Of a node with so many ranks, those that drive its GPUs where kernels run there: all, unless
/// --gpu-ranks names fewer.
[[nodiscard]] index_t drivers_of_node(const Values& point, index_t node_ranks);
/// Whether this rank is one of them: the first ones of a node are.
[[nodiscard]] bool drives_gpu(const mpi::Communicator& comm, const Values& point);

/// How much faster each rank is, `mine()` telling this one's speed in any unit; empty where all
/// take alike: unless --shares says so, where all or none compute `on_gpu`, and in plans for ranks
/// that are not here. All measure at the same time, as they will compute. To two significant
/// digits. Collective.
template <class Speed>
[[nodiscard]] std::vector<double> weights_of(const mpi::Communicator& comm, const Values& point,
                                             bool on_gpu, const Speed& mine);

/// x to two significant digits, x > 0.
[[nodiscard]] double two_digits(double x);
/// "4.1e+04, 210 x 3": neighbours that are alike together.
[[nodiscard]] std::string text_of_weights(const std::vector<double>& weights, double unit = 1);

/// Behind weights_of. Collective.
[[nodiscard]] bool goes_by_speed(const mpi::Communicator& comm, const Values& point, bool on_gpu);
[[nodiscard]] std::vector<double> gather_speeds(const mpi::Communicator& comm, double mine);

template <class Speed>
std::vector<double> weights_of(const mpi::Communicator& comm, const Values& point, bool on_gpu,
                               const Speed& mine) {
  if (!goes_by_speed(comm, point, on_gpu)) return {};
  return gather_speeds(comm, mine());
}

}  // namespace tessera::run
