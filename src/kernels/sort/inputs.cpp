// The table of input distributions and their generators.

#include "kernels/sort/inputs.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <type_traits>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "base/work_done.hpp"
#include "kernels/sort/common.hpp"

namespace tessera::inline v1::sort {
namespace {

using Word = std::uint64_t;
using enum Input::Width;

constexpr double two_to(int exponent) {
  return exponent >= 0 ? static_cast<double>(Wide{1} << exponent)
                       : 1 / static_cast<double>(Wide{1} << -exponent);
}

Word random(Word seed, Word stream, Word i) {
  return random_bits(seed, stream, static_cast<index_t>(i));
}
/// Returns a random number in (0, 1].
double fraction(Word seed, Word stream, Word i) {
  return static_cast<double>((random(seed, stream, i) >> 11) + 1) * two_to(-53);
}
/// Returns i / n as a fraction of 2^64.
Word ramp(Word i, Word n) { return i * (~Word{0} / n); }
Word power_mod(Word i, int exponent, Word n) {
  Word result = 1 % n;
  for (; exponent > 0; --exponent) result = static_cast<Word>(Wide{result} * (i % n) % n);
  return result;
}

Word uniform(Word seed, Word i, Word) { return random(seed, 0, i); }

/// Returns a normally distributed key (Box and Muller 1958); the standard deviation is an eighth of
/// the half range, at whose ends it is clipped.
Word gaussian(Word seed, Word i, Word) {
  const double g = std::sqrt(-2 * std::log(fraction(seed, 0, i))) *
                   std::cos(2 * std::numbers::pi * fraction(seed, 1, i));
  return static_cast<Word>((std::min(std::max(g, -7.999), 7.999) + 8) * two_to(60));
}

Word exponential(Word seed, Word i, Word) {
  return static_cast<Word>(-std::log(fraction(seed, 0, i)) * two_to(58));
}

/// Returns ranks 1 .. 10^6 with probability proportional to rank^-0.75, by inverting the continuous
/// distribution.
Word zipf(Word seed, Word i, Word) {
  const double root = 1 + fraction(seed, 0, i) * (std::sqrt(1e3) - 1);  // (10^6)^(1/4) = 1000^(1/2)
  return static_cast<Word>(root * root * root * root);
}

Word root_dup(Word, Word i, Word n) {
  return i % std::max<Word>(1, static_cast<Word>(std::sqrt(static_cast<double>(n))));
}
Word two_dup(Word, Word i, Word n) { return (power_mod(i, 2, n) + n / 2) % n; }
Word eight_dup(Word, Word i, Word n) { return (power_mod(i, 8, n) + n / 2) % n; }

/// Returns a sorted sequence in which one key of each of about sqrt(n) blocks is swapped with one
/// of the opposite block.
Word almost_sorted(Word seed, Word i, Word n) {
  const Word length = std::max<Word>(1, static_cast<Word>(std::sqrt(static_cast<double>(n))));
  const Word blocks = n / length, block = i / length;
  if (block >= blocks || i != block * length + random(seed, 0, block) % length) return ramp(i, n);
  const Word other = blocks - 1 - block;
  return ramp(other * length + random(seed, 0, other) % length, n);
}

Word sorted(Word, Word i, Word n) { return ramp(i, n); }
Word reverse(Word, Word i, Word n) { return ramp(n - 1 - i, n); }
Word all_equal(Word, Word, Word) { return 42; }

/// Returns sixteen blocks, each uniform in another block's sixteenth of the range (Helman, Bader
/// and JaJa 1998).
Word staggered(Word seed, Word i, Word n) {
  constexpr Word blocks = 16;
  const Word block = static_cast<Word>(Wide{i} * blocks / n);
  const Word slot = block < blocks / 2 ? 2 * block + 1 : 2 * block - blocks;
  return slot * (~Word{0} / blocks + 1) + (random(seed, 0, i) >> 4);
}

Word dense(Word seed, Word i, Word n) { return random(seed, 0, i) % (n + 1); }

/// Returns the bitwise and of `words` random words, which lowers the entropy per bit (Thearling and
/// Smith 1992).
template <int words>
Word entropy(Word seed, Word i, Word) {
  Word bits = ~Word{0};
  for (Word w = 0; w < words; ++w) bits &= random(seed, w, i);
  return bits;
}

constexpr double fraction_of_range = two_to(-64);
constexpr std::array<Input, 17> table{{
    {"uniform", "every value alike", wide, 0, fraction_of_range, uniform},
    {"gaussian", "normal", wide, two_to(63), two_to(-60), gaussian},
    {"exponential", "exponentially rarer upwards", wide, 0, two_to(-58), exponential},
    {"zipf", "ranks up to 10^6, probability rank^-0.75", narrow, 0, 1, zipf},
    {"root_dup", "i mod sqrt(n)", narrow, 0, 1, root_dup},
    {"two_dup", "i^2 + n/2 mod n", narrow, 0, 1, two_dup},
    {"eight_dup", "i^8 + n/2 mod n", narrow, 0, 1, eight_dup},
    {"almost_sorted", "sorted, then sqrt(n)/2 swaps", wide, 0, fraction_of_range, almost_sorted},
    {"sorted", "ascending", wide, 0, fraction_of_range, sorted},
    {"reverse", "descending", wide, 0, fraction_of_range, reverse},
    {"all_equal", "one value", narrow, 0, 1, all_equal},
    {"staggered", "sixteen blocks, each in the range of another", wide, 0, fraction_of_range,
     staggered},
    {"dense", "uniform in [0, n]", narrow, 0, 1, dense},
    {"entropy_0.811", "bits of entropy a bit: and of 2 words", wide, 0, fraction_of_range,
     entropy<2>},
    {"entropy_0.544", "and of 3 words", wide, 0, fraction_of_range, entropy<3>},
    {"entropy_0.337", "and of 4 words", wide, 0, fraction_of_range, entropy<4>},
    {"entropy_0.201", "and of 5 words", wide, 0, fraction_of_range, entropy<5>},
}};

/// Returns the number nearest to a word. The usual conversion branches on the highest bit, which
/// random words mispredict: 8 ns a key.
double nearest(Word word) {
  constexpr Word low = (Word{1} << 32) - 1;
  return static_cast<double>(static_cast<std::int64_t>(word >> 32)) * two_to(32) +
         static_cast<double>(static_cast<std::int64_t>(word & low));  // rounded once: exact parts
}

template <class T>
T key(const Input& input, Word word) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>((nearest(word) - input.centre) * input.unit);
  } else {
    using B = std::make_unsigned_t<T>;
    if (input.width == narrow) return static_cast<T>(static_cast<B>(word));
    constexpr int bits = 8 * static_cast<int>(sizeof(T));
    constexpr B sign = std::is_signed_v<T> ? B{1} << (bits - 1) : B{0};
    return static_cast<T>(static_cast<B>(word >> (64 - bits)) ^ sign);
  }
}

}  // namespace

std::span<const Input> inputs() { return table; }

const Input& input(std::string_view name) {
  std::vector<std::string> names;
  for (const Input& row : table) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  throw Error(ExitCode::usage,
              "unknown input '" + std::string(name) + "'" + suggestion(name, names));
}

template <class T>
void generate(const Input& input, std::uint64_t seed, index_t first, index_t n, std::span<T> keys) {
  const auto fill = [&](const auto& word) {
    machine::parallel_for(
        0, static_cast<index_t>(keys.size()), 1 << 16, [&](index_t begin, index_t end) {
          for (index_t j = begin; j < end; ++j) {
            const auto i = static_cast<Word>(first + j);
            keys[static_cast<std::size_t>(j)] = key<T>(input, word(seed, i, static_cast<Word>(n)));
          }
          work_done().bytes_read += (end - begin) * index_t{sizeof(T)};
        });
  };
  if (input.word == uniform)  // most benches: inlined, and so in vectors
    fill([](Word from, Word i, Word) { return random(from, 0, i); });
  else
    fill(input.word);
}

template void generate(const Input&, std::uint64_t, index_t, index_t, std::span<std::int32_t>);
template void generate(const Input&, std::uint64_t, index_t, index_t, std::span<std::int64_t>);
template void generate(const Input&, std::uint64_t, index_t, index_t, std::span<std::uint32_t>);
template void generate(const Input&, std::uint64_t, index_t, index_t, std::span<std::uint64_t>);
template void generate(const Input&, std::uint64_t, index_t, index_t, std::span<float>);
template void generate(const Input&, std::uint64_t, index_t, index_t, std::span<double>);

}  // namespace tessera::inline v1::sort
