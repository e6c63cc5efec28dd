#pragma once
// Analysis of one traced run by all simulators.

#include <optional>

#include "lab/locality/set_associative.hpp"
#include "lab/locality/theorem.hpp"

namespace tessera::inline v1::locality {

struct AnalysisRequest {
  Problem problem;
  std::vector<Geometry> caches;  ///< nearest first; all with the same line size
  index_t line_bytes = 64;
  double sample = 0;          ///< fraction of lines followed; 0: all, up to a limit
  index_t ideal_limit = 0;    ///< longest trace, in changes of line, simulated on the ideal cache
  index_t alignment = 4096;   ///< of the arrays, bytes
  std::vector<Sink*> others;  ///< further consumers of the stream
};

struct CacheReport {
  Geometry geometry;
  std::vector<MissKinds> arrays;  ///< by number in Analysis::arrays
  MissKinds all;
  index_t behind = 0;                         ///< misses behind the preceding caches
  index_t load_misses = 0, store_misses = 0;  ///< parts of behind
  index_t random = 0;                         ///< alone, with random replacement
  std::optional<index_t> ideal;               ///< ideal cache of that size
  std::vector<MissKinds> by_level;            ///< by level of the recursion
};

struct Analysis {
  Problem problem;  ///< including the kernel's choices
  std::string leaf;
  std::vector<std::string> arrays;
  std::vector<index_t> begins, bytes;  ///< of the arrays, in traced memory
  index_t loads = 0, stores = 0;
  double rate = 1;  ///< fraction of lines followed
  MissCurve curve;
  std::vector<MissCurve> array_curves;
  std::vector<std::string> stages;  ///< of the kernel, if it has some
  std::vector<MissCurve> stage_curves;
  std::vector<CacheReport> caches;
  std::optional<Theorem> theorem;
  std::optional<Fit> fitted;
  struct Ideal {
    index_t lines, misses;
  };
  std::vector<Ideal> ideal;  ///< by size
  double seconds = 0;
};

/// Runs the kernel once, into all simulators. Throws Error(usage) for untraced kernels or problems,
/// Error(memory) if the simulated caches exceed the memory, Error(internal) if the kernel computes
/// a wrong result.
[[nodiscard]] Analysis analyse(const AnalysisRequest& request);

}  // namespace tessera::inline v1::locality
