// Digests of long rows, computed before they are hashed with their indices; compiled once per
// instruction set: one carry-less product per 16 bytes, summed over a row (NH, Black et al. 1999,
// over polynomials). Two different rows have the same digest for one choice of the keys in 2^64.

#include "kernels/sort/verify_vectors.hpp"

namespace tessera::inline v1::sort::TESSERA_ISA {
namespace {

constexpr index_t piece = 16;  // bytes of a row per product

/// Rows, and two random words for every piece of one.
struct Digested {
  const std::byte* rows;
  index_t bytes, n;
  const std::uint64_t* keys;
  std::uint64_t* digests;
};

struct Words {
  std::uint64_t low, high;
};

/// Multiplies without carries bit by bit, if the processor has no instruction.
[[gnu::always_inline]] inline Words without_carries(std::uint64_t a, std::uint64_t b) {
  Words product{0, 0};
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t taken = std::uint64_t{0} - (b >> i & 1);
    product.low ^= (a << i) & taken;
    if (i > 0) product.high ^= (a >> (64 - i)) & taken;
  }
  return product;
}

}  // namespace

void digest_rows_plainly(const IndexedRows& rows, const std::uint64_t* keys,
                         std::uint64_t* digests) {
  const Digested d{rows.data, rows.bytes, rows.n, keys, digests};
  for (index_t j = 0; j < d.n; ++j) {
    Words sum{0, 0};
    for (index_t at = 0; at < d.bytes; at += piece) {
      Words words{0, 0};
      __builtin_memcpy(&words, d.rows + j * d.bytes + at,
                       static_cast<std::size_t>(d.bytes - at < piece ? d.bytes - at : piece));
      const std::uint64_t* const key = d.keys + at / 8;
      const Words product = without_carries(words.low ^ key[0], words.high ^ key[1]);
      sum.low ^= product.low;
      sum.high ^= product.high;
    }
    d.digests[2 * j] = sum.low;
    d.digests[2 * j + 1] = sum.high;
  }
}

namespace {

#if defined(__SSE2__)
[[gnu::target("pclmul")]] void digest_by_pieces(const Digested& d) {
  const index_t whole = d.bytes / piece * piece;
  for (index_t j = 0; j < d.n; ++j) {
    const std::byte* const row = d.rows + j * d.bytes;
    __m128i sum = _mm_setzero_si128();
    const auto add = [&](const std::byte* from, index_t at)
        __attribute__((always_inline, target("pclmul"))) {
      const __m128i keyed =
          _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)),
                        _mm_loadu_si128(reinterpret_cast<const __m128i*>(d.keys + at / 8)));
      sum = _mm_xor_si128(sum, _mm_clmulepi64_si128(keyed, keyed, 0x10));
    };
    for (index_t at = 0; at < whole; at += piece) add(row + at, at);
    if (whole < d.bytes) {
      std::byte last[piece]{};
      __builtin_memcpy(last, row + whole, static_cast<std::size_t>(d.bytes - whole));
      add(last, whole);
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(d.digests + 2 * j), sum);
  }
}
#endif

#if defined(__AVX512F__)
#define TESSERA_FOUR_PIECES gnu::target("pclmul,vpclmulqdq")

/// The sums of four pieces of each of four rows.
struct FourRows {
  __m512i sums[4];
};
[[TESSERA_FOUR_PIECES, gnu::always_inline]] inline void add(FourRows& rows, int row,
                                                            __m512i keyed) {
  rows.sums[row] = _mm512_xor_si512(rows.sums[row], _mm512_clmulepi64_epi128(keyed, keyed, 0x10));
}

[[TESSERA_FOUR_PIECES, gnu::always_inline]] inline void digest_four(
    const Digested& d, const std::byte* const (&row)[4], __mmask64 bytes_read, __mmask8 words_there,
    __mmask8 words_kept, std::uint64_t* digests) {
  FourRows four{};
  index_t at = 0;
  for (; at + vector_bytes < d.bytes; at += vector_bytes) {
    const __m512i key = _mm512_loadu_si512(d.keys + at / 8);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      add(four, i, _mm512_xor_si512(_mm512_loadu_si512(row[i] + at), key));
  }
  const __m512i key = _mm512_maskz_loadu_epi64(words_there, d.keys + at / 8);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    add(four, i, _mm512_xor_si512(_mm512_maskz_loadu_epi8(bytes_read, row[i] + at), key));
  // Full masks, because the compiler's unmasked forms trigger warnings (GCC bug 105593).
  const auto& sums = four.sums;
  const __m512i a = _mm512_xor_si512(_mm512_maskz_shuffle_i64x2(0xff, sums[0], sums[1], 0x44),
                                     _mm512_maskz_shuffle_i64x2(0xff, sums[0], sums[1], 0xee));
  const __m512i b = _mm512_xor_si512(_mm512_maskz_shuffle_i64x2(0xff, sums[2], sums[3], 0x44),
                                     _mm512_maskz_shuffle_i64x2(0xff, sums[2], sums[3], 0xee));
  _mm512_mask_storeu_epi64(digests, words_kept,
                           _mm512_xor_si512(_mm512_maskz_shuffle_i64x2(0xff, a, b, 0x88),
                                            _mm512_maskz_shuffle_i64x2(0xff, a, b, 0xdd)));
}

[[TESSERA_FOUR_PIECES]] void digest_by_four_pieces(const Digested& d) {
  const index_t rest = (d.bytes - 1) % vector_bytes + 1;  // bytes of a row's last vector
  const auto bytes_read = static_cast<__mmask64>(~std::uint64_t{0} >> (64 - rest));
  const auto words_there = static_cast<__mmask8>(0xff >> (8 - (rest + piece - 1) / piece * 2));
  const std::byte* row = d.rows;
  index_t j = 0;
  for (; j + 4 <= d.n; j += 4, row += 4 * d.bytes)
    digest_four(d, {row, row + d.bytes, row + 2 * d.bytes, row + 3 * d.bytes}, bytes_read,
                words_there, 0xff, d.digests + 2 * j);
  if (j == d.n) return;
  const auto kept = static_cast<__mmask8>(0xff >> (8 - 2 * (d.n - j)));
  const std::byte* const last = d.rows + (d.n - 1) * d.bytes;  // repeated in place of absent rows
  digest_four(d, {row, j + 1 < d.n ? row + d.bytes : last, last, last}, bytes_read, words_there,
              kept, d.digests + 2 * j);
}
#endif

}  // namespace

void digest_rows(const IndexedRows& rows, const std::uint64_t* keys, std::uint64_t* digests) {
  [[maybe_unused]] const Digested d{rows.data, rows.bytes, rows.n, keys, digests};
#if defined(__AVX512F__)
  if (__builtin_cpu_supports("vpclmulqdq")) return digest_by_four_pieces(d);
#endif
#if defined(__SSE2__)
  if (__builtin_cpu_supports("pclmul")) return digest_by_pieces(d);
#endif
  digest_rows_plainly(rows, keys, digests);
}

}  // namespace tessera::inline v1::sort::TESSERA_ISA
