#pragma once
// The summation tree walked leaf by leaf; private to this folder.

#include <vector>

#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/summation.hpp"
#include "machine/buffer.hpp"

namespace tessera::dist::matmul {

/// Matrices beside c that wait for their neighbours at most.
[[nodiscard]] constexpr index_t most_waiting(const tessera::matmul::Leaves& leaves) {
  index_t waiting = 0;
  while ((index_t{1} << waiting) < leaves.count()) ++waiting;
  return waiting;
}

/// Sums of finished leaves waiting for their right neighbours: the binary counter that walks the summation
/// tree with log2(leaves) matrices. They stay for the next c.
template <class T>
class LeafStack {
 public:
  /// For matrices of at most so many elements.
  LeafStack(const tessera::matmul::Leaves& leaves, index_t most_elements)
      : leaves_(leaves), most_elements_(most_elements) {}

  /// From now on the sum is this one.
  void start(MatrixView<T> c) {
    c_ = c;
    stack_.clear();
  }

  /// Where leaf number `leaf` grows: c itself for the first, a matrix of its own for the others.
  MatrixView<T> begin(index_t leaf) {
    stack_.push_back({{leaf, 1}, leaf == 0 ? machine::Buffer<T>() : take()});
    return view(stack_.back());
  }

  /// Adds every pair of neighbours that are the two halves of a node of the tree.
  void end() {
    while (stack_.size() > 1 && halves(stack_[stack_.size() - 2].node, stack_.back().node)) {
      Entry& into = stack_[stack_.size() - 2];
      tessera::matmul::add<T>(view(stack_.back()), view(into));
      into.node.count += stack_.back().node.count;
      spare_.push_back(std::move(stack_.back().storage));
      stack_.pop_back();
    }
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
    return entry.node.first == 0 ? c_ : matrix_view(entry.storage.data(), c_.rows, c_.cols);
  }
  bool halves(tessera::matmul::Subtree a, tessera::matmul::Subtree b) const {
    const tessera::matmul::Subtree both{a.first, a.count + b.count};
    const auto path = subtrees(whole(leaves_), both.first, both.first + both.count);
    return path.size() == 1 && left(both) == a;
  }

  tessera::matmul::Leaves leaves_;
  index_t most_elements_;
  MatrixView<T> c_;
  std::vector<Entry> stack_;
  std::vector<machine::Buffer<T>> spare_;
};

}  // namespace tessera::dist::matmul
