#include "run/program.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <thread>

#include "base/note.hpp"
#include "base/option_names.hpp"
#include "base/progress_line.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "io/h5.hpp"
#include "machine/energy.hpp"
#include "machine/fork_join.hpp"
#include "mpi/account.hpp"
#include "mpi/agreement.hpp"
#include "mpi/launcher.hpp"
#include "mpi/loaded.hpp"
#include "mpi/runtime.hpp"
#include "mpi/watchdog.hpp"
#include "run/answer.hpp"
#include "run/build_facts.hpp"
#include "run/contention_watch.hpp"
#include "run/energy.hpp"
#include "run/limits.hpp"
#include "run/provenance.hpp"
#include "run/roll_call.hpp"
#include "run/stop.hpp"
#include "run/threads.hpp"
#include "run/understood.hpp"

namespace tessera::inline v1::run {
namespace {

/// Terminate handler, for exceptions that leave a noexcept function of a library.
[[noreturn]] void end_by_exception() noexcept {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    constexpr std::string_view words = "tessera: error: out of memory\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, words.data(), words.size());
    if (!mpi::is_started_here()) mpi::end_job_before_mpi(static_cast<int>(ExitCode::memory));
    _exit(static_cast<int>(ExitCode::memory));
  } catch (...) {  // the signal handler of abort() reports it
  }
  std::abort();
}

/// Reports that this rank lacks memory. Waits a second first to let the other ranks connect: Open
/// MPI's launcher may hang if it ends one of them while it connects.
int fail_without_memory() {
  mpi::print_error(fmt::format("out of memory (rank {}, before MPI){}", mpi::launcher_rank(),
                               address_space_hint()));
  if (mpi::launcher_node_ranks() > 1) std::this_thread::sleep_for(std::chrono::seconds(1));
  mpi::end_job_before_mpi(static_cast<int>(ExitCode::memory));
  return static_cast<int>(ExitCode::memory);
}

/// Repairs inherited state: opens closed standard descriptors, which an output file would otherwise
/// take over and receive the messages; restores the default handling of SIGCHLD, which if ignored
/// discards children's exit codes.
void start_as_expected() {
  int descriptor = 0;
  do {
    descriptor = open("/dev/null", O_RDWR);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) close(descriptor);
  std::signal(SIGCHLD, SIG_DFL);
}

/// Returns the largest number of threads asked for; 0 if none.
int most_threads_of(const Parsed& parsed) {
  const auto threads = parsed.lists.find("threads");
  int most = 0;
  if (threads != parsed.lists.end())
    for (const std::string& text : threads->second) most = std::max(most, std::stoi(text));
  return most;
}

const CommandRow* find_row(const Program& program, std::string_view name) {
  const auto found = std::find_if(program.commands.begin(), program.commands.end(),
                                  [&](const CommandRow& row) { return row.name == name; });
  return found == program.commands.end() ? nullptr : &*found;
}

std::vector<Command> all_commands(const Program& program) {
  std::vector<Command> commands;
  for (const CommandRow& row : program.commands) commands.push_back(row.make());
  return commands;
}

bool is_variable_of(const Command& command, std::string_view name) {
  const auto& options = command.options.options();
  return std::any_of(options.begin(), options.end(), [&](const Option& option) {
    return !option.positional && environment_name(option.name) == name;
  });
}

/// Returns the TESSERA_ variables that set no option of the command, if one is named.
std::vector<std::string_view> foreign_variables(const std::optional<Command>& named) {
  std::vector<std::string_view> foreign;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name(*entry, std::strcspn(*entry, "="));
    const bool long_enough =
        name.starts_with("TESSERA_") && name.size() > std::strlen("TESSERA_bin");
    if (long_enough && !(named && is_variable_of(*named, name))) foreign.push_back(name);
  }
  return foreign;
}

/// Reports variables that differ by a letter from one that sets an option of any command, since
/// nothing reads them.
void name_misspelt_variables(const Program& program, const std::optional<Command>& named) {
  const std::vector<std::string_view> foreign = foreign_variables(named);
  if (foreign.empty()) return;
  std::vector<std::string> known;
  for (const Command& command : all_commands(program))
    for (const Option& option : command.options.options())
      if (!option.positional) known.push_back(environment_name(option.name));
  for (const std::string_view name : foreign) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto meant = std::find_if(known.begin(), known.end(), [&](const std::string& option) {
      return edit_distance(name, option) == 1;
    });
    if (meant != known.end())
      print_note(fmt::format("{} is ignored; did you mean {}?", name, *meant));
  }
}

/// Request of this process from words, environment and files, or its error.
struct Invocation {
  std::vector<Fact> facts;
  std::optional<Error> error;
  std::string text;  ///< complete output: help, the version
  RankScope runs = RankScope::on_one;
  std::function<Body(ExitCode&)> prepare;
  Body body;  ///< prepared, for RankScope::on_all
  double stall_limit = 600;
  int most_threads = 0;      ///< threads asked for
  bool prints_time = false;  ///< prints the time by phase at the end
};

void understand_command(const Command& command, const Arguments& arguments, Invocation& task) {
  task.runs = command.runs;
  const Parsed parsed = command.options.parse(arguments);
  task.facts = understood(command.options.command() + (parsed.help.empty() ? "" : " --help"),
                          &command.options, parsed);
  if (!parsed.help.empty()) {
    task.text = command.options.help(parsed.help);
    task.runs = RankScope::on_one;
    return;
  }
  if (parsed.lists.contains("stall-limit")) task.stall_limit = parsed.real("stall-limit");
  if (command.runs != RankScope::on_one) task.most_threads = most_threads_of(parsed);
  require_threads(task.most_threads);
  answer().begin(screen_of(parsed));
  answer_options(command.options, parsed);
  task.prints_time = command.plan && parsed.lists.at("plan").front() != "true";
  task.prepare = [&command, parsed, arguments](ExitCode& code) {
    const mpi::AccountScope account("look at inputs");
    Body body = command.prepare(parsed, arguments, code);
    if (body) require_threads_can_start();
    if (body) require_room_for_mpi();
    return body;
  };
  ExitCode none = ExitCode::ok;
  if (task.runs == RankScope::on_all) task.body = task.prepare(none);
}

/// Command and arguments of the command line.
struct CommandLine {
  CommandLine(int argc, char** argv)
      : name(argc > 1 ? argv[1] : "--help"), rest(argv + std::min(argc, 2), argv + argc) {}
  std::string name;
  Arguments rest;  ///< arguments of the named command
  [[nodiscard]] bool is_general_help() const { return name == "--help" || name == "-h"; }
};

void understand(const Program& program, const CommandLine& words,
                const std::optional<Command>& named, Invocation& task) {
  task.facts = understood(words.name, nullptr, {});
  if (words.is_general_help()) {
    task.text = program.help(all_commands(program));
    return;
  }
  if (words.name == "--version") {
    task.text = answer_version();
    return;
  }
  if (named) return understand_command(*named, words.rest, task);
  std::vector<std::string> names;
  for (const CommandRow& row : program.commands) names.emplace_back(row.name);
  task.runs = RankScope::on_all;
  throw Error(ExitCode::usage, fmt::format("unknown command '{}'{}; see tessera --help", words.name,
                                           suggestion(words.name, names)));
}

int fail(const Error& error) {
  mpi::print_error(error.what());
  mpi::wait_until_heard();
  return static_cast<int>(error.code());
}

ExitCode run_body(const Invocation& task, const Body& body, const mpi::Communicator& comm,
                  const Neighbours& neighbours) {
  const mpi::Watchdog watchdog(task.stall_limit);
  std::optional<ProgressLine> progress;
  if (comm.is_root() && !notes_are_silent())
    progress.emplace(progress_times(), [] { return mpi::account().phase(); });
  set_thread_default(neighbours);
  const int threads = std::max(task.most_threads, machine::default_threads());
  require_teams(comm, threads);
  const ContentionWatch contention(threads, is_overcommitted(neighbours, threads));
  const EnergyScope energy(neighbours);
  ExitCode end = ExitCode::ok;
  if (task.runs == RankScope::on_all)
    end = body(comm);
  else
    mpi::together(comm, "command", [&] { end = body(comm); });
  mpi::account().enter("close");
  return end;
}

void print_time(const Invocation& task, int code) {
  if (task.prints_time && code == 0)
    fmt::print("time: {}\n", mpi::account_text(mpi::account().seconds(), terminal_columns() - 6));
}

/// Runs the task on this process alone, which is an MPI rank already or becomes one if necessary.
int do_alone(const Invocation& task, int argc, char** argv, bool is_rank) {
  try {
    if (task.error) throw Error(*task.error);
    if (!task.text.empty()) {
      fmt::print("{}", task.text);
      return 0;
    }
    ExitCode code = ExitCode::ok;
    const Body body = task.runs == RankScope::on_all ? task.body : task.prepare(code);
    if (!body) return static_cast<int>(code);
    const Neighbours none{.count_energy = machine::may_count_energy()};
    if (is_rank) return static_cast<int>(run_body(task, body, mpi::Communicator::self(), none));
    const int result = mpi::run_main(&argc, &argv, [&](const mpi::Communicator& comm) {
      return run_body(task, body, comm, none);
    });
    print_time(task, result);
    return result;
  } catch (const Error& error) {
    return fail(error);
  }
}

/// Ends all ranks with one message if any has an error or their requests differ. Collective.
Neighbours agree(const mpi::Communicator& comm, const Invocation& task) {
  const mpi::Watchdog watchdog(task.stall_limit);
  const RollCall all(comm, task.error ? task.error->code() : ExitCode::ok, task.facts);
  if (!all.all_well()) {
    mpi::together(comm, "options", [&] {
      if (task.error && !all.all_failed())
        throw Error(task.error->code(), fmt::format("{} (rank {} of {})", task.error->what(),
                                                    comm.rank(), comm.size()));
      if (task.error) throw Error(*task.error);
    });
  }
  if (!all.same_facts()) require_same_facts(comm, task.facts);
  return all.neighbours();
}

/// Reports an error that keeps MPI from starting, or the ranks from meeting. Every rank detects it
/// itself; all but the first wait, as a launcher ends all ranks as soon as one has failed.
int fail_before_mpi(const Error& error) {
  if (mpi::launcher_rank() == 0) return fail(error);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return static_cast<int>(error.code());
}

/// Returns the error that keeps MPI from starting, if there is one.
std::optional<Error> error_before_mpi(const Invocation& task) {
  if (task.error && task.error->code() == ExitCode::memory) return task.error;
  try {
    mpi::require_one_library();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

int do_on_ranks(const Invocation& task, int argc, char** argv) {
  if (const auto error = error_before_mpi(task)) {
    const int code = fail_before_mpi(*error);
    mpi::end_job_before_mpi(code);
    return code;
  }
  bool is_root = false;
  const int result = mpi::run_main(&argc, &argv, [&](const mpi::Communicator& comm) {
    is_root = comm.is_root();
    try {
      mpi::require_own_launcher(comm.size());
    } catch (const Error& error) {
      return static_cast<ExitCode>(fail_before_mpi(error));
    }
    const Neighbours neighbours = agree(comm, task);
    if (task.runs == RankScope::on_all) return run_body(task, task.body, comm, neighbours);
    // The other ranks wait in MPI_Finalize.
    return is_root ? static_cast<ExitCode>(do_alone(task, argc, argv, true)) : ExitCode::ok;
  });
  if (is_root && task.runs == RankScope::on_all) print_time(task, result);
  return result;
}

int main_of(const Program& program, int argc, char** argv) {
  const CommandLine words(argc, argv);
  answer_command(words.name, words.rest);
  answer().begin(screen_of(words.rest));
  std::optional<Command> named;
  if (const CommandRow* row = find_row(program, words.name); row != nullptr) named = row->make();
  if (mpi::launcher_rank() == 0) name_misspelt_variables(program, named);
  Invocation task;
  try {
    understand(program, words, named, task);
  } catch (const Error& error) {
    task.error = error;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    task.error = mpi::error_of(error);
  }
  const mpi::Launcher started = mpi::launcher();
  if (task.runs == RankScope::without_mpi && started.direct && started.rank != 0) return 0;
  // A script run by a launcher may start a one-rank command on one of its ranks only: there are no
  // others to agree with.
  if (task.runs == RankScope::without_mpi || (task.runs == RankScope::on_one && !started.direct))
    mpi::leave_launcher();
  if (mpi::launcher().there) return do_on_ranks(task, argc, argv);
  if (const int tasks = mpi::tasks_without_mpi();
      tasks > 1 && task.runs == RankScope::on_all && !task.error)
    print_note(fmt::format(
        "srun started {} tasks without MPI: each runs as a separate job; use srun --mpi=pmix",
        tasks));
  return do_alone(task, argc, argv, false);
}

/// As main_of(), with one message for what it throws.
int guarded_main_of(const Program& program, int argc, char** argv) {
  try {
    return main_of(program, argc, argv);
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail_without_memory();
  } catch (const std::exception& error) {
    return fail(mpi::error_of(error));
  }
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  std::set_terminate(end_by_exception);
  start_as_expected();
  (void)mpi::account();
  io::quiet_errors();
  name_options();
  handle_notes(print_note);
  std::setvbuf(stdout, nullptr, _IOLBF,
               BUFSIZ);  // keeps printed lines in the log of a job that is killed later
  end_cleanly_on_signals();
  std::signal(SIGXFSZ,
              SIG_IGN);  // exceeding the file size limit becomes an error of the write
  mpi::before_failure([](int code) { answer().print(code); });
  const int code = guarded_main_of(program, argc, argv);
  try {
    answer().print(code);
    return code;
  } catch (const Error& error) {
    return fail(error);
  }
}

}  // namespace tessera::inline v1::run
