#pragma once
// The messages of the pairwise exchange and their order: pure arithmetic, the same on every rank,
// tested without a launcher.

#include <functional>
#include <optional>
#include <vector>

#include "layout/matrix_layout.hpp"

namespace tessera::inline v1::dist::transpose {

/// A piece sent to or received from a peer; `box` in the indices of the target.
struct Message {
  index_t peer = 0;
  layout::Box box;
  friend bool operator==(const Message&, const Message&) = default;
};

/// At most one message out and one in. A rank executes its steps in order; what it waits for in a
/// step was sent in the same or an earlier step of the peer, so the exchange is free of deadlock.
struct Step {
  std::optional<Message> send;
  std::optional<Message> receive;
};

/// Returns the partner of `rank` in one of `ranks` phases, perhaps itself: a symmetric round-robin
/// pairing for any number of ranks, in which every pair meets once.
[[nodiscard]] constexpr index_t partner(index_t rank, index_t phase, index_t ranks) {
  return (phase - rank + ranks) % ranks;
}

/// Returns the pieces of a box with at most `most` elements each (at least one): strips of whole
/// rows, or parts of one row.
[[nodiscard]] std::vector<layout::Box> strips(const layout::Box& box, index_t most);

/// Returns the steps of a rank, pair by pair, in pieces of at most `most` elements. Both layouts
/// have the target's shape (a transposed source is layout::transposed). Excludes the rank itself
/// and the peers for which `direct` returns true.
[[nodiscard]] std::vector<Step> pairwise_steps(const layout::MatrixLayout& source,
                                               const layout::MatrixLayout& target, index_t rank,
                                               index_t most,
                                               const std::function<bool(index_t peer)>& direct);

/// Returns the steps that transpose a square matrix in row blocks in place: every step receives
/// into the place from which it sent.
[[nodiscard]] std::vector<Step> swap_steps(const layout::MatrixLayout& layout, index_t rank,
                                           index_t most);

}  // namespace tessera::inline v1::dist::transpose
