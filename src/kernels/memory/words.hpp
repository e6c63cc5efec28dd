#pragma once
// Words of memory as the probes see them: plain, or telling every touch. The walks are templates on
// one of the two, so that what is simulated is what runs.

#include <atomic>
#include <cstdint>

#include "kernels/memory/misses.hpp"

namespace tessera::memory {

using Word = std::uint64_t;
inline constexpr index_t word_bytes = 8;
inline constexpr index_t line_bytes = 64;

struct PlainWords {
  Word* data;
  [[nodiscard]] Word load(index_t i) const { return data[i]; }
  void store(index_t i, Word value) const { data[i] = value; }
  void prefetch(index_t i) const { __builtin_prefetch(data + i); }
  /// One more, whoever else adds at the same time.
  void add(index_t i) const {
    std::atomic_ref<Word>(data[i]).fetch_add(1, std::memory_order_relaxed);
  }
};

struct TracedWords {
  Word* data;
  Touches* to;
  int thread;
  std::uint64_t base;  ///< address that word 0 has in the trace

  [[nodiscard]] Word load(index_t i) const {
    tell(Touches::What::load, i);
    return data[i];
  }
  void store(index_t i, Word value) const {
    tell(Touches::What::store, i);
    data[i] = value;
  }
  void prefetch(index_t i) const { tell(Touches::What::prefetch, i); }
  void add(index_t i) const {
    tell(Touches::What::load, i);
    tell(Touches::What::store, i);
    ++data[i];
  }

 private:
  void tell(Touches::What what, index_t i) const {
    to->touch(thread, what, base + static_cast<std::uint64_t>(i) * word_bytes, word_bytes);
  }
};

/// Where the words begin in a trace: at a page, so that sets of caches are those of aligned data.
inline constexpr std::uint64_t traced_base = 1 << 20;

}  // namespace tessera::memory
