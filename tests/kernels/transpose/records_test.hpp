#pragma once
// Matrices of records with sentinels around and between the rows, and comparison with the
// definition.

#include <algorithm>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "kernels/transpose/records.hpp"

namespace tessera::transpose {

/// Matrix of rows x cols in a larger array filled with a pattern; `skew` bytes before it break
/// alignment.
class Fenced {
 public:
  static constexpr std::byte pattern{0xA5};

  Fenced(index_t rows, index_t cols, index_t ld, index_t bytes, index_t skew = 0)
      : rows_(rows), cols_(cols), ld_(ld), bytes_(bytes), skew_(skew) {
    const index_t size = 2 * fence + skew + rows * ld * bytes;
    storage_.resize(static_cast<std::size_t>(ceil_div(size, 64)));
    std::fill_n(data(), 64 * storage_.size(), pattern);
  }

  [[nodiscard]] Records view() { return {data() + fence + skew_, rows_, cols_, ld_, bytes_}; }
  [[nodiscard]] ConstRecords view() const {
    return {data() + fence + skew_, rows_, cols_, ld_, bytes_};
  }

  /// Returns the whole array, to be copied to a device and back.
  [[nodiscard]] std::span<std::byte> storage() { return {data(), 64 * storage_.size()}; }

  /// Sets every byte of every element from the seed.
  void fill(std::uint64_t seed) {
    for (index_t i = 0; i < rows_; ++i) {
      std::byte* const row = view().at(i, 0);
      for (index_t k = 0; k < cols_ * bytes_; k += 8) {
        const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(i), k);
        std::memcpy(row + k, &bits,
                    static_cast<std::size_t>(std::min<index_t>(8, cols_ * bytes_ - k)));
      }
    }
  }

  /// Returns the number of bytes outside the elements that changed.
  [[nodiscard]] index_t spoiled() const {
    index_t count = 0;
    for (index_t at = 0; at < static_cast<index_t>(64 * storage_.size()); ++at) {
      const index_t inside = at - fence - skew_;
      const bool element =
          inside >= 0 && inside < rows_ * ld_ * bytes_ && inside % (ld_ * bytes_) < cols_ * bytes_;
      if (!element && data()[at] != pattern) ++count;
    }
    return count;
  }

 private:
  static constexpr index_t fence = 256;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  [[nodiscard]] std::byte* data() { return storage_.data()->bytes; }
  [[nodiscard]] const std::byte* data() const { return storage_.data()->bytes; }

  index_t rows_, cols_, ld_, bytes_, skew_;
  std::vector<Line> storage_;
};

/// Returns the number of elements of b that differ from the transpose of a.
[[nodiscard]] inline index_t differences(const ConstRecords& a, const ConstRecords& b) {
  index_t count = 0;
  for (index_t i = 0; i < a.rows; ++i) {
    for (index_t j = 0; j < a.cols; ++j) {
      if (std::memcmp(a.at(i, j), b.at(j, i), static_cast<std::size_t>(a.bytes)) != 0) ++count;
    }
  }
  return count;
}

}  // namespace tessera::transpose
