#include "mpi/runtime.hpp"

#include <dlfcn.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/text.hpp"
#include "machine/topology.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/idle.hpp"
#include "mpi/launcher.hpp"
#include "mpi/loaded.hpp"

extern char** environ;

namespace tessera::inline v1::mpi {
namespace {

bool mpi_lives() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

/// Returns rank and number of ranks; before and after MPI the launcher's rank.
std::pair<int, int> place_in_world() {
  int rank = launcher_rank(), size = 1;
  if (mpi_lives()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  return {rank, size};
}

constexpr std::array crashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// Text for the signal handler, composed in advance and never freed.
std::array<char, 512> crash_place{};

void write_text(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

/// Reports a crash in one line by async-signal-safe writes, then re-raises the signal, whose action
/// is the default again; exits with ExitCode::io if a mapped file has lost its pages.
void report_crash(int number, siginfo_t* about, void*) {
  const bool cut = number == SIGBUS && about->si_code == BUS_ADRERR;
  const char* const name = number == SIGSEGV  ? "segmentation fault"
                           : number == SIGBUS ? "bus error"
                           : number == SIGFPE ? "arithmetic exception"
                           : number == SIGILL ? "illegal instruction"
                                              : "aborted";
  write_text("tessera: error: ");
  write_text(name);
  write_text(crash_place.data());
  write_text(current_phase());
  write_text(cut ? "): a file in use was cut short, or /dev/shm is full\n" : ")\n");
  if (cut) _exit(static_cast<int>(ExitCode::io));
  std::raise(number);
}

/// Returns whether UCX handles a signal, as it does from its loading on: MPICH links it.
bool is_of_ucx(const struct sigaction& action) {
  Dl_info place{};
  return dladdr(reinterpret_cast<void*>(action.sa_handler), &place) != 0 &&
         std::strstr(place.dli_fname, "/libucs.so") != nullptr;
}

/// Returns the crash signals without a handler (a sanitizer installs some) or with that of a
/// communication library. To be called before MPI_Init, after which the MPI library handles those
/// and prints a page of stack.
std::vector<int> uncared_crashes() {
  std::vector<int> uncared;
  for (const int number : crashes) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 &&
        (action.sa_handler == SIG_DFL || is_of_ucx(action)))
      uncared.push_back(number);
  }
  return uncared;
}

/// Installs the handler on an alternate stack, because the regular one may have overflowed.
void report_crashes(const std::vector<int>& numbers) {
  static std::array<char, 1 << 15> stack;
  const std::string where = whereabouts();
  const std::string place = " (" + where.substr(0, where.size() - std::strlen(current_phase()));
  place.copy(crash_place.data(), crash_place.size() - 1);
  stack_t other{};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_sigaction = report_crash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_SIGINFO | SA_RESETHAND);
  for (const int number : numbers) sigaction(number, &action, nullptr);
}

/// Returns whether a network other than Ethernet may exist: verbs (InfiniBand, RoCE, Omni-Path,
/// EFA), Slingshot, Aries.
bool may_have_fabric() {
  constexpr std::array signs{"/sys/class/infiniband", "/sys/class/cxi", "/dev/kgni0"};
  return std::any_of(signs.begin(), signs.end(),
                     [](const char* sign) { return access(sign, F_OK) == 0; });
}

/// Returns whether Open MPI's mpirun started all ranks on this node.
bool on_one_node() {
  const char* const all = std::getenv("OMPI_COMM_WORLD_SIZE");
  const char* const here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return all != nullptr && here != nullptr && std::strcmp(all, here) == 0;
}

/// Scope guard: makes Open MPI skip slow and useless parts of its start-up. Settings of the user
/// take precedence, and those made here are removed before a child process inherits them. A process
/// without a launcher does not see variables of other jobs (srun's variables without its server
/// abort MPI_Init), starts no daemon (0.08 s), calibrates no clock for UCX (0.2 s), opens no port
/// and creates no session directory: it has no peers, and without a daemon that directory has the
/// same name for all processes of a user, which remove it concurrently. Launched ranks without a
/// fabric do not search for one: they would select ob1 in the end, but each of the two libraries
/// for Omni-Path calibrates the clock for 0.1 s first.
class StartSettings {
 public:
  StartSettings() {
    if (!launcher().there) {
      hide_others();
      for (const auto& [name, value] : alone) set(name, value);
      provide_session_folder();
    } else {
      set("OMPI_MCA_mpi_yield_when_idle", "1");  // calls sched_yield() of mpi/yield.cpp
      if (std::getenv("OMPI_MCA_mtl") == nullptr && !may_have_fabric()) set("OMPI_MCA_pml", "ob1");
      // Version 5 with libnl prints lines about interfaces that do not reach each other otherwise.
      if (on_one_node()) set("OMPI_MCA_reachable", "weighted");
    }
  }
  ~StartSettings() {
    for (const char* name : set_) unsetenv(name);
    for (const std::string& entry : hidden_) {
      const auto equals = entry.find('=');
      setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
    }
  }
  StartSettings(const StartSettings&) = delete;
  StartSettings& operator=(const StartSettings&) = delete;

 private:
  static constexpr std::array<std::pair<const char*, const char*>, 4> alone{
      {{"OMPI_MCA_ess_singleton_isolated", "1"},
       {"OMPI_MCA_orte_create_session_dirs", "0"},
       {"OMPI_MCA_pml", "ob1"},
       {"OMPI_MCA_btl", "self"}}};

  void set(const char* name, const char* value) {
    if (std::getenv(name) != nullptr) return;
    setenv(name, value, 0);
    set_.push_back(name);
  }

  void hide_others() {
    for (char** entry = environ; *entry != nullptr; ++entry)
      if (is_launchers(*entry)) hidden_.emplace_back(*entry);
    for (const std::string& entry : hidden_) unsetenv(entry.substr(0, entry.find('=')).c_str());
  }

  /// Open MPI 5 creates a session directory in any case, and crashes where it cannot.
  void provide_session_folder() {
    const char* folder = "/tmp";
    for (const char* name : {"TMP", "TEMP", "TMPDIR"})
      if (const char* value = std::getenv(name)) folder = value;
    if (access(folder, W_OK | X_OK) == 0 || access("/dev/shm", W_OK | X_OK) != 0) return;
    if (const char* value = std::getenv("TMPDIR")) {
      hidden_.push_back(std::string("TMPDIR=") + value);
      unsetenv("TMPDIR");
    }
    set("TMPDIR", "/dev/shm");
  }

  std::vector<const char*> set_;
  std::vector<std::string> hidden_;
};

/// Scope guard: ends a rank of Open MPI's mpirun when that ends. With version 5 a rank whose mpirun
/// is killed while MPI_Init waits for an answer of it waits for ever.
class EndsWithLauncher {
 public:
  EndsWithLauncher() {
    prctl(PR_GET_PDEATHSIG, &before_);
    if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr)
      prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGTERM));
  }
  ~EndsWithLauncher() { prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(before_)); }
  EndsWithLauncher(const EndsWithLauncher&) = delete;
  EndsWithLauncher& operator=(const EndsWithLauncher&) = delete;

 private:
  int before_ = 0;  // the signal that a wrapper has chosen
};

/// Scope guard: holds SIGUSR1 back during MPI_Init, then restores its handler. MPICH takes the
/// signal for news of ranks that failed and asks the launcher which: a process without one starts
/// mpiexec to ask, and waits for it for ever.
class KeepsUserSignal {
 public:
  KeepsUserSignal() {
    sigaction(SIGUSR1, nullptr, &handler_);
    sigset_t itself;
    sigemptyset(&itself);
    sigaddset(&itself, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &itself, &mask_);
  }
  ~KeepsUserSignal() {
    sigaction(SIGUSR1, &handler_, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  KeepsUserSignal(const KeepsUserSignal&) = delete;
  KeepsUserSignal& operator=(const KeepsUserSignal&) = delete;

 private:
  struct sigaction handler_ {};
  sigset_t mask_{};
};

std::atomic<bool> started{false};

/// The last message of print_error, and what is called before this process fails.
std::string failure_text;
std::function<void(int)> failure_report;

/// Waits until the launcher has read what this process has written.
void wait_until_read() noexcept {
  constexpr int most_waits = 5000;  // of a millisecond each
  for (const int descriptor : {STDERR_FILENO, STDOUT_FILENO}) {
    int left = 0;
    for (int i = 0; i < most_waits && ioctl(descriptor, FIONREAD, &left) == 0 && left > 0; ++i)
      usleep(1000);
  }
}

/// Calls the function of before_failure(), on rank 0.
void report_failure(ExitCode code) noexcept {
  if (code == ExitCode::ok || !failure_report || place_in_world().first != 0) return;
  try {
    failure_report(static_cast<int>(code));
  } catch (...) {  // the exit code tells of the failure itself
  }
}

}  // namespace

Runtime::Runtime(int* argc, char*** argv) : uncaught_(std::uncaught_exceptions()) {
  require_one_library();
  const std::vector<int> uncared = uncared_crashes();
  int provided = 0;
  {
    const StartSettings settings;
    const EndsWithLauncher guard;
    const KeepsUserSignal held_back;
    check(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  }
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  require(
      provided >= MPI_THREAD_FUNNELED, ExitCode::internal,
      "the MPI library offers no thread support (funneled is needed); use a build with threads");
  started = true;
  report_crashes(uncared);
  sleep_while_idle();
  int ranks = 1;  // Slurm also reports its tasks to a program that runs alone in their allocation
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  machine::share_last_caches(std::min(ranks, launcher_node_ranks()));
}

Runtime::~Runtime() {
  if (std::uncaught_exceptions() > uncaught_) die(ExitCode::internal, "error on one rank only");
  MPI_Finalize();
}

bool is_started_here() noexcept { return started; }

std::string last_error() { return failure_text; }

void before_failure(std::function<void(int)> report) { failure_report = std::move(report); }

void print_error(const std::string& message) noexcept {
  failure_text = message;
  clear_progress_line();
  const std::string line =
      "tessera: error: " + printable(message) + "\n";  // file names may contain control characters
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

void wait_until_heard() noexcept {
  if (!launcher().there) return;
  std::fflush(stdout);
  wait_until_read();
}

void end_job_before_mpi(int code) noexcept {
  const char* const number = std::getenv("PMI_FD");
  if (number == nullptr || std::getenv("HYDI_CONTROL_FD") == nullptr) return;
  wait_until_read();
  std::array<char, 64> line{};  // of PMI 1
  const int length = std::snprintf(line.data(), line.size(), "cmd=abort exitcode=%d\n", code);
  // A child program that inherits the variables alone has no such socket.
  [[maybe_unused]] const auto sent =
      send(std::atoi(number), line.data(), static_cast<std::size_t>(length), MSG_NOSIGNAL);
}

std::string whereabouts() {
  const auto [rank, size] = place_in_world();
  return "rank " + std::to_string(rank) + " of " + std::to_string(size) + " on " + host_name() +
         ", in " + current_phase();
}

void die(ExitCode code, const std::string& cause) noexcept {
  print_error(cause + " (" + whereabouts() + ")");
  report_failure(code);
  wait_until_heard();
  // Open MPI's MPI_Abort prints eight lines, which a process without peers does not need.
  const bool has_peers = launcher().there || place_in_world().second > 1;
  if (mpi_lives() && has_peers) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  _exit(static_cast<int>(code));
}

Error error_of(const std::exception& exception) {
  const auto* const system = dynamic_cast<const std::system_error*>(&exception);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)
    return {ExitCode::memory, "a thread cannot start (" + system->code().message() +
                                  "); check ulimit -u and ulimit -v"};
  if (system == nullptr || std::ferror(stdout) == 0) return {ExitCode::internal, exception.what()};
  return {ExitCode::io, "standard output cannot be written (" + system->code().message() +
                            "); check its target (results files may be complete)"};
}

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> words{};
  int length = 0;
  check(MPI_Get_library_version(words.data(), &length), "MPI_Get_library_version");
  return version_in(words.data());
}

int run_main(int* argc, char*** argv, const std::function<ExitCode(const Communicator&)>& body) {
  const Runtime runtime(argc, argv);
  try {
    const ExitCode code = body(Communicator::world());
    report_failure(code);
    return static_cast<int>(code);
  } catch (const AgreedError& error) {
    if (place_in_world().first == 0) print_error(error.what());
    report_failure(error.code());
    wait_until_heard();
    return static_cast<int>(error.code());
  } catch (const Error& error) {
    die(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    die(ExitCode::memory, "out of memory; use more ranks or smaller sizes");
  } catch (const std::exception& exception) {
    const Error error = error_of(exception);
    die(error.code(), error.what());
  }
}

}  // namespace tessera::inline v1::mpi
