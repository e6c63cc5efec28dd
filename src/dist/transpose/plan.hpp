#pragma once
// Who sends what to whom, and in which order: pure arithmetic, the same on every rank, tested
// without a launcher.

#include <functional>
#include <optional>
#include <vector>

#include "layout/matrix_layout.hpp"

namespace tessera::dist::transpose {

/// A piece on its way to or from a peer; `box` in the indices of the target.
struct Message {
  index_t peer = 0;
  layout::Box box;
  friend bool operator==(const Message&, const Message&) = default;
};

/// At most one message out and one in. A rank takes its steps in order; what it waits for in a step
/// was sent in the same step of the peer's or an earlier one, so that nobody waits in a circle.
struct Step {
  std::optional<Message> send;
  std::optional<Message> receive;
};

/// The rank that `rank` meets in a phase of `ranks` phases, perhaps itself: a symmetric pairing for
/// any number of ranks, in which every pair meets once.
[[nodiscard]] constexpr index_t partner(index_t rank, index_t phase, index_t ranks) {
  return (phase - rank + ranks) % ranks;
}

/// A box in pieces of at most `most` elements (at least one): strips of whole rows, or parts of one
/// row.
[[nodiscard]] std::vector<layout::Box> strips(const layout::Box& box, index_t most);

/// What a rank sends and receives, pair by pair, in pieces of at most `most` elements. Both layouts
/// are of the target's shape (a transposed source is layout::transposed). Peers that `direct` says
/// yes to are left out, as is the rank itself.
[[nodiscard]] std::vector<Step> pairwise_steps(const layout::MatrixLayout& source,
                                               const layout::MatrixLayout& target, index_t rank,
                                               index_t most,
                                               const std::function<bool(index_t peer)>& direct);

/// The same for a square matrix in row blocks that is transposed in place: in every step the place
/// that is received into is the one that was sent from.
[[nodiscard]] std::vector<Step> swap_steps(const layout::MatrixLayout& layout, index_t rank,
                                           index_t most);

}  // namespace tessera::dist::transpose
