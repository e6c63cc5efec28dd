#pragma once
// Weighted work distribution among heterogeneous ranks: some drive a GPU, others compute on the CPU
// or on slower cores. Weights are speeds measured at the start.

#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::run {

/// Adds --gpu-ranks and --shares.
void add_shares(OptionSet& options);

/// Returns how many of a node's node_ranks ranks drive its GPUs: all, or at most --gpu-ranks.
[[nodiscard]] index_t drivers_of_node(const Values& point, index_t node_ranks);
/// Returns whether this rank drives a GPU: the first ranks of a node do.
[[nodiscard]] bool drives_gpu(const mpi::Communicator& comm, const Values& point);

/// Returns each rank's relative speed to two significant digits, measured by `mine()` in any unit
/// on all ranks at once, under the load of the computation. Returns an empty vector (equal shares)
/// for --shares equal, for auto if all or no ranks compute
/// `on_gpu`, and in plans for ranks or GPUs that are not here. Collective.
template <class Speed>
[[nodiscard]] std::vector<double> weights_of(const mpi::Communicator& comm, const Values& point,
                                             bool on_gpu, const Speed& mine);

/// Rounds x > 0 to two significant digits.
[[nodiscard]] double two_digits(double x);
/// Returns "4.1e+04, 210 x 3": runs of equal weights are joined.
[[nodiscard]] std::string text_of_weights(const std::vector<double>& weights, double unit = 1);

/// Helpers of weights_of. Collective.
[[nodiscard]] bool splits_by_speed(const mpi::Communicator& comm, const Values& point, bool on_gpu);
[[nodiscard]] std::vector<double> gather_speeds(const mpi::Communicator& comm, double mine);

template <class Speed>
std::vector<double> weights_of(const mpi::Communicator& comm, const Values& point, bool on_gpu,
                               const Speed& mine) {
  if (!splits_by_speed(comm, point, on_gpu)) return {};
  return gather_speeds(comm, mine());
}

}  // namespace tessera::inline v1::run
