#pragma once
// The positions of an image's points in space: read from image data of VTKHDF, and those of the
// points that an output keeps.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "io/h5.hpp"

namespace tessera::inline v1::io {

struct DatasetSpec;

/// Point (i, j, k) is at origin + direction * (i, j, k) * spacing; i, along x, is the index of the
/// last dimension.
struct Geometry {
  std::array<double, 3> origin{0, 0, 0}, spacing{1, 1, 1};     // x, y, z
  std::array<double, 9> direction{1, 0, 0, 0, 1, 0, 0, 0, 1};  // row by row
  [[nodiscard]] bool is_turned() const { return direction != Geometry{}.direction; }
};

/// Returns the names of the hard links of a group to an object.
[[nodiscard]] std::vector<std::string> image_names(hid_t group, hid_t object);

/// Returns the geometry of an output whose input is data of an image (of VTKHDF), of which it keeps
/// dimensions in space only: selected and permuted as the data, so that every value stays at its
/// position. Values of cells are at their centres. None for other outputs. Throws Error(bad_data,
/// missing_input). Serial.
[[nodiscard]] std::optional<Geometry> geometry_of(const DatasetSpec& spec);

}  // namespace tessera::inline v1::io
