#include "reading.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "io/columns.hpp"
#include "io/examine.hpp"
#include "io/results.hpp"
#include "io/schema.hpp"
#include "io/verify_file.hpp"

namespace tessera::fuzz {
namespace {

constexpr index_t most_bytes = index_t{256} << 20;  // the memory plan rejects more

/// Reads a dataset as the ranks do after a successful probe.
void read_dataset(const io::DatasetName& name) {
  const io::Handle file = io::open_file(name.file);
  const io::Handle dataset = io::open_dataset(file, name);
  const io::DatasetInfo info = io::inspect(dataset, name);
  std::vector<layout::Range> slab;
  index_t elements = 1;
  for (const index_t extent : info.shape) {
    slab.push_back({0, extent});
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > most_bytes) return;
  }
  if (info.shape.empty() || elements * info.element_bytes > most_bytes ||
      info.element_bytes > most_bytes)
    return;
  const auto count = static_cast<std::size_t>(elements);
  if (info.is_number()) {
    std::vector<double> values(count);
    io::read_slab(name, slab, {io::native_type(Element::f64), values.data(), 8, info.shape.back()});
    std::vector<float> singles(count);
    io::read_slab(name, slab,
                  {io::native_type(Element::f32), singles.data(), 4, info.shape.back()});
  }
  if (!info.self_contained) return;
  std::vector<std::byte> raw(count * static_cast<std::size_t>(info.element_bytes));
  io::read_slab(name, slab,
                {io::stored_type(name), raw.data(), info.element_bytes, info.shape.back()});
}

void read_table(const io::DatasetName& name) {
  const io::TableInfo table = io::inspect_table(name);
  io::require_table(table, name);
  for (const auto* list : {&table.columns, &table.members}) {
    for (const io::Column& column : *list) {
      index_t bytes = 0;
      if (__builtin_mul_overflow(column.rows(), column.row_bytes(), &bytes) || bytes > most_bytes)
        continue;
      std::vector<std::byte> to(static_cast<std::size_t>(std::max(bytes, 8 * column.rows())));
      if (column.key == io::Column::Key::number && column.info.shape.size() == 1)
        io::read_numbers(name.file, column, {0, column.rows()},
                         io::element_of_numbers(column, name.file), to.data());
      if (column.member.empty()) io::read_stored(name.file, column, {0, column.rows()}, to.data());
    }
  }
}

void read(const std::string& how, const io::DatasetName& name) {
  if (how == "dataset") {
    read_dataset(name);
  } else if (how == "table") {
    read_table(name);
  } else if (how == "results") {
    (void)io::text_column(name.file, io::schema::summary, "point");
  } else {
    (void)io::check_file(name.file, [](index_t) {});
  }
}

/// Questions to the examining program.
const std::map<std::string, const char*> examinations{{"probe", io::as_dataset},
                                                      {"probe_table", io::as_table},
                                                      {"probe_checksums", io::as_checksums},
                                                      {"probe_results", io::as_results},
                                                      {"probe_output", io::as_output}};

/// Waits for output or its end; returns false at the time limit. An alarm of libFuzzer's is
/// neither.
bool has_output(int end, double seconds) {
  pollfd ready{end, POLLIN, 0};
  int outputs = -1;
  do outputs = poll(&ready, 1, static_cast<int>(1e3 * seconds));
  while (outputs < 0 && errno == EINTR);
  return outputs > 0;
}

/// Reads the output to its end, or until the time limit.
std::string read_all(int end, double seconds, bool& in_time) {
  std::string text;
  std::array<char, 4096> chunk{};
  while ((in_time = has_output(end, seconds))) {
    const ssize_t got = ::read(end, chunk.data(), chunk.size());
    if (got <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

int answer(const std::string& how, const std::string& file, const std::string& path) {
  if (const auto found = examinations.find(how); found != examinations.end()) {
    std::string program = "reader", what = found->second, name = file, place = path;
    std::array<char*, 4> words{program.data(), what.data(), name.data(), place.data()};
    return io::examine_main(4, words.data());
  }
  const rlimit limit{20, 20};
  setrlimit(RLIMIT_CPU, &limit);
  try {
    read(how, {file, path});
  } catch (const Error& error) {
    fmt::print("{}", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print("{}", error.what());
    return static_cast<int>(ExitCode::internal);
  }
  return 0;
}

Ending apart(const std::function<int()>& work) {
  constexpr double patience = 150;  // seconds: an examination ends itself after ten of CPU time
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) std::abort();
  const pid_t child = fork();
  if (child < 0) std::abort();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    const int code = work();
    std::fflush(stdout);
    _exit(code);
  }
  close(ends[1]);
  Ending ending;
  ending.words = read_all(ends[0], patience, ending.in_time);
  close(ends[0]);
  if (!ending.in_time) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ending;
}

}  // namespace tessera::fuzz
