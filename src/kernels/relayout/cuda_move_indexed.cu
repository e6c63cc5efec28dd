// Indexed moves on the device. A block moves tiles of `tall` rows: of strips of columns, each by a
// warp whose threads are next to each other in a row of both sides; transposed ones through padded
// shared memory.

#include <algorithm>

#include "base/element.hpp"
#include "kernels/relayout/move_indexed.hpp"
#include "kernels/relayout/update.hpp"
#include "machine/cuda.hpp"

namespace tessera::inline v1::relayout {
namespace {

constexpr int edge = 32, lines = 8;  // threads of a block: (lines, edge)
constexpr int strips = 4;            // of `edge` columns, by one thread each

/// The sides of a move in elements of T.
template <class T>
struct Sides {
  Indices rows, cols;
  const T* from;
  T* to;
  index_t from_ld, to_ld;
};

/// An element of several words, copied as it is.
template <class Word>
struct Copy {
  int words;
  __device__ void operator()(const Word* from, Word* to) const {
    for (int w = 0; w < words; ++w) to[w] = from[w];
  }
};

/// T: the words, of which `width` are an element.
template <class T, class Update>
__global__ void __launch_bounds__(edge* lines) move_straight(Sides<T> s, int width, Update update) {
  const index_t across = (s.cols.n + edge * strips - 1) / (edge * strips);
  const index_t tiles = across * ((s.rows.n + edge - 1) / edge);
  for (index_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const index_t i0 = tile / across * edge + threadIdx.y,
                  j0 = tile % across * (edge * strips) + threadIdx.x;
    index_t from_col[strips], to_col[strips];
    for (int k = 0; k < strips; ++k) {
      const index_t j = j0 + k * edge;
      from_col[k] = j < s.cols.n ? s.cols.from[j] : 0;
      to_col[k] = j < s.cols.n ? s.cols.to[j] : 0;
    }
    for (index_t i = i0; i < s.rows.n && i < i0 + edge; i += lines) {
      const T* const from = s.from + s.rows.from[i] * s.from_ld * width;
      T* const to = s.to + s.rows.to[i] * s.to_ld * width;
      for (int k = 0; k < strips; ++k)
        if (j0 + k * edge < s.cols.n) update(from + from_col[k] * width, to + to_col[k] * width);
    }
  }
}

/// The same with rows and columns of `from` exchanged, for elements of one word.
template <class T, class Update>
__global__ void __launch_bounds__(edge* lines) move_turned(Sides<T> s, Update update, bool reads) {
  __shared__ __align__(16) unsigned char room[edge * (edge + 1) * sizeof(T)];
  T* const square = reinterpret_cast<T*>(room);  // (column, row), padded against bank conflicts
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const index_t across = (s.cols.n + edge - 1) / edge;
  const index_t tiles = across * ((s.rows.n + edge - 1) / edge);
  for (index_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const index_t i0 = tile / across * edge, j0 = tile % across * edge;
    if (reads && i0 + x < s.rows.n) {
      const index_t row = s.rows.from[i0 + x];
      for (int j = y; j < edge && j0 + j < s.cols.n; j += lines)
        square[j * (edge + 1) + x] = s.from[s.cols.from[j0 + j] * s.from_ld + row];
    }
    __syncthreads();
    if (j0 + x < s.cols.n) {
      const index_t col = s.cols.to[j0 + x];
      for (int i = y; i < edge && i0 + i < s.rows.n; i += lines)
        update(square + x * (edge + 1) + i, s.to + s.rows.to[i0 + i] * s.to_ld + col);
    }
    __syncthreads();
  }
}

/// The same for elements of several words, one thread an element.
template <class T>
__global__ void __launch_bounds__(edge* lines)
    move_turned_wide(Sides<T> s, int width, Copy<T> update) {
  const index_t all = s.rows.n * s.cols.n;
  const index_t first =
      static_cast<index_t>(blockIdx.x) * (edge * lines) + threadIdx.y * edge + threadIdx.x;
  for (index_t at = first; at < all; at += static_cast<index_t>(gridDim.x) * (edge * lines)) {
    const index_t i = at / s.cols.n, j = at % s.cols.n;
    update(s.from + (s.cols.from[j] * s.from_ld + s.rows.from[i]) * width,
           s.to + (s.rows.to[i] * s.to_ld + s.cols.to[j]) * width);
  }
}

unsigned blocks_for(index_t tiles) {
  const index_t most = index_t{64} * machine::cuda::attribute(cudaDevAttrMultiProcessorCount);
  return static_cast<unsigned>(std::clamp<index_t>(tiles, 1, most));
}

template <class T>
Sides<T> sides_of(const IndexedMove& move) {
  return {move.rows,
          move.cols,
          reinterpret_cast<const T*>(move.from.data),
          reinterpret_cast<T*>(move.to.data),
          move.from.ld,
          move.to.ld};
}

/// Moves elements of `width` words of T; several words are only copied.
template <class T, class Update>
void launch(const IndexedMove& move, int width, const Update& update, bool reads,
            cudaStream_t stream) {
  const Sides<T> s = sides_of<T>(move);
  const dim3 threads(edge, lines);
  const index_t down = ceil_div(s.rows.n, index_t{edge}),
                across = ceil_div(s.cols.n, index_t{edge});
  if (move.turn == Turn::no) {
    move_straight<<<blocks_for(down * ceil_div(across, index_t{strips})), threads, 0, stream>>>(
        s, width, update);
  } else if (width == 1) {
    move_turned<<<blocks_for(down * across), threads, 0, stream>>>(s, update, reads);
  } else if constexpr (std::is_same_v<Update, Copy<T>>) {
    move_turned_wide<<<blocks_for(ceil_div(s.rows.n * s.cols.n, index_t{edge * lines})), threads, 0,
                       stream>>>(s, width, update);
  }
  machine::cuda::check(cudaGetLastError(), "relayout kernel");
}

/// Returns the largest power of two, at most 16, that divides an element and both addresses.
index_t word_of(const IndexedMove& move, index_t bytes) {
  const std::uintptr_t all = 16 | static_cast<std::uintptr_t>(bytes) |
                             reinterpret_cast<std::uintptr_t>(move.from.data) |
                             reinterpret_cast<std::uintptr_t>(move.to.data);
  return static_cast<index_t>(all & (~all + 1));
}

template <class Word>
void copy_in(const IndexedMove& move, index_t bytes, cudaStream_t stream) {
  const auto words = static_cast<int>(bytes / static_cast<index_t>(sizeof(Word)));
  launch<Word>(move, words, Copy<Word>{words}, true, stream);
}

void copy(const IndexedMove& move, index_t bytes, cudaStream_t stream) {
  switch (word_of(move, bytes)) {
    case 1:
      return copy_in<unsigned char>(move, bytes, stream);
    case 2:
      return copy_in<unsigned short>(move, bytes, stream);
    case 4:
      return copy_in<unsigned>(move, bytes, stream);
    case 8:
      return copy_in<unsigned long long>(move, bytes, stream);
    default:
      return copy_in<uint4>(move, bytes, stream);
  }
}

}  // namespace

void cuda_move_indexed(const IndexedMove& move, const ElementKind& kind, const Factors& factors,
                       machine::device::StreamHandle stream) {
  if (move.rows.n == 0 || move.cols.n == 0) return;
  if (factors.plain()) return copy(move, kind.bytes, stream);
  dispatch_field(kind.number, [&]<class T>(Type<T>) {
    const Scaling<T> update(factors);
    launch<T>(move, 1, update, update.reads_from, stream);
  });
}

}  // namespace tessera::inline v1::relayout
