#pragma once
// Errors carry the exit code of the program (those of sysexits.h if they exist).

#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tessera::inline v1 {

enum class ExitCode : int {
  ok = 0,
  usage = 64,          ///< invalid request, or one that cannot be met here
  bad_data = 65,       ///< invalid content of an input
  missing_input = 66,  ///< the input does not exist
  internal = 70,
  memory = 71,         ///< predicted or actual shortage of memory
  cannot_create = 73,  ///< an output cannot be created, or lacks space
  io = 74,
  stalled = 75,  ///< the watchdog saw no progress
  verification = 76,
  stopped_early = 85,  ///< a checkpoint was written; rerun to resume
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  /// Makes an error of usage, with the message "ARGUMENT PROBLEM".
  [[nodiscard]] static Error of_argument(std::string_view argument, std::string_view problem) {
    Error error(ExitCode::usage, std::string(argument).append(" ").append(problem));
    error.argument_length_ = argument.size();
    return error;
  }

  [[nodiscard]] ExitCode code() const noexcept { return code_; }
  /// Returns the argument that is wrong, e.g. "method.threads", with which the message begins;
  /// empty if the error is not about one. Valid as long as the error.
  [[nodiscard]] std::string_view argument() const noexcept { return {what(), argument_length_}; }
  /// Returns the rank of the communicator on which it occurred, if all ranks throw the error of
  /// one; otherwise -1.
  [[nodiscard]] int rank() const noexcept { return rank_; }

 protected:
  void set_rank(int rank) noexcept { rank_ = rank; }

 private:
  ExitCode code_;
  int rank_ = -1;
  std::size_t argument_length_ = 0;
};

/// Throws Error(code, message) unless `holds`. Active in all builds: for input, files, machine.
/// Pattern of messages: "problem (why it is one); what to try".
inline void require(bool holds, ExitCode code, const char* message) {
  if (!holds) throw Error(code, message);
}
inline void require(bool holds, ExitCode code, const std::string& message) {
  if (!holds) throw Error(code, message);
}
/// Throws Error(usage) "ARGUMENT PROBLEM" unless `holds`: for arguments of public functions.
/// Allocates nothing if it holds.
inline void require_argument(bool holds, std::string_view argument, std::string_view problem) {
  if (!holds) throw Error::of_argument(argument, problem);
}
/// Throws likewise, for calls that are repeated: the text is formatted, problem(), only then.
template <std::invocable Problem>
void require_argument(bool holds, std::string_view argument, const Problem& problem) {
  if (!holds) throw Error::of_argument(argument, problem());
}

namespace detail {
[[noreturn]] void expectation_failed(const char* condition, const char* file, int line) noexcept;
}

}  // namespace tessera::inline v1

/// Aborts if a precondition does not hold. Checked in debug builds only, compiled in all; the
/// condition must have no side effects.
#ifdef NDEBUG
#define TESSERA_EXPECTS(condition) \
  do {                             \
    if (false && (condition)) {    \
    }                              \
  } while (false)
#else
#define TESSERA_EXPECTS(condition)                                                           \
  do {                                                                                       \
    if (!(condition)) ::tessera::detail::expectation_failed(#condition, __FILE__, __LINE__); \
  } while (false)
#endif

/// Qualifiers of functions shared by CPU, CUDA and the simulators.
#ifdef __CUDACC__
#define TESSERA_HD __host__ __device__
#define TESSERA_DEVICE __device__ __forceinline__  // or those of a test that emulates a device
#define TESSERA_UNROLL(count) TESSERA_PRAGMA(unroll count)
#define TESSERA_PRAGMA(text) _Pragma(#text)
#else
#define TESSERA_HD
#define TESSERA_DEVICE inline
#define TESSERA_UNROLL(count)
#endif
