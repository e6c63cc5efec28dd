#include "run/measure_ceilings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "io/raw_file.hpp"
#include "kernels/forkjoin/task_costs.hpp"
#include "kernels/memory/device_probes.hpp"
#include "kernels/memory/memory.hpp"
#include "machine/gpu.hpp"
#include "machine/load.hpp"
#include "machine/topology.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/probes.hpp"
#include "mpi/runtime.hpp"
#include "run/measure_rates.hpp"

namespace tessera::inline v1::run {
namespace {

/// Merges measured rows, subject to the load of other processes during the measurement.
class Measuring {
 public:
  explicit Measuring(Ceilings& ceilings) : ceilings_(ceilings) {}

  /// Merges rows; returns false if other processes used too much of the cores and the caller is to
  /// repeat the measurement once: their load may be short, and the better of both attempts counts.
  bool take(const std::vector<Ceiling>& rows, double share_of_others) {
    const bool busy = share_of_others > most_share;
    (void)take_over(best_, rows, busy && !best_.all.empty());
    if (busy && !again_) {
      again_ = true;
      return false;
    }
    if (busy) most_ = std::max(most_, share_of_others);
    const auto refused = take_over(ceilings_, best_.all, busy);
    refused_.insert(refused_.end(), refused.begin(), refused.end());
    stored_ += ssize(best_.all) - ssize(refused);
    best_.all.clear();
    again_ = false;
    return true;
  }

  /// Returns the number of rows that were added or replaced.
  [[nodiscard]] index_t stored() const { return stored_; }

  /// Returns a line about rejected rows; empty if none were.
  [[nodiscard]] std::string notes() const {
    if (refused_.empty()) return "";
    const auto known = std::count_if(refused_.begin(), refused_.end(), [&](const Ceiling& one) {
      return std::any_of(ceilings_.all.begin(), ceilings_.all.end(), [&](const Ceiling& c) {
        return c.name == one.name && c.threads == one.threads;
      });
    });
    return fmt::format(
        "other processes used {:.0f} % of the cores: {} not stored ({} kept from before); measure "
        "again when the cores are idle\n",
        100 * most_, counted(ssize(refused_), "row"), known);
  }

 private:
  static constexpr double most_share = 0.05;  // of the cores' time; an idle desktop uses 0.01
  Ceilings& ceilings_;
  Ceilings best_;  ///< best of both attempts
  bool again_ = false;
  std::vector<Ceiling> refused_;
  index_t stored_ = 0;
  double most_ = 0;
};

void measure(Measuring& measuring, const std::function<std::vector<Ceiling>()>& rows) {
  bool taken = false;
  while (!taken) {
    const double before = machine::others_share_now();  // short measurements fit between two ticks
    const machine::OthersLoad others;
    const std::vector<Ceiling> measured = rows();
    taken = measuring.take(measured, std::fmax(before, others.share()));
    mpi::heartbeat();
  }
}

void measure_node(Measuring& measuring) {
  const int cores = machine::topology().cores;
  for (int threads = 1;; threads = std::min(2 * threads, cores)) {
    const auto rate = [&](const char* name, const auto& value, const char* units) {
      measure(measuring, [&] {
        return std::vector<Ceiling>{{name, threads, value() / 1e9, units}};
      });
    };
    measure(measuring, [&] { return task_ceilings(forkjoin::task_costs(threads), threads); });
    rate(
        "fma_f32", [&] { return memory::fma_peak<float>(threads); }, "GFLOP/s");
    rate(
        "fma_f64", [&] { return memory::fma_peak<double>(threads); }, "GFLOP/s");
    rate(
        "copy", [&] { return memory::copy_bandwidth(threads); }, "GB/s");
    rate(
        "triad", [&] { return memory::triad_bandwidth(threads); }, "GB/s");
    for (const memory::CacheProbe& probe : memory::cache_probes(threads))
      rate(
          probe.name, [&] { return memory::read_bandwidth(threads, probe); }, "GB/s");
    measure(measuring, [&] { return work_rates(threads); });
    if (threads == cores) break;
  }
  measure(measuring, file_rates);
}

/// Measures the first device: those of a node are alike. CPU load of other processes does not
/// affect it.
void measure_device(Measuring& measuring) {
  if (machine::gpus().devices.empty()) return;
  machine::use_gpu(0);
  std::vector<Ceiling> rows;
  for (const memory::DeviceCeiling& c : memory::device_ceilings())
    rows.push_back({c.name, 1, c.value, c.units});
  (void)measuring.take(rows, 0);
  mpi::heartbeat();
}

std::vector<Ceiling> message_rows(const mpi::Communicator& comm, double seconds) {
  const mpi::MessageCosts costs = mpi::measure_messages(comm, seconds);
  std::vector<Ceiling> rows{{"mpi_latency", 2, costs.latency_seconds * 1e6, "us"},
                            {"mpi_message", 2, costs.message_seconds * 1e6, "us"},
                            {"mpi_bandwidth", 2, costs.bandwidth / 1e9, "GB/s"}};
  for (std::size_t i = 0; i < costs.shift_bandwidth.size(); ++i)
    rows.push_back({shift_name(i), comm.size(), costs.shift_bandwidth[i] / 1e9, "GB/s"});
  rows.push_back({"mpi_all_to_all", comm.size(), costs.all_to_all_bandwidth / 1e9, "GB/s"});
  return rows;
}

/// Returns the processor time of the node's other ranks that share this rank's processing units,
/// seconds. Collective.
double seconds_under_load(const mpi::Communicator& node) {
  const auto mask = static_cast<index_t>(std::hash<std::string>()(machine::topology().cpu_list));
  const std::vector<index_t> masks = node.all_gather(mask);
  const std::vector<double> seconds = node.all_gather(machine::own_processor_seconds());
  double sum = 0;
  for (std::size_t r = 0; r < masks.size(); ++r)
    if (masks[r] == mask && static_cast<int>(r) != node.rank()) sum += seconds[r];
  return sum;
}

/// Measures message costs; merges on rank 0. Collective.
void measure_messages(const mpi::Communicator& comm, Measuring& measuring, double seconds) {
  const mpi::Communicator node = comm.node();
  bool taken = false;
  while (!taken) {
    const double idle = machine::others_share_now();
    const double before = seconds_under_load(node);
    const machine::OthersLoad others;
    const std::vector<Ceiling> rows = message_rows(comm, seconds);
    const double share = std::fmax(idle, others.share(seconds_under_load(node) - before));
    taken = comm.max(index_t{comm.is_root() && measuring.take(rows, share) ? 1 : 0}) != 0;
  }
}

}  // namespace

MeasuredCeilings measure_ceilings(const mpi::Communicator& comm, double seconds,
                                  const std::function<void()>& begin) {
  MeasuredCeilings result;
  result.place = ceilings_place();
  Ceilings& ceilings = result.ceilings;
  const bool keeps = !result.place.file.empty();
  Measuring measuring(ceilings);
  mpi::on_root_alone(comm, "machine", [&] {
    begin();
    if (keeps) io::require_file_or_nothing(result.place.file, "the file for measured rates,");
    ceilings = load_ceilings(result.place.file);
    if (keeps)
      save_ceilings(result.place.file, ceilings);  // fails before measuring if they cannot
                                                   // be saved
    measure_node(measuring);
    measure_device(measuring);
  });
  if (comm.size() > 1) measure_messages(comm, measuring, 3 * seconds);
  mpi::on_root(comm, "machine", [&] {
    result.notes = measuring.notes();
    result.stored = measuring.stored();
    if (result.stored == 0) return;
    ceilings.host = mpi::host_name();
    ceilings.measured_at = utc_now();
    if (keeps) save_ceilings(result.place.file, ceilings);
  });
  return result;
}

}  // namespace tessera::inline v1::run
