#include "io/examine.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <new>
#include <stdexcept>

#include "base/option_names.hpp"
#include "base/text.hpp"
#include "io/attributes.hpp"
#include "io/chunks.hpp"
#include "io/columns.hpp"
#include "io/contents.hpp"
#include "io/coordinates.hpp"
#include "io/occupant.hpp"
#include "io/results.hpp"
#include "io/schema.hpp"
#include "io/storage.hpp"
#include "io/verify_file.hpp"

namespace tessera::inline v1::io {
namespace {

/// Returns the resident bytes of this process; 0 if the system does not report them.
/// Async-signal-safe.
index_t resident_bytes() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 128> text{};
  const auto length = read(file, text.data(), text.size() - 1);
  close(file);
  index_t pages = 0;
  bool second = false;  // the first number is the size of the address space
  for (ssize_t i = 0; i < length; ++i) {
    const char c = text[static_cast<std::size_t>(i)];
    if (c == ' ' && second) break;
    if (c == ' ') second = true;
    if (c != ' ' && second) pages = 10 * pages + (c - '0');
  }
  static const index_t page = sysconf(_SC_PAGESIZE);
  return pages * page;
}

/// Ends the process in a step that exceeds its allowance. Checks after every 20 ms of processor
/// time of the process, including threads of its libraries: neither time nor memory grows without
/// that. Limits of the system would also count what libraries allocate per core and device.
class Guard {
 public:
  explicit Guard(std::string file) : file_(std::move(file)) {
    held_ = resident_bytes();
    pthread_getcpuclockid(pthread_self(), &clock_);
    self_ = this;
    struct sigaction action {};
    action.sa_handler = look;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    begin_step(0);
    const itimerval often{{0, 20000}, {0, 20000}};
    setitimer(ITIMER_PROF, &often, nullptr);
  }
  ~Guard() {
    const itimerval never{};
    setitimer(ITIMER_PROF, &never, nullptr);
    self_ = nullptr;
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// Begins a step that reads `bytes`, with their allowance.
  void begin_step(index_t bytes) {
    const ReadLimits next = allowance_of(bytes);
    const auto words = [&](const std::string& amount) {
      return fmt::format(
          "'{}' could not be examined within {}; check whether h5dump reads it, and write it again "
          "if not",
          file_, amount);
    };
    guarding_ = 0;
    too_long_ = words(fmt::format("{:.0f} s of processor time", next.seconds));
    too_large_ = words(human_bytes(next.memory_bytes) + " of memory");
    end_seconds_ = seconds() + next.seconds;
    end_bytes_ = held_ + next.memory_bytes;
    guarding_ = 1;
  }

  [[nodiscard]] const std::string& too_large() const { return too_large_; }

 private:
  [[nodiscard]] double seconds() const {
    timespec now{};
    clock_gettime(clock_, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  static void look(int) {
    const Guard* const self = self_;
    if (self == nullptr || self->guarding_ == 0) return;
    const bool too_long = self->seconds() > self->end_seconds_;
    if (!too_long && resident_bytes() <= self->end_bytes_) return;
    const std::string& words = too_long ? self->too_long_ : self->too_large_;
    [[maybe_unused]] const auto written = write(STDOUT_FILENO, words.data(), words.size());
    _exit(static_cast<int>(ExitCode::bad_data));
  }

  static inline Guard* self_ = nullptr;
  std::string file_, too_long_, too_large_;
  index_t held_ = 0, end_bytes_ = 0;
  double end_seconds_ = 0;
  clockid_t clock_ = CLOCK_THREAD_CPUTIME_ID;
  volatile std::sig_atomic_t guarding_ = 0;
};

/// Returns the bytes needed to read two elements. A virtual dataset does not report the chunks of
/// its sources.
index_t bytes_to_read_two(hid_t dataset, const DatasetInfo& info) {
  constexpr index_t largest_chunk = index_t{4} << 30;  // in HDF5 1.x
  const bool is_external = info.chunk.empty() && H5Dget_offset(dataset) == HADDR_UNDEF;
  const Handle creation(is_external ? H5Dget_create_plist(dataset) : hid_t{-1}, H5Pclose);
  if (is_external && H5Pget_layout(creation) == H5D_VIRTUAL) return 2 * largest_chunk;
  return bytes_to_read(dataset, info, 2, 2 * info.element_bytes);
}

/// Returns the property list for reads of two elements: the library zeroes its whole buffer for
/// each, by default 1 MiB.
Handle transfer_of_two() {
  constexpr std::size_t bytes = std::size_t{64} << 10;
  Handle list(h5_check(H5Pcreate(H5P_DATASET_XFER), ExitCode::internal, "H5Pcreate"), H5Pclose);
  h5_check_rc(H5Pset_buffer(list, bytes, nullptr, nullptr), ExitCode::internal, "H5Pset_buffer");
  return list;
}

/// Checks the lengths of all chunks and reads the first and the last element, which detects a
/// damaged chunk index, a missing filter or a truncated file. Reads both in one call; otherwise the
/// library decodes a chunk that contains both twice.
void read_sample(hid_t dataset, const DatasetInfo& info, const DatasetName& name, hid_t transfer,
                 Guard& guard) {
  if (!info.chunk.empty())
    require_whole_chunks(dataset, Handle(H5Dget_create_plist(dataset), H5Pclose), name);
  if (!info.reads_as_number() || info.shape.empty()) return;
  if (std::find(info.shape.begin(), info.shape.end(), 0) != info.shape.end()) return;
  const std::vector<hsize_t> first(info.shape.size(), 0), one(info.shape.size(), 1);
  std::vector<hsize_t> last;
  for (const index_t extent : info.shape) last.push_back(static_cast<hsize_t>(extent - 1));
  const Handle space(H5Dget_space(dataset), H5Sclose);
  // Two boxes instead of points, which virtual datasets do not support.
  for (const auto& [place, with] : {std::pair{&first, H5S_SELECT_SET}, {&last, H5S_SELECT_OR}})
    h5_check_rc(H5Sselect_hyperslab(space, with, place->data(), nullptr, one.data(), nullptr),
                name.text());
  const auto count = static_cast<hsize_t>(H5Sget_select_npoints(space));
  const Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
  std::array<double, 2> values{};
  guard.begin_step(bytes_to_read_two(dataset, info));
  h5_check_rc(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, values.data()),
              ExitCode::bad_data, name.text() + " cannot be read");
  guard.begin_step(0);
}

std::string answer_dataset(DatasetName name, Guard& guard) {
  const Handle file = open_file(name.file);
  require_complete(file, name.file);
  if (H5Oexists_by_name(file, name.path.c_str(), H5P_DEFAULT) <= 0)
    name.selection = cut_selection(name.path);
  const Handle dataset = open_dataset(file, name);
  const DatasetInfo info = inspect(dataset, name);
  read_sample(dataset, info, name, transfer_of_two(), guard);
  read_attributes(dataset, name.text());
  read_coordinates(file, dataset, [&](index_t bytes) { guard.begin_step(bytes); });
  return (name.selection.empty() ? "whole " : "part ") + to_text(info);
}

std::string answer_table(const DatasetName& name, Guard& guard) {
  const Handle transfer = transfer_of_two();
  const TableInfo table = inspect_table(name, [&](const Column& column, hid_t dataset) {
    const DatasetName part{name.file, column.path};
    read_sample(dataset, column.info, part, transfer, guard);
    read_attributes(dataset, part.text());
    guard.begin_step(0);
  });
  if (table.is_group) {
    const Handle file = open_file(name.file);
    read_attributes(Handle(H5Oopen(file, name.path.c_str(), H5P_DEFAULT), H5Oclose), name.text());
  }
  return to_text(table);
}

/// Describes all datasets; what one of them lacks is part of its description.
std::string answer_contents(const DatasetName& name, Guard& guard) {
  const Handle transfer = transfer_of_two();
  return contents_of(name, [&](hid_t dataset, const DatasetInfo& info, const DatasetName& one) {
    require_readable(dataset, Handle(H5Dget_create_plist(dataset), H5Pclose), one);
    read_sample(dataset, info, one, transfer, guard);
    guard.begin_step(0);
  });
}

std::string answer(const std::string& how, const DatasetName& name, Guard& guard) {
  if (how == as_dataset) return answer_dataset(name, guard);
  if (how == as_table) return answer_table(name, guard);
  if (how == as_checksums)
    return to_text(check_file(name.file, [&](index_t bytes) { guard.begin_step(bytes); }));
  if (how == as_contents) return answer_contents(name, guard);
  if (how == as_results) (void)text_column(name.file, schema::summary, "point");
  if (how == as_output) (void)occupant_of(name.file);
  return "";
}

/// Returns the error for insufficient memory: because of a limit set by the user, or because the
/// file requires more than is available.
Error error_of_memory(const DatasetName& name, const std::string& words, const Guard& guard) {
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
    return {ExitCode::bad_data, fmt::format("{} ({})", guard.too_large(), words)};
  return {ExitCode::memory,
          fmt::format(
              "'{}' could not be examined within this address space, {} ({}); ulimit -v unlimited",
              name.file, human_bytes(static_cast<double>(space.rlim_cur)), words)};
}

int report(const Error& error) {
  fmt::print("{}", error.what());
  return static_cast<int>(error.code());
}

/// Prints the answer or the error; returns the exit code.
int examine(const std::string& how, const DatasetName& name) {
  Guard guard(name.file);
  try {
    fmt::print("{}", answer(how, name, guard));
    return 0;
  } catch (const Error& error) {
    return report(error.code() == ExitCode::memory ? error_of_memory(name, error.what(), guard)
                                                   : error);
  } catch (const std::bad_alloc&) {
    return report(error_of_memory(name, "out of memory", guard));
  } catch (const std::length_error&) {
    return report(error_of_memory(name, "a size in it exceeds any memory", guard));
  } catch (const std::exception& error) {
    return report({ExitCode::bad_data, error.what()});
  }
}

/// Examines what the standard input asks for, each in a copy of this process (to_serve).
int serve() {
  std::signal(SIGCHLD, SIG_DFL);
  h5_check_rc(H5open(), ExitCode::internal, "H5open");  // once instead of in every copy
  const auto next = [](std::string& field) -> bool {
    return static_cast<bool>(std::getline(std::cin, field, '\0'));
  };
  for (std::string how, file, path; next(how) && next(file) && next(path);) {
    const pid_t pid = fork();
    if (pid < 0) return report({ExitCode::memory, "a process cannot be started"});
    if (pid == 0) {
      fmt::print("{}\n", getpid());
      std::fflush(stdout);
      const int code = examine(how, {file, path});
      std::fflush(stdout);
      _exit(code);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    fmt::print("{}{}\n", '\0', status);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

ReadLimits allowance_of(index_t bytes) {
  constexpr index_t most = index_t{16} << 30;  // a damaged file can claim any number
  const index_t some = std::min(bytes, most);
  constexpr double rate = 16 << 20;  // bytes/s: half the throughput of bzip2
  return {std::round(10 + static_cast<double>(some) / rate), (index_t{4} << 30) + 4 * some};
}

int examine_main(int argc, char** argv) {
  const bool serves = argc == 2 && std::string_view(argv[1]) == to_serve;
  if (argc != 4 && !serves) return static_cast<int>(ExitCode::usage);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  quiet_errors();
  name_options();
  return serves ? serve() : examine(argv[1], {argv[2], argv[3]});
}

}  // namespace tessera::inline v1::io
