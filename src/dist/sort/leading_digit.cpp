// A monotone 64-bit digit of the bits in which sampled rows differ.

#include "dist/sort/leading_digit.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"

namespace tessera::inline v1::dist::sort {

LeadingDigit::LeadingDigit(std::span<const std::uint64_t> sample, std::size_t words) {
  int room = 64;
  for (std::size_t w = 0; w < words && room > 0; ++w) {
    WordPart part{~std::uint64_t{0}, 0, 0, 0, 0};
    for (std::size_t at = w; at < sample.size(); at += words) {
      part.least = std::min(part.least, sample[at]);
      part.most = std::max(part.most, sample[at]);
    }
    const int bits = tessera::sort::bit_length(part.most - part.least);
    part.left = std::max(0, room - bits) % 64;  // a part without bits is not shifted
    part.right = std::max(0, bits - room);
    room = std::max(0, room - bits);
    part.below = room == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << room) - 1;
    parts_.push_back(part);
  }
}

std::uint64_t LeadingDigit::fingerprint() const {
  std::uint64_t print = 0;
  for (const WordPart& part : parts_) print = mix64(mix64(print ^ part.least) ^ part.most);
  return print;
}

/// Words outside the sampled range get the digit of the nearest end.
std::uint64_t LeadingDigit::of(const std::uint64_t* words) const {
  if (parts_.size() == 1) return *words;  // the word itself has the same order
  std::uint64_t digit = 0;
  for (const WordPart& part : parts_) {
    const std::uint64_t word = *words++;
    if (word < part.least) return digit;
    digit |= (std::min(word, part.most) - part.least) >> part.right << part.left;
    if (word > part.most) return digit | part.below;
  }
  return digit;
}

void LeadingDigit::of_rows(const std::vector<KeyColumn>& columns, layout::Range rows,
                           std::uint64_t* digits) const {
  if (parts_.size() == 1) {
    key_word(columns.front(), 0, rows, digits);
    return;
  }
  const auto n = static_cast<std::size_t>(rows.size());
  std::array<std::uint64_t, at_once> bits;
  std::array<std::uint64_t, at_once * most_words> words;
  std::size_t w = 0;
  for (const KeyColumn& column : columns) {
    for (index_t word = 0; word < column.form.words() && w < parts_.size(); ++word, ++w) {
      key_word(column, word, rows, bits.data());
      for (std::size_t j = 0; j < n; ++j) words[j * parts_.size() + w] = bits[j];
    }
  }
  for (std::size_t j = 0; j < n; ++j) digits[j] = of(&words[j * parts_.size()]);
}

}  // namespace tessera::inline v1::dist::sort
