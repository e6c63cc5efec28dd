#pragma once
// What stands under the name of an output before it is written.

#include <string>

namespace tessera::io {

enum class Standing {
  nothing,
  ours,    ///< an output of ours and nothing else, or a file without a byte
  others,  ///< an HDF5 file that holds something else, too
};

/// Looks through all of a file, behind symbolic links. Throws Error(cannot_create) where it is no
/// HDF5 file, cannot be read, or holds results, Error(io) where somebody writes to it. A damaged
/// file can crash the HDF5 library (probe.hpp has the call that survives it).
[[nodiscard]] Standing standing_of(const std::string& file);

}  // namespace tessera::io
