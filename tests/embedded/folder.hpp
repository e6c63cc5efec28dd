#pragma once
// A folder for the files of a test.

#include <unistd.h>

#include <filesystem>
#include <string>

#include "mpi/communicator.hpp"

namespace tessera::embedded {

/// A folder of all ranks, removed at the end.
class Folder {
 public:
  explicit Folder(const mpi::Communicator& comm) : comm_(comm) {
    path_ = comm.broadcast(
        (std::filesystem::temp_directory_path() / ("tessera_embedded_" + std::to_string(getpid())))
            .string(),
        0);
    if (comm.is_root()) std::filesystem::create_directory(path_);
    comm.barrier();
  }
  ~Folder() {
    comm_.barrier();
    if (comm_.is_root()) std::filesystem::remove_all(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  const mpi::Communicator& comm_;
  std::string path_;
};

}  // namespace tessera::embedded
