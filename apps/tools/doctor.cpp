#include "doctor.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/hanging.hpp"
#include "base/text.hpp"
#include "commands/command.hpp"
#include "machine/topology.hpp"
#include "run/answer.hpp"

namespace tessera::apps {
namespace doctor {

std::optional<std::string> Surroundings::read(const std::string& path) const {
  std::ifstream in(root + path);
  if (!in) return {};
  std::ostringstream text;
  text << in.rdbuf();
  std::string whole = text.str();
  while (!whole.empty() && whole.back() == '\n') whole.pop_back();
  return whole;
}

bool Surroundings::exists(const std::string& path) const {
  std::error_code error;
  return std::filesystem::exists(root + path, error);
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace doctor

namespace {

using doctor::Finding;
using doctor::Findings;
using doctor::Level;
using doctor::Surroundings;

run::OptionSet declare() {
  run::OptionSet set("doctor", "Diagnose the environment of a job and suggest fixes",
                     {"tessera doctor",
                      "tessera doctor --ranks 4 --threads 2 --at /scratch/me   # for a planned job",
                      "mpirun -n 4 tessera doctor                              # inside a job"});
  set.add({.name = "ranks",
           .kind = run::Kind::integer,
           .fallback = "0",
           .help = "Plan for N ranks on this node. 0: no planned job.",
           .group = "Job",
           .low = 0,
           .high = 65536});
  set.add({.name = "threads",
           .kind = run::Kind::integer,
           .fallback = "0",
           .help = "Plan for N threads a rank. 0: OMP_NUM_THREADS.",
           .group = "Job",
           .low = 0,
           .high = 4096});
  set.add({.name = "at",
           .fallback = ".",
           .help = "Examine the folder of data and results",
           .group = "Job",
           .value = "DIR"});
  set.add({.name = "root",
           .help = "Read /proc, /sys and /dev below this folder",
           .group = "Output",
           .value = "DIR"});
  set.add(
      {.name = "quiet", .kind = run::Kind::flag, .help = "Print problems only", .group = "Output"});
  return set;
}

/// Runs all checks; a check that throws reports the error, and the others still run.
Findings look(const Surroundings& here) {
  Findings found;
  for (const auto& at : {doctor::look_at_machine, doctor::look_at_limits,
                         doctor::look_at_shared_memory, doctor::look_at_openmp,
                         doctor::look_at_launcher, doctor::look_at_binding, doctor::look_at_slurm,
                         doctor::look_at_gpus, doctor::look_at_files, doctor::look_at_tessera}) {
    try {
      at(here, found);
    } catch (const std::exception& error) {
      found.push_back({Level::note, "doctor", error.what(), ""});
    }
  }
  return found;
}

void print(const Findings& found, bool quiet) {
  if (quiet) run::answer().let_through();  // problems are errors of the machine
  for (const Finding& one : found) {
    const char* mark = one.level == Level::hurts  ? "problem"
                       : one.level == Level::note ? "note"
                                                  : "fine";
    run::answer().append(
        "findings",
        {{"level", mark}, {"subject", one.subject}, {"text", one.what}, {"fix", one.cure}});
    if (quiet && one.level != Level::hurts) continue;
    const std::string head = fmt::format("{:<7} {:<13} ", mark, one.subject);
    print_hanging(head, one.what);
    if (!one.cure.empty()) print_hanging(std::string(head.size(), ' '), "fix: " + one.cure);
  }
}

int number(const run::Parsed& parsed, const char* name) {
  return std::atoi(parsed.lists.at(name).front().c_str());
}

Body examine(const run::Parsed& parsed, const Arguments&, ExitCode& code) {
  Surroundings here;
  here.root = parsed.lists.at("root").front();
  here.folder = parsed.lists.at("at").front();
  here.ranks = number(parsed, "ranks");
  here.threads = number(parsed, "threads");
  here.cores = machine::topology().cores;
  const Findings found = look(here);
  print(found, run::screen_of(parsed) == run::Screen::nothing);
  int hurts = 0, notes = 0;
  for (const Finding& one : found) {
    hurts += one.level == Level::hurts ? 1 : 0;
    notes += one.level == Level::note ? 1 : 0;
  }
  fmt::print("{}, {}: {}\n", counted(hurts, "problem"), counted(notes, "note"),
             hurts == 0 ? "ready to run" : "see the fixes above");
  code = static_cast<ExitCode>(hurts == 0 ? 0 : 1);
  return {};
}

}  // namespace

Command doctor_command() { return {declare(), examine, RankScope::without_mpi}; }

}  // namespace tessera::apps
