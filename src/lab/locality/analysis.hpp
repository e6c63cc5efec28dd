#pragma once
// One traced run, and everything the simulators saw of it.

#include <optional>

#include "lab/locality/set_associative.hpp"
#include "lab/locality/theorem.hpp"

namespace tessera::locality {

struct AnalysisRequest {
  Problem problem;
  std::vector<Geometry> caches;  ///< one behind the other; lines of one size
  index_t line_bytes = 64;
  double sample = 0;          ///< part of the lines followed; 0: all, up to a limit
  index_t ideal_limit = 0;    ///< most changes of line of which the ideal cache is simulated
  index_t alignment = 4096;   ///< of the arrays
  std::vector<Sink*> others;  ///< see the stream as well
};

struct CacheReport {
  Geometry geometry;
  std::vector<MissKinds> arrays;  ///< by number in Analysis::arrays
  MissKinds all;
  index_t behind = 0;                         ///< misses behind the caches before it
  index_t load_misses = 0, store_misses = 0;  ///< of those
  index_t random = 0;                         ///< alone, with random replacement
  std::optional<index_t> ideal;               ///< of the ideal cache of that size
  std::vector<MissKinds> by_level;            ///< by level of the recursion
};

struct Analysis {
  Problem problem;  ///< with what the kernel chose itself
  std::string leaf;
  std::vector<std::string> arrays;
  std::vector<index_t> begins, bytes;  ///< of the arrays, in traced memory
  index_t loads = 0, stores = 0;
  double rate = 1;  ///< part of the lines that was followed
  MissCurve curve;
  std::vector<MissCurve> array_curves;
  std::vector<CacheReport> caches;
  std::optional<Theorem> theorem;
  std::optional<Fit> fitted;
  struct Ideal {
    index_t lines, misses;
  };
  std::vector<Ideal> ideal;  ///< by size
  double seconds = 0;
};

/// Runs the kernel once, into all the simulators. Throws Error(usage) for what is not traced,
/// Error(memory) where the caches take more than there is, Error(internal) when the kernel computes
/// a wrong result.
[[nodiscard]] Analysis analyse(const AnalysisRequest& request);

}  // namespace tessera::locality
