#pragma once
// Key columns of any form as words: unsigned numbers whose order is that of the keys.

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

namespace tessera::dist::sort {

using tessera::sort::Order;

using tessera::sort::Equality;

/// What the rows of a key column are: numbers, or strings of bytes compared as unsigned from the
/// first one on. Which numbers are equal: of several columns all but the last should go by numbers,
/// so that rows with -0 and 0 there are in the order of what follows; the last by bits, as plain
/// keys do (key.hpp).
struct KeyForm {
  std::optional<Element> number = Element::u64;
  index_t bytes = 8;
  Equality equality = Equality::of_bits;

  [[nodiscard]] static KeyForm of(Element element) {
    return {element, static_cast<index_t>(tessera::bytes(element))};
  }
  [[nodiscard]] static KeyForm string(index_t bytes) { return {std::nullopt, bytes}; }
  [[nodiscard]] KeyForm by_number() const { return {number, bytes, Equality::of_numbers}; }
  /// Whether no two words tell numbers apart that are equal.
  [[nodiscard]] bool goes_by_number() const {
    return equality == Equality::of_numbers || (number != Element::f32 && number != Element::f64);
  }
  [[nodiscard]] index_t words() const { return number ? 1 : ceil_div(bytes, index_t{8}); }
};

/// A column to sort by: rows that lie on this rank.
struct KeyColumn {
  KeyForm form;
  const std::byte* data = nullptr;
  Order order = Order::ascending;
  index_t row_bytes = 0;  ///< from key to key where they are parts of rows; else 0

  [[nodiscard]] index_t step() const { return row_bytes > 0 ? row_bytes : form.bytes; }
};

/// The same columns, equal where their numbers are: what --unique goes by.
[[nodiscard]] std::vector<KeyColumn> by_number(std::vector<KeyColumn> columns);

/// Bits whose order is that of numbers: as key.hpp's, but where numbers decide, -0 equals +0 and
/// every NaN equals every other.
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

/// bits[j] = word `word` of row j, j in [0, n), the first word weighing most.
void key_word(const KeyColumn& column, index_t word, index_t n, std::uint64_t* bits, int threads);
/// Those of rows [begin, end), by this thread alone, from bits[0] on.
void key_word(const KeyColumn& column, index_t word, layout::Range rows, std::uint64_t* bits);
/// Those of rows places[0], places[1], ...
void key_word(const KeyColumn& column, index_t word, std::span<const std::uint64_t> places,
              std::uint64_t* bits);

/// A word of a column, without the bits that no two rows of all ranks differ in.
struct KeyPart {
  std::size_t column = 0;
  index_t word = 0;
  std::uint64_t least = 0;
  int bits = 64;
};
/// Neighbouring parts that fit into 64 bits together: what one pass sorts by.
using KeyDigit = std::vector<KeyPart>;

/// All words of the columns in as few digits as they fit, the first weighing most; none where all
/// rows are equal. Collective.
[[nodiscard]] std::vector<KeyDigit> pack_keys(const mpi::Communicator& comm,
                                              const std::vector<KeyColumn>& columns, index_t n,
                                              int threads);

/// digits[j] = that digit of row j; scratch[0:n] is overwritten.
void key_digit(const std::vector<KeyColumn>& columns, const KeyDigit& digit, index_t n,
               std::uint64_t* digits, std::uint64_t* scratch, int threads);
/// Those of rows [begin, end), by this thread alone, from digits[0] on.
void key_digit(const std::vector<KeyColumn>& columns, const KeyDigit& digit, layout::Range rows,
               std::uint64_t* digits, std::uint64_t* scratch);

}  // namespace tessera::dist::sort
