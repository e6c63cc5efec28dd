#pragma once
// Traversal orders of a field as functions of a linear index, shared by CPU, CUDA and the cache
// simulator.

#include <type_traits>

#include "base/index.hpp"

namespace tessera::inline v1::stencil {

template <class I>
struct PlaceOf {
  I x, y;
};
using Place = PlaceOf<index_t>;

/// Returns point i of column-based iteration: columns of width `width` one after the other, each
/// row by row. The last column may be narrower. 0 <= i < image_width * image_height, which fits in
/// I: devices divide 32-bit numbers several times faster than longer ones.
template <class I>
[[nodiscard]] TESSERA_HD constexpr PlaceOf<I> column_place(I i, std::type_identity_t<I> width,
                                                           std::type_identity_t<I> image_width,
                                                           std::type_identity_t<I> image_height) {
  const I left = i / (image_height * width) * width;
  const I here = image_width - left < width ? image_width - left : width;
  const I within = i - left * image_height;
  return {within % here + left, within / here};
}

/// Returns the same with x reversed on every other row (boustrophedon): the walk never jumps back
/// to the start of a row.
template <class I>
[[nodiscard]] TESSERA_HD constexpr PlaceOf<I> zigzag_place(I i, std::type_identity_t<I> width,
                                                           std::type_identity_t<I> image_width,
                                                           std::type_identity_t<I> image_height) {
  const PlaceOf<I> place = column_place<I>(i, width, image_width, image_height);
  if (place.y % 2 == 0) return place;
  const I left = place.x / width * width;
  const I here = image_width - left < width ? image_width - left : width;
  return {left + here - 1 - (place.x - left), place.y};
}

/// The orders in which threads, by number, take the points of an image.
enum class Order { rows, column, zigzag };

template <class I>
[[nodiscard]] TESSERA_HD constexpr PlaceOf<I> place_of(Order order, I i,
                                                       std::type_identity_t<I> width,
                                                       std::type_identity_t<I> image_width,
                                                       std::type_identity_t<I> image_height) {
  switch (order) {
    case Order::column:
      return column_place<I>(i, width, image_width, image_height);
    case Order::zigzag:
      return zigzag_place<I>(i, width, image_width, image_height);
    case Order::rows:
      break;
  }
  return {i % image_width, i / image_width};
}

}  // namespace tessera::inline v1::stencil
