#pragma once
// Functions shared by the device kernels of stencils: 16-byte vectors, stores of results with their
// ghosts, blocks of a region, the value of a point for any stencil.

#include <type_traits>

#include "kernels/cuda_cache.cuh"
#include "kernels/stencil/cuda.hpp"
#include "kernels/stencil/expression.hpp"
#include "machine/cuda.hpp"

namespace tessera::inline v1::stencil {

template <class T>
constexpr int vector_length = 16 / static_cast<int>(sizeof(T));

/// A vector of contiguous elements.
template <class T, int length = vector_length<T>>
struct alignas(16) Vector {
  T at[length];
};

/// Converts a value between its storage type and its arithmetic type.
template <class T>
__device__ __forceinline__ T computed(T value) {
  return value;
}
__device__ __forceinline__ float computed(Half value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
}
template <class T>
__device__ __forceinline__ T kept(Arithmetic<T> value) {
  if constexpr (std::is_same_v<T, Half>) {
    Half half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(value));
    return half;
  } else {
    return value;
  }
}

/// Loads from memory that no thread of this kernel writes.
template <class T>
__device__ __forceinline__ T load_once(const T* from) {
  return __ldg(from);
}
__device__ __forceinline__ Half load_once(const Half* from) {
  Half half;
  half.bits = __ldg(&from->bits);
  return half;
}

/// Loads from 16-byte aligned memory that no thread of this kernel writes: through the first-level
/// cache, and reorderable across stores.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ __forceinline__ Vector<float> load_vector(const float* from) {
  Vector<float> v;
  asm("ld.global.nc.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
      : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3])
      : "l"(from), "l"(kernels::reads_stay()));
  return v;
}
__device__ __forceinline__ Vector<double> load_vector(const double* from) {
  Vector<double> v;
  asm("ld.global.nc.L2::cache_hint.v2.f64 {%0, %1}, [%2], %3;"
      : "=d"(v.at[0]), "=d"(v.at[1])
      : "l"(from), "l"(kernels::reads_stay()));
  return v;
}
__device__ __forceinline__ Vector<Half> load_vector(const Half* from) {
  unsigned word[4];
  asm("ld.global.nc.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
      : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
      : "l"(from), "l"(kernels::reads_stay()));
  Vector<Half> v;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    v.at[2 * i].bits = static_cast<unsigned short>(word[i] & 0xffffU);
    v.at[2 * i + 1].bits = static_cast<unsigned short>(word[i] >> 16);
  }
  return v;
}
#else  // without cache policies
__device__ __forceinline__ Vector<float> load_vector(const float* from) {
  const float4 v = __ldg(reinterpret_cast<const float4*>(from));
  return {{v.x, v.y, v.z, v.w}};
}
__device__ __forceinline__ Vector<double> load_vector(const double* from) {
  const double2 v = __ldg(reinterpret_cast<const double2*>(from));
  return {{v.x, v.y}};
}
__device__ __forceinline__ Vector<Half> load_vector(const Half* from) {
  const uint4 words = __ldg(reinterpret_cast<const uint4*>(from));
  const unsigned word[4] = {words.x, words.y, words.z, words.w};
  Vector<Half> v;
#pragma unroll
  for (int e = 0; e < 8; ++e)
    v.at[e].bits = static_cast<unsigned short>(word[e / 2] >> (16 * (e % 2)));
  return v;
}
#endif
template <class T, int length>
__device__ __forceinline__ Vector<T, length> load_vectors(const T* from) {
  constexpr int each = vector_length<T>;
  Vector<T, length> all;
#pragma unroll
  for (int i = 0; i < length / each; ++i) {
    const Vector<T> part = load_vector(from + i * each);
#pragma unroll
    for (int e = 0; e < each; ++e) all.at[i * each + e] = part.at[e];
  }
  return all;
}
template <class T, int length>
__device__ __forceinline__ void store_vectors(T* to, const Vector<T, length>& v) {
  constexpr int each = vector_length<T>;
#pragma unroll
  for (int i = 0; i < length / each; ++i) {
    Vector<T> part;
#pragma unroll
    for (int e = 0; e < each; ++e) part.at[e] = v.at[i * each + e];
    *reinterpret_cast<Vector<T>*>(to + i * each) = part;
  }
}

/// Writes value to every ghost that repeats point p of the level.
template <class T>
__device__ __forceinline__ void publish_here(const DeviceSweep<T>& s, T* level, index_t z,
                                             index_t y, index_t x, T value) {
  const auto count = [](const Line& line, index_t p) {
    return line.plain(p) ? index_t{1} : 1 + line.before + line.after;
  };
  for (index_t a = 0; a < count(s.line[0], z); ++a) {
    if (!s.line[0].repeats(a, z)) continue;
    for (index_t b = 0; b < count(s.line[1], y); ++b) {
      if (!s.line[1].repeats(b, y)) continue;
      for (index_t c = 0; c < count(s.line[2], x); ++c) {
        if ((a == 0 && b == 0 && c == 0) || !s.line[2].repeats(c, x)) continue;
        level[s.line[0].candidate(a, z) * s.stride[0] + s.line[1].candidate(b, y) * s.stride[1] +
              s.line[2].candidate(c, x)] = value;
      }
    }
  }
}

/// Writes them as above, not inlined, because few points have ghosts. (The registers of a kernel
/// that calls a function must suffice for both.)
template <class T>
__device__ __noinline__ void publish(const DeviceSweep<T>& s, T* level, index_t z, index_t y,
                                     index_t x, T value) {
  publish_here(s, level, z, y, x, value);
}

/// Stores a point's new value and updates its ghosts.
template <class T>
__device__ __forceinline__ void put(const DeviceSweep<T>& s, T* level, index_t z, index_t y,
                                    index_t x, T value) {
  level[z * s.stride[0] + y * s.stride[1] + x] = value;
  if (!s.plain({{z, y, x}})) publish(s, level, z, y, x, value);
}

/// Stores the part of a row's vector in [low, high) and its ghosts. `plain`: none of the points has
/// ghosts.
template <class T, int length>
__device__ __forceinline__ void put_vector(const DeviceSweep<T>& s, T* level, index_t z, index_t y,
                                           index_t x, index_t low, index_t high, bool plain,
                                           const Vector<T, length>& v) {
  T* to = level + z * s.stride[0] + y * s.stride[1] + x;
  if (x >= low && x + length <= high) {
    store_vectors(to, v);
  } else {
#pragma unroll
    for (int e = 0; e < length; ++e) {
      if (x + e >= low && x + e < high) to[e] = v.at[e];
    }
  }
  if (plain) return;
#pragma unroll
  for (int e = 0; e < length; ++e) {
    if (x + e >= low && x + e < high && !s.plain({{z, y, x + e}}))
      publish(s, level, z, y, x + e, v.at[e]);
  }
}

/// The blocks of a region, numbered along x, then y, then z.
struct Blocks {
  unsigned across, down, deep;
  [[nodiscard]] unsigned count() const {
    return narrow<unsigned>(
        checked_mul(checked_mul(across, down, "size of a launch"), deep, "size of a launch"));
  }
};
inline Blocks blocks_of(const Region& region, Index3 block) {
  return {narrow<unsigned>(ceil_div(region.size(2), block[2])),
          narrow<unsigned>(ceil_div(region.size(1), block[1])),
          narrow<unsigned>(ceil_div(region.size(0), block[0]))};
}
__device__ __forceinline__ uint3 block_place(const Blocks& blocks) {
  const unsigned row = blockIdx.x / blocks.across, plane = row / blocks.down;
  return {blockIdx.x % blocks.across, row % blocks.down, plane};
}

// The stencil shapes known at compile time. value(s, at): at(z, y, x) is the value there; the order
// of the sums is that of Stencil.

template <int radius>
struct BoxShape {
  template <class T, class At>
  __device__ __forceinline__ static Arithmetic<T> value(const DeviceSweep<T>& s, const At& at) {
    using A = Arithmetic<T>;
    const auto column = [&](int x) {
      return doubled_sum<A>(radius, [&](int y) { return at(0, y, x); });
    };
    return doubled_sum<A>(radius, column) * s.weight[0];
  }
};

/// A full star of radius 1.
template <int dims>
struct StarShape {
  template <class T, class At>
  __device__ __forceinline__ static Arithmetic<T> value(const DeviceSweep<T>& s, const At& at) {
    const Arithmetic<T>* w = s.weight;
    if constexpr (dims == 2) {
      Arithmetic<T> sum = w[0] * at(0, -1, 0);
      sum = fma(w[1], at(0, 0, -1), sum);
      sum = fma(w[2], at(0, 0, 0), sum);
      sum = fma(w[3], at(0, 0, 1), sum);
      return fma(w[4], at(0, 1, 0), sum);
    } else {
      Arithmetic<T> sum = w[0] * at(-1, 0, 0);
      sum = fma(w[1], at(0, -1, 0), sum);
      sum = fma(w[2], at(0, 0, -1), sum);
      sum = fma(w[3], at(0, 0, 0), sum);
      sum = fma(w[4], at(0, 0, 1), sum);
      sum = fma(w[5], at(0, 1, 0), sum);
      return fma(w[6], at(1, 0, 0), sum);
    }
  }
};

struct AnyShape {
  template <class T, class At>
  __device__ __forceinline__ static Arithmetic<T> value(const DeviceSweep<T>& s, const At& at) {
    const auto near = [&](index_t k) {
      const Index3 o = s.tap_place[k];
      return at(o[0], o[1], o[2]);
    };
    Arithmetic<T> sum = __ldg(s.tap_weight) * near(0);
    for (index_t k = 1; k < s.taps; ++k) sum = fma(__ldg(s.tap_weight + k), near(k), sum);
    return sum;
  }
};

/// Calls f(shape) with the matching shape.
template <class T, class F>
void dispatch_shape(const DeviceSweep<T>& s, const F& f) {
  if (s.form == Form::box) {
    if (s.radius[2] == 1) return f(BoxShape<1>{});
    if (s.radius[2] == 2) return f(BoxShape<2>{});
    if (s.radius[2] == 3) return f(BoxShape<3>{});
    return f(BoxShape<4>{});
  }
  if (s.star == 1 && !s.hollow && s.dims == 2) return f(StarShape<2>{});
  if (s.star == 1 && !s.hollow && s.dims == 3) return f(StarShape<3>{});
  f(AnyShape{});
}

/// Completes the sum of the taps: adds the previous level and applies the rule.
template <class T>
__device__ __forceinline__ T finished(const DeviceSweep<T>& s, Arithmetic<T> sum, const T* past) {
  if (s.two_levels) sum = fma(s.previous, computed(*past), sum);
  return kept<T>(apply_rule(s.rule, sum));
}

/// Returns the value of one point after a step from level `in` to level `out`.
template <class Shape, class T>
__device__ __forceinline__ T value_after(const DeviceSweep<T>& s, const T* in, const T* out,
                                         index_t z, index_t y, index_t x) {
  const index_t here = z * s.stride[0] + y * s.stride[1] + x;
  const T* u = in + here;
  const Arithmetic<T> sum = Shape::value(s, [&](index_t dz, index_t dy, index_t dx) {
    return computed(load_once(u + dz * s.stride[0] + dy * s.stride[1] + dx));
  });
  return finished(s, sum, out + here);
}

inline void check_launch() { machine::cuda::check(cudaGetLastError(), "stencil kernel"); }

}  // namespace tessera::inline v1::stencil
