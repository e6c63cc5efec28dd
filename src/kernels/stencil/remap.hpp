#pragma once
// Orders of walking a field, as functions of a linear index: shared by CPU, CUDA and the cache simulator.

#include "base/index.hpp"

namespace tessera::stencil {

struct Place {
  index_t x, y;
};

/// Column-based iteration: columns `width` wide are walked one after the other, each row by row. The last
/// column may be narrower. 0 <= i < image_width * image_height.
[[nodiscard]] TESSERA_HD constexpr Place column_place(index_t i, index_t width, index_t image_width,
                                                      index_t image_height) {
  const index_t left = i / (image_height * width) * width;
  const index_t here = image_width - left < width ? image_width - left : width;
  const index_t within = i - left * image_height;
  return {within % here + left, within / here};
}

/// The same with x reversed on every other row: the walk never jumps back to the start of a row.
[[nodiscard]] TESSERA_HD constexpr Place zigzag_place(index_t i, index_t width, index_t image_width,
                                                      index_t image_height) {
  const Place place = column_place(i, width, image_width, image_height);
  if (place.y % 2 == 0) return place;
  const index_t left = place.x / width * width;
  const index_t here = image_width - left < width ? image_width - left : width;
  return {left + here - 1 - (place.x - left), place.y};
}

/// The orders in which threads, numbered through, take the points of an image.
enum class Order { rows, column, zigzag };

[[nodiscard]] TESSERA_HD constexpr Place place_of(Order order, index_t i, index_t width, index_t image_width,
                                                  index_t image_height) {
  if (order == Order::column) return column_place(i, width, image_width, image_height);
  if (order == Order::zigzag) return zigzag_place(i, width, image_width, image_height);
  return {i % image_width, i / image_width};
}

}  // namespace tessera::stencil
