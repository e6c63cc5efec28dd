#pragma once
// Copies and scaled updates of many blocks of one array to another: to pack, to unpack, and between
// arrays of one rank.

#include <span>

#include "base/complex.hpp"
#include "base/element.hpp"
#include "base/index.hpp"

namespace tessera::inline v1::relayout {

/// Consecutive indices of one dimension in two arrays.
struct Stretch {
  index_t size = 0;
  index_t from = 0, to = 0;
};

/// The side of the blocks in which a transpose passes through the first-level cache. Rows of a
/// BlockMove have at most this size.
inline constexpr index_t most_rows = 64;
/// The longest stretch of columns.
inline constexpr index_t most_cols = 512;

enum class Turn { no, yes };

/// What a number becomes: alpha * x + beta * the former value, x perhaps conjugated. beta == 0
/// never reads the former value (it may hold NaN), alpha == 0 never reads x. Factors of real
/// elements have no imaginary part.
struct Factors {
  Complex<double> alpha{1}, beta{0};
  bool conjugates = false;
  /// Returns whether elements are copied as they are.
  [[nodiscard]] bool plain() const {
    return alpha == Complex<double>{1} && beta == Complex<double>{0} && !conjugates;
  }
};

/// An array of records and the records between its rows.
template <class Byte>
struct Array {
  Byte* data = nullptr;
  index_t ld = 0;
};

/// Blocks: the product of the row stretches and the column stretches of `to`. With Turn::yes,
/// `from` holds their transposes: its rows are the columns of `to`.
struct BlockMove {
  std::span<const Stretch> rows, cols;
  Array<const std::byte> from;
  Array<std::byte> to;
  Turn turn = Turn::no;
};

/// The type of the elements: records of that many bytes, which are numbers of a type if factors are
/// not plain.
struct ElementKind {
  index_t bytes = 8;
  Element number = Element::f64;
};

/// Computes to = alpha * from + beta * to in rows [begin, end) of move.rows. Preconditions:
/// stretches of rows and columns are at most most_rows and most_cols long; from and to do not
/// overlap.
void move_rows(const BlockMove& move, const ElementKind& kind, const Factors& factors,
               index_t begin, index_t end);

}  // namespace tessera::inline v1::relayout
