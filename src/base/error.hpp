#pragma once
// Errors carry the exit code of the program (those of sysexits.h if they exist).

#include <stdexcept>
#include <string>
#include <string_view>

namespace tessera {

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
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Throws Error(code, message) unless `holds`. Active in all builds: for input, files, machine.
/// Pattern of messages: "problem (why it is one); what to try".
inline void require(bool holds, ExitCode code, const char* message) {
  if (!holds) throw Error(code, message);
}
inline void require(bool holds, ExitCode code, const std::string& message) {
  if (!holds) throw Error(code, message);
}

namespace detail {
[[noreturn]] void expectation_failed(const char* condition, const char* file, int line) noexcept;
}

}  // namespace tessera

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
