#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <thread>

#include "base/text.hpp"
#include "command.hpp"
#include "io/h5.hpp"
#include "machine/fork_join.hpp"
#include "mpi/account.hpp"
#include "mpi/runtime.hpp"
#include "mpi/watchdog.hpp"
#include "run/limits.hpp"
#include "run/provenance.hpp"
#include "run/threads.hpp"

namespace tessera::apps {
namespace {

/// A launcher kills all ranks as soon as one has failed.
void give_others_time() { std::this_thread::sleep_for(std::chrono::seconds(1)); }

/// Every rank reads the same words and comes to the same end; one of them says so.
int fail_early(const Error& error) {
  if (mpi::launcher_rank() == 0) {
    mpi::print_error(error.what());
  } else {
    give_others_time();
  }
  return static_cast<int>(error.code());
}

/// Where an exception can go no further: in functions of libraries that promise to throw none, and before
/// main.
[[noreturn]] void end_by_exception() noexcept {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    constexpr std::string_view words = "tessera: error: out of memory\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, words.data(), words.size());
    _exit(static_cast<int>(ExitCode::memory));
  } catch (...) {  // the handler of the signal tells
  }
  std::abort();
}

__attribute__((constructor(101))) void set_end_by_exception() { std::set_terminate(end_by_exception); }

/// Memory is missing on this rank alone, as far as it knows. The others have begun to connect to the
/// launcher, and Open MPI's may wait for ever for one that it kills in the midst of it.
int fail_without_memory() {
  mpi::print_error(fmt::format("out of memory (rank {}, before MPI)", mpi::launcher_rank()));
  if (mpi::launcher_node_ranks() > 1) give_others_time();
  return static_cast<int>(ExitCode::memory);
}

/// What the parent left in a way that makes something go wrong here: a descriptor of the three that is closed
/// would be the next file's, an output perhaps, and get what is said; children whose end is ignored leave no
/// exit code.
void start_as_expected() {
  int descriptor = 0;
  do {
    descriptor = open("/dev/null", O_RDWR);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) close(descriptor);
  std::signal(SIGCHLD, SIG_DFL);
}

void print_once(const std::string& text) {
  if (mpi::launcher_rank() == 0) fmt::print("{}", text);
}

/// Of those asked for; 0 when none were.
int most_threads(const run::Parsed& parsed) {
  const auto threads = parsed.lists.find("threads");
  int most = 0;
  if (threads != parsed.lists.end())
    for (const std::string& text : threads->second) most = std::max(most, std::stoi(text));
  return most;
}

int run_command(const Command& command, const Arguments& arguments, int argc, char** argv) {
  const run::Parsed parsed = command.options.parse(arguments);
  if (parsed.help) {
    print_once(command.options.help());
    return 0;
  }
  run::sleep_while_waiting_when_crowded(argv, most_threads(parsed));
  ExitCode code = ExitCode::ok;
  Body body;
  {
    const mpi::AccountScope account("look at inputs");
    body = command.prepare(parsed, arguments, code);
  }
  if (!body) return static_cast<int>(code);
  run::require_threads_can_start();
  run::require_room_for_mpi();
  const double stall_limit = parsed.lists.contains("stall-limit") ? parsed.real("stall-limit") : 600;
  bool tells = false;
  const int result = mpi::run_main(&argc, &argv, [&](const mpi::Communicator& comm) {
    const mpi::Watchdog watchdog(stall_limit);
    run::set_thread_default(comm);
    run::require_teams(comm, std::max(most_threads(parsed), machine::default_threads()));
    tells = comm.is_root() && command.plan && parsed.lists.at("plan").front() != "true";
    const ExitCode end = body(comm);
    mpi::account().enter("close");
    return end;
  });
  if (tells && result == 0) fmt::print("time: {}\n", mpi::account_text(mpi::account().seconds()));
  return result;
}

/// Variables that differ by a letter from one that stands for an option are said: nothing reads them.
void name_misspelt_variables(const std::vector<Command>& commands) {
  std::vector<std::string> known;
  for (const Command& command : commands)
    for (const run::Option& option : command.options.options())
      if (!option.positional) known.push_back(run::environment_name(option.name));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name(*entry, std::strcspn(*entry, "="));
    const bool long_enough = name.starts_with("TESSERA_") && name.size() > std::strlen("TESSERA_bin");
    if (!long_enough || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto meant = std::find_if(known.begin(), known.end(), [&](const std::string& option) {
      return edit_distance(name, option) == 1;
    });
    if (meant != known.end()) fmt::print(stderr, "{} is ignored: did you mean {}?\n", name, *meant);
  }
}

int main_of(int argc, char** argv) {
  std::vector<Command> commands;
  for (const auto make :
       {matmul_command, transpose_command, stencil_command, sort_command, locality_command,
        scalability_command, memory_command, list_command, machine_command, verify_command, report_command,
        compare_command, rerun_command, export_command, doctor_command, slurm_command}) {
    commands.push_back(make());
  }
  const std::string first = argc > 1 ? argv[1] : "--help";
  const bool asks = first == "help" && argc > 2;  // help matmul
  const std::string name = asks ? argv[2] : first;
  if (first == "--help" || first == "-h" || (first == "help" && !asks)) {
    print_once(general_help(commands));
    return 0;
  }
  if (name == "--version") {
    print_once("tessera " + run::version() + "\n");
    return 0;
  }
  std::vector<std::string> names;
  if (mpi::launcher_rank() == 0) name_misspelt_variables(commands);
  for (const Command& command : commands) {
    if (command.options.command() == name)
      return run_command(command, asks ? Arguments{"--help"} : Arguments(argv + 2, argv + argc), argc, argv);
    names.push_back(command.options.command());
  }
  throw Error(ExitCode::usage,
              fmt::format("unknown command '{}'{}; see tessera --help", name, suggestion(name, names)));
}

}  // namespace
}  // namespace tessera::apps

int main(int argc, char** argv) {
  using namespace tessera;
  apps::start_as_expected();
  (void)mpi::account();
  io::quiet_errors();
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a line said stands in the log of a job killed after it
  std::signal(SIGXFSZ, SIG_IGN);  // a file larger than allowed is an error of its write, not a death
  try {
    return apps::main_of(argc, argv);
  } catch (const Error& error) {
    return apps::fail_early(error);
  } catch (const std::bad_alloc&) {
    return apps::fail_without_memory();
  } catch (const std::exception& error) {
    return apps::fail_early(mpi::error_of(error));
  }
}
