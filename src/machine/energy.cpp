#include "machine/energy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "base/directory.hpp"

namespace tessera::inline v1::machine {
namespace {

/// Reads a number from a file of the kernel, by one call for one value; without one, errno has the
/// reason.
std::optional<std::uint64_t> number_in(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  std::array<char, 32> text{};
  const ssize_t size = read(descriptor, text.data(), text.size());
  const int failed = errno;
  close(descriptor);
  errno = size < 0 ? failed : ENODATA;
  std::uint64_t value = 0;
  if (size <= 0 || std::from_chars(text.data(), text.data() + size, value).ec != std::errc())
    return {};
  return value;
}

std::string reason_of(const std::string& file) { return file + ": " + std::strerror(errno); }

/// Returns what the kernel calls a zone; "" if it has no name.
std::string name_of(const std::string& zone) {
  std::ifstream file(zone + "/name");
  std::string name;
  file >> name;
  return name;
}

/// Returns the domain of a zone by its name ("package-0", "package-1-die-0", "dram", "psys",
/// "core", "uncore"); "" for parts of a package.
std::string domain_of(const std::string& name) {
  if (name.starts_with("package")) return "package";
  if (name == "psys") return "platform";
  return name == "dram" ? name : "";
}

/// A zone of the powercap folder: microjoules that wrap around.
class Zone : public EnergyCounter {
 public:
  Zone(const std::string& zone, std::string domain_here, std::string id_here, std::uint64_t first)
      : file_(zone + "/energy_uj"),
        range_(number_in(zone + "/max_energy_range_uj").value_or(0)),
        last_(first) {
    domain = std::move(domain_here);
    id = std::move(id_here);
    source = "powercap";
    update = 1e-3;  // (Haehnel et al. 2012)
  }

  double joules() override {
    if (!missing.empty()) return NAN;
    const auto now = number_in(file_);
    if (!now) {
      missing = reason_of(file_);
      return NAN;
    }
    if (*now < last_ && range_ < last_) {
      missing = file_ + ": the counter fell";
      return NAN;
    }
    sum_ += *now >= last_ ? *now - last_ : range_ - last_ + *now;
    last_ = *now;
    return static_cast<double>(sum_) / 1e6;
  }

 private:
  std::string file_;
  std::uint64_t range_, last_, sum_ = 0;
};

std::vector<std::string> zones_in(const std::string& folder) {
  std::vector<std::string> zones;
  for (std::string& name : names_in(folder))
    if (name.starts_with("intel-rapl:")) zones.push_back(std::move(name));
  std::sort(zones.begin(), zones.end());
  return zones;
}

}  // namespace

std::string powercap_folder() {
  const char* const named = std::getenv("TESSERA_POWERCAP");
  return named != nullptr ? named : "/sys/class/powercap";
}

EnergyCounters powercap_counters(const std::string& folder) {
  EnergyCounters found;
  for (const std::string& id : zones_in(folder)) {
    const std::string zone = folder + "/" + id;
    std::string domain = domain_of(name_of(zone));
    if (domain.empty()) continue;
    if (const auto first = number_in(zone + "/energy_uj"))
      found.all.push_back(std::make_unique<Zone>(zone, std::move(domain), id, *first));
    else if (found.missing.empty())
      found.missing = reason_of(zone + "/energy_uj");
  }
  if (found.all.empty() && found.missing.empty()) found.missing = "no energy counters in " + folder;
  return found;
}

bool may_count_energy(const std::string& folder, const std::string& driver) {
  return access(driver.c_str(), F_OK) == 0 || !powercap_counters(folder).all.empty();
}

EnergyMeter::EnergyMeter(std::vector<std::unique_ptr<EnergyCounter>> counters)
    : counters_(std::move(counters)) {
  windows_.joules.resize(counters_.size());
  if (counters_.empty()) return;
  try {
    thread_ = std::thread([this] { keep_reading(); });
  } catch (const std::system_error&) {  // no thread is left for it: long windows may lose a wrap
  }
}

EnergyMeter::~EnergyMeter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::vector<double> EnergyMeter::read() {
  const std::lock_guard lock(mutex_);
  std::vector<double> joules;
  for (const auto& counter : counters_) joules.push_back(counter->joules());
  return joules;
}

void EnergyMeter::start() {
  begun_ = read();
  clock_.restart();
}

void EnergyMeter::stop() {
  windows_.seconds += clock_.seconds();
  const std::vector<double> ended = read();
  for (std::size_t c = 0; c < ended.size(); ++c) windows_.joules[c] += ended[c] - begun_[c];
}

EnergyMeter::Windows EnergyMeter::take() {
  Windows none{std::vector<double>(counters_.size()), 0};
  return std::exchange(windows_, std::move(none));
}

void EnergyMeter::keep_reading() {
  double gap = counters_.front()->longest_gap;
  for (const auto& counter : counters_) gap = std::min(gap, counter->longest_gap);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(gap), [this] { return stop_; }))
    for (const auto& counter : counters_) (void)counter->joules();
}

}  // namespace tessera::inline v1::machine
