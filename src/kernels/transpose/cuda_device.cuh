#pragma once
// What the device kernels of the transpose share.

#include "base/element.hpp"
#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/leaf.hpp"
#include "machine/cuda.hpp"

namespace tessera::transpose {

/// f(Type<T>{}) for a T that is moved as one word of so many bytes: 1, 2, 4, 8 or 16.
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
      require(false, ExitCode::internal, "a device kernel met records that are no words");
  }
}

/// The records as words of T.
template <class T, class Byte>
[[nodiscard]] auto as_words(const RecordView<Byte>& x) {
  using Word = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  return MatrixView<Word>{reinterpret_cast<Word*>(x.data), x.rows, x.cols, x.ld};
}

/// The count as that of a grid's blocks.
inline unsigned grid_of(index_t blocks) { return static_cast<unsigned>(narrow<int>(blocks)); }

/// Records of any size, a thread a word of theirs.
void transpose_plainly(const ConstRecords& a, const Records& b, DeviceStream stream);

}  // namespace tessera::transpose
