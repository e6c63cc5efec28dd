#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/table.hpp"
#include "base/text.hpp"
#include "base/timer.hpp"
#include "commands/command.hpp"
#include "lab/analyse/report.hpp"
#include "run/answer.hpp"
#include "run/common_options.hpp"
#include "run/provenance.hpp"
#include "tools/spawn.hpp"

namespace tessera::apps {
namespace {

run::OptionSet analyse_options() {
  run::OptionSet set(
      "analyse", "Sample a program: hotspots, serial share, bounds of its speed-up",
      {"tessera analyse sort --n 1e7 --threads 2", "tessera analyse --top 5 matmul --n 2048",
       "tessera analyse -- ./my_program its arguments",
       "tessera analyse --alone -- ./my_openmp_program"});
  set.add({.name = "command",
           .help = "Name the workload and its options, or, behind --, any program. Options of "
                   "analyse precede it.",
           .group = "Program",
           .value = "COMMAND",
           .positional = true,
           .many = true});
  set.add({.name = "alone",
           .kind = run::Kind::flag,
           .help = "Run once more on one thread, for the measured speed-up. Sets OMP_NUM_THREADS; "
                   "options of the program take precedence over it.",
           .group = "Program"});
  set.add({.name = "top",
           .kind = run::Kind::integer,
           .fallback = "10",
           .help = "Set the functions that are printed of each phase",
           .group = "Output",
           .low = 1,
           .high = 1e6});
  set.add({.name = "results",
           .help = "Append the profile to an HDF5 file. tessera report draws it.",
           .group = "Output",
           .value = "FILE"});
  run::add_title(set);
  set.pass_on_rest();
  set.lead_with({"command", "alone", "top", "results"});
  return set;
}

/// A request: the options of analyse, and the words of the program.
struct Request {
  run::Values options;
  std::vector<std::string> words;
};

/// Splits the arguments at the first word that is no option of analyse: the program's options are
/// its own, whatever their names.
Request request_of(const Arguments& arguments) {
  const run::OptionSet set = analyse_options();
  std::size_t first = 0;
  while (first < arguments.size() && arguments[first].starts_with("--") &&
         arguments[first] != "--") {
    const std::string name = arguments[first].substr(2, arguments[first].find('=') - 2);
    const auto option = std::find_if(set.options().begin(), set.options().end(),
                                     [&](const run::Option& one) { return one.name == name; });
    require(option != set.options().end() && !option->positional, ExitCode::usage,
            fmt::format("unknown option {}; write options of the program after its name",
                        arguments[first]));
    const bool takes_next =
        option->kind != run::Kind::flag && arguments[first].find('=') == std::string::npos;
    first += takes_next ? 2 : 1;
  }
  first = std::min(first, arguments.size());
  const auto middle = arguments.begin() + static_cast<std::ptrdiff_t>(first);
  Request request{set.points(set.parse({arguments.begin(), middle})).front(),
                  {middle, arguments.end()}};
  const bool is_program = !request.words.empty() && request.words.front() == "--";
  if (is_program) request.words.erase(request.words.begin());
  require(!request.words.empty(), ExitCode::usage,
          "name a workload or, behind --, a program; see tessera analyse --help");
  if (!is_program) request.words.insert(request.words.begin(), own_program());
  return request;
}

/// A file in memory that a child process can open by its path.
class MemoryFile {
 public:
  explicit MemoryFile(std::size_t bytes) : descriptor_(memfd_create("tessera", 0)) {
    require(descriptor_ >= 0 && ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0,
            ExitCode::memory, "memory for samples cannot be allocated");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }
  [[nodiscard]] std::string text() const {
    std::string all;
    char part[4096];
    for (ssize_t count = 0;
         (count = pread(descriptor_, part, sizeof part, static_cast<off_t>(all.size()))) > 0;)
      all.append(part, static_cast<std::size_t>(count));
    return all;
  }

 private:
  int descriptor_;
};

/// Scope guard: a variable of the environment of programs started within its lifetime.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* const before = std::getenv(name);
    if (before != nullptr) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// Runs the program, and returns the code with which it ended.
int run(const std::vector<std::string>& words) {
  const int code = run_program(words);
  require(code != 127, ExitCode::missing_input,
          fmt::format("'{}' cannot be started; check the path", words.front()));
  return code;
}

/// Where CUDA finds the library that records its calls; "" where it was not built or the user has
/// another.
std::string gpu_sampler() {
#ifdef TESSERA_GPU_SAMPLER_BUILD
  if (std::getenv("CUDA_INJECTION64_PATH") == nullptr)
    return installed_file(TESSERA_GPU_SAMPLER_INSTALLED, TESSERA_GPU_SAMPLER_BUILD);
#endif
  return {};
}

/// Runs the program with the samplers in it.
void sample(const std::vector<std::string>& words, analyse::Analysed& result, int& code) {
  constexpr std::int64_t period = 1'000'000;  // ns
  const MemoryFile file(sizeof(analyse::Samples)), maps(0), gpu_calls(0);
  void* const place = mmap(nullptr, sizeof(analyse::Samples), PROT_READ | PROT_WRITE, MAP_SHARED,
                           file.descriptor(), 0);
  require(place != MAP_FAILED, ExitCode::memory, "memory for samples cannot be allocated");
  const std::unique_ptr<void, void (*)(void*)> mapping(
      place, [](void* all) { munmap(all, sizeof(analyse::Samples)); });
  auto* const samples = static_cast<analyse::Samples*>(place);
  samples->magic = analyse::samples_magic;
  samples->period = period;
  const char* const others = std::getenv("LD_PRELOAD");
  const std::string library = installed_file(TESSERA_SAMPLER_INSTALLED, TESSERA_SAMPLER_BUILD);
  {
    const Variable preload("LD_PRELOAD", others == nullptr ? library : library + ":" + others);
    const Variable where(analyse::samples_variable, file.path());
    const Variable mapped(analyse::maps_variable, maps.path());
    const Variable calls(analyse::gpu_calls_variable, gpu_calls.path());
    std::optional<Variable> injected;
    if (const std::string injection = gpu_sampler(); !injection.empty())
      injected.emplace("CUDA_INJECTION64_PATH", injection);
    code = run(words);
  }
  result.profile = analyse::profile_of(*samples, maps.text());
  result.gpu = analyse::gpu_calls_of(gpu_calls.text());
}

/// Returns the command as typed, without the folder of this program.
std::string typed(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(run::quoted(word));
  if (words.front() == own_program()) quoted.front() = "tessera";
  return join(quoted, " ");
}

analyse::Analysed analysed(const Request& request, int& code) {
  analyse::Analysed result;
  result.command = typed(request.words);
  const Timer timer;
  sample(request.words, result, code);
  result.wall = result.profile.wall > 0 ? result.profile.wall : timer.seconds();
  if (request.options.flag("alone") && code == 0) {
    const Variable one("OMP_NUM_THREADS", "1");
    const Timer alone;
    code = run(request.words);
    result.alone = alone.seconds();
  }
  return result;
}

Body prepare(const run::Parsed& parsed, const Arguments& arguments, ExitCode&) {
  const Request request = request_of(arguments);
  analyse::require_no_launcher();
  int code = 0;
  const analyse::Analysed result = analysed(request, code);
  return [=](const mpi::Communicator& comm) {
    const run::OptionSet set = analyse_options();
    const auto provenance = run::provenance(comm, set, parsed, arguments, utc_now());
    fmt::print("\n{}",
               analyse::text_of(result, request.options.integer("top"), terminal_columns()));
    const std::vector<io::TableRows> tables = analyse::tables_of(result);
    run::answer_tables(tables);
    if (const std::string& file = request.options.text("results"); !file.empty()) {
      const std::string run = io::append_new_run(file, "analyse", provenance, tables);
      fmt::print("results: {} (group {}); run tessera report {} to plot them\n", file, run, file);
    }
    if (code != 0) fmt::print("the program ended with exit code {}\n", code);
    return static_cast<ExitCode>(code);
  };
}

}  // namespace

Command analyse_command() { return {analyse_options(), prepare}; }

}  // namespace tessera::apps
