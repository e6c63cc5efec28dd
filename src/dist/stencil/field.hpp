#pragma once
// A field distributed in boxes over the ranks, with its ghost layers and the previous level.

#include <functional>
#include <memory>
#include <vector>

#include "base/bfloat16.hpp"
#include "dist/stencil/scheme.hpp"
#include "kernels/stencil/sweep.hpp"
#include "layout/grid_layout.hpp"

namespace tessera::inline v1::dist::stencil {

using tessera::stencil::Edge;
using tessera::stencil::Field;
using tessera::stencil::Ghosts;
using tessera::stencil::Sweep;
using tessera::stencil::Terms;

/// Kinds of the sides of a rank's box.
using Edges = std::array<std::array<Edge, 2>, 3>;
[[nodiscard]] Edges edges_of(const Scheme& scheme, const layout::GridLayout& grid, index_t rank);

/// Returns a sweep of a box without memory, with halos for `steps` steps.
template <class T>
[[nodiscard]] Sweep<T> shape_of(const Scheme& scheme, const Box3& box, index_t steps) {
  Sweep<T> sweep{scheme.stencil, scheme.sides, scheme.global, box.low, {}, steps};
  for (GridView<T>& level : sweep.level) level.extent = box.size();
  sweep.level[0].dims = sweep.level[1].dims = scheme.stencil.dims;
  return sweep;
}

/// The problem's terms on a rank's box, extended by the points that the steps between two exchanges
/// compute. Never exchanged: the caller fills the ghost layers as well.
template <class T>
class TermFields {
 public:
  /// Allocates uninitialised memory.
  TermFields(const Scheme& scheme, const layout::GridLayout& grid, index_t rank,
             index_t halo_steps);

  /// Returns the view of a term; empty if the scheme has no such term.
  [[nodiscard]] GridView<T> operator[](Term term);
  [[nodiscard]] Terms<T> terms() const;
  [[nodiscard]] const Box3& box() const {
    return box_;
  }  ///< with its ghost layers, in global indices

 private:
  TermSet set_;
  Index3 origin_;  ///< of the rank's box in box_
  Index3 size_;
  Box3 box_;
  mutable std::array<Field<T>, all_terms.size()> storage_;  ///< by Term, of one level
};

template <class T>
class HaloWindow;

/// This rank's box with ghost layers for up to halo_steps steps between two exchanges, of one field
/// or of several that are advanced together.
template <class T>
class DistributedField {
 public:
  DistributedField() = default;
  /// Allocates uninitialised memory with zero ghost layers. Throws Error(usage) that names the
  /// argument for a grid of another extent, a rank outside the grid, or a halo deeper than a box.
  DistributedField(const Scheme& scheme, const layout::GridLayout& grid, index_t rank,
                   index_t halo_steps, index_t fields = 1);

  [[nodiscard]] const Scheme& scheme() const { return scheme_; }
  [[nodiscard]] const layout::GridLayout& grid() const { return grid_; }
  [[nodiscard]] const Box3& box() const { return box_; }  ///< in global indices
  [[nodiscard]] const Ghosts& ghosts() const { return ghosts_; }
  [[nodiscard]] index_t halo_steps() const { return halo_steps_; }
  [[nodiscard]] index_t fields() const { return static_cast<index_t>(storage_.size()); }

  [[nodiscard]] GridView<T> now(index_t field = 0) { return level(field, turned_); }
  [[nodiscard]] GridView<T> past(index_t field = 0) {
    return level(field, turned_ + 1);
  }  ///< the previous level
  [[nodiscard]] GridView<const T> now(index_t field = 0) const {
    return const_cast<DistributedField*>(this)->now(field);
  }
  [[nodiscard]] GridView<const T> past(index_t field = 0) const {
    return const_cast<DistributedField*>(this)->past(field);
  }

  /// Sets the terms, which the fields of one problem share.
  void use(std::shared_ptr<const TermFields<T>> terms) { terms_ = std::move(terms); }
  [[nodiscard]] Terms<T> terms() const { return terms_ ? terms_->terms() : Terms<T>{}; }

  /// Sets the window through which neighbours of the same node exchange halos; without one they
  /// send messages.
  void use(std::shared_ptr<HaloWindow<T>> window) { window_ = std::move(window); }
  [[nodiscard]] const std::shared_ptr<HaloWindow<T>>& window() const { return window_; }

  /// Declares that the values are stored elsewhere: now() and past() of a part of the box, in local
  /// indices, are valid after bring(part).
  void keep_elsewhere(std::function<void(const Box3& part)> bring) { bring_ = std::move(bring); }
  void bring(const Box3& part) const {
    if (bring_) bring_(part);
  }
  void bring() const { bring({{}, box_.size()}); }

  /// Returns the arguments of a kernel that advances by `steps` steps.
  [[nodiscard]] Sweep<T> sweep(index_t steps, int threads, index_t field = 0);
  /// Switches the levels after `steps` steps.
  void turn(index_t steps) { turned_ = (turned_ + steps) % 2; }
  /// Resets the levels: the next initial values belong in now().
  void rewind() { turned_ = 0; }

 private:
  [[nodiscard]] GridView<T> level(index_t field, index_t step) {
    return storage_[static_cast<std::size_t>(field)].level(step);
  }

  Scheme scheme_;
  layout::GridLayout grid_;
  Box3 box_;
  index_t halo_steps_ = 1;
  Ghosts ghosts_{};
  std::vector<Field<T>> storage_{1};  ///< by field
  std::shared_ptr<const TermFields<T>> terms_;
  std::shared_ptr<HaloWindow<T>> window_;
  std::function<void(const Box3&)> bring_;
  index_t turned_ = 0;
};

/// Returns the bytes of a rank's fields and of their terms.
template <class T>
[[nodiscard]] index_t field_bytes(const Scheme& scheme, const layout::GridLayout& grid,
                                  index_t rank, index_t halo_steps, index_t fields = 1);

}  // namespace tessera::inline v1::dist::stencil
