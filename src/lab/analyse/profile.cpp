#include "lab/analyse/profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tessera::inline v1::analyse {
namespace {

constexpr std::int64_t timer_tick = 4'000'000;  // ns: Linux checks timers of a thread's clock at
                                                // every tick, 250 times a second

/// A thread's busy time (begin, end], nanoseconds.
struct Busy {
  std::int64_t begin, end;
};

template <class Items>
void sort_by_samples(Items& items) {
  std::stable_sort(items.begin(), items.end(),
                   [](const auto& a, const auto& b) { return a.samples > b.samples; });
}

/// Collects the functions of one phase.
class PhaseBuilder {
 public:
  void add(const Place& place, bool serial) {
    Spot& spot = spots_.try_emplace({place.function, place.module}, Spot{place}).first->second;
    ++spot.samples;
    spot.serial += serial ? 1 : 0;
  }
  [[nodiscard]] PhaseProfile built(const std::string& name) const {
    PhaseProfile phase{name, 0, 0, {}};
    for (const auto& [key, spot] : spots_) {
      phase.samples += spot.samples;
      phase.serial += spot.serial;
      phase.spots.push_back(spot);
    }
    sort_by_samples(phase.spots);
    return phase;
  }

 private:
  std::map<std::pair<std::string, std::string>, Spot> spots_;
};

}  // namespace

index_t Profile::samples() const {
  index_t sum = 0;
  for (const index_t count : busy) sum += count;
  return sum;
}

double Profile::serial_of_work() const {
  const auto all = static_cast<double>(samples());
  return all > 0 ? static_cast<double>(busy[1]) / all : std::numeric_limits<double>::quiet_NaN();
}

double Profile::serial_of_time() const {
  double time = 0;
  for (std::size_t k = 1; k < busy.size(); ++k)
    time += static_cast<double>(busy[k]) / static_cast<double>(k);
  return time > 0 ? static_cast<double>(busy[1]) / time : std::numeric_limits<double>::quiet_NaN();
}

double Profile::serial_error() const {
  const double share = serial_of_work();
  const auto all = static_cast<double>(samples());
  if (share <= 0 || share >= 1) return 3 / all;  // none of n: below 3/n with 95 % confidence
  return 1.96 * std::sqrt(share * (1 - share) / all);
}

double Profile::mean_busy() const {
  const double serial = serial_of_work();
  return serial > 0 ? serial_of_time() / serial : static_cast<double>(busy.size()) - 1;
}

std::vector<Sample> taken_samples(const Samples& samples) {
  const auto count = static_cast<std::size_t>(std::min(samples.taken.load(), most_samples));
  std::vector<Sample> taken(samples.samples, samples.samples + count);
  std::erase_if(taken, [](const Sample& one) { return one.nanoseconds == 0; });  // cut short
  require(
      !taken.empty(), ExitCode::bad_data,
      "the program was not sampled (it is linked statically, changes its user, or used less than "
      "a millisecond of processor time); run it longer, or link it dynamically");
  std::stable_sort(taken.begin(), taken.end(),
                   [](const Sample& a, const Sample& b) { return a.nanoseconds < b.nanoseconds; });
  return taken;
}

bool waits(const Place& place) {
  constexpr std::array modules{"libgomp",     "libomp", "libiomp", "libmpi", "libopen-pal",
                               "libopen-rte", "libucp", "libuct",  "libucs", "libfabric"};
  constexpr std::array functions{
      "sched_yield", "__sched_yield", "nanosleep", "clock_nanosleep", "__clock_nanosleep",
      "usleep",      "poll",          "__poll",    "epoll_wait",      "select",
      "__select",    "pause",         "sem_wait",  "futex_wait"};
  const auto begins = [&](const char* name) { return place.module.starts_with(name); };
  return std::any_of(modules.begin(), modules.end(), begins) ||
         std::find(functions.begin(), functions.end(), place.function) != functions.end();
}

std::vector<int> busy_at(std::span<const Sample> samples, const std::vector<bool>& counted,
                         double period) {
  const auto step = static_cast<std::int64_t>(1e9 * period);
  std::map<std::uint32_t, const Sample*> last;
  std::vector<std::int64_t> begins, ends;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Sample& one = samples[s];
    const auto [before, is_first] = last.try_emplace(one.thread, nullptr);
    const bool runs_on = !is_first && before->second->switches == one.switches;
    if (counted[s]) {
      begins.push_back(runs_on ? before->second->nanoseconds : one.nanoseconds - step);
      ends.push_back(one.nanoseconds);
    }
    before->second = &one;
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::vector<int> busy(samples.size(), 0);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (!counted[s]) continue;
    const auto before = [&](const std::vector<std::int64_t>& times) {
      return std::lower_bound(times.begin(), times.end(), samples[s].nanoseconds) - times.begin();
    };
    busy[s] = std::max(1, static_cast<int>(before(begins) - before(ends)));
  }
  return busy;
}

Profile profile_of(const Samples& samples, const std::string& maps) {
  const std::vector<Sample> taken = taken_samples(samples);
  const bool by_timers = samples.timers.load() > 0;
  Profile profile;
  profile.source = by_timers ? "timers" : "perf events";
  profile.period =
      1e-9 * static_cast<double>(by_timers ? std::max(samples.period, timer_tick) : samples.period);
  if (samples.end != 0) profile.wall = 1e-9 * static_cast<double>(samples.end - samples.begin);
  profile.threads = samples.threads.load();
  profile.lost = static_cast<index_t>(samples.taken.load()) - static_cast<index_t>(taken.size());
  Mappings mappings(maps);
  std::vector<Place> places;
  std::vector<bool> counted;
  for (const Sample& one : taken) {
    places.push_back(mappings.at(one.address));
    counted.push_back(!waits(places.back()));
  }
  const std::vector<int> busy = busy_at(taken, counted, profile.period);
  std::map<std::uint32_t, PhaseBuilder> phases;
  profile.busy.assign(2, 0);
  for (std::size_t s = 0; s < taken.size(); ++s) {
    if (!counted[s]) {
      ++profile.waiting;
      continue;
    }
    const auto threads = static_cast<std::size_t>(busy[s]);
    if (profile.busy.size() <= threads) profile.busy.resize(threads + 1, 0);
    ++profile.busy[threads];
    phases[taken[s].phase].add(places[s], threads == 1);
  }
  for (const auto& [number, phase] : phases)
    profile.phases.push_back(
        phase.built(samples.phases_used.load() == 0 ? "program" : samples.phases[number]));
  sort_by_samples(profile.phases);
  return profile;
}

double amdahl(double serial, double processors) { return 1 / (serial + (1 - serial) / processors); }

double gustafson(double serial, double processors) { return serial + (1 - serial) * processors; }

}  // namespace tessera::inline v1::analyse
