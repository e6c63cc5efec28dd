#pragma once
// Words of memory as the probes access them: plain, or traced, which reports every touch. The walks
// are templates on one of the two, so that the simulated code is the code that runs.

#include <atomic>
#include <cstdint>

#include "kernels/memory/misses.hpp"

namespace tessera::inline v1::memory {

using Word = std::uint64_t;
inline constexpr index_t word_bytes = 8;
inline constexpr index_t line_bytes = 64;

struct PlainWords {
  Word* data;
  [[nodiscard]] Word load(index_t i) const { return data[i]; }
  void store(index_t i, Word value) const { data[i] = value; }
  void prefetch(index_t i) const { __builtin_prefetch(data + i); }
  /// Increments a word atomically.
  void add(index_t i) const {
    std::atomic_ref<Word>(data[i]).fetch_add(1, std::memory_order_relaxed);
  }
};

struct TracedWords {
  Word* data;
  Touches* to;
  int thread;
  std::uint64_t base;  ///< address of word 0 in the trace

  [[nodiscard]] Word load(index_t i) const {
    report(Touches::What::load, i);
    return data[i];
  }
  void store(index_t i, Word value) const {
    report(Touches::What::store, i);
    data[i] = value;
  }
  void prefetch(index_t i) const { report(Touches::What::prefetch, i); }
  void add(index_t i) const {
    report(Touches::What::load, i);
    report(Touches::What::store, i);
    ++data[i];
  }

 private:
  void report(Touches::What what, index_t i) const {
    to->touch(thread, what, base + static_cast<std::uint64_t>(i) * word_bytes, word_bytes);
  }
};

/// Address of the words in a trace: at a page, so that cache sets are those of aligned data.
inline constexpr std::uint64_t traced_base = 1 << 20;

}  // namespace tessera::inline v1::memory
