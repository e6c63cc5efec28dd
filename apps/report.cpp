#include <fmt/format.h>

#include <cstdlib>

#include "command.hpp"
#include "io/raw_file.hpp"
#include "mpi/runtime.hpp"
#include "spawn.hpp"

namespace tessera::apps {
namespace {

run::OptionSet declare() {
  run::OptionSet set("report",
                     "tables and a picture of a results file (needs Python with h5py, numpy, matplotlib)",
                     {"tessera report results.h5", "tessera report results.h5 --png variants.png"});
  set.add({.name = "file", .help = "a results file", .group = "Data", .positional = true});
  set.add(
      {.name = "png", .help = "where the picture goes (default: beside the results, .png)", .group = "Data"});
  return set;
}

/// $TESSERA_PYTHON, the python3 of the PATH, or the system's: the first that has what the report needs.
std::string find_python() {
  const char* named = std::getenv("TESSERA_PYTHON");
  std::vector<std::string> candidates{"python3", "/usr/bin/python3"};
  if (named != nullptr && *named != '\0') candidates = {named};
  for (const std::string& python : candidates) {
    const std::string probe =
        "import sys, os; sys.stderr = open(os.devnull, 'w'); import h5py, numpy, matplotlib";
    if (run_program({python, "-c", probe}) == 0) return python;
  }
  throw Error(ExitCode::usage,
              "no Python with h5py, numpy and matplotlib was found; apt-get install python3-h5py "
              "python3-matplotlib, or set TESSERA_PYTHON");
}

Body report(const run::Parsed& parsed, const Arguments&, ExitCode& code) {
  if (mpi::launcher_rank() != 0) return {};
  const std::string file = parsed.lists.at("file").front();
  require(!file.empty(), ExitCode::usage, "name the results file: tessera report results.h5");
  require(io::file_exists(file), ExitCode::missing_input, "there is no file '" + file + "'; check the path");
  std::vector<std::string> words{find_python(),
                                 installed_file(TESSERA_REPORT_INSTALLED, TESSERA_REPORT_BUILD), file};
  if (const std::string png = parsed.lists.at("png").front(); !png.empty()) {
    words.emplace_back("--png");
    words.push_back(png);
  }
  code = static_cast<ExitCode>(run_program(std::move(words)));
  return {};
}

}  // namespace

Command report_command() { return {declare(), report}; }

}  // namespace tessera::apps
