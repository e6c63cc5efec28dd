#pragma once
// What this build was made of and can use here, for --version.

#include <string>

#include "run/answer.hpp"

namespace tessera::inline v1::run {

/// Returns commit, build type, compiler, libraries of MPI and HDF5, instruction sets (compiled, and
/// the one selected), CUDA version (null without CUDA) and why BLAS is missing (null if it loads).
[[nodiscard]] Json build_facts();

/// Sets "facts", and returns the version and the facts in lines of at most 80 columns.
[[nodiscard]] std::string answer_version();

}  // namespace tessera::inline v1::run
