#pragma once
// Verification of a file: written by Tessera, complete, and equal to its checksums.

#include <functional>
#include <string>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::io {

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

/// Recomputes the checksum of every dataset in the file that Tessera wrote. Throws Error: 66 if the
/// file does not exist, 65 if it is damaged, not an HDF5 file or not written by Tessera. Calls
/// `step` before each piece of a dataset is read, with the bytes that this needs (bytes_to_read). A
/// damaged file can crash or hang the HDF5 library; check_file_apart() (probe.hpp) survives that.
[[nodiscard]] FileCheck check_file(const std::string& file,
                                   const std::function<void(index_t)>& step);

/// Convert the check to text and back, for other processes.
[[nodiscard]] std::string to_text(const FileCheck& check);
[[nodiscard]] FileCheck parse_check(const std::string& text);

}  // namespace tessera::inline v1::io
