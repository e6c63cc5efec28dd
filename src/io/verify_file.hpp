#pragma once
// Is a file one of ours, complete, and does it match its checksums?

#include <functional>
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

/// Re-hashes every dataset of ours in the file. Throws Error: 66 when it is not there, 65 when it
/// is no HDF5 file, damaged, or not written by Tessera. `step` is called before each piece of a
/// dataset is read, with the bytes that this takes (bytes_to_read); a file that is damaged can
/// crash or hang the HDF5 library in between (probe.hpp has the call that survives it).
[[nodiscard]] FileCheck check_file(const std::string& file,
                                   const std::function<void(index_t)>& step);

/// The check as text and back, for other processes.
[[nodiscard]] std::string to_text(const FileCheck& check);
[[nodiscard]] FileCheck parse_check(const std::string& text);

}  // namespace tessera::io
