// The last error of a thread, codes, notes and the version.

#include "c/status.hpp"

#include <array>
#include <exception>
#include <new>
#include <string>

#include "base/note.hpp"
#include "base/version.hpp"
#include "machine/pages.hpp"

namespace tessera::inline v1::c {
namespace {

struct LastError {
  std::string text, argument;
  int rank = -1;
};
thread_local LastError last;

int keep(ExitCode code, const char* text, std::string_view argument = {}, int rank = -1) noexcept {
  try {
    last = {text, std::string(argument), rank};
  } catch (...) {
    last.text.clear();
    last.argument.clear();
  }
  return static_cast<int>(code);
}

}  // namespace

int fail() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return keep(error.code(), error.what(), error.argument(), error.rank());
  } catch (const std::bad_alloc&) {
    return keep(ExitCode::memory, "insufficient memory");
  } catch (const std::exception& error) {
    return keep(ExitCode::internal, error.what());
  } catch (...) {
    return keep(ExitCode::internal, "unknown exception");
  }
}

}  // namespace tessera::inline v1::c

namespace {

struct CodeName {
  int code;
  const char* name;
};
#define TESSERA_CODE(name) \
  CodeName { name, #name }
constexpr std::array codes{TESSERA_CODE(TESSERA_OK),           TESSERA_CODE(TESSERA_USAGE),
                           TESSERA_CODE(TESSERA_BAD_DATA),     TESSERA_CODE(TESSERA_MISSING_INPUT),
                           TESSERA_CODE(TESSERA_INTERNAL),     TESSERA_CODE(TESSERA_MEMORY),
                           TESSERA_CODE(TESSERA_IO),           TESSERA_CODE(TESSERA_CANNOT_CREATE),
                           TESSERA_CODE(TESSERA_STALLED),      TESSERA_CODE(TESSERA_VERIFICATION),
                           TESSERA_CODE(TESSERA_STOPPED_EARLY)};

}  // namespace

const char* tessera_error_text() { return tessera::c::last.text.c_str(); }
const char* tessera_error_argument() { return tessera::c::last.argument.c_str(); }
int tessera_error_rank() { return tessera::c::last.rank; }

int tessera_refuse(const char* argument, const char* problem) {
  return tessera::c::guarded([&] {
    tessera::c::expect(argument != nullptr, "argument", "is a null pointer");
    tessera::c::expect(problem != nullptr, "problem", "is a null pointer");
    throw tessera::Error::of_argument(argument, problem);
  });
}

const char* tessera_code_name(int code) {
  for (const CodeName& one : codes) {
    if (one.code == code) return one.name;
  }
  return "";
}

int tessera_release_memory() {
  return tessera::c::guarded([] { tessera::machine::give_back_released(); });
}

const char* tessera_version() { return TESSERA_VERSION; }

int tessera_set_log(tessera_log log, void* data) {
  return tessera::c::guarded([&] {
    if (log == nullptr) return tessera::handle_notes({});
    tessera::handle_notes([log, data](const std::string& line) { log(line.c_str(), data); });
  });
}
