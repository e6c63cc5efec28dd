#pragma once
// The lazy k-merger (Brodal and Fagerberg 2002): a binary tree of merges with a buffer on every
// edge, sized so that each subtree of the van Emde Boas layout fits some cache of any size. An
// empty buffer is refilled on demand.

#include <bit>
#include <cmath>

#include "kernels/sort/runs.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {

template <class Item>
class Funnel {
 public:
  explicit Funnel(std::span<const Run<Item>> runs) {
    const auto leaves = std::bit_ceil(std::max<std::size_t>(runs.size(), 2));
    height_ = bit_length(leaves) - 1;
    nodes_.resize(2 * leaves);
    machine::List<index_t> capacity(static_cast<std::size_t>(height_) + 1, 0);
    size_buffers(capacity, 0, height_);
    index_t items = 0;
    for (int depth = 1; depth < height_; ++depth)
      items += capacity[static_cast<std::size_t>(depth)] << depth;
    storage_ = machine::Buffer<Item>(items);
    next_ = storage_.data();
    place_buffers(capacity, 1, 0, height_);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      Node& leaf = nodes_[leaves + r];
      leaf.at = runs[r].data;
      leaf.end = runs[r].data + runs[r].n;
    }
    for (std::size_t r = 0; r < leaves; ++r) nodes_[leaves + r].exhausted = true;
  }

  /// Merges all items of the runs into to[0:count]; equal items in the order of their runs.
  void merge_to(Item* to, index_t count) {
    nodes_[1].buffer = to;
    nodes_[1].capacity = count;
    fill(1);
  }

 private:
  struct Node {
    const Item* at = nullptr;  ///< the unconsumed part of the buffer (or of the run, at a leaf)
    const Item* end = nullptr;
    Item* buffer = nullptr;
    index_t capacity = 0;
    bool exhausted = false;  ///< nothing follows the contents of the buffer
  };

  /// Sets the buffer sizes: edges at the middle of a subtree of height h (k = 2^h inputs) hold
  /// k^(3/2) items; both halves recursively.
  static void size_buffers(machine::List<index_t>& capacity, int top, int height) {
    if (height < 2) return;
    const int upper = height / 2;
    const auto items = static_cast<index_t>(std::ceil(std::pow(2.0, 1.5 * height)));
    capacity[static_cast<std::size_t>(top + upper)] = std::max<index_t>(items, 8);
    size_buffers(capacity, top, upper);
    size_buffers(capacity, top + upper, height - upper);
  }

  /// Places the buffers of a subtree contiguously: first those of its upper half, then those of
  /// each lower half.
  void place_buffers(const machine::List<index_t>& capacity, std::size_t root, int depth,
                     int height) {
    if (height < 2) return;
    const int upper = height / 2;
    place_buffers(capacity, root, depth, upper);
    const std::size_t first = root << upper;
    for (std::size_t i = 0; i < std::size_t{1} << upper; ++i) {
      Node& node = nodes_[first + i];
      node.capacity = capacity[static_cast<std::size_t>(depth + upper)];
      node.buffer = next_;
      node.at = node.end = next_;
      next_ += node.capacity;
      place_buffers(capacity, first + i, depth + upper, height - upper);
    }
  }

  /// Refills the node if it is empty; returns false if no items are left.
  bool available(std::size_t i) {
    if (nodes_[i].at == nodes_[i].end && !nodes_[i].exhausted) fill(i);
    return nodes_[i].at != nodes_[i].end;
  }

  void fill(std::size_t i) {
    Node& node = nodes_[i];
    Node& left = nodes_[2 * i];
    Node& right = nodes_[2 * i + 1];
    Item* to = node.buffer;
    Item* const full = node.buffer + node.capacity;
    while (to != full) {
      const bool has_left = available(2 * i), has_right = available(2 * i + 1);
      if (!has_left && !has_right) {
        node.exhausted = true;
        break;
      }
      if (!has_left || !has_right) {
        Node& rest = has_left ? left : right;
        const index_t moved = std::min<index_t>(full - to, rest.end - rest.at);
        to = std::copy(rest.at, rest.at + moved, to);
        rest.at += moved;
        continue;
      }
      merge_step(left, right, to, full);
    }
    node.at = node.buffer;
    node.end = to;
  }

  /// Merges until one side is empty or the output full.
  static void merge_step(Node& left, Node& right, Item*& to, Item* full) {
    const Item* a = left.at;
    const Item* b = right.at;
    while (a != left.end && b != right.end && to != full) {
      const bool from_right = *b < *a;
      *to++ = from_right ? *b : *a;
      b += from_right ? 1 : 0;
      a += from_right ? 0 : 1;
    }
    left.at = a;
    right.at = b;
  }

  int height_ = 1;
  machine::List<Node> nodes_;  // root 1, children 2i and 2i+1
  machine::Buffer<Item> storage_;
  Item* next_ = nullptr;
};

}  // namespace tessera::inline v1::sort
