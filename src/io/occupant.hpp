#pragma once
// Classification of the file that exists at an output's path before it is written.

#include <string>

namespace tessera::inline v1::io {

enum class Occupant {
  nothing,
  ours,    ///< an output of Tessera and nothing else, or an empty file
  others,  ///< an HDF5 file with foreign content
};

/// Classifies a file by all of its content, following symbolic links. Throws Error(cannot_create)
/// if it is not an HDF5 file, cannot be read, or holds results, Error(io) if another program writes
/// to it. A damaged file can crash the HDF5 library; probe_output() (probe.hpp) survives that.
[[nodiscard]] Occupant occupant_of(const std::string& file);

}  // namespace tessera::inline v1::io
