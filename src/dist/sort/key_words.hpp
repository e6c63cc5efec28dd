#pragma once
// Key columns of any form as words: unsigned numbers in the order of the keys.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/element.hpp"
#include "kernels/sort/key.hpp"
#include "kernels/sort/verify_kernels.hpp"
#include "layout/block_map.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::dist::sort {

using tessera::sort::Order;

using tessera::sort::Equality;

/// The form of a key column: numbers, or strings of bytes compared as unsigned from the first one
/// on. Equality: of several columns all but the last should compare by number, so that rows with -0
/// and 0 there are ordered by the following columns; the last by bits, as plain keys (key.hpp).
/// Numbers of fewer bytes than `number` has are of the type that is compared as it (ComparedAs).
struct KeyForm {
  std::optional<Element> number = Element::u64;
  index_t bytes = 8;
  Equality equality = Equality::of_bits;

  [[nodiscard]] static KeyForm of(Element element) {
    return {element, static_cast<index_t>(tessera::bytes(element))};
  }
  template <class T>
  [[nodiscard]] static KeyForm of() {
    return {element_of<tessera::sort::ComparedAs<T>>, index_t{sizeof(T)}};
  }
  [[nodiscard]] static KeyForm string(index_t bytes) { return {std::nullopt, bytes}; }
  [[nodiscard]] KeyForm by_number() const { return {number, bytes, Equality::of_numbers}; }
  /// Returns whether equal numbers always have equal words.
  [[nodiscard]] bool sorts_by_number() const {
    return equality == Equality::of_numbers || (number != Element::f32 && number != Element::f64);
  }
  [[nodiscard]] index_t words() const { return number ? 1 : ceil_div(bytes, index_t{8}); }
};

/// A column to sort by: rows on this rank.
struct KeyColumn {
  KeyForm form;
  const std::byte* data = nullptr;
  Order order = Order::ascending;
  index_t row_bytes = 0;  ///< distance between keys that are parts of rows; otherwise 0

  [[nodiscard]] index_t step() const { return row_bytes > 0 ? row_bytes : form.bytes; }
};

/// Returns the same columns with equality by number, as --unique compares.
[[nodiscard]] std::vector<KeyColumn> by_number(std::vector<KeyColumn> columns);

/// Returns bits in the order of numbers: as in key.hpp, but with equality of numbers -0 equals +0
/// and all NaN are equal.
template <class T>
[[nodiscard]] std::uint64_t number_bits(T value,
                                        const tessera::sort::KeyMap<tessera::sort::Bits<T>>& map,
                                        Equality equality = Equality::of_numbers) {
  if constexpr (std::is_floating_point_v<T>) {
    if (equality == Equality::of_numbers && value == T{0}) value = T{0};
    if (equality == Equality::of_numbers && value != value)
      value = std::numeric_limits<T>::quiet_NaN();
  }
  return map.to_bits(std::bit_cast<tessera::sort::Bits<T>>(value));
}

/// Sets bits[j] to word `word` of row j, j in [0, n); the first word is the most significant.
void key_word(const KeyColumn& column, index_t word, index_t n, std::uint64_t* bits, int threads);
/// As above, of rows [begin, end), from bits[0] on. Single-threaded.
void key_word(const KeyColumn& column, index_t word, layout::Range rows, std::uint64_t* bits);
/// As above, of rows places[0], places[1], ...
void key_word(const KeyColumn& column, index_t word, std::span<const std::uint64_t> places,
              std::uint64_t* bits);

/// A word of a column, without the bits in which no two rows of all ranks differ.
struct KeyPart {
  std::size_t column = 0;
  index_t word = 0;
  std::uint64_t least = 0;
  int bits = 64;
};
/// Adjacent parts that fit into 64 bits together: the key of one pass.
using KeyDigit = std::vector<KeyPart>;

/// Returns all words of the columns in as few digits as possible, the first the most significant;
/// none if all rows are equal. Collective.
[[nodiscard]] std::vector<KeyDigit> pack_keys(const mpi::Communicator& comm,
                                              const std::vector<KeyColumn>& columns, index_t n,
                                              int threads);

/// Sets digits[j] to that digit of row j; overwrites scratch[0:n].
void key_digit(const std::vector<KeyColumn>& columns, const KeyDigit& digit, index_t n,
               std::uint64_t* digits, std::uint64_t* scratch, int threads);
/// As above, of rows [begin, end), from digits[0] on. Single-threaded.
void key_digit(const std::vector<KeyColumn>& columns, const KeyDigit& digit, layout::Range rows,
               std::uint64_t* digits, std::uint64_t* scratch);

}  // namespace tessera::inline v1::dist::sort
