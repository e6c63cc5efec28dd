#pragma once
// In-process execution of workload requests, and access to their files.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "commands/command.hpp"
#include "io/dataset.hpp"
#include "io/output_file.hpp"
#include "layout/block_map.hpp"
#include "mpi/agreement.hpp"

namespace tessera::test {

/// Folder shared by all ranks and removed at the end of the test.
class Folder {
 public:
  Folder() {
    path_ =
        (std::filesystem::temp_directory_path() / ("tessera_workloads_" + std::to_string(getpid())))
            .string();
    path_ = comm_.broadcast(path_, 0);
    if (comm_.is_root()) std::filesystem::create_directories(path_);
    comm_.barrier();
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    comm_.barrier();
    std::error_code ignored;
    if (comm_.is_root()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const mpi::Communicator& comm() const { return comm_; }

 private:
  mpi::Communicator comm_ = mpi::Communicator::world();
  std::string path_;
};

/// Runs `tessera COMMAND WORDS...` on the ranks of comm. Collective. Returns the exit code.
inline ExitCode run(const mpi::Communicator& comm, const apps::Command& command,
                    const std::vector<std::string>& words) {
  try {
    ExitCode code = ExitCode::ok;
    const apps::Body body = command.prepare(command.options.parse(words), words, code);
    return body ? body(comm) : code;
  } catch (const Error& error) {
    if (comm.is_root()) std::fprintf(stderr, "%s\n", error.what());
    return error.code();
  }
}

/// Writes an array of n numbers, element i being make(i); each rank writes its share. Collective.
template <class T, class Make>
void write_numbers(const Folder& folder, const std::string& file, const std::string& path,
                   index_t n, Element element, const Make& make) {
  const auto& comm = folder.comm();
  io::OutputFile out(comm, folder.file(file), {{path, {n}, io::native_type(element), {"row"}}},
                     io::OutputFile::Existing::replace);
  const layout::Range mine = layout::BlockMap(n, comm.size()).range(comm.rank());
  std::vector<T> values;
  for (index_t i = mine.begin; i < mine.end; ++i) values.push_back(make(i));
  mpi::together(comm, "write", [&] { out.write(0, mine.begin, std::as_bytes(std::span(values))); });
  out.publish([](hid_t) {});
}

/// Returns all numbers of a dataset of these extents.
template <class T>
std::vector<T> read_numbers(const std::string& file, const std::string& path, Element element,
                            const std::vector<index_t>& extents) {
  std::vector<layout::Range> all;
  index_t count = 1;
  for (const index_t extent : extents) {
    all.push_back({0, extent});
    count *= extent;
  }
  std::vector<T> values(static_cast<std::size_t>(count));
  io::read_slab({file, path}, all,
                {io::native_type(element), reinterpret_cast<std::byte*>(values.data()),
                 index_t{sizeof(T)}, extents.back()});
  return values;
}

}  // namespace tessera::test
