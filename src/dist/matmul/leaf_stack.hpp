#pragma once
// The summation tree in leaf order with a stack of partial sums; private to this folder.

#include <algorithm>
#include <numeric>
#include <vector>

#include "dist/matmul/product_parts.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/summation.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::dist::matmul {

/// Returns the union of two adjacent nodes.
[[nodiscard]] constexpr tessera::matmul::Subtree both(tessera::matmul::Subtree a,
                                                      tessera::matmul::Subtree b) {
  return {std::min(a.first, b.first), a.count + b.count};
}

/// Returns whether the two are the halves of a node of the tree, in either order.
[[nodiscard]] inline bool neighbours(const tessera::matmul::Leaves& leaves,
                                     tessera::matmul::Subtree a, tessera::matmul::Subtree b) {
  const tessera::matmul::Subtree parent = both(a, b);
  if (parent.first + parent.count != std::max(a.first + a.count, b.first + b.count)) return false;
  const auto path = subtrees(whole(leaves), parent.first, parent.first + parent.count);
  return path.size() == 1 && left(parent) == (a.first < b.first ? a : b);
}

/// Returns the maximal number of pending matrices, except the one of leaf `first`, when leaves are
/// added in this order.
[[nodiscard]] inline index_t most_waiting(const tessera::matmul::Leaves& leaves, index_t first,
                                          const std::vector<index_t>& order) {
  std::vector<tessera::matmul::Subtree> nodes;
  index_t most = 0;
  for (const index_t leaf : order) {
    nodes.push_back({leaf, 1});
    const auto waiting =
        std::count_if(nodes.begin(), nodes.end(), [&](const auto& x) { return x.first != first; });
    most = std::max<index_t>(most, waiting);
    while (nodes.size() > 1 && neighbours(leaves, nodes[nodes.size() - 2], nodes.back())) {
      nodes[nodes.size() - 2] = both(nodes[nodes.size() - 2], nodes.back());
      nodes.pop_back();
    }
  }
  return most;
}

/// As above, for all leaves in ascending order.
[[nodiscard]] inline index_t most_waiting(const tessera::matmul::Leaves& leaves) {
  std::vector<index_t> order(static_cast<std::size_t>(leaves.count()));
  std::iota(order.begin(), order.end(), index_t{0});
  return most_waiting(leaves, 0, order);
}

/// Sums of finished leaves that wait for their right neighbours: a binary counter, which evaluates
/// the summation tree with log2(leaves) matrices. The matrices are kept for the next c.
template <class T>
class LeafStack {
 public:
  /// Precondition: matrices have at most most_elements elements.
  LeafStack(const tessera::matmul::Leaves& leaves, index_t most_elements)
      : leaves_(leaves), most_elements_(most_elements) {}

  /// Starts a new sum in c, of the leaves from `first` on, in any order.
  void start(MatrixView<T> c, index_t first = 0) {
    c_ = c;
    first_ = first;
    stack_.clear();
  }

  /// Returns the matrix in which to accumulate leaf number `leaf`: c for leaf `first`, a temporary
  /// matrix for the others.
  MatrixView<T> begin(index_t leaf) {
    stack_.push_back({{leaf, 1}, leaf == first_ ? machine::Buffer<T>() : take()});
    return view(stack_.back());
  }

  /// Adds the right to the left of every pair of matrices that are the two halves of a node of the
  /// tree.
  void end() {
    while (stack_.size() > 1 &&
           neighbours(leaves_, stack_[stack_.size() - 2].node, stack_.back().node)) {
      Entry last = std::move(stack_.back());
      stack_.pop_back();
      if (last.node.first < stack_.back().node.first) std::swap(last, stack_.back());
      Entry& into = stack_.back();
      tessera::matmul::add<T>(view(last), view(into));
      into.node = both(into.node, last.node);
      spare_.push_back(std::move(last.storage));
    }
  }

  /// Returns and releases the remaining nodes of the tree, in order. The first has no storage.
  std::vector<NodeValue<T>> values() {
    std::sort(stack_.begin(), stack_.end(),
              [](const Entry& a, const Entry& b) { return a.node.first < b.node.first; });
    std::vector<NodeValue<T>> result;
    for (Entry& entry : stack_) {
      const auto at = view(entry);
      result.push_back({entry.node, std::move(entry.storage), at});
    }
    stack_.clear();
    return result;
  }

 private:
  struct Entry {
    tessera::matmul::Subtree node;
    machine::Buffer<T> storage;
  };

  machine::Buffer<T> take() {
    if (spare_.empty()) return machine::Buffer<T>(most_elements_);
    machine::Buffer<T> last = std::move(spare_.back());
    spare_.pop_back();
    return last;
  }
  MatrixView<T> view(Entry& entry) {
    return entry.node.first == first_ ? c_ : matrix_view(entry.storage.data(), c_.rows, c_.cols);
  }
  tessera::matmul::Leaves leaves_;
  index_t most_elements_;
  MatrixView<T> c_;
  index_t first_ = 0;
  std::vector<Entry> stack_;
  std::vector<machine::Buffer<T>> spare_;
};

}  // namespace tessera::inline v1::dist::matmul
