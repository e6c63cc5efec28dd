#pragma once
// Errors carry the exit code that the program ends with (those of sysexits.h where they exist).

#include <stdexcept>
#include <string>
#include <string_view>

namespace tessera {

enum class ExitCode : int {
  ok = 0,
  usage = 64,          ///< the request is wrong, or cannot be met here
  bad_data = 65,       ///< the input's content is wrong
  missing_input = 66,  ///< the input is not there
  internal = 70,
  memory = 71,         ///< predicted or met
  cannot_create = 73,  ///< output cannot be created, or no space for it
  io = 74,
  stalled = 75,  ///< the watchdog saw no progress
  verification = 76,
  stopped_early = 85,  ///< a checkpoint was written; run again to resume
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Throws Error(code, message) unless `holds`. Always on: for input, files, machine.
/// message: "problem (why it is one); what to try".
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

/// A caller's promise: checked in debug builds only, compiled always, no side effects.
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

/// Functions shared by CPU, CUDA and the simulators.
#ifdef __CUDACC__
#define TESSERA_HD __host__ __device__
#define TESSERA_DEVICE __device__ __forceinline__  // or of a test that stands in for a device
#define TESSERA_UNROLL(count) TESSERA_PRAGMA(unroll count)
#define TESSERA_PRAGMA(text) _Pragma(#text)
#else
#define TESSERA_HD
#define TESSERA_DEVICE inline
#define TESSERA_UNROLL(count)
#endif
