// Copies between arrays of any strides on the device. Where the axes that are contiguous on the two
// sides differ, squares of them pass through padded shared memory; otherwise rows are copied.

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "kernels/transpose/cuda_device.cuh"
#include "kernels/transpose/strided.hpp"

namespace tessera::inline v1::transpose {
namespace {

constexpr int edge = 32, lines = 8;        // threads of a block: (lines, edge)
constexpr index_t part_words = 32 * edge;  // of a row, by one line of a block
constexpr int most_axes = max_rank + 1;    // with that of the words of a record

/// The axes in words, those of the loops over squares or rows: slowest first.
struct Loops {
  int rank = 0;
  index_t extent[most_axes] = {}, from[most_axes] = {}, to[most_axes] = {};

  void add(index_t n, index_t from_stride, index_t to_stride) {
    extent[rank] = n;
    from[rank] = from_stride;
    to[rank++] = to_stride;
  }
  [[nodiscard]] index_t total() const {
    return std::accumulate(extent, extent + rank, index_t{1}, std::multiplies<>());
  }
  /// Moves both sides to place number `at`.
  template <class T>
  __device__ void go(index_t at, const T*& a, T*& b) const {
    for (int k = rank - 1; k >= 0; --k) {
      const index_t i = at % extent[k];
      at /= extent[k];
      a += i * from[k];
      b += i * to[k];
    }
  }
};
struct FastAxis {
  index_t extent, from, to;
};

/// Copies b[p, q] = a[p, q] for the words of a square: q is contiguous in b, p in a.
template <class T>
__global__ void __launch_bounds__(edge* lines)
    move_squares(Loops loops, FastAxis p, FastAxis q, const T* a, T* b) {
  __shared__ T square[edge][edge + 1];  // (q, p), padded against bank conflicts
  const index_t across = (q.extent + edge - 1) / edge, down = (p.extent + edge - 1) / edge;
  index_t places = across * down;
  for (int k = 0; k < loops.rank; ++k) places *= loops.extent[k];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (index_t at = blockIdx.x; at < places; at += gridDim.x) {
    const index_t q0 = at % across * edge, p0 = at / across % down * edge;
    const T* from = a + p0 * p.from + q0 * q.from;
    T* to = b + p0 * p.to + q0 * q.to;
    loops.go(at / across / down, from, to);
    for (int i = y; i < edge; i += lines)
      if (p0 + x < p.extent && q0 + i < q.extent) square[i][x] = from[x * p.from + i * q.from];
    __syncthreads();
    for (int i = y; i < edge; i += lines)
      if (q0 + x < q.extent && p0 + i < p.extent) to[x * q.to + i * p.to] = square[x][i];
    __syncthreads();
  }
}

/// Copies parts of rows along the axis q.
template <class T>
__global__ void __launch_bounds__(edge* lines)
    move_rows(Loops loops, FastAxis q, const T* a, T* b) {
  const index_t parts = (q.extent + part_words - 1) / part_words;
  index_t places = parts;
  for (int k = 0; k < loops.rank; ++k) places *= loops.extent[k];
  for (index_t at = static_cast<index_t>(blockIdx.x) * lines + threadIdx.y; at < places;
       at += static_cast<index_t>(gridDim.x) * lines) {
    const T* from = a;
    T* to = b;
    loops.go(at / parts, from, to);
    const index_t first = at % parts * part_words,
                  end = first + part_words < q.extent ? first + part_words : q.extent;
    for (index_t i = first + threadIdx.x; i < end; i += edge) to[i * q.to] = from[i * q.from];
  }
}

/// Returns the largest power of two, at most 16, that divides sizes, strides and addresses.
index_t word_of(const Rearrangement& task, const std::byte* from, const std::byte* to) {
  std::uintptr_t all = 16 | static_cast<std::uintptr_t>(task.bytes) |
                       reinterpret_cast<std::uintptr_t>(from) |
                       reinterpret_cast<std::uintptr_t>(to);
  for (const Axis* axis = task.axis; axis != task.axis + task.rank; ++axis)
    all |= static_cast<std::uintptr_t>(axis->from) | static_cast<std::uintptr_t>(axis->to);
  return static_cast<index_t>(all & (~all + 1));
}

unsigned blocks_for(index_t places) {
  const index_t most = index_t{64} * machine::cuda::attribute(cudaDevAttrMultiProcessorCount);
  return grid_of(std::clamp<index_t>(places, 1, most));
}

template <class T>
void launch(Loops loops, const T* from, T* to, DeviceStream stream) {
  const int last = --loops.rank;
  const FastAxis q{loops.extent[last], loops.from[last], loops.to[last]};
  const index_t* const contiguous = std::find(loops.from, loops.from + loops.rank, index_t{1});
  const auto k = static_cast<int>(contiguous - loops.from);
  if (q.from == 1 || k == loops.rank) {
    const index_t places = loops.total() * ceil_div(q.extent, part_words);
    move_rows<<<blocks_for(ceil_div(places, index_t{lines})), dim3(edge, lines), 0, stream>>>(
        loops, q, from, to);
  } else {
    const FastAxis p{loops.extent[k], loops.from[k], loops.to[k]};
    Loops others;
    for (int axis = 0; axis < loops.rank; ++axis)
      if (axis != k) others.add(loops.extent[axis], loops.from[axis], loops.to[axis]);
    const index_t places =
        others.total() * ceil_div(p.extent, index_t{edge}) * ceil_div(q.extent, index_t{edge});
    move_squares<<<blocks_for(places), dim3(edge, lines), 0, stream>>>(others, p, q, from, to);
  }
  machine::cuda::check(cudaGetLastError(), "rearrange kernel");
}

}  // namespace

void cuda_rearrange(const Rearrangement& task, const std::byte* from, std::byte* to,
                    DeviceStream stream) {
  if (task.total() == 0) return;
  const Rearrangement all = simplified(task);
  const index_t word = word_of(all, from, to);
  Loops loops;
  for (const Axis* axis = all.axis; axis != all.axis + all.rank; ++axis)
    loops.add(axis->extent, axis->from / word, axis->to / word);
  if (all.bytes > word || loops.rank == 0) loops.add(all.bytes / word, 1, 1);
  dispatch_word(word, [&]<class T>(Type<T>) {
    launch(loops, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), stream);
  });
}

void add_rearrange_functions(std::vector<machine::DeviceFunction>& to) {
  for (const int bytes : {1, 2, 4, 8, 16}) {
    dispatch_word(bytes, [&]<class T>(Type<T>) {
      const std::string of = "axes of words of " + std::to_string(bytes) + " bytes";
      to.push_back(machine::device_function("cuda_vectorized", of + ", by squares", move_squares<T>,
                                            edge * lines));
      to.push_back(machine::device_function("cuda_vectorized", of + ", by rows", move_rows<T>,
                                            edge * lines));
    });
  }
}

}  // namespace tessera::inline v1::transpose
