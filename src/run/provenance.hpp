#pragma once
// Provenance of a result: everything needed to reproduce it.

#include <map>
#include <string>
#include <vector>

#include "io/results.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::run {

[[nodiscard]] std::string version();  ///< "0.1.0"
/// Returns "0.1.0 (v0.1.0-7-g0123abc)"; differs between builds of different commits.
[[nodiscard]] std::string build_name();

[[nodiscard]] std::string commit();      ///< of the source, as git describes it
[[nodiscard]] std::string build_type();  ///< of CMake

[[nodiscard]] std::string host_name();
[[nodiscard]] std::string mpi_library();  ///< name and version

/// Quotes a word for the shell.
[[nodiscard]] std::string quoted(const std::string& word);

/// Returns command line, effective options with their sources, versions, hosts, instruction set,
/// job id and root's start time. Collective; the same on every rank.
[[nodiscard]] std::map<std::string, io::Value> provenance(const mpi::Communicator& comm,
                                                          const OptionSet& options,
                                                          const Parsed& parsed,
                                                          const std::vector<std::string>& arguments,
                                                          const std::string& start_time);

}  // namespace tessera::inline v1::run
