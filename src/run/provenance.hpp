#pragma once
// Where a result comes from: everything needed to make it again.

#include <map>
#include <string>
#include <vector>

#include "io/results.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::run {

[[nodiscard]] std::string version();  ///< "0.1.0"
/// "0.1.0 (v0.1.0-7-g0123abc)": of two programs that differ, one of the two does, where they come
/// from commits.
[[nodiscard]] std::string build_name();

[[nodiscard]] std::string host_name();
[[nodiscard]] std::string mpi_library();  ///< its name and version

/// A word as the shell reads it back.
[[nodiscard]] std::string quoted(const std::string& word);

/// Command line, effective options with their sources, versions, hosts, instruction set, job id,
/// and root's start time. Collective; the same on every rank.
[[nodiscard]] std::map<std::string, io::Value> provenance(const mpi::Communicator& comm,
                                                          const OptionSet& options,
                                                          const Parsed& parsed,
                                                          const std::vector<std::string>& arguments,
                                                          const std::string& start_time);

}  // namespace tessera::run
