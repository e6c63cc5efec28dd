#pragma once
// Matrices of opaque records: transposition moves bytes without interpreting them.

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/view.hpp"

namespace tessera::inline v1::transpose {

inline constexpr index_t max_record_bytes = 64;

/// A view whose element (i, j) is the `bytes` bytes at data + (i * ld + j) * bytes; 1 <= bytes <=
/// 64, ld >= cols (in elements).
template <class Byte>
struct RecordView {
  Byte* data = nullptr;
  index_t rows = 0;
  index_t cols = 0;
  index_t ld = 0;
  index_t bytes = 1;

  [[nodiscard]] Byte* at(index_t i, index_t j) const { return data + (i * ld + j) * bytes; }
  [[nodiscard]] index_t stride() const { return ld * bytes; }  ///< bytes between rows
  [[nodiscard]] bool empty() const { return rows == 0 || cols == 0; }

  /// Returns the block [i, i+m) x [j, j+n).
  [[nodiscard]] RecordView block(index_t i, index_t j, index_t m, index_t n) const {
    return {at(i, j), m, n, ld, bytes};
  }

  // Converts a view of mutable records to one of constant records.
  operator RecordView<const Byte>() const  // NOLINT: implicit on purpose
      requires(!std::is_const_v<Byte>) {
    return {data, rows, cols, ld, bytes};
  }
};

using Records = RecordView<std::byte>;
using ConstRecords = RecordView<const std::byte>;

/// Returns the matrix as records of its elements.
template <class T>
[[nodiscard]] auto records(MatrixView<T> m) {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  return RecordView<Byte>{reinterpret_cast<Byte*>(m.data), m.rows, m.cols, m.ld,
                          index_t{sizeof(T)}};
}

/// Returns the matrix as bytes.
template <class Byte>
[[nodiscard]] MatrixView<Byte> in_bytes(const RecordView<Byte>& x) {
  return {x.data, x.rows, x.cols * x.bytes, x.stride()};
}

/// The copy of one record whose size is known at compile time, or only at run time.
template <std::size_t Bytes>
struct FixedRecord {
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, Bytes); }
};
struct AnyRecord {
  std::size_t bytes;
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, bytes); }
};

/// Calls f(copy) with copy(to, from) for records of that size: the only dispatch from the size to a
/// template argument.
template <class F>
void with_record(index_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(FixedRecord<1>{});
    case 2:
      return f(FixedRecord<2>{});
    case 3:
      return f(FixedRecord<3>{});
    case 4:
      return f(FixedRecord<4>{});
    case 8:
      return f(FixedRecord<8>{});
    case 12:
      return f(FixedRecord<12>{});
    case 16:
      return f(FixedRecord<16>{});
    case 24:
      return f(FixedRecord<24>{});
    case 32:
      return f(FixedRecord<32>{});
    case 48:
      return f(FixedRecord<48>{});
    case 64:
      return f(FixedRecord<64>{});
    default:
      return f(AnyRecord{static_cast<std::size_t>(bytes)});
  }
}

}  // namespace tessera::inline v1::transpose
