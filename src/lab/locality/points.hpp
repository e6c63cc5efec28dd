#pragma once
// Execution of a request's points, in order, and recording of their results.

#include <functional>
#include <string>
#include <vector>

#include "io/results.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::locality {

struct TraceSweep {
  const mpi::Communicator& comm;
  const run::OptionSet& set;
  const run::Parsed& parsed;
  const std::vector<std::string>& arguments;
  std::function<void()> last = [] {};  ///< on the tracing rank, after the last point
};

/// Prints `first`, then traces every point missing in the results file, on one rank while the
/// others wait. Collective.
[[nodiscard]] ExitCode trace_points(
    const TraceSweep& sweep, const std::string& first,
    const std::function<std::vector<io::TableRows>(const std::string& key, const run::Values&)>&
        trace);

}  // namespace tessera::inline v1::locality
