// Commands implemented by scripts in report/: they read results and print, or run other commands,
// and need no MPI.

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "commands/command.hpp"
#include "io/dataset.hpp"
#include "io/raw_file.hpp"
#include "run/answer.hpp"
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
    if (option.shared || values.front().empty()) continue;
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

/// Returns whether the script writes its document to standard output.
bool prints_document(const run::Parsed& parsed) {
  const auto out = parsed.lists.find("out");
  return out != parsed.lists.end() && out->second.front() == "-";
}

/// Runs a script; what it adds to the answer of --json comes in an unnamed file.
int run_script(std::vector<std::string> words) {
  if (!run::answer().is_json()) return run_program(std::move(words));
  const int file = memfd_create("tessera-answer", 0);
  require(file >= 0, ExitCode::io,
          fmt::format("a file in memory cannot be created ({})", std::strerror(errno)));
  setenv("TESSERA_ANSWER", fmt::format("/proc/self/fd/{}", file).c_str(), 1);
  const int code = run_program(std::move(words));
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, lseek(file, 0, SEEK_END))), '\0');
  const bool whole = pread(file, text.data(), text.size(), 0) == std::ssize(text);
  close(file);
  if (!whole || text.empty()) return code;
  const run::Json members = run::Json::parse(text);
  for (const auto& [member, value] : members.items()) run::answer().set(member, value);
  return code;
}

struct Script {
  std::string name;       ///< in report/
  std::string modules;    ///< required Python modules
  std::size_t files = 1;  ///< minimum number of results files; 0: it takes none
  bool draws = false;     ///< requires matplotlib unless --text
};

/// Throws Error if results files lack.
void check_files(const run::OptionSet& set, const run::Parsed& parsed, const Script& script) {
  const std::vector<std::string>& files = parsed.lists.at("files");
  require(!files.front().empty() && files.size() >= script.files, ExitCode::usage,
          fmt::format("{} required; see tessera {} --help",
                      script.files == 1 ? "a results file is" : "two results files are",
                      set.command()));
  for (const std::string& file : files) {
    require(io::file_exists(file_of(file)), ExitCode::missing_input,
            "file '" + file_of(file) + "' does not exist; check the path");
  }
}

Command script_command(run::OptionSet set, const Script& script) {
  const run::OptionSet declared = set;
  return {std::move(set),
          [script, declared](const run::Parsed& parsed, const Arguments&, ExitCode& code) -> Body {
            if (script.files > 0) check_files(declared, parsed, script);
            const bool draws = script.draws && parsed.lists.at("text").front() != "true";
            std::vector<std::string> words{
                find_python(script.modules + (draws ? " matplotlib" : "")),
                find_script(script.name)};
            setenv("TESSERA_PROGRAM", own_program().c_str(), 1);
            setenv("OPENBLAS_NUM_THREADS", "1", 0);  // numpy's threads: one per core by default,
                                                     // unused here
            if (prints_document(parsed)) run::answer().let_through();
            for (std::string& word : words_of(declared, parsed)) words.push_back(std::move(word));
            code = static_cast<ExitCode>(run_script(std::move(words)));
            return {};
          },
          RankScope::on_one};
}

void add_files(run::OptionSet& set, const char* help) {
  set.add({.name = "files",
           .help = help,
           .group = "Data",
           .value = "FILE",
           .positional = true,
           .many = true});
}

void add_tolerance(run::OptionSet& set) {
  set.add({.name = "tolerance",
           .kind = run::Kind::real,
           .fallback = "0.05",
           .help = "Tolerate a relative difference X of medians. SAME: the 95 % interval of their "
                   "ratio (Zou and Donner 2008) is within 1/(1+X) .. 1+X; FASTER, SLOWER: outside.",
           .group = "Verdict",
           .low = 0,
           .high = 10});
}

void add_verdict(run::OptionSet& set) {
  add_tolerance(set);
  set.add({.name = "text",
           .kind = run::Kind::flag,
           .help = "Print the ratios as a text plot too",
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
  throw Error(ExitCode::usage, fmt::format("Python with {} is not installed; apt-get install "
                                           "python3-h5py python3-matplotlib, or set TESSERA_PYTHON",
                                           join(split(modules, ' '), ", ")));
}

Command report_command() {
  run::OptionSet set(
      "report", "Show results as a page, pictures and tables",
      {"tessera report results.h5", "tessera report a.h5 b.h5 --html both.html",
       "tessera report results.h5 --text          # tables in the terminal only",
       "tessera report 'r.h5#2'                   # the second run, or #NAME",
       "tessera report history/*.h5               # medians by date",
       "tessera report --compare a.h5 b.h5        # ratios and verdicts",
       "tessera report s.h5:/u                    # snapshots, one picture per frame"});
  add_files(set,
            "Read results files, runs of them, or datasets. FILE, FILE#RUN (its name or number) "
            "or FILE:/PATH; needs Python with h5py, numpy and matplotlib.");
  set.add({.name = "compare",
           .kind = run::Kind::flag,
           .help = "Compare two results files, or two runs of one. Exits with 0 whatever the "
                   "verdicts, unlike tessera compare.",
           .group = "Verdict"});
  add_tolerance(set);
  set.add({.name = "html",
           .help = "Write the page to a file. Default: next to the first results file, .html.",
           .group = "Output",
           .value = "FILE"});
  set.add({.name = "png",
           .help = "Write the pictures to a folder. Default: next to the page, NAME_png.",
           .group = "Output",
           .value = "DIR"});
  set.add({.name = "title", .help = "Set the title of the page", .group = "Output"});
  set.add({.name = "text",
           .kind = run::Kind::flag,
           .help = "Print tables and plots as text, write no files",
           .group = "Output"});
  return script_command(std::move(set), {"report.py", "h5py numpy", 1, true});
}

Command compare_command() {
  run::OptionSet set("compare", "Compare the times of two results files point by point",
                     {"tessera compare before.h5 after.h5",
                      "tessera compare r.h5#matmul_0001 r.h5#matmul_0002 --tolerance 0.02"});
  add_files(set,
            "Read two results files, or runs of them. FILE or FILE#RUN (name or number); needs "
            "Python with h5py and "
            "numpy.");
  add_verdict(set);
  return script_command(std::move(set), {"compare.py", "h5py numpy", 2});
}

Command rerun_command() {
  run::OptionSet set("rerun", "Rerun a stored run and compare the times",
                     {"tessera rerun results.h5                  # its last run",
                      "tessera rerun results.h5#matmul_0001 --results again.h5"});
  add_files(set,
            "Read a results file, or a run of it. FILE or FILE#RUN (name or number); needs Python "
            "with h5py and numpy.");
  set.add({.name = "results",
           .help = "Keep the new results in a file. Discarded when absent.",
           .group = "Data",
           .value = "FILE"});
  set.add({.name = "repetitions",
           .kind = run::Kind::integer,
           .help = "Set the repetitions (default: those of the run)",
           .group = "Run",
           .low = 1,
           .high = 1e6});
  set.add({.name = "launcher",
           .help = "Set the command that starts several ranks. One word (mpirun, srun) gets a "
                   "suitable binding; in a line, {ranks} and {threads} are replaced. Default: "
                   "mpirun.",
           .group = "Run",
           .value = "COMMAND"});
  set.add({.name = "dry-run",
           .kind = run::Kind::flag,
           .help = "Print the command and stop (dry run)",
           .group = "Run"});
  add_verdict(set);
  return script_command(std::move(set), {"rerun.py", "h5py numpy"});
}

Command study_command() {
  run::OptionSet set("study", "Run figures of the literature and print verdicts",
                     {"tessera study --list", "tessera study --all --budget 30min",
                      "tessera study column_iteration   # all of a source",
                      "tessera study literature/transpose_bound mine.toml",
                      "tessera report studies/*/*.h5    # verdicts, pictures and tables"});
  set.add({.name = "studies",
           .help = "Select studies. SOURCE, SOURCE/FIGURE or FILE.toml with a table [study].",
           .group = "Data",
           .value = "STUDY",
           .positional = true,
           .many = true});
  set.add({.name = "all", .kind = run::Kind::flag, .help = "Select all studies", .group = "Data"});
  set.add({.name = "list",
           .kind = run::Kind::flag,
           .help = "List the studies with their figures and stop",
           .group = "Output"});
  set.add({.name = "budget",
           .help = "Stop after a time: 90s, 30min, 1h. The cheapest run first; the same command "
                   "continues where it stopped.",
           .group = "Run",
           .value = "TIME"});
  set.add({.name = "results",
           .fallback = "studies",
           .help = "Keep results in a folder. DIR/SOURCE/FIGURE.h5, .toml and .txt (its lines); "
                   "studies with finished results there are not run again.",
           .group = "Data",
           .value = "DIR"});
  set.add({.name = "again",
           .kind = run::Kind::flag,
           .help = "Run studies again that --results already holds",
           .group = "Run"});
  set.add({.name = "dry-run",
           .kind = run::Kind::flag,
           .help = "Print the commands and stop (dry run)",
           .group = "Run"});
  return script_command(std::move(set), {"study.py", "h5py numpy", 0});
}

Command export_command() {
  run::OptionSet set("export", "Export results as CSV, JSON or for Extra-P",
                     {"tessera export results.h5 --csv           # results_samples.csv, ...",
                      "tessera export results.h5 --json --out -  # to the terminal",
                      "tessera export strong.h5 --extra-p"});
  add_files(set,
            "Read results files, or runs of them. FILE or FILE#RUN (name or number); needs Python "
            "with h5py and numpy.");
  set.add({.name = "csv",
           .kind = run::Kind::flag,
           .help = "Write one CSV file per table",
           .group = "Format"});
  set.add({.name = "json",
           .kind = run::Kind::flag,
           .help = "Write the runs with provenance and tables as JSON",
           .group = "Format"});
  set.add({.name = "extra-p",
           .kind = run::Kind::flag,
           .help = "Write every sample as a JSON line for Extra-P. Fields params, callpath, metric "
                   "and value; one file per set of parameters.",
           .group = "Format"});
  set.add({.name = "tables",
           .fallback = "samples,summary",
           .help = "Select tables by name, or all. phases, ranks, machine, ...",
           .group = "Output",
           .value = "NAMES"});
  set.add({.name = "out",
           .help = "Set the prefix of the files, or - for the terminal. Default: the name of the "
                   "first results file.",
           .group = "Output",
           .value = "PREFIX"});
  return script_command(std::move(set), {"export.py", "h5py numpy"});
}

}  // namespace tessera::apps
