#include "promises.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"

namespace tessera::fuzz {
namespace {

/// Checks the error of an invalid request.
void check_error(const Error& error) {
  const ExitCode code = error.code();
  const bool blames_request = code == ExitCode::usage || code == ExitCode::missing_input ||
                              code == ExitCode::bad_data || code == ExitCode::memory ||
                              code == ExitCode::cannot_create;
  if (!blames_request)
    broken("code " + std::to_string(static_cast<int>(code)) + ": " + error.what());
  if (std::string(error.what()).empty()) broken("an error without words");
}

}  // namespace

void broken(const std::string& promise) {
  std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
  std::abort();
}

void attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    check_error(error);
  } catch (const std::exception& error) {
    broken(std::string("an error that is none of ours: ") + error.what());
  }
}

}  // namespace tessera::fuzz
