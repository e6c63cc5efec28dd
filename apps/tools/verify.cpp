#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/note.hpp"
#include "base/progress_line.hpp"
#include "base/text.hpp"
#include "commands/command.hpp"
#include "io/probe.hpp"
#include "io/schema.hpp"
#include "run/answer.hpp"

namespace tessera::apps {
namespace {

run::OptionSet declare() {
  run::OptionSet set("verify", "Compare an output of Tessera with its stored checksums",
                     {"tessera verify c.h5"});
  set.add({.name = "file",
           .help = "Verify this output of Tessera",
           .group = "Data",
           .value = "FILE",
           .positional = true});
  return set;
}

Body verify(const run::Parsed& parsed, const Arguments&, ExitCode& code) {
  const std::string file = parsed.lists.at("file").front();
  require(!file.empty(), ExitCode::usage, "a file is required; run tessera verify c.h5");
  std::optional<ProgressLine> progress;
  if (!notes_are_silent()) progress.emplace(progress_times());
  const io::FileCheck check = io::check_file_apart(file);
  progress.reset();
  bool right = check.state == io::schema::state_complete && !check.datasets.empty();
  for (const io::DatasetCheck& dataset : check.datasets) {
    fmt::print(
        "{}:{}  {}  checksum {}  {}\n", file, printable(dataset.path), dataset.shape, dataset.found,
        dataset.matches() ? "matches" : "DIFFERS from the stored " + printable(dataset.expected));
    run::answer().append("datasets", {{"file", file},
                                      {"path", dataset.path},
                                      {"shape", dataset.shape},
                                      {"stored", dataset.expected},
                                      {"found", dataset.found},
                                      {"matches", dataset.matches()}});
    right = right && dataset.matches();
  }
  if (check.datasets.empty()) fmt::print("{}: no dataset written by Tessera\n", file);
  fmt::print("{}: {}, {}\n", file, check.state, right ? "verified" : "NOT as it was written");
  code = right ? ExitCode::ok : ExitCode::verification;
  return {};
}

}  // namespace

Command verify_command() { return {declare(), verify, RankScope::on_one}; }

}  // namespace tessera::apps
