#include "io/probe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sstream>

#include "base/text.hpp"
#include "base/timer.hpp"
#include "io/attributes.hpp"
#include "io/results.hpp"
#include "io/schema.hpp"
#include "io/standing.hpp"

extern char** environ;

namespace tessera::io {
namespace {

struct Child {
  int status = 0;
  std::string output;
  bool timed_out = false;
};

constexpr const char* as_table = "table";
constexpr const char* as_checksums = "checksums";
constexpr const char* as_results = "results";
constexpr const char* as_output = "output";
constexpr rlim_t cpu_seconds = 10;
constexpr double patience_seconds = 120;  // a file system whose server is busy or starts anew takes a minute

Child run_child(const DatasetName& name, const char* how) {
  std::array<int, 2> pipe_ends{};
  require(pipe2(pipe_ends.data(), O_CLOEXEC) == 0, ExitCode::internal, "cannot create a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::array<std::string, 5> words{"tessera", probe_command, name.file, name.path, how};
  std::array<char*, 6> argv{words[0].data(),
                            words[1].data(),
                            words[2].data(),
                            words[3].data(),
                            words[4].empty() ? nullptr : words[4].data(),
                            nullptr};
  pid_t pid = 0;
  const int rc = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (rc != 0) close(pipe_ends[0]);
  require(rc == 0, ExitCode::internal, "cannot start the process that looks at the input");

  const double limit_seconds = how == std::string(as_checksums) ? 1e9 : patience_seconds;
  Child child;
  constexpr int tick = 200;  // ms
  double waited = 0;         // of the time for which this process was suspended, and the child with it, none
  Timer since_look;
  std::array<char, 4096> chunk{};
  pollfd ready{pipe_ends[0], POLLIN, 0};
  while (true) {
    const bool said = poll(&ready, 1, tick) > 0;
    waited += std::min(since_look.restart(), 2e-3 * tick);
    if (said) {
      const auto count = read(pipe_ends[0], chunk.data(), chunk.size());
      if (count <= 0) break;
      child.output.append(chunk.data(), static_cast<std::size_t>(count));
    } else if (waited > limit_seconds) {
      child.timed_out = true;
      kill(pid, SIGKILL);
      break;
    }
  }
  close(pipe_ends[0]);
  waitpid(pid, &child.status, 0);
  return child;
}

/// Programs under a sanitizer reserve address space by the terabyte.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

void set_limit(int resource, rlim_t amount, rlim_t most) {
  const rlimit limit{amount, most};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}
void set_limit(int resource, rlim_t amount) { set_limit(resource, amount, amount); }

/// Another while of processor time from now on.
void extend_cpu_limit() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  set_limit(RLIMIT_CPU, static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + cpu_seconds,
            RLIM_INFINITY);
}

/// Reads the first and the last element: enough to meet a damaged chunk index, a missing filter or a cut
/// file.
void read_sample(hid_t dataset, const DatasetInfo& info, const DatasetName& name) {
  const std::size_t rank = info.shape.size();
  if (!info.reads_as_number() || rank == 0) return;
  for (const index_t extent : info.shape) {
    if (extent == 0) return;
  }
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const hsize_t one = 1;
  const Handle memory(H5Screate_simple(1, &one, nullptr), H5Sclose);
  for (const bool last : {false, true}) {
    std::vector<hsize_t> point;
    for (const index_t extent : info.shape) point.push_back(last ? static_cast<hsize_t>(extent - 1) : 0);
    h5_check_rc(H5Sselect_elements(space, H5S_SELECT_SET, 1, point.data()), ExitCode::bad_data, name.text());
    double value = 0;
    h5_check_rc(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, &value), ExitCode::bad_data,
                "cannot read " + name.text());
  }
}

/// The child's answer; throws its error, or what its death says of the file.
std::string ask_child(const DatasetName& name, const char* how) {
  const Child child = run_child(name, how);
  require(
      !child.timed_out, ExitCode::io,
      fmt::format("'{}' could not be looked at within {:.0f} s (the file system or the machine is too busy); "
                  "try again later",
                  name.file, patience_seconds));
  const std::string damaged = fmt::format("'{}' is damaged", name.file);
  require(!WIFSIGNALED(child.status) || WTERMSIG(child.status) != SIGXCPU, ExitCode::bad_data,
          damaged + ": reading it does not end; make it again");
  require(WIFEXITED(child.status), ExitCode::bad_data,
          fmt::format("{}: the HDF5 library crashes on it ({}); make it again", damaged,
                      strsignal(WTERMSIG(child.status))));
  const int code = WEXITSTATUS(child.status);
  if (code != 0) {
    const std::string message(trim(child.output));
    throw Error(static_cast<ExitCode>(code), message.empty() ? damaged + "; make it again" : message);
  }
  return child.output;
}

void answer_dataset(hid_t file, const DatasetName& name) {
  const Handle dataset = open_dataset(file, name);
  const DatasetInfo info = inspect(dataset, name);
  read_sample(dataset, info, name);
  read_attributes(dataset, name.text());
  fmt::print("{} {} {} {} {} {}", name.selection.empty() ? 0 : 1, static_cast<int>(info.kind),
             info.element_bytes, info.is_signed ? 1 : 0, info.self_contained ? 1 : 0, info.shape.size());
  for (const index_t extent : info.shape) fmt::print(" {}", extent);
  fmt::print(" {}", info.chunk.size());
  for (const index_t extent : info.chunk) fmt::print(" {}", extent);
}

void answer_table(const DatasetName& name) {
  const TableInfo table = inspect_table(name);
  const Handle file = open_file(name.file);
  for (const Column& column : table.columns) {
    const DatasetName part{name.file, column.path};
    const Handle dataset = open_dataset(file, part);
    read_sample(dataset, column.info, part);
    read_attributes(dataset, part.text());
  }
  if (table.is_group)
    read_attributes(Handle(H5Oopen(file, name.path.c_str(), H5P_DEFAULT), H5Oclose), name.text());
  fmt::print("{}", to_text(table));
}

}  // namespace

void probe_results(const std::string& file) { (void)ask_child({file, "/"}, as_results); }

void probe_output(const std::string& file) { (void)ask_child({file, "/"}, as_output); }

FileCheck check_file_apart(const std::string& file) {
  return parse_check(ask_child({file, "/"}, as_checksums));
}

TableInfo probe_table(const DatasetName& name) { return parse_table(ask_child(name, as_table)); }

DatasetInfo probe(DatasetName& name) {
  std::istringstream words(ask_child(name, ""));
  DatasetInfo info;
  int is_part = 0, kind = 0;
  std::size_t rank = 0;
  words >> is_part >> kind >> info.element_bytes >> info.is_signed >> info.self_contained >> rank;
  info.kind = static_cast<DatasetInfo::Kind>(kind);
  info.shape.resize(rank);
  for (index_t& extent : info.shape) words >> extent;
  words >> rank;
  info.chunk.resize(words.fail() ? 0 : rank);
  for (index_t& extent : info.chunk) words >> extent;
  require(!words.fail(), ExitCode::internal, "the process that looks at the input gave no answer");
  if (is_part != 0) name.selection = cut_selection(name.path);
  return info;
}

int probe_main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return static_cast<int>(ExitCode::usage);
  const std::string how = argc == 5 ? argv[4] : "";
  DatasetName name{argv[2], argv[3]};
  struct stat status {};
  const bool found = stat(argv[2], &status) == 0;
  // A row of a dataset is held, and no row of an honest file is larger than the file.
  const rlim_t file_bytes = found && how == as_checksums ? static_cast<rlim_t>(status.st_size) : 0;
  if (!sanitized) set_limit(RLIMIT_AS, (rlim_t{4} << 30) + 2 * file_bytes);
  set_limit(RLIMIT_CORE, 0);
  try {
    if (how == as_checksums) {
      extend_cpu_limit();
      fmt::print("{}", to_text(check_file(name.file, extend_cpu_limit)));
      return 0;
    }
    set_limit(RLIMIT_CPU, cpu_seconds, cpu_seconds + 1);  // a signal of its own tells this end from others
    if (how == as_results) {
      (void)text_column(name.file, schema::summary, "point");
      return 0;
    }
    if (how == as_output) {
      (void)standing_of(name.file);
      return 0;
    }
    if (how == as_table) {
      answer_table(name);
      return 0;
    }
    const Handle file = open_file(name.file);
    require_complete(file, name.file);
    if (H5Oexists_by_name(file, argv[3], H5P_DEFAULT) <= 0) name.selection = cut_selection(name.path);
    answer_dataset(file, name);
    return 0;
  } catch (const Error& error) {
    fmt::print("{}", error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    fmt::print("'{}' is damaged: reading it wants more memory than its data could; make it again", name.file);
    return static_cast<int>(ExitCode::bad_data);
  } catch (const std::exception& error) {
    fmt::print("{}", error.what());
    return static_cast<int>(ExitCode::bad_data);
  }
}

}  // namespace tessera::io
