#include "run/energy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "machine/gpu.hpp"
#include "machine/nvml.hpp"
#include "mpi/runtime.hpp"

namespace tessera::inline v1::run {
namespace {

struct Setup {
  bool is_read = false;         ///< by any rank
  bool reads_packages = false;  ///< this rank
  bool knows_idle = false;
  std::map<std::string, double> least_watts = {};  ///< by counter
};

Setup& setup() {
  static Setup one;
  return one;
}

/// The shortest update of any counter: what is too short for it is too short for all.
constexpr double shortest_update = 1e-3;

/// Returns the seconds that `windows` windows must take together for the same accuracy as one of
/// ten updates: each begins and ends between two updates, and such errors add up by their squares.
double needed_seconds(std::size_t windows, double update) {
  return 10 * update * std::sqrt(static_cast<double>(windows));
}

/// Sees a power of a counter: the least is the idle power. NaN is ignored.
void see(const std::string& counter, double watts) {
  if (!(watts >= 0)) return;
  const auto [place, fresh] = setup().least_watts.try_emplace(counter, watts);
  if (!fresh) place->second = std::min(place->second, watts);
}

double least_watts(const std::string& counter) {
  const auto found = setup().least_watts.find(counter);
  return found == setup().least_watts.end() ? NAN : found->second;
}

/// A GPU that does not report its energy; its readings fail.
class SilentGpu : public machine::EnergyCounter {
 public:
  SilentGpu(const std::string& pci, std::string why) {
    domain = "gpu";
    id = pci;
    source = "none";
    missing = std::move(why);
  }
  double joules() override { return NAN; }
};

/// Returns the counters that this rank reads: the processors' on one rank a node, and of the GPU
/// that it uses.
std::vector<std::unique_ptr<machine::EnergyCounter>> own_counters() {
  std::vector<std::unique_ptr<machine::EnergyCounter>> all;
  if (setup().reads_packages) all = machine::powercap_counters().all;
  if (const machine::Gpu* const gpu = machine::gpu_in_use(); gpu != nullptr) {
    machine::EnergyCounters found = machine::gpu_energy_counter(gpu->pci);
    if (found.all.empty())
      found.all.push_back(std::make_unique<SilentGpu>(gpu->pci, std::move(found.missing)));
    for (auto& counter : found.all) all.push_back(std::move(counter));
  }
  return all;
}

/// A counter's line in the text that a rank sends: its fields, and joules and seconds of every
/// repetition.
struct Told {
  std::string domain, source, reason;
  double update = 0, idle_watts = 0;
  std::vector<double> joules, seconds;
};

Told told_in(const std::vector<std::string>& words) {
  Told told{words[0],
            words[2],
            words[3],
            std::strtod(words[4].c_str(), nullptr),
            std::strtod(words[5].c_str(), nullptr),
            {},
            {}};
  for (std::size_t w = 6; w + 1 < words.size(); w += 2) {
    told.joules.push_back(std::strtod(words[w].c_str(), nullptr));
    told.seconds.push_back(std::strtod(words[w + 1].c_str(), nullptr));
  }
  return told;
}

void add(const Told& told, Energy& energy) {
  auto found = std::find_if(energy.begin(), energy.end(), [&](const DomainEnergy& one) {
    return one.domain == told.domain && one.source == told.source;
  });
  if (found == energy.end()) {
    found = energy.emplace(energy.end());
    found->domain = told.domain;
    found->source = told.source;
    found->joules.resize(told.joules.size());
    found->seconds.resize(told.seconds.size());
  }
  const auto before = static_cast<double>(found->counters++);
  found->update = std::max(found->update, told.update);
  found->idle_watts += told.idle_watts;
  if (found->reason.empty()) found->reason = told.reason;
  for (std::size_t r = 0; r < told.joules.size(); ++r) {
    found->joules[r] += told.joules[r];
    found->seconds[r] = (found->seconds[r] * before + told.seconds[r]) / (before + 1);
  }
}

}  // namespace

DomainEnergy::Total DomainEnergy::total() const {
  Total sum;
  for (const double one : joules) sum.joules += one;
  for (const double one : seconds) sum.seconds += one;
  return sum;
}

NodesEnergy sum_of(const Energy& energy) {
  NodesEnergy sum;
  double idle = 0;
  for (const DomainEnergy& one : energy) {
    if (one.domain == "platform") continue;
    const DomainEnergy::Total total = one.total();
    const bool is_long = total.seconds >= needed_seconds(one.seconds.size(), one.update);
    sum.joules += is_long ? total.joules / static_cast<double>(one.joules.size()) : NAN;
    sum.watts += is_long ? total.watts() : NAN;
    idle += one.idle_watts;
  }
  if (energy.empty()) sum.joules = sum.watts = NAN;
  sum.idle_share = idle / sum.watts;
  return sum;
}

EnergyScope::EnergyScope(const Neighbours& neighbours) {
  setup() = {.is_read = neighbours.count_energy,
             .reads_packages = neighbours.count_energy && neighbours.before_on_host == 0};
}

EnergyScope::~EnergyScope() { setup() = {}; }

EnergyReading::EnergyReading() {
  if (!setup().is_read) return;
  auto counters = own_counters();
  if (counters.empty()) return;
  for (const auto& counter : counters) see(counter->id, counter->watts());
  meter_.emplace(std::move(counters));
}

void EnergyReading::begin(const mpi::Communicator& comm) {
  if (!setup().is_read) return;
  comm.barrier();
  resume();
}

void EnergyReading::end(bool keep) {
  pause();
  if (!meter_) return;
  machine::EnergyMeter::Windows windows = meter_->take();
  if (keep) kept_.push_back(std::move(windows));
}

void EnergyReading::pause() {
  if (meter_) meter_->stop();
}

void EnergyReading::resume() {
  if (meter_) meter_->start();
}

/// Threads of OpenMP spin for some milliseconds after their work: the window begins behind that.
void EnergyReading::measure_idle() {
  constexpr std::chrono::milliseconds spinning{5}, window{25};
  std::this_thread::sleep_for(spinning);
  resume();
  std::this_thread::sleep_for(window);
  pause();
  if (!meter_) return;
  const auto [joules, seconds] = meter_->take();
  for (std::size_t c = 0; c < joules.size(); ++c)
    if (seconds >= needed_seconds(1, meter_->counters()[c]->update))
      see(meter_->counters()[c]->id, joules[c] / seconds);
}

/// Returns what this rank read, a line a counter.
std::string EnergyReading::text() const {
  std::string lines;
  for (std::size_t c = 0; meter_ && c < meter_->counters().size(); ++c) {
    const machine::EnergyCounter& counter = *meter_->counters()[c];
    double joules = 0, seconds = 0;
    for (const auto& windows : kept_) {
      joules += windows.joules[c];
      seconds += windows.seconds;
    }
    if (seconds >= needed_seconds(kept_.size(), counter.update)) see(counter.id, joules / seconds);
    lines +=
        fmt::format("{}\t{}\t{}\t{}\t{}\t{}", counter.domain, mpi::host_name() + " " + counter.id,
                    counter.source, counter.missing, counter.update, least_watts(counter.id));
    for (const auto& windows : kept_)
      lines += fmt::format("\t{}\t{}", windows.joules[c], windows.seconds);
    lines += '\n';
  }
  return lines;
}

Energy EnergyReading::result(const mpi::Communicator& comm, const std::vector<double>& seconds) {
  if (!setup().is_read) return {};
  double sum = 0;
  for (const double one : seconds) sum += one;
  if (sum >= needed_seconds(seconds.size(), shortest_update) && !setup().knows_idle) {
    measure_idle();
    setup().knows_idle = true;
  }
  Energy energy;
  std::set<std::string> counted;  // ranks may share a GPU
  for (const std::string& lines : comm.gather(text(), 0)) {
    for (const std::string& line : split(lines, '\n')) {
      const std::vector<std::string> words = split(line, '\t');
      if (words.size() > 5 && counted.insert(words[1]).second) add(told_in(words), energy);
    }
  }
  return energy;
}

std::string energy_missing() {
  const machine::EnergyCounters found = machine::powercap_counters();
  return found.all.empty() ? found.missing : "";
}

std::vector<io::Row> energy_rows(const std::string& point, const Energy& energy) {
  std::vector<io::Row> rows;
  for (const DomainEnergy& one : energy) {
    const double needed = needed_seconds(one.seconds.size(), one.update);
    const auto add_row = [&](index_t repetition, double joules, double seconds, bool is_long) {
      const double watts = is_long ? joules / seconds : NAN;
      const std::string reason =
          is_long ? one.reason : fmt::format("too short: {} is needed", human_seconds(needed));
      rows.push_back({{"point", point, ""},
                      {"repetition", repetition, ""},
                      {"domain", one.domain, ""},
                      {"joules", is_long ? joules : NAN, "J"},
                      {"seconds", seconds, "s"},
                      {"watts", watts, "W"},
                      {"idle_watts", one.idle_watts, "W"},
                      {"idle_share", one.idle_watts / watts, ""},
                      {"counters", one.counters, ""},
                      {"source", one.source, ""},
                      {"reason", reason, ""}});
    };
    const auto count = static_cast<double>(one.joules.size());
    const DomainEnergy::Total total = one.total();
    add_row(-1, total.joules / count, total.seconds / count, total.seconds >= needed);
    for (std::size_t r = 0; r < one.joules.size(); ++r)
      if (one.can_measure(one.seconds[r]))
        add_row(static_cast<index_t>(r), one.joules[r], one.seconds[r], true);
  }
  return rows;
}

}  // namespace tessera::inline v1::run
