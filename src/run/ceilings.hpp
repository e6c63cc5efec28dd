#pragma once
// What this machine can do at most, measured once by `tessera machine` and kept for later runs.

#include <optional>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "machine/work_span.hpp"
#include "mpi/network.hpp"

namespace tessera::run {

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

  /// The ceiling for so many threads of the node: interpolated between measured counts, the largest
  /// count's value beyond it. Nothing if it was never measured.
  [[nodiscard]] std::optional<double> at(const std::string& name, index_t threads) const;
};

/// The rows in which the costs of a task are kept: task_fork, task_join and, in a team of several,
/// task_steal.
[[nodiscard]] std::vector<Ceiling> task_ceilings(const machine::TaskCosts& costs, int threads);
/// The costs in a team of so many threads; nothing where no team was ever measured.
[[nodiscard]] std::optional<machine::TaskCosts> task_costs(const Ceilings& ceilings, int threads);

/// The name of the bandwidth while every rank sends to the one 2^exponent further.
[[nodiscard]] std::string shift_name(std::size_t exponent);

/// What messages cost between so many ranks; a common network's figures where they were never
/// measured.
[[nodiscard]] mpi::Network network(const Ceilings& ceilings, index_t ranks);

/// Whether a value says that the machine is faster than another one of the same name does.
[[nodiscard]] bool is_better(const Ceiling& one, const Ceiling& other);
/// Takes over what was measured, row by row (name and threads). Of what was measured while others
/// had the cores (`busy`) only what is better than the row that is there: the others made it
/// slower, not faster. A row that is not there stays away then. Returns the rows that were not
/// taken.
std::vector<Ceiling> take_over(Ceilings& ceilings, const std::vector<Ceiling>& measured, bool busy);

/// Where the ceilings are kept.
struct CeilingsPlace {
  std::string file;  ///< empty where there is no place that is this user's alone
  std::string why;   ///< then
};
/// $TESSERA_MACHINE_FILE, or tessera/<host>.toml under $XDG_CACHE_HOME or ~/.cache, in a folder
/// that is this user's and that others cannot write to: they would say what this machine can do, or
/// where the file leads.
[[nodiscard]] CeilingsPlace ceilings_place();
/// Its file.
[[nodiscard]] std::string ceilings_file();
/// Empty when the file is not there or cannot be read.
[[nodiscard]] Ceilings load_ceilings(const std::string& file);
void save_ceilings(const std::string& file,
                   const Ceilings& ceilings);  ///< throws Error(cannot_create)

}  // namespace tessera::run
