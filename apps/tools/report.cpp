// Commands implemented by scripts in report/: they only read results and print, and need no MPI.

#include <fmt/format.h>
#include <cstdlib>

#include "base/text.hpp"
#include "command.hpp"
#include "io/dataset.hpp"
#include "io/raw_file.hpp"
#include "spawn.hpp"

namespace tessera::apps {
namespace {

std::string find_script(const std::string& name) {
  return installed_file(std::string(TESSERA_REPORT_INSTALLED) + "/" + name,
                        std::string(TESSERA_REPORT_BUILD) + "/" + name);
}

/// Returns the script's command line; the files follow a "--".
std::vector<std::string> words_of(const run::OptionSet& set, const run::Parsed& parsed) {
  std::vector<std::string> words, files;
  for (const run::Option& option : set.options()) {
    const std::vector<std::string>& values = parsed.lists.at(option.name);
    if (values.front().empty()) continue;
    if (option.positional) {
      files.insert(files.end(), values.begin(), values.end());
    } else if (option.kind == run::Kind::flag) {
      words.push_back("--" + option.name);
    } else {
      words.push_back(fmt::format("--{}={}", option.name, values.front()));
    }
  }
  words.emplace_back("--");
  words.insert(words.end(), files.begin(), files.end());
  return words;
}

/// Returns "results.h5" of "results.h5#run", "u.h5" of "u.h5:/u".
std::string file_of(const std::string& word) {
  if (io::file_exists(word)) return word;
  const auto dataset = io::end_of_file_name(word);
  return word.substr(0, dataset != std::string::npos ? dataset : word.rfind('#'));
}

struct Script {
  std::string name;       ///< in report/
  std::string modules;    ///< required Python modules
  std::size_t files = 1;  ///< minimum number of files
  bool draws = false;     ///< requires matplotlib unless --text
};

Command script_command(run::OptionSet set, const Script& script) {
  const run::OptionSet declared = set;
  return {std::move(set),
          [script, declared](const run::Parsed& parsed, const Arguments&, ExitCode& code) -> Body {
            const std::vector<std::string>& files = parsed.lists.at("files");
            require(!files.front().empty() && files.size() >= script.files, ExitCode::usage,
                    fmt::format("name {}: see tessera {} --help",
                                script.files == 1 ? "a results file" : "two results files",
                                declared.command()));
            for (const std::string& file : files) {
              require(io::file_exists(file_of(file)), ExitCode::missing_input,
                      "there is no file '" + file_of(file) + "'; check the path");
            }
            const bool draws = script.draws && parsed.lists.at("text").front() != "true";
            std::vector<std::string> words{
                find_python(script.modules + (draws ? " matplotlib" : "")),
                find_script(script.name)};
            setenv("TESSERA_PROGRAM", own_program().c_str(), 1);
            setenv("OPENBLAS_NUM_THREADS", "1", 0);  // numpy's threads: one per core by default,
                                                     // unused here
            for (std::string& word : words_of(declared, parsed)) words.push_back(std::move(word));
            code = static_cast<ExitCode>(run_program(std::move(words)));
            return {};
          },
          Runs::on_one};
}

void add_files(run::OptionSet& set, const char* help) {
  set.add({.name = "files", .help = help, .group = "Data", .positional = true, .many = true});
}

void add_tolerance(run::OptionSet& set) {
  set.add({.name = "tolerance",
           .kind = run::Kind::real,
           .fallback = "0.05",
           .help = "SAME: the 95 % interval of the ratio of medians (Zou and Donner 2008) lies "
                   "within 1 / (1 "
                   "+ X) .. 1 + X; FASTER, SLOWER: outside",
           .group = "Verdict",
           .low = 0,
           .high = 10});
  set.add({.name = "text",
           .kind = run::Kind::flag,
           .help = "also the ratios as a plot in characters",
           .group = "Output"});
}

}  // namespace

std::string find_python(const std::string& modules) {
  const char* named = std::getenv("TESSERA_PYTHON");
  std::vector<std::string> candidates{"python3", "/usr/bin/python3"};
  if (named != nullptr && *named != '\0') candidates = {named};
  for (const std::string& python : candidates) {
    const std::string probe =
        "import sys, os; sys.stderr = open(os.devnull, 'w'); from importlib.util import find_spec; "
        "sys.exit(not all(map(find_spec, '" +
        modules + "'.split())))";
    if (run_program({python, "-c", probe}) == 0) return python;
  }
  throw Error(
      ExitCode::usage,
      fmt::format(
          "no Python with {} was found; apt-get install python3-h5py python3-matplotlib, or "
          "set TESSERA_PYTHON",
          join(split(modules, ' '), ", ")));
}

Command report_command() {
  run::OptionSet set("report",
                     "results as a page, pictures and tables (Python with h5py, numpy, matplotlib)",
                     {"tessera report results.h5", "tessera report a.h5 b.h5 --html both.html",
                      "tessera report results.h5 --text          # in the terminal, no files",
                      "tessera report s.h5:/u                    # snapshots, a picture a frame"});
  add_files(set, "results files, and datasets of numbers: file.h5:/path");
  set.add({.name = "html",
           .help = "the page (default: beside the first file, .html)",
           .group = "Output"});
  set.add({.name = "png",
           .help = "folder for the pictures (default: beside the page, its name and _png)",
           .group = "Output"});
  set.add({.name = "title", .help = "of the page", .group = "Output"});
  set.add({.name = "text",
           .kind = run::Kind::flag,
           .help = "tables and plots in characters; no files",
           .group = "Output"});
  return script_command(std::move(set), {"report.py", "h5py numpy", 1, true});
}

Command compare_command() {
  run::OptionSet set("compare",
                     "is the second as fast as the first? point by point (Python with h5py, numpy)",
                     {"tessera compare before.h5 after.h5           # 0: no regression, 1: "
                      "regression, 2: ambiguous",
                      "tessera compare r.h5#matmul_0001 r.h5#matmul_0002 --tolerance 0.02"});
  add_files(set, "two results files, or runs of them: file.h5#run");
  add_tolerance(set);
  return script_command(std::move(set), {"compare.py", "h5py numpy", 2});
}

Command rerun_command() {
  run::OptionSet set("rerun",
                     "a stored run once more, and how it compares (Python with h5py, numpy)",
                     {"tessera rerun results.h5                     # the last run in it",
                      "tessera rerun results.h5#matmul_0001 --results again.h5"});
  add_files(set, "file.h5#run");
  set.add({.name = "results",
           .help = "keep the new results in this file (default: dropped)",
           .group = "Data"});
  set.add({.name = "repetitions",
           .kind = run::Kind::integer,
           .help = "other than those of the stored run",
           .group = "Run",
           .low = 1,
           .high = 1e6});
  set.add({.name = "launcher",
           .help = "how to start several ranks, {ranks} and {threads} filled in (default: mpirun, "
                   "bound as it fits)",
           .group = "Run"});
  set.add({.name = "dry-run",
           .kind = run::Kind::flag,
           .help = "print the command and stop",
           .group = "Run"});
  add_tolerance(set);
  return script_command(std::move(set), {"rerun.py", "h5py numpy"});
}

Command export_command() {
  run::OptionSet set(
      "export", "results for other tools: CSV, JSON, Extra-P (Python with h5py, numpy)",
      {"tessera export results.h5 --csv               # results_samples.csv, results_summary.csv",
       "tessera export results.h5 --json --out -      # on the terminal",
       "tessera export strong.h5 --extra-p            # JSON lines for Extra-P"});
  add_files(set, "results files, or runs of them: file.h5#run");
  set.add({.name = "csv", .kind = run::Kind::flag, .help = "a table a file", .group = "Format"});
  set.add({.name = "json",
           .kind = run::Kind::flag,
           .help = "runs with their provenance and tables",
           .group = "Format"});
  set.add({.name = "extra-p",
           .kind = run::Kind::flag,
           .help =
               "every sample as a line: params, callpath, metric, value; a file each for what was "
               "measured at other "
               "points",
           .group = "Format"});
  set.add({.name = "tables",
           .fallback = "samples,summary",
           .help = "which, by name, or all (phases, ranks, machine, ...)",
           .group = "Output"});
  set.add({.name = "out",
           .help = "beginning of the names of the files (default: that of the first results file); "
                   "- for the "
                   "terminal",
           .group = "Output"});
  return script_command(std::move(set), {"export.py", "h5py numpy"});
}

}  // namespace tessera::apps
