#pragma once
// Rows divided by their leading words among buckets that follow each other in the order of the
// rows: as far as a sample of them tells.

#include "dist/sort/leading_digit.hpp"
#include "kernels/sort/divide.hpp"

namespace tessera::dist::sort {

class RowDivider {
 public:
  static constexpr index_t most_samples = tessera::sort::Divider<std::uint64_t>::most_samples;
  static constexpr std::size_t most_words = LeadingDigit::most_words;  ///< that are looked at

  /// About `wanted` buckets of like weight, by `words` words of each row of a sample, row by row.
  RowDivider(std::span<const std::uint64_t> sample, std::size_t words, index_t wanted);

  [[nodiscard]] index_t buckets() const { return divider_.buckets(); }
  /// The share of the sample that the greatest bucket has.
  [[nodiscard]] double greatest() const { return greatest_; }
  /// The same for the same division on every machine, and another one for most others.
  [[nodiscard]] std::uint64_t fingerprint() const;
  /// bucket[j] = that of row j, for the rows of the range. By this thread.
  void classify(const std::vector<KeyColumn>& columns, layout::Range rows,
                std::uint16_t* bucket) const;

 private:
  LeadingDigit digit_;
  std::vector<std::uint64_t> digits_;  // of the sample
  tessera::sort::Divider<std::uint64_t> divider_;
  double greatest_ = 0;
};

}  // namespace tessera::dist::sort
