#pragma once
// One number of a row's key, as far as 64 bits hold what differs in a sample of its first words.

#include <cstdint>
#include <span>
#include <vector>

#include "dist/sort/key_words.hpp"

namespace tessera::dist::sort {

/// Of no two rows does the one that comes first have the greater digit.
class LeadingDigit {
 public:
  static constexpr std::size_t most_words = 16;  ///< that are looked at

  /// By words of sampled rows, so many a row, row by row.
  LeadingDigit(std::span<const std::uint64_t> sample, std::size_t words);

  /// The same for the same digits, and another one for most others.
  [[nodiscard]] std::uint64_t fingerprint() const;
  /// Of a row by its words, as many as those of a sampled row.
  [[nodiscard]] std::uint64_t of(const std::uint64_t* words) const;
  /// digits[0:rows.size()] = those of rows [begin, end) of the columns, at most `at_once` of them.
  /// By this thread.
  void of_rows(const std::vector<KeyColumn>& columns, layout::Range rows,
               std::uint64_t* digits) const;
  static constexpr index_t at_once = 512;

 private:
  struct WordPart {
    std::uint64_t least, most;  // of this word in the sample
    int left, right;            // where what is above the least lies in the digit
    std::uint64_t below;        // the bits of the words behind
  };
  std::vector<WordPart> parts_;
};

}  // namespace tessera::dist::sort
