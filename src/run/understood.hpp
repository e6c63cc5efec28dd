#pragma once
// Agreement of all ranks on the request, checked before anything is allocated.

#include <string>
#include <vector>

#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::run {

/// Part of a rank's request: name "--n", value "8", source ("flag", "smoke.toml:3:1").
struct Fact {
  std::string name, value, source;
};

/// Returns the command, the program's version and build, and, if given, the effective options
/// except those that may differ between ranks.
[[nodiscard]] std::vector<Fact> understood(const std::string& command, const OptionSet* options,
                                           const Parsed& parsed);

/// Facts that must be equal on all ranks, compared as part of an agreement.
class Alike {
 public:
  Alike(mpi::Agreement& agreement, std::vector<Fact> facts);
  /// Returns whether the facts are equal, the same on every rank. Precondition: the agreement is
  /// settled.
  [[nodiscard]] bool holds() const;
  [[nodiscard]] const std::vector<Fact>& facts() const { return facts_; }

 private:
  const mpi::Agreement& agreement_;
  std::vector<Fact> facts_;
  std::size_t most_, least_;  // of the hash
};

/// Throws AgreedError(usage) with the first differing fact of two ranks, both values and ranks.
/// Collective.
void require_same_facts(const mpi::Communicator& comm, const std::vector<Fact>& facts);

/// Returns 63 bits of a hash of the facts, excluding their sources.
[[nodiscard]] index_t hash_of(const std::vector<Fact>& facts);

/// Returns facts that identify a file as seen by this rank: its size, and a hash of its first 4096
/// bytes, which contain HDF5's superblock and the types of small files.
[[nodiscard]] std::vector<Fact> seen_of_file(const std::string& file);

/// Throws AgreedError(missing_input) if ranks see different files under one name. Local if all see
/// the same; else collective.
void require_same_file(const mpi::Communicator& comm, const Alike& seen);

}  // namespace tessera::inline v1::run
