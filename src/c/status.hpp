#pragma once
// What functions of the C API return: codes, and the last error of a thread.

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "tessera.h"

namespace tessera::inline v1::c {

/// Throws Error(usage) "ARGUMENT PROBLEM" unless `holds`.
template <class... Args>
void expect(bool holds, std::string_view argument, fmt::format_string<Args...> problem,
            Args&&... args) {
  if (!holds) throw Error::of_argument(argument, fmt::format(problem, std::forward<Args>(args)...));
}

/// Keeps the exception that is being handled as the last error of this thread; returns its code.
[[nodiscard]] int fail() noexcept;

/// Calls f() and returns TESSERA_OK, or the code of what it throws.
template <class F>
[[nodiscard]] int guarded(const F& f) noexcept {
  try {
    f();
    return TESSERA_OK;
  } catch (...) {
    return fail();
  }
}

}  // namespace tessera::inline v1::c
