#include "machine/load.hpp"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "machine/topology.hpp"

namespace tessera::inline v1::machine {
namespace {

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Returns the non-idle seconds summed over the units; NaN if /proc/stat lacks one of them.
double busy_seconds(const std::vector<int>& units) {
  std::ifstream stat("/proc/stat");
  std::string line;
  double ticks = 0;
  std::size_t found = 0;
  while (std::getline(stat, line)) {
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] == ' ') continue;
    if (std::find(units.begin(), units.end(), std::stoi(line.substr(3))) == units.end()) continue;
    std::istringstream words(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, hard = 0, soft = 0, stolen = 0;
    words >> name >> user >> nice >> system >> idle >> waiting >> hard >> soft >> stolen;
    ticks += user + nice + system + hard + soft + stolen;
    ++found;
  }
  return found == units.size() && found > 0 ? ticks / static_cast<double>(sysconf(_SC_CLK_TCK))
                                            : NAN;
}

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

double processor_seconds(const rusage& used) {
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

}  // namespace

double own_processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return processor_seconds(used);
}

double ended_children_seconds() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return processor_seconds(used);
}

OthersLoad::OthersLoad()
    : units_(usable_units()),
      busy_(busy_seconds(units_)),
      own_(own_processor_seconds()),
      begin_(now()) {}

double OthersLoad::share(double ours_seconds) const {
  const auto units = static_cast<double>(units_.size());
  const double proves_nothing = units / static_cast<double>(sysconf(_SC_CLK_TCK));
  const double others = busy_seconds(units_) - busy_ - (own_processor_seconds() - own_) -
                        ours_seconds - proves_nothing;
  const double available = (now() - begin_) * units;
  return std::isnan(others) ? NAN : std::clamp(others / available, 0.0, 1.0);
}

double others_share_now() {
  const OthersLoad others;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return others.share();
}

}  // namespace tessera::inline v1::machine
