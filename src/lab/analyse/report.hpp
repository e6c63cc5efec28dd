#pragma once
// The profile as printed tables, and as tables of results.

#include <optional>
#include <string>
#include <vector>

#include "io/results.hpp"
#include "lab/analyse/gpu_calls.hpp"
#include "lab/analyse/profile.hpp"

namespace tessera::inline v1::analyse {

/// What was analysed.
struct Analysed {
  std::string command;
  Profile profile;
  GpuCalls gpu;
  std::optional<double> alone;  ///< wall seconds on one thread, if that was measured
  double wall = 0;              ///< wall seconds of the sampled run, by tessera analyse
};

/// Throws Error(usage) if a launcher of MPI started this process: a second program of the same rank
/// cannot join it.
void require_no_launcher();

/// Numbers of processors for which speed-ups are computed.
[[nodiscard]] std::vector<double> usual_processors();

/// Returns the tables in text; top: functions that are printed of each phase.
[[nodiscard]] std::string text_of(const Analysed& analysed, index_t top, std::size_t columns);
[[nodiscard]] std::vector<io::TableRows> tables_of(const Analysed& analysed);

}  // namespace tessera::inline v1::analyse
