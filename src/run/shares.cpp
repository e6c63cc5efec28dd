#include "run/shares.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::run {

void add_shares(OptionSet& options) {
  options.add({.name = "gpu-ranks",
               .kind = Kind::integer,
               .fallback = "0",
               .help = "Set the ranks of a node that drive its GPUs. The others compute on the "
                       "CPU; 0: all drive them.",
               .group = "Method",
               .axis = true,
               .low = 0,
               .high = 1e6});
  options.add({.name = "shares",
               .kind = Kind::choice,
               .fallback = "auto",
               .help = "Select the work distribution of the ranks. measured: by the speed measured "
                       "at the start. auto: measured where only some ranks drive GPUs, else equal.",
               .group = "Method",
               .choices = {"auto", "equal", "measured"},
               .axis = true});
}

index_t drivers_of_node(const Values& point, index_t node_ranks) {
  const auto given = point.all().find("gpu-ranks");  // not every workload has the option
  const index_t asked = given == point.all().end() ? 0 : point.integer("gpu-ranks");
  return asked == 0 ? node_ranks : std::min(asked, node_ranks);
}

bool drives_gpu(const mpi::Communicator& comm, const Values& point) {
  const mpi::Communicator node = comm.node();
  return node.rank() < drivers_of_node(point, node.size());
}

bool splits_by_speed(const mpi::Communicator& comm, const Values& point, bool on_gpu) {
  const std::string& wanted = point.text("shares");
  if (comm.size() == 1 || wanted == "equal") return false;
  if (wanted == "auto" && !machine::built_with_cuda())
    return false;  // no rank's kernel runs on a
                   // GPU
  // A plan for other ranks, or for GPUs that are not here, has no speeds to measure.
  const bool elsewhere =
      point.flag("plan") && (point.has("ranks") || (on_gpu && machine::gpus().devices.empty()));
  mpi::Agreement all(comm, "plan");
  const std::size_t on = all.largest(on_gpu ? 1 : 0), off = all.largest(on_gpu ? 0 : 1),
                    nowhere = all.largest(elsewhere ? 1 : 0);
  all.settle();
  if (all.value(nowhere) != 0) return false;
  return wanted == "measured" || (all.value(on) != 0 && all.value(off) != 0);
}

double two_digits(double x) {
  const double unit = std::pow(10.0, std::floor(std::log10(x)) - 1);
  return std::round(x / unit) * unit;
}

std::vector<double> gather_speeds(const mpi::Communicator& comm, double mine) {
  std::vector<double> all = comm.all_gather(mine);
  mpi::together(comm, "measure", [&] {
    for (double& speed : all) {
      require(std::isfinite(speed) && speed > 0, ExitCode::internal,
              "a rank's speed could not be measured; use --shares equal");
      speed = two_digits(speed);
    }
  });
  return all;
}

std::string text_of_weights(const std::vector<double>& weights, double unit) {
  std::string text;
  for (std::size_t r = 0; r < weights.size();) {
    std::size_t end = r + 1;
    while (end < weights.size() && weights[end] == weights[r]) ++end;
    text += fmt::format("{}{:.2g}", text.empty() ? "" : ", ", weights[r] / unit);
    if (end - r > 1) text += fmt::format(" x {}", end - r);
    r = end;
  }
  return text;
}

}  // namespace tessera::inline v1::run
