#include "base/simd/operations.hpp"

#include "base/simd/arithmetic.hpp"
#include "base/simd/half.hpp"
#include "base/simd/number.hpp"
#include "base/simd/reduce.hpp"
#include "base/simd/shuffle.hpp"
#include "base/simd/tail.hpp"
#include "base/simd/transpose.hpp"

namespace tessera::TESSERA_ISA {
namespace {

using simd::Simd;
using simd::Vector;

template <class T>
constexpr simd_test::Numbers<T> numbers() {
  using S = Simd<T>;
  return {
      S::lanes,
      [](const T* from, index_t n, T* all) { S::store(all, S::load(from, n)); },
      [](T* to, const T* all, index_t first, index_t last) {
        S::store(to, S::load(all), first, last);
      },
      [](T* to, const T* all) {
        S::stream(to, S::load(all));
        simd::fence_streams();
      },
      [](T x, T* all) { S::store(all, S::broadcast(x)); },
      [](const T* a, const T* b, const T* c, T* all) {
        S::store(all, S::fma(S::load(a), S::load(b), S::load(c)));
      },
      [](const T* a, const T* b, const T* c, T* all) {
        S::store(all, S::mul_add(S::load(a), S::load(b), S::load(c)));
      },
      [](const T* a, const T* b, const T* c, T* all) {
        S::store(all, S::neg_mul_add(S::load(a), S::load(b), S::load(c)));
      },
  };
}

template <class T>
Vector<T> vector(const T* p) {
  return simd::load<Vector<T>>(p);
}

template <class T>
constexpr int count_of = simd::lanes_of<Vector<T>>;

template <class T>
constexpr simd_test::Lanes<T> lanes() {
  return {
      count_of<T>,
      [](const T* a, const T* b, T* low, T* high) {
        simd::store(low, simd::interleave_low(vector(a), vector(b)));
        simd::store(high, simd::interleave_high(vector(a), vector(b)));
      },
      [](const T* a, const T* b, T* evens, T* odds) {
        simd::store(evens, simd::evens(vector(a), vector(b)));
        simd::store(odds, simd::odds(vector(a), vector(b)));
      },
      [](const T* v, T* by_one, T* by_all) {
        simd::store(by_one, simd::exchange<1>(vector(v)));
        simd::store(by_all, simd::exchange<count_of<T> - 1>(vector(v)));
      },
      [](const T* a, const T* b, T* by_one, T* by_all_but_one) {
        simd::store(by_one, simd::shift<1>(vector(a), vector(b)));
        simd::store(by_all_but_one, simd::shift<count_of<T> - 1>(vector(a), vector(b)));
      },
      [](const T* a, const T* b, index_t bytes, T* shifted) {
        simd::store(shifted, simd::Shift(bytes)(vector(a), vector(b)));
      },
      [](T* square) {
        Vector<T> v[count_of<T>];
        for (int r = 0; r < count_of<T>; ++r) v[r] = vector(square + r * count_of<T>);
        simd::transpose_square<T>(v);
        for (int r = 0; r < count_of<T>; ++r) simd::store(square + r * count_of<T>, v[r]);
      },
      [](const T* rows, T* columns) {
        Vector<T> v[4];
        for (int r = 0; r < 4; ++r) v[r] = vector(rows + r * count_of<T>);
        simd::interleave_rows(v);
        for (int r = 0; r < 4; ++r) simd::store(columns + r * count_of<T>, v[r]);
      },
      [](const T* a, const T* b, T* smaller, T* larger) {
        simd::store(smaller, simd::min(vector(a), vector(b)));
        simd::store(larger, simd::max(vector(a), vector(b)));
      },
  };
}

template <class S>
constexpr simd_test::Halves<S> halves{
    Simd<S>::lanes,
    [](const S* from, float* to) { simd::store(to, Simd<S>::load(from)); },
    [](const float* from, S* to) { Simd<S>::store(to, vector(from)); },
    [](const S* from, index_t n, float* to) { simd::store(to, Simd<S>::load(from, n)); },
    [](S* to, const float* all, index_t first, index_t last) {
      Simd<S>::store(to, vector(all), first, last);
    },
    [](S x) { return simd::widen(x); },
    [](float x) {
      S half;
      simd::narrow_to(half, x);
      return half;
    },
};

using Word = std::uint64_t;
constexpr simd_test::Words words{
    simd::lanes_of<Vector<Word>>,
    [](const Word* a, const Word* b, Word* all) {
      simd::store(all, simd::mul_low_halves(vector(a), vector(b)));
    },
    [](const Word* a, const Word* b) { return simd::less_bits(vector(a), vector(b)); },
    [](const Word* a, const Word* b) { return simd::equal_bits(vector(a), vector(b)); },
    [](const Word* v) { return simd::any(vector(v)); },
    [](const Word* v) { return simd::sum(vector(v)); },
    [](const Word* v) {
      return simd::reduce(vector(v),
                          [](Vector<Word> a, Vector<Word> b) { return simd::min(a, b); });
    },
    [](const std::byte* from, index_t n, Word* all) {
      simd::store(all, simd::load_bytes<Vector<Word>>(from, n));
    },
};

}  // namespace

extern const simd_test::Operations simd_operations;
const simd_test::Operations simd_operations{numbers<float>(),       numbers<double>(),
                                            lanes<std::uint8_t>(),  lanes<std::uint16_t>(),
                                            lanes<std::uint32_t>(), lanes<std::uint64_t>(),
                                            lanes<double>(),        halves<Half>,
                                            halves<BFloat16>,       words};

}  // namespace tessera::TESSERA_ISA
