#pragma once
// The command line of a bench: words that it does not know are refused, --help tells those that it
// does.

#include <CLI/CLI.hpp>
#include <optional>
#include <sstream>

#include "base/error.hpp"

namespace tessera::bench {

enum class Rank { root, other };  ///< one of several processes tells what there is to tell

/// Reads the options of `app`; where that was help or an error, the code to leave with.
[[nodiscard]] inline std::optional<ExitCode> leave_after(CLI::App& app, int argc, char** argv,
                                                         Rank rank = Rank::root) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream unheard;
    const int code = rank == Rank::root ? app.exit(e) : app.exit(e, unheard, unheard);
    return code == 0 ? ExitCode::ok : ExitCode::usage;
  }
  return std::nullopt;
}

}  // namespace tessera::bench
