#pragma once
// Collective error propagation: if one rank fails in a phase, all ranks throw.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"

namespace tessera::inline v1::mpi {

/// An error that every rank throws at the same place; the program then terminates regularly.
class AgreedError : public Error {
 public:
  AgreedError(ExitCode code, const std::string& message);
  /// Takes the error that occurred on a rank of the communicator; -1: on all.
  explicit AgreedError(Error error, int rank = -1);
};

/// Returns whether an exception unknown to the other ranks is propagating: destructors must then
/// not wait for other ranks. It ends the job (run_main).
[[nodiscard]] bool leaves_alone() noexcept;

/// Runs `work` (local: no communication inside) on every rank; if it fails anywhere, every rank
/// throws AgreedError with the message of the lowest failing rank among those with the highest exit
/// code. name is the phase (a literal). Collective.
void together(const Communicator& comm, const char* name, const std::function<void()>& work);

/// Runs `work` that depends only on values equal on all ranks, and hence fails on all or none; on
/// failure every rank throws AgreedError, without communication.
void alike(const char* name, const std::function<void()>& work);

/// Batches the checks and values of several functions into one reduction, where together() needs
/// one per check. Code between a check and settle() must tolerate its failure.
class Agreement {
 public:
  /// name is the phase (a literal).
  Agreement(const Communicator& comm, const char* name) : comm_(comm), name_(name) {}

  /// Runs `work` (local) and keeps the first failure. Returns whether all checks of this rank have
  /// passed so far.
  bool check(const std::function<void()>& work);
  /// Adds a value to be maximised over all ranks; returns its number for value().
  std::size_t largest(index_t value);
  /// To be known of all ranks as rank 0 has it, by the number that is returned.
  std::size_t of_root(double value);
  /// Tells all ranks everything; throws as together(). Once, and collective.
  void settle();
  /// Returns the maximum over all ranks; call it after settle().
  [[nodiscard]] index_t value(std::size_t number) const { return values_[number]; }
  [[nodiscard]] index_t least(std::size_t number) const {
    return -values_[number];
  }  ///< given as -value
  [[nodiscard]] double root_value(std::size_t number) const;

 private:
  const Communicator& comm_;
  const char* name_;
  std::optional<Error> failure_;
  std::vector<index_t> values_;
};

/// Runs `work` on rank 0 only, with the error propagation of together(). Collective.
void on_root(const Communicator& comm, const char* name, const std::function<void()>& work);

/// As on_root, while the other ranks sleep: waiting in a collective takes cores that `work`
/// measures. Collective.
void on_root_alone(const Communicator& comm, const char* name, const std::function<void()>& work);

}  // namespace tessera::inline v1::mpi
