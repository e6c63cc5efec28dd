#pragma once
// One number per row: the bits in which the first words of sampled rows differ, as far as they fit
// into 64 bits.

#include <cstdint>
#include <span>
#include <vector>

#include "dist/sort/key_words.hpp"

namespace tessera::inline v1::dist::sort {

/// A monotone map of rows to digits: if one row is before another, its digit is not greater.
class LeadingDigit {
 public:
  static constexpr std::size_t most_words = 16;  ///< words of a row that are used

  /// Builds the map from `words` words of each sampled row, row by row.
  LeadingDigit(std::span<const std::uint64_t> sample, std::size_t words);

  /// Returns a hash of the map: equal for the same map, different for most others.
  [[nodiscard]] std::uint64_t fingerprint() const;
  /// Returns the digit of a row from its words, as many as a sampled row has.
  [[nodiscard]] std::uint64_t of(const std::uint64_t* words) const;
  /// Sets digits[0:rows.size()] to those of rows [begin, end) of the columns, at most `at_once` of
  /// them. Single-threaded.
  void of_rows(const std::vector<KeyColumn>& columns, layout::Range rows,
               std::uint64_t* digits) const;
  static constexpr index_t at_once = 512;

 private:
  struct WordPart {
    std::uint64_t least, most;  // of this word in the sample
    int left, right;            // shifts of the offset from the minimum into the digit
    std::uint64_t below;        // the bits of the words behind
  };
  std::vector<WordPart> parts_;
};

}  // namespace tessera::inline v1::dist::sort
