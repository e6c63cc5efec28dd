#pragma once
// Peak rates of this machine, measured once by `tessera machine` and kept for later runs.

#include <optional>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "machine/work_span.hpp"
#include "mpi/network.hpp"

namespace tessera::inline v1::run {

struct Ceiling {
  std::string name;  ///< "fma_f64", "triad", "mpi_bandwidth", ...
  index_t threads = 1;
  double value = 0;
  std::string units;
};

struct Ceilings {
  std::string host;
  std::string measured_at;
  std::vector<Ceiling> all;

  /// Returns the ceiling for `threads` threads of the node: interpolated linearly between measured
  /// thread counts, clamped to the smallest and largest of them; nullopt if it was never measured.
  [[nodiscard]] std::optional<double> at(const std::string& name, index_t threads) const;
};

/// Returns the task costs as rows: task_fork, task_join and, for threads > 1, task_steal, in us.
[[nodiscard]] std::vector<Ceiling> task_ceilings(const machine::TaskCosts& costs, int threads);
/// Returns the task costs in a team of `threads` threads, seconds; nullopt if no team was measured.
[[nodiscard]] std::optional<machine::TaskCosts> task_costs(const Ceilings& ceilings, int threads);

/// Returns the name of the bandwidth measured while every rank sends to rank + 2^exponent.
[[nodiscard]] std::string shift_name(std::size_t exponent);

/// Returns the message costs among `ranks` ranks; unmeasured figures keep the defaults of a common
/// network.
[[nodiscard]] mpi::Network network(const Ceilings& ceilings, index_t ranks);

/// Returns whether `one` indicates a faster machine than `other`, a ceiling of the same name.
[[nodiscard]] bool is_better(const Ceiling& one, const Ceiling& other);
/// Merges measured rows into `ceilings` by (name, threads). With `busy` (other processes used the
/// cores, which only slows a measurement down) replaces existing rows by better values only and
/// adds none. Returns the rejected rows.
std::vector<Ceiling> take_over(Ceilings& ceilings, const std::vector<Ceiling>& measured, bool busy);

/// Location of the kept ceilings.
struct CeilingsPlace {
  std::string file;  ///< empty if no location belongs to this user alone
  std::string why;   ///< reason for an empty file
};
/// Returns $TESSERA_MACHINE_FILE, or tessera/<host>.toml under $XDG_CACHE_HOME or ~/.cache. The
/// latter requires folder and file to belong to this user and not to be writable by others, who
/// could otherwise falsify the figures or redirect the file.
[[nodiscard]] CeilingsPlace ceilings_place();
/// Returns the file of ceilings_place().
[[nodiscard]] std::string ceilings_file();
/// Returns the file's ceilings; none if it is missing or unreadable.
[[nodiscard]] Ceilings load_ceilings(const std::string& file);
void save_ceilings(const std::string& file,
                   const Ceilings& ceilings);  ///< throws Error(cannot_create)

}  // namespace tessera::inline v1::run
