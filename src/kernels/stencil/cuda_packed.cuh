#pragma once
// Vectors as registers hold them between steps: pairs of halves in one word, so that a thread holds
// twice as many; other types unchanged.

#include "kernels/stencil/cuda_device.cuh"

namespace tessera::inline v1::stencil {

/// Contiguous halves, two per word.
template <int length>
struct alignas(2 * length) HalfPairs {
  unsigned word[length / 2];
};

template <class T, int length>
struct PackedOf {
  using type = Vector<T, length>;
};
template <int length>
struct PackedOf<Half, length> {
  using type = HalfPairs<length>;
};
template <class T, int length = vector_length<T>>
using Packed = typename PackedOf<T, length>::type;

/// Loads a vector as load_vector does, in packed form.
template <class T>
__device__ __forceinline__ Vector<T> load_packed(const T* from) {
  return load_vector(from);
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ __forceinline__ HalfPairs<8> load_packed(const Half* from) {
  HalfPairs<8> v;
  asm("ld.global.nc.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
      : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
      : "l"(from), "l"(kernels::reads_stay()));
  return v;
}
#else
__device__ __forceinline__ HalfPairs<8> load_packed(const Half* from) {
  const uint4 v = __ldg(reinterpret_cast<const uint4*>(from));
  return {{v.x, v.y, v.z, v.w}};
}
#endif

/// Converts a packed vector to the arithmetic type.
template <class T, int length>
__device__ __forceinline__ const Vector<T, length>& unpacked(const Vector<T, length>& v) {
  return v;
}
template <int length>
__device__ __forceinline__ Vector<float, length> unpacked(const HalfPairs<length>& v) {
  Vector<float, length> wide;
#pragma unroll
  for (int i = 0; i < length / 2; ++i) {
    asm("{.reg .b16 low, high;\n\tmov.b32 {low, high}, %2;\n\tcvt.f32.f16 %0, low;\n\tcvt.f32.f16 "
        "%1, high;}"
        : "=f"(wide.at[2 * i]), "=f"(wide.at[2 * i + 1])
        : "r"(v.word[i]));
  }
  return wide;
}

/// Converts a vector to the packed storage type, rounding if T is narrower.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
template <class T, int length>
__device__ __forceinline__ Packed<T, length> packed(const Vector<Arithmetic<T>, length>& v) {
  if constexpr (std::is_same_v<T, Half>) {
    HalfPairs<length> pairs;
#pragma unroll
    for (int i = 0; i < length / 2; ++i)
      asm("cvt.rn.f16x2.f32 %0, %1, %2;"
          : "=r"(pairs.word[i])
          : "f"(v.at[2 * i + 1]), "f"(v.at[2 * i]));
    return pairs;
  } else {
    return v;
  }
}
#else  // one by one
template <class T, int length>
__device__ __forceinline__ Packed<T, length> packed(const Vector<Arithmetic<T>, length>& v) {
  if constexpr (std::is_same_v<T, Half>) {
    HalfPairs<length> pairs;
#pragma unroll
    for (int i = 0; i < length / 2; ++i)
      pairs.word[i] = kept<Half>(v.at[2 * i]).bits | unsigned{kept<Half>(v.at[2 * i + 1]).bits}
                                                         << 16;
    return pairs;
  } else {
    return v;
  }
}
#endif

template <class T, int length>
__device__ __forceinline__ T element(const Vector<T, length>& v, int e) {
  return v.at[e];
}
template <int length>
__device__ __forceinline__ Half element(const HalfPairs<length>& v, int e) {
  Half half;
  half.bits = static_cast<unsigned short>(v.word[e / 2] >> (16 * (e % 2)));
  return half;
}

/// Packs the halves at(e).
template <int length, class At>
__device__ __forceinline__ HalfPairs<length> pairs_of(const At& at) {
  HalfPairs<length> pairs;
#pragma unroll
  for (int i = 0; i < length / 2; ++i)
    pairs.word[i] = at(2 * i).bits | unsigned{at(2 * i + 1).bits} << 16;
  return pairs;
}

/// Selects one of two vectors. All choices at ends are selects of values: with a conditional store
/// to one element of an array, the compiler computes its index and moves the array to local memory.
template <class T, int length>
__device__ __forceinline__ Vector<T, length> chosen(bool first, const Vector<T, length>& one,
                                                    const Vector<T, length>& other) {
  Vector<T, length> v;
#pragma unroll
  for (int e = 0; e < length; ++e) v.at[e] = first ? T(one.at[e]) : T(other.at[e]);
  return v;
}
template <int length>
__device__ __forceinline__ HalfPairs<length> chosen(bool first, const HalfPairs<length>& one,
                                                    const HalfPairs<length>& other) {
  HalfPairs<length> v;
#pragma unroll
  for (int i = 0; i < length / 2; ++i)
    v.word[i] = first ? unsigned(one.word[i]) : unsigned(other.word[i]);
  return v;
}

/// Returns the vector with `value` at position `place`, if that is at least `first`.
template <class T, int length>
__device__ __forceinline__ Vector<T, length> replaced(const Vector<T, length>& v, int first,
                                                      int place, T value) {
  Vector<T, length> w = v;
#pragma unroll
  for (int e = 0; e < length; ++e) w.at[e] = e >= first && e == place ? value : T(v.at[e]);
  return w;
}
template <int length>
__device__ __forceinline__ HalfPairs<length> replaced(const HalfPairs<length>& v, int first,
                                                      int place, Half value) {
  return pairs_of<length>([&](int e) { return e >= first && e == place ? value : element(v, e); });
}

}  // namespace tessera::inline v1::stencil
