#pragma once
// Is a file one of ours, complete, and does it match its checksums?

#include <string>
#include <vector>

#include "base/index.hpp"

namespace tessera::io {

struct DatasetCheck {
  std::string path;
  std::string shape;
  std::string expected;
  std::string found;
  [[nodiscard]] bool matches() const { return expected == found; }
};

struct FileCheck {
  std::string state;  ///< "complete" or "incomplete"
  std::vector<DatasetCheck> datasets;
};

/// Re-hashes every dataset of ours in the file. Throws Error: 66 when it is not there, 65 when it is no HDF5
/// file, damaged, or not written by Tessera.
[[nodiscard]] FileCheck check_file(const std::string& file);

}  // namespace tessera::io
