#pragma once
// The reduction of C along a split k: planned once, executed many times. Private to this folder.

#include <optional>
#include <vector>

#include "dist/matmul/product_parts.hpp"
#include "mpi/repeated.hpp"

namespace tessera::inline v1::dist::matmul {

/// A node's value over a part of this rank's box of c, received or computed here.
template <class T>
struct PartialBlock {
  layout::Box box;
  Subtree node;
  machine::Buffer<T> storage;  ///< of a received one
  MatrixView<const T> view;
};

/// The sum, along the summation tree, of the values that the ranks of a plan computed. One message
/// per node and home; every partial element is sent at most once.
template <class T>
class Combination {
 public:
  /// Plans the sum in the boxes of `homes` and allocates buffer_bytes(). `mine` are this rank's
  /// nodes over its box of c_layout(plan), which stay where they are. Local.
  Combination(const mpi::Communicator& comm, const Plan& plan, const layout::MatrixLayout& homes,
              const std::vector<NodeValue<T>>& mine);
  Combination(const Combination&) = delete;
  Combination& operator=(const Combination&) = delete;

  /// Computes c, this rank's box of the homes. Allocates nothing. Collective.
  void execute(MatrixView<T> c, mpi::Phases& phases);
  [[nodiscard]] index_t buffer_bytes() const;
  [[nodiscard]] index_t sent_bytes() const;
  [[nodiscard]] index_t received_bytes() const;

 private:
  /// A part of one of this rank's values, and its message.
  struct Packed {
    MatrixView<const T> value;
    machine::Buffer<T> storage;
  };
  void plan_receives(const mpi::Communicator& comm, const Plan& plan,
                     const std::vector<NodeValue<T>>& mine);
  void plan_sends(const mpi::Communicator& comm, const Plan& plan,
                  const layout::MatrixLayout& homes, const std::vector<NodeValue<T>>& mine);
  void plan_regions();
  [[nodiscard]] std::optional<MatrixView<const T>> piece_of(Subtree node,
                                                            const layout::Box& region) const;
  [[nodiscard]] std::size_t halves(Subtree node, const layout::Box& region) const;
  void sum(Subtree node, const layout::Box& region, MatrixView<T> into, std::size_t level);

  int ranks_;
  layout::Box home_;
  Subtree root_;
  std::vector<PartialBlock<T>> pieces_;  ///< that intersect the home, by rank and node
  std::vector<Packed> packed_;           ///< by home and node
  std::vector<mpi::RepeatedMessages::Out> out_;
  std::vector<mpi::RepeatedMessages::In> in_;
  mpi::RepeatedMessages messages_;
  std::vector<layout::Box> regions_;        ///< that all their pieces cover entirely
  std::vector<machine::Buffer<T>> halves_;  ///< of nodes that are no pieces, by level
};

}  // namespace tessera::inline v1::dist::matmul
