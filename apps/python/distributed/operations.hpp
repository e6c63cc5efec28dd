#pragma once
// Cuts of arrays on ranks, and the operations of tessera/distributed.py, which documents them. All
// are collective, and their arguments were agreed on, unless they say otherwise.

#include <memory>
#include <vector>

#include "dist/transpose/permute_plan.hpp"
#include "distributed/context.hpp"
#include "layout/array_grid.hpp"
#include "tessera_plans.h"

namespace tessera::python {

/// An array's shape, cut along its axes. `grid` has the parts of each axis, or no element: every
/// rank holds all. `block` has the indices in a row of each axis, dealt out in turn, or no element:
/// one even share a part. `owners` has the rank of each place of the grid, or no element: 0, 1, ...
/// Local.
class Cut {
 public:
  Cut(const Ranks& ranks, std::vector<index_t> shape, const std::vector<index_t>& grid,
      const std::vector<index_t>& block, std::vector<index_t> owners);

  /// Returns the shape of this rank's share, and its indices along an axis.
  [[nodiscard]] py::tuple local_shape() const;
  [[nodiscard]] py::array_t<index_t> indices(std::size_t axis) const;
  [[nodiscard]] const layout::ArrayGrid& grid() const { return grid_; }

 private:
  /// Returns this rank's segments along an axis; none if it holds nothing.
  [[nodiscard]] layout::Segments segments(std::size_t axis) const;

  layout::ArrayGrid grid_;
  index_t ranks_, rank_;
};

/// Returns the parts of two axes of those extents whose blocks are nearest to squares.
[[nodiscard]] py::tuple nearest_grid(const Ranks& ranks, index_t rows, index_t cols);

void relayout(const Ranks& ranks, const Cut& from, const py::array& a, const Cut& to, py::array b);
void matmul_distributed(const Ranks& ranks, const Cut& cut_a, const py::array& a, const Cut& cut_b,
                        const py::array& b, const Cut& cut_c, py::array c);

void sort_distributed(const Ranks& ranks, py::array keys, bool descending);
void argsort_distributed(const Ranks& ranks, const py::array& keys, bool descending,
                         py::array order);
void take(const Ranks& ranks, const py::array& rows, index_t bytes, const py::array& numbers,
          py::array taken);

/// Of this rank's sorted keys (tessera/keys.py).
void searchsorted(const Ranks& ranks, const py::array& sorted, const py::array& values, int side,
                  bool descending, py::array positions);
/// Fills the first of `begins`, which has room for all keys; returns their number, and the end.
[[nodiscard]] py::tuple groups(const Ranks& ranks, const py::array& sorted, bool descending,
                               py::array begins);
/// Fills the first of `distinct` and `counts` likewise; returns their number.
[[nodiscard]] index_t unique(const Ranks& ranks, const py::array& sorted, bool descending,
                             py::array distinct, py::array counts);

/// Returns the shape of a dataset, and the name of its type. Local.
[[nodiscard]] py::tuple describe(const std::string& file, const std::string& dataset);
/// Reads the box [low, high) of a dataset. Local.
void read_dataset(const std::string& file, const std::string& dataset,
                  const std::vector<index_t>& low, const std::vector<index_t>& high, py::array to);
void write_dataset(const Ranks& ranks, const std::string& file, const std::string& dataset,
                   const std::vector<index_t>& shape, const std::vector<index_t>& low,
                   const py::array& from, bool overwrite);

/// A field in the library's memory, which a stencil advances.
class Field {
 public:
  Field(const Ranks& ranks, const std::vector<index_t>& shape, const py::dtype& dtype,
        const std::string& kernel, const py::object& weights, const std::string& boundary,
        double value, const std::string& options);
  ~Field();
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  [[nodiscard]] std::vector<index_t> low() const { return low_; }
  [[nodiscard]] std::vector<index_t> high() const { return high_; }
  /// Returns the parts of each axis.
  [[nodiscard]] std::vector<index_t> grid() const { return grid_; }
  /// Returns this rank's box in the field's memory, which `base` keeps.
  [[nodiscard]] py::array local(const py::object& base) const;
  void advance(index_t steps);

 private:
  tessera_field handle_ = nullptr;
  py::dtype dtype_;
  std::vector<index_t> low_, high_, grid_;
};

/// What tessera_halo_plan_create takes.
struct HaloArguments {
  std::vector<index_t> shape;
  py::dtype dtype;
  std::vector<index_t> widths, grid;  ///< no grid: that which sends the least
  std::string boundary;
  double value;
  int fields;
};
/// A plan of halo exchanges.
class Halo {
 public:
  Halo(const Ranks& ranks, const HaloArguments& arguments, const std::string& options);
  ~Halo();
  Halo(const Halo&) = delete;
  Halo& operator=(const Halo&) = delete;

  [[nodiscard]] std::vector<index_t> low() const { return low_; }
  [[nodiscard]] std::vector<index_t> high() const { return high_; }
  [[nodiscard]] index_t bytes() const;
  /// Starts an execution on boxes at those addresses, of the host or of a GPU; strides count
  /// elements.
  void start(const std::vector<std::uintptr_t>& addresses, const std::vector<index_t>& strides);
  void wait();

 private:
  tessera_halo_plan handle_ = nullptr;
  std::vector<index_t> low_, high_;
};

/// A plan that moves shares from one cut to another, of which axis k is axis axes[k], on the host
/// (gpu: -1) or in the memory of a GPU.
class Relayout {
 public:
  Relayout(const Ranks& ranks, const Cut& from, const std::vector<int>& axes, const Cut& to,
           index_t bytes, int gpu);
  /// Frees plans of the host only. Local.
  ~Relayout();
  Relayout(const Relayout&) = delete;
  Relayout& operator=(const Relayout&) = delete;

  [[nodiscard]] index_t bytes() const;
  /// Starts an execution on shares at those addresses.
  void start(std::uintptr_t a, std::uintptr_t b);
  void wait();
  void free();

 private:
  void use_place() const;

  int gpu_;
  std::unique_ptr<dist::transpose::PermutePlan> plan_;
};

}  // namespace tessera::python
