#pragma once
// The installed examples as functions.

#include <string>
#include <vector>

#include "base/error.hpp"
#include "mpi/communicator.hpp"

namespace tessera::embedded {

ExitCode run_fft(const mpi::Communicator& comm, const std::string& folder);
ExitCode run_heat(const mpi::Communicator& comm, const std::string& folder);
ExitCode run_join(const mpi::Communicator& comm, const std::string& folder);
ExitCode run_kmeans(const mpi::Communicator& comm, const std::string& folder);
ExitCode run_pca(const mpi::Communicator& comm, const std::string& folder);

}  // namespace tessera::embedded
