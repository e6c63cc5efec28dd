#pragma once
// Bucket division of rows by their leading words: buckets are monotone in the order of the rows and
// balanced by a sample.

#include "dist/sort/leading_digit.hpp"
#include "kernels/sort/divide.hpp"

namespace tessera::inline v1::dist::sort {

class RowDivider {
 public:
  static constexpr index_t most_samples = tessera::sort::Divider<std::uint64_t>::most_samples;
  static constexpr std::size_t most_words = LeadingDigit::most_words;  ///< words used

  /// Builds about `wanted` buckets of similar weight from `words` words of each row of a sample,
  /// row by row.
  RowDivider(std::span<const std::uint64_t> sample, std::size_t words, index_t wanted);

  [[nodiscard]] index_t buckets() const { return divider_.buckets(); }
  /// Returns the largest bucket's share of the sample.
  [[nodiscard]] double greatest() const { return greatest_; }
  /// Returns a hash of the division: equal for the same division on every machine, different for
  /// most others.
  [[nodiscard]] std::uint64_t fingerprint() const;
  /// Sets bucket[j] to the bucket of row j, for the rows of the range. Single-threaded.
  void classify(const std::vector<KeyColumn>& columns, layout::Range rows,
                std::uint16_t* bucket) const;

 private:
  LeadingDigit digit_;
  std::vector<std::uint64_t> digits_;  // of the sample
  tessera::sort::Divider<std::uint64_t> divider_;
  double greatest_ = 0;
};

}  // namespace tessera::inline v1::dist::sort
