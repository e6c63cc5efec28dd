#pragma once
// Command line of a bench: rejects unknown options, --help lists the known ones.

#include <CLI/CLI.hpp>
#include <optional>
#include <sstream>

#include "base/error.hpp"

namespace tessera::bench {

enum class Rank { root, other };  ///< only the root of several processes prints

/// Parses the options of `app`; returns the exit code for help or an error.
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
