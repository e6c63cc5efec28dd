#include "mpi/account.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "base/text.hpp"

namespace tessera::inline v1::mpi {
namespace {

/// Returns the seconds since the system started this process; 0 if unknown. /proc counts in ticks
/// of 10 ms.
double seconds_since_start() {
  constexpr int after_name =
      20;  // the start time is field 22; the name, field 2, may contain blanks
  constexpr double longest = 3600;  // a larger value means that the clocks do not match
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < after_name; ++i) fields >> field;
  timespec now{};
  const long ticks = sysconf(_SC_CLK_TCK);
  if (!fields || ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  const double started = std::strtod(field.c_str(), nullptr) / static_cast<double>(ticks);
  const double seconds =
      static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - started;
  return seconds > 0 && seconds < longest ? seconds : 0;
}

using PhaseListener = void (*)(const char* phase);

/// Returns the listener of the sampler of tessera analyse, if that is preloaded into this process.
PhaseListener phase_listener() noexcept {
  static const auto listener =
      reinterpret_cast<PhaseListener>(dlsym(RTLD_DEFAULT, "tessera_sampler_phase"));
  return listener;
}

}  // namespace

Account::Account() : now_(&entries_.front()) {
  entries_.front() = {"start", seconds_since_start()};
  if (phase_listener() != nullptr) phase_listener()("start");
}

Account::PhaseEntry& Account::entry_of(const char* phase) noexcept {
  for (PhaseEntry& entry : entries_) {
    if (entry.phase == nullptr) entry.phase = phase;
    if (entry.phase == phase || std::strcmp(entry.phase, phase) == 0) return entry;
  }
  return entries_.back();
}

void Account::settle() noexcept { now_.load()->seconds += since_.restart(); }

const char* Account::enter(const char* phase) noexcept {
  if (pthread_equal(pthread_self(), main_) == 0) return phase;
  const char* const before = this->phase();
  settle();
  now_ = &entry_of(phase);
  if (phase_listener() != nullptr) phase_listener()(phase);
  return before;
}

std::vector<std::pair<std::string, double>> Account::seconds() {
  settle();
  std::vector<std::pair<std::string, double>> result;
  for (const PhaseEntry& entry : entries_) {
    if (entry.phase != nullptr) result.emplace_back(entry.phase, entry.seconds);
  }
  return result;
}

Account& account() {
  static Account one;
  return one;
}

std::string account_text(const std::vector<std::pair<std::string, double>>& seconds,
                         std::size_t columns, std::string total) {
  constexpr double least = 1e-3;
  double all = 0;
  std::vector<std::string> parts;
  for (const auto& [phase, each] : seconds) {
    all += each;
    if (each >= least) parts.push_back(fmt::format("{} {}", phase, human_seconds(each)));
  }
  if (total.empty()) total = human_seconds(all);
  if (!parts.empty()) parts.front() = total + ": " + parts.front();
  return parts.empty() ? total : wrapped(parts, columns);
}

}  // namespace tessera::inline v1::mpi
