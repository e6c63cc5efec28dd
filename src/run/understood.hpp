#pragma once
// What every rank was told, compared before anything is allocated.

#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::run {

/// A thing that a rank was told: "--n" is "8", as the source says ("flag", "smoke.toml:3:1").
struct Fact {
  std::string name, value, source;
};

/// The command with the program's version and, but for what may differ from rank to rank, its effective
/// options (none where there is no set of them), wherever they were given.
[[nodiscard]] std::vector<Fact> understood(const std::string& command, const OptionSet* options,
                                           const Parsed& parsed);

/// Throws AgreedError(usage) with the first fact that two ranks were told differently, both values and ranks.
/// One small reduction where all were told the same. Collective.
void require_same_told(const mpi::Communicator& comm, const std::vector<Fact>& facts);

/// Throws AgreedError(missing_input) where ranks see different files under one name: another size, or another
/// beginning, where HDF5 keeps its superblock and the types of small files. Collective.
void require_same_file(const mpi::Communicator& comm, const std::string& file);

}  // namespace tessera::run
