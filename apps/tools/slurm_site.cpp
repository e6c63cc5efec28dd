// The site file: what all batch scripts of a cluster have in common, written once.

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/text.hpp"
#include "io/raw_file.hpp"
#include "slurm.hpp"

namespace tessera::apps::slurm {
namespace {

namespace fs = std::filesystem;

/// Returns $XDG_CONFIG_HOME/tessera/site.toml or ~/.config/tessera/site.toml; empty if there is
/// none.
std::string default_site() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::string base = variable("XDG_CONFIG_HOME");
  if (base.empty() && !variable("HOME").empty()) base = variable("HOME") + "/.config";
  const std::string file = base + "/tessera/site.toml";
  return !base.empty() && io::file_exists(file) ? file : "";
}

/// Returns the options that a site file may set, as an option set that reads it.
run::OptionSet site_options() {
  run::OptionSet set("slurm", "Keys of a site file", {});
  set.add({.name = "config", .value = "FILE"});
  add_site_options(set);
  return set;
}

}  // namespace

void add_site_options(run::OptionSet& set) {
  for (const char* name : {"partition", "account", "qos", "constraint"})
    set.add({.name = name, .help = fmt::format("Pass --{} to sbatch", name), .group = "Site"});
  set.add({.name = "gpu-option",
           .fallback = "--gpus-per-node=N",
           .help = "Request GPUs by this option of sbatch. N is their number: --gres=gpu:a100:N.",
           .group = "Site",
           .value = "OPTION"});
  set.add({.name = "sbatch",
           .help = "Add options of sbatch. Write --sbatch='--exclusive --mail-type=END'.",
           .group = "Site",
           .value = "OPTIONS"});
  set.add({.name = "modules",
           .help = "Load modules before the program starts. Separate their names by blanks: "
                   "'gcc/12 openmpi/4.1'.",
           .group = "Site",
           .value = "NAMES"});
  set.add({.name = "prologue",
           .help = "Copy the lines of a file into the script. They run before the program. In a "
                   "site file the path is relative to it.",
           .group = "Site",
           .value = "FILE"});
}

void complete_from_site(run::Parsed& parsed) {
  std::string file = parsed.lists.at("site").front();
  if (file.empty()) file = default_site();
  if (file.empty()) return;
  const run::OptionSet set = site_options();
  run::Parsed site = set.parse({"--config", file});
  for (const run::Option& option : set.options()) {
    std::string& value = site.lists.at(option.name).front();
    // jobs/env.sh reads the file line by line
    require(value.find('\n') == std::string::npos, ExitCode::usage,
            fmt::format("{}: {} spans lines; write it in one", site.sources.at(option.name),
                        option.name));
    if (option.name == "config" || parsed.sources.at(option.name) != "default") continue;
    if (option.name == "prologue" && !value.empty())
      value = (fs::path(file).parent_path() / value).string();
    parsed.lists.at(option.name) = {value};
    parsed.sources.at(option.name) = site.sources.at(option.name);
  }
}

std::string prologue_of(const run::Parsed& parsed) {
  std::string text;
  if (const std::string modules = parsed.lists.at("modules").front(); !modules.empty()) {
    require(modules.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789 /._+-@=") == std::string::npos,
            ExitCode::usage,
            fmt::format("--modules '{}' has other characters than names of modules; separate "
                        "names by blanks",
                        modules));
    text += "module load " + modules + "\n";
  }
  const std::string file = parsed.lists.at("prologue").front();
  if (file.empty()) return text;
  std::ifstream in(file);
  const std::string lines((std::istreambuf_iterator<char>(in)), {});
  require(in.good() || in.eof(), ExitCode::missing_input,
          fmt::format("prologue '{}' cannot be read; check the path", file));
  text += lines;
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

}  // namespace tessera::apps::slurm
