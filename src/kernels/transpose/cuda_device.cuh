#pragma once
// Functions shared by the device kernels of the transpose.

#include "base/element.hpp"
#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/leaf.hpp"
#include "machine/cuda.hpp"

namespace tessera::inline v1::transpose {

/// Calls f(Type<T>{}) with a T that is moved as one word of `bytes` bytes: 1, 2, 4, 8 or 16.
template <class F>
void dispatch_word(index_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(Type<unsigned char>{});
    case 2:
      return f(Type<unsigned short>{});
    case 4:
      return f(Type<unsigned>{});
    case 8:
      return f(Type<unsigned long long>{});
    case 16:
      return f(Type<uint4>{});
    default:
      require(false, ExitCode::internal, "device kernel does not support records of this size");
  }
}

/// Returns the view of the records as words of T.
template <class T, class Byte>
[[nodiscard]] auto as_words(const RecordView<Byte>& x) {
  using Word = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  return MatrixView<Word>{reinterpret_cast<Word*>(x.data), x.rows, x.cols, x.ld};
}

/// Returns the count as the number of blocks of a grid.
inline unsigned grid_of(index_t blocks) { return static_cast<unsigned>(narrow<int>(blocks)); }

/// Transposes records of any size, one thread per word.
void transpose_plainly(const ConstRecords& a, const Records& b, DeviceStream stream);

}  // namespace tessera::inline v1::transpose
