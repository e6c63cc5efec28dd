#pragma once
// The part of a coordinate variable that belongs to an output, and its elements in the output's
// order of dimensions.

#include <hdf5.h>

#include <optional>
#include <utility>
#include <vector>

#include "io/content.hpp"
#include "layout/block_map.hpp"

namespace tessera::inline v1::io {

/// Identifies an object in all open files.
using Identity = std::pair<unsigned long, haddr_t>;
/// An axis of the input dataset.
struct Axis {
  layout::Range range;
  std::optional<std::size_t> place;  // dimension of the output
  bool reordered = false;
  std::vector<Identity> scales;
  bool picked = false;  // by an index
};

/// The axes of a variable: those of the input dataset, or nullptr for others.
using AxesOf = std::vector<const Axis*>;

/// A variable, and the part of it that the output has.
struct Variable {
  hid_t id;
  const AxesOf& axes;
  Handle space;                         // selected
  std::vector<index_t> slab = {};       // extents of the selection, in the input's order
  std::vector<index_t> extents = {};    // those, with elements that the variable does not have yet
  std::vector<std::size_t> order = {};  // of its dimensions in the output, without dropped ones
  std::vector<index_t> shape = {};      // of the copy
  bool exists = true;                   // false: the variable ends before the index
};

/// Returns the axes of a scale: the dataset's, and none for further dimensions.
[[nodiscard]] AxesOf axes_along(hid_t scale, const Axis* axis);

/// Selects the part of a variable that the output has. A variable may be shorter than the data: if
/// it can grow, the part has fill values beyond its end, as netCDF reads such variables; otherwise
/// the part is shorter.
[[nodiscard]] Variable part_of(hid_t variable, const AxesOf& axes);

/// Returns the elements of the part in the output's order of dimensions, with its fill values.
[[nodiscard]] std::vector<std::byte> permuted(const Elements& from, const Variable& part);

}  // namespace tessera::inline v1::io
