#pragma once
// What limited a run, from its measured phases: one sentence with what to try.

#include <optional>
#include <string>
#include <vector>

#include "io/results.hpp"

namespace tessera::inline v1::run {

/// The share of a measured ceiling that a point reached.
struct CeilingShare {
  std::string name;  ///< "copy": of memory; others: of arithmetic
  double share = 0;
};

/// Where the input of a point comes from; both take the phase `read`.
enum class InputFrom { files, generator };

/// Returns "limited by files: ...; try ..." for the rows of the table `phases` of one point: the
/// slowest kind of phase, if it took at least 40 % of the time, or imbalance, if ranks waited for
/// the slowest one for at least 20 %. Returns "" if neither holds, or for less than a second, in
/// which the start of the program dominates.
[[nodiscard]] std::string limit_sentence(const std::vector<io::Row>& phases,
                                         const std::optional<CeilingShare>& reached,
                                         InputFrom input = InputFrom::files);

}  // namespace tessera::inline v1::run
