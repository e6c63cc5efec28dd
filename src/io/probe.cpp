#include "io/probe.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "base/timer.hpp"
#include "io/examine.hpp"

extern char** environ;

namespace tessera::inline v1::io {
namespace {

struct Child {
  int status = 0;
  std::string output;
  bool timed_out = false;
};

constexpr double patience_seconds =
    120;  // a file system whose server is busy or restarts takes a minute

/// Returns the examining program: next to the running one, or to be found in PATH.
std::string examiner() {
  std::error_code ignored;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto sibling = own.parent_path() / examiner_name;
  return access(sibling.c_str(), X_OK) == 0 ? sibling.string() : examiner_name;
}

/// Returns the exit code of a call that failed with errno `reason`: `memory` if the limits of the
/// user or the machine are exhausted.
ExitCode code_of(int reason) {
  const bool resources =
      reason == EAGAIN || reason == ENOMEM || reason == EMFILE || reason == ENFILE;
  return resources ? ExitCode::memory : ExitCode::internal;
}

/// Spawn attributes: the signals that end an examination have their default effect, even if this
/// process ignores or blocks them.
class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&native_);
    sigset_t none, ends;
    sigemptyset(&none);
    sigemptyset(&ends);
    for (const int signal : {SIGPROF, SIGXCPU, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
      sigaddset(&ends, signal);
    posix_spawnattr_setsigmask(&native_, &none);
    posix_spawnattr_setsigdefault(&native_, &ends);
    posix_spawnattr_setflags(&native_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { posix_spawnattr_destroy(&native_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &native_; }

 private:
  posix_spawnattr_t native_{};
};

/// Starts the program with those arguments and its input and output connected to the second end.
pid_t start(std::vector<std::string> arguments, const std::array<int, 2>& ends) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = examiner();
  std::vector<char*> argv{program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int rc =
      posix_spawnp(&pid, program.c_str(), &actions, Attributes().get(), argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (rc != 0) close(ends[0]);
  require(rc != ENOENT, ExitCode::internal,
          fmt::format("program '{}', which examines input files, is neither next to this program "
                      "nor in the PATH; install it there",
                      examiner_name));
  require(
      rc == 0, code_of(rc),
      fmt::format(
          "'{}', which examines input files, cannot be started: {}; check ulimit -u and ulimit -v",
          program, std::strerror(rc)));
  return pid;
}

/// Returns whether the process computes or waits for a core; its limit of processor time bounds
/// that.
bool is_running(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto end = text.rfind(')');  // end of the program's name
  return end != std::string::npos && text.substr(end).starts_with(") R");
}

/// Counts what a process reads as bytes read by this one, for its progress.
class ReadBytes {
 public:
  explicit ReadBytes(pid_t pid) : file_(fmt::format("/proc/{}/io", pid)) {}
  void look() {
    std::ifstream file(file_);
    std::string word;
    index_t bytes = 0;  // the first number: of all calls of read
    if (!(file >> word >> bytes) || bytes < seen_) return;
    work_done().bytes_read += bytes - std::exchange(seen_, bytes);
  }

 private:
  std::string file_;
  index_t seen_ = 0;
};

/// Returns the two ends of a connection with a child.
std::array<int, 2> connection() {
  std::array<int, 2> ends{};
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, code_of(errno),
          fmt::format("a socket cannot be created: {}; raise ulimit -n", std::strerror(errno)));
  return ends;
}

/// Takes what a child prints until it has ended or ended(output, pid) says so. Kills it if it waits
/// too long for the file system. `pid` may be 0 until `ended` knows it.
Child follow(int end, pid_t pid, const std::function<bool(std::string&, pid_t&)>& ended) {
  Child child;
  ReadBytes reading(pid);
  constexpr int tick = 200;  // ms
  double waited = 0;  // excludes the time for which this process, and the child, was suspended
  Timer since_look;
  std::array<char, 4096> chunk{};
  pollfd ready{end, POLLIN, 0};
  while (true) {
    const bool answered = poll(&ready, 1, tick) > 0;
    reading.look();
    const double seconds = std::min(since_look.restart(), 2e-3 * tick);
    if (answered) {
      const auto count = read(end, chunk.data(), chunk.size());
      if (count <= 0) break;
      child.output.append(chunk.data(), static_cast<std::size_t>(count));
      if (ended(child.output, pid)) break;
    } else if (pid > 0 && !is_running(pid) && (waited += seconds) > patience_seconds) {
      child.timed_out = true;
      kill(pid, SIGKILL);
    }
  }
  return child;
}

Child run_child(const DatasetName& name, const char* how) {
  const std::array<int, 2> ends = connection();
  const pid_t pid = start({how, name.file, name.path}, ends);
  Child child = follow(ends[0], pid, [](const std::string&, pid_t) { return false; });
  close(ends[0]);
  waitpid(pid, &child.status, 0);
  return child;
}

/// The process of a SharedExaminer; pid 0 where none runs.
struct Server {
  bool wanted = false;
  pid_t pid = 0;
  int end = -1;

  void stop() {
    if (pid == 0) return;
    close(end);
    waitpid(pid, nullptr, 0);
    pid = 0;
  }
};

Server& server() {
  static Server one;
  return one;
}

/// Takes the process number of the copy from the beginning of the output; returns whether its
/// status has come.
bool has_ended(std::string& output, pid_t& pid) {
  const auto line = output.find('\n'), status = output.find('\0');
  if (pid == 0 && line < status) {
    pid = std::atoi(output.c_str());
    output.erase(0, line + 1);
    return has_ended(output, pid);
  }
  return status != std::string::npos && output.ends_with('\n');
}

/// As run_child(), by the server.
Child ask_server(const DatasetName& name, const char* how) {
  Server& one = server();
  if (one.pid == 0) {
    const std::array<int, 2> ends = connection();
    one.pid = start({to_serve}, ends);
    one.end = ends[0];
  }
  const std::string request = std::string(how) + '\0' + name.file + '\0' + name.path + '\0';
  const bool asked = send(one.end, request.data(), request.size(), MSG_NOSIGNAL) == ssize(request);
  Child child;
  if (asked) child = follow(one.end, 0, has_ended);
  const auto end = child.output.find('\0');
  if (end == std::string::npos) {  // the server itself has ended
    one.stop();
    return run_child(name, how);
  }
  child.status = std::atoi(child.output.c_str() + end + 1);
  child.output.resize(end);
  return child;
}

bool has_small_stack() {
  constexpr rlim_t enough = rlim_t{512} << 10;
  rlimit stack{};
  return getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < enough;
}

/// Returns the error for an examination that a signal ended.
Error error_of_signal(const DatasetName& name, int signal) {
  const std::string could_not = fmt::format("'{}' could not be examined", name.file);
  if (signal == SIGSEGV && has_small_stack())
    return {ExitCode::memory, could_not + " within the stack limit; run ulimit -s 8192"};
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGABRT:
    case SIGFPE:
    case SIGILL:
      return {ExitCode::bad_data,
              fmt::format("'{}' is damaged: the HDF5 library crashes on it ({}); write it again",
                          name.file, strsignal(signal))};
    case SIGXCPU:
      return {ExitCode::memory, could_not + " within the limit of processor time; raise ulimit -t"};
    case SIGKILL:
      return {ExitCode::memory,
              could_not + ": its process was killed, as the system does when memory is exhausted"};
    default:
      return {ExitCode::io, fmt::format("{}: its process was ended by a signal ({})", could_not,
                                        strsignal(signal))};
  }
}

/// Returns the child's answer; throws its error, or the error that its termination implies.
std::string query_child(const DatasetName& name, const char* how) {
  const Child child = server().wanted ? ask_server(name, how) : run_child(name, how);
  require(!child.timed_out, ExitCode::io,
          fmt::format("'{}' could not be examined within {:.0f} s (the file system is too busy); "
                      "try again later",
                      name.file, patience_seconds));
  if (!WIFEXITED(child.status)) throw error_of_signal(name, WTERMSIG(child.status));
  const int code = WEXITSTATUS(child.status);
  constexpr int not_loaded = 127;  // exit code if the loader fails
  require(code != not_loaded, ExitCode::internal,
          fmt::format("'{}', which examines input files, does not start; run it to see why",
                      examiner()));
  if (code != 0) throw Error(static_cast<ExitCode>(code), std::string(trim(child.output)));
  return child.output;
}

}  // namespace

SharedExaminer::SharedExaminer() { server().wanted = true; }

SharedExaminer::~SharedExaminer() {
  server().wanted = false;
  server().stop();
}

void probe_results(const std::string& file) { (void)query_child({file, "/"}, as_results); }

void probe_output(const std::string& file) { (void)query_child({file, "/"}, as_output); }

FileCheck check_file_apart(const std::string& file) {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(file, none);
  const Progress progress("verify", none ? 0 : static_cast<double>(bytes),
                          Progress::Counts::bytes_read);
  return parse_check(query_child({file, "/"}, as_checksums));
}

std::string probe_contents(const DatasetName& name) { return query_child(name, as_contents); }

TableInfo probe_table(const DatasetName& name) { return parse_table(query_child(name, as_table)); }

DatasetInfo probe(DatasetName& name) { return parse_dataset(query_child(name, as_dataset), name); }

DatasetInfo parse_dataset(const std::string& answer, DatasetName& name) {
  const auto blank = std::min(answer.find(' '), answer.size());
  DatasetInfo info = parse_dataset_info(answer.substr(blank));
  if (answer.starts_with("part ")) name.selection = cut_selection(name.path);
  return info;
}

}  // namespace tessera::inline v1::io
