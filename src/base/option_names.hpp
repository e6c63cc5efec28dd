#pragma once
// Names of settings in messages: of options in the program, of arguments in other programs.

#include <string_view>

namespace tessera::inline v1 {

/// Makes messages of this process name command-line options. For programs that have Tessera's.
void name_options() noexcept;

/// Returns `option` ("--overwrite") in a process of name_options(), otherwise `argument`, which is
/// what functions call the same ("Existing::replace"). Both must be literals.
[[nodiscard]] std::string_view option_or(std::string_view option,
                                         std::string_view argument) noexcept;

}  // namespace tessera::inline v1
