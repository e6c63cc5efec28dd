#pragma once
// What every rank was told, compared before anything is allocated.

#include <string>
#include <vector>

#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::run {

/// A thing that a rank was told: "--n" is "8", as the source says ("flag", "smoke.toml:3:1").
struct Fact {
  std::string name, value, source;
};

/// The command with the program's version and, but for what may differ from rank to rank, its
/// effective options (none where there is no set of them), wherever they were given.
[[nodiscard]] std::vector<Fact> understood(const std::string& command, const OptionSet* options,
                                           const Parsed& parsed);

/// Facts that all ranks should have alike: compared with whatever else an agreement settles.
class Alike {
 public:
  Alike(mpi::Agreement& agreement, std::vector<Fact> facts);
  /// Whether they are, after the agreement is settled: the same on every rank.
  [[nodiscard]] bool holds() const;
  [[nodiscard]] const std::vector<Fact>& facts() const { return facts_; }

 private:
  const mpi::Agreement& agreement_;
  std::vector<Fact> facts_;
  std::size_t most_, least_;  // of the hash
};

/// Throws AgreedError(usage) with the first fact that two ranks were told differently, both values
/// and ranks. Collective.
void require_same_told(const mpi::Communicator& comm, const std::vector<Fact>& told);

/// 63 bits of a hash of the facts. Sources do not count.
[[nodiscard]] index_t hash_of(const std::vector<Fact>& facts);

/// How this rank sees a file: its size, and a hash of its beginning, where HDF5 keeps its
/// superblock and the types of small files.
[[nodiscard]] std::vector<Fact> seen_of_file(const std::string& file);

/// Throws AgreedError(missing_input) where ranks see different files under one name. Local where
/// all see the same; else collective.
void require_same_file(const mpi::Communicator& comm, const Alike& seen);

}  // namespace tessera::run
