#pragma once
// No rank leaves a phase alone: what one rank meets, all learn.

#include <functional>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"

namespace tessera::mpi {

/// An error that every rank throws at the same place; the program can end in good order.
class AgreedError : public Error {
 public:
  AgreedError(ExitCode code, const std::string& message);
};

/// An exception that no other rank knows of is on its way: what is freed now must not wait for the
/// others. The job ends with it (run_main).
[[nodiscard]] bool leaves_alone() noexcept;

/// Runs `work` (local: no communication inside) on every rank; if it fails anywhere, every rank
/// throws AgreedError with the message of the lowest failing rank among those with the highest exit
/// code. name is the phase (a literal).
void together(const Communicator& comm, const char* name, const std::function<void()>& work);

/// Runs `work` that asks nothing but what all ranks know alike, and so fails on every rank or on
/// none: every rank throws AgreedError then, without a message between them.
void alike(const char* name, const std::function<void()>& work);

/// Checks and facts of all ranks that several functions find out one after the other, each for
/// itself, met at once: one reduction, where together() takes one a check. What follows a check
/// before settle() must bear that it failed.
class Agreement {
 public:
  /// name is the phase (a literal).
  Agreement(const Communicator& comm, const char* name) : comm_(comm), name_(name) {}

  /// Runs `work` (local) and keeps what fails, the first of it. Says whether nothing has failed
  /// here so far.
  bool check(const std::function<void()>& work);
  /// To be known of all ranks: the largest value, by the number that is returned.
  std::size_t largest(index_t value);
  /// To be known of all ranks as rank 0 has it, by the number that is returned.
  std::size_t of_root(double value);
  /// Tells all ranks everything; throws as together(). Once, and collective.
  void settle();
  /// The largest of all ranks' values, after settle().
  [[nodiscard]] index_t value(std::size_t number) const { return values_[number]; }
  [[nodiscard]] index_t least(std::size_t number) const {
    return -values_[number];
  }  ///< given as -value
  [[nodiscard]] double root_value(std::size_t number) const;

 private:
  const Communicator& comm_;
  const char* name_;
  ExitCode code_ = ExitCode::ok;
  std::string message_;
  std::vector<index_t> values_;
};

/// The same for work of rank 0 alone.
void on_root(const Communicator& comm, const char* name, const std::function<void()>& work);

}  // namespace tessera::mpi
