// Buckets of rows by their leading words.

#include "dist/sort/row_divider.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

using Divider = tessera::sort::Divider<std::uint64_t>;

std::vector<std::uint64_t> digits_of(const LeadingDigit& digit, std::span<const std::uint64_t> rows,
                                     std::size_t words) {
  std::vector<std::uint64_t> digits;
  for (std::size_t at = 0; at < rows.size(); at += words) digits.push_back(digit.of(&rows[at]));
  return digits;
}

}  // namespace

RowDivider::RowDivider(std::span<const std::uint64_t> sample, std::size_t words, index_t wanted)
    : digit_(sample, words),
      digits_(digits_of(digit_, sample, words)),
      divider_(digits_, std::min(wanted, Divider::most_buckets), Order::ascending) {
  std::vector<std::uint16_t> bucket(digits_.size());
  divider_.classify(digits_, bucket.data());
  std::vector<index_t> rows(static_cast<std::size_t>(buckets()), 0);
  for (const std::uint16_t b : bucket) ++rows[b];
  greatest_ = static_cast<double>(*std::max_element(rows.begin(), rows.end())) /
              static_cast<double>(std::max<std::size_t>(1, bucket.size()));
}

std::uint64_t RowDivider::fingerprint() const {
  return mix64(divider_.fingerprint() ^ digit_.fingerprint());
}

void RowDivider::classify(const std::vector<KeyColumn>& columns, layout::Range rows,
                          std::uint16_t* bucket) const {
  std::uint64_t digits[LeadingDigit::at_once];
  for (index_t j = rows.begin; j < rows.end; j += LeadingDigit::at_once) {
    const layout::Range some{j, std::min(rows.end, j + LeadingDigit::at_once)};
    digit_.of_rows(columns, some, digits);
    divider_.classify({digits, static_cast<std::size_t>(some.size())}, bucket + j);
  }
}

}  // namespace tessera::inline v1::dist::sort
