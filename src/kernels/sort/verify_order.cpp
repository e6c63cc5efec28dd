// Order of rows by successive words of their keys, compiled once per instruction set. A byte of
// flags covers eight rows.

#include "kernels/sort/verify_vectors.hpp"

namespace tessera::inline v1::sort::TESSERA_ISA {
namespace {

constexpr index_t rows_of_byte = 8;

/// One bit per row: comparisons of up to eight words with the previous ones.
struct Steps {
  unsigned less = 0, equal = 0;
};

[[gnu::always_inline]] inline Steps steps_of(const std::uint64_t* words, index_t n) {
  Steps steps;
  for (index_t i = 0; i < n; ++i) {
    steps.less |= static_cast<unsigned>(words[i] < words[i - 1]) << i;
    steps.equal |= static_cast<unsigned>(words[i] == words[i - 1]) << i;
  }
  return steps;
}

[[gnu::always_inline]] inline Steps steps_of_eight(const std::uint64_t* words) {
#if defined(__AVX2__)
  Steps steps;
  for (index_t i = 0; i < rows_of_byte; i += lanes<std::uint64_t>) {
    const auto here = simd::load<Vector64>(words + i), before = simd::load<Vector64>(words + i - 1);
    steps.less |= simd::less_bits(here, before) << i;
    steps.equal |= simd::equal_bits(here, before) << i;
  }
  return steps;
#else
  return steps_of(words, rows_of_byte);
#endif
}

/// Calls f(steps, byte of the flags) for rows [0, n).
template <class F>
[[gnu::always_inline]] inline void for_steps(const std::uint64_t* words, index_t n, const F& f) {
  index_t j = 0;
  for (; j + rows_of_byte <= n; j += rows_of_byte) f(steps_of_eight(words + j), j / rows_of_byte);
  if (j < n) f(steps_of(words + j, n - j), j / rows_of_byte);
}

[[gnu::always_inline]] inline index_t count_of(unsigned bits) {
  index_t count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return count;
}

/// Sets words[j] = f(raw key of row j) for every row, with a compile-time step for contiguous keys.
template <class B, class F>
[[gnu::always_inline]] inline void for_keys(const KeyRows& keys, index_t n, std::uint64_t* words,
                                            const F& f) {
  const auto with_step = [&](index_t step) __attribute__((always_inline)) {
    const std::byte* const data = keys.data;
    for (index_t j = 0; j < n; ++j) {
      B raw;
      __builtin_memcpy(&raw, data + j * step, sizeof(B));
      words[j] = f(raw);
    }
  };
  if (keys.step == static_cast<index_t>(sizeof(B)))
    with_step(sizeof(B));
  else
    with_step(keys.step);
}

template <class B>
[[gnu::always_inline]] inline void words_of_numbers(const KeyRows& keys, index_t n,
                                                    const KeyMap<B>& of_keys, Equality equality,
                                                    std::uint64_t* words) {
  const KeyMap<B> map = of_keys;
  if (map.spread == 0 || equality == Equality::of_bits) {  // no floats, or compared by bits
    for_keys<B>(keys, n, words, [&](B raw) { return bits_of(raw, map); });
    return;
  }
  const B infinity = static_cast<B>(~map.offset & map.spread);
  const B nan = infinity | static_cast<B>((infinity & (B{0} - infinity)) >> 1);
  for_keys<B>(keys, n, words, [&](B raw) {
    const B magnitude = raw & map.spread;
    return bits_of(magnitude == 0 ? B{0} : magnitude > infinity ? nan : raw, map);
  });
}

}  // namespace

void words_of_numbers32(const KeyRows& keys, index_t n, const KeyMap<std::uint32_t>& map,
                        Equality equality, std::uint64_t* words) {
  words_of_numbers(keys, n, map, equality, words);
}
void words_of_numbers64(const KeyRows& keys, index_t n, const KeyMap<std::uint64_t>& map,
                        Equality equality, std::uint64_t* words) {
  words_of_numbers(keys, n, map, equality, words);
}

void words_of_strings(const KeyRows& keys, index_t n, index_t bytes, std::uint64_t flip,
                      std::uint64_t* words) {
  constexpr bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  if (bytes == 8 && little) {
    for_keys<std::uint64_t>(keys, n, words,
                            [=](std::uint64_t raw) { return __builtin_bswap64(raw) ^ flip; });
    return;
  }
  for (index_t j = 0; j < n; ++j) {
    const auto* const key = reinterpret_cast<const unsigned char*>(keys.data + j * keys.step);
    std::uint64_t word = 0;
    for (index_t b = 0; b < bytes; ++b) word |= std::uint64_t{key[b]} << (56 - 8 * b);
    words[j] = word ^ flip;
  }
}

index_t steps_down(const std::uint64_t* words, index_t n, unsigned char* equal) {
  index_t wrong = 0;
  for_steps(words, n, [&](const Steps& steps, index_t byte) {
    wrong += count_of(steps.less & equal[byte]);
    equal[byte] = static_cast<unsigned char>(equal[byte] & steps.equal);
  });
  return wrong;
}

index_t steps_not_up(const std::uint64_t* words, index_t n, const unsigned char* equal) {
  index_t wrong = 0;
  for_steps(words, n, [&](const Steps& steps, index_t byte) {
    wrong += count_of((steps.less | steps.equal) & equal[byte]);
  });
  return wrong;
}

}  // namespace tessera::inline v1::sort::TESSERA_ISA
