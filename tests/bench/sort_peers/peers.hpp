#pragma once
// Sorts of other libraries with one signature; each in its own file, built if its package is
// installed.

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace tessera::bench {

/// 16-byte record; peers order it by the key only.
struct KeyValue {
  std::uint64_t key, value;
  friend bool operator<(const KeyValue& a, const KeyValue& b) { return a.key < b.key; }
};

/// Record of sort benchmarks: 100 bytes, of which the first ten are the key.
struct Record {
  unsigned char bytes[100];
  friend bool operator<(const Record& a, const Record& b) {
    return std::memcmp(a.bytes, b.bytes, 10) < 0;
  }
};

template <class T>
using SortFunction = void (*)(T* data, std::size_t n, int threads);

/// nullptr: the peer does not support the type.
struct Peer {
  std::string_view name;
  bool parallel = false;
  SortFunction<std::uint32_t> u32 = nullptr;
  SortFunction<std::uint64_t> u64 = nullptr;
  SortFunction<double> f64 = nullptr;
  SortFunction<KeyValue> kv = nullptr;
  SortFunction<Record> rec = nullptr;
  SortFunction<std::int32_t> i32 = nullptr;
  SortFunction<std::int64_t> i64 = nullptr;
  SortFunction<float> f32 = nullptr;
};

template <template <class> class Sort>
constexpr Peer peer_of_all(std::string_view name, bool parallel) {
  return {name,
          parallel,
          Sort<std::uint32_t>::run,
          Sort<std::uint64_t>::run,
          Sort<double>::run,
          Sort<KeyValue>::run,
          Sort<Record>::run,
          Sort<std::int32_t>::run,
          Sort<std::int64_t>::run,
          Sort<float>::run};
}

/// Returns the installed peers, from the generated list.
[[nodiscard]] std::vector<Peer> peers();

}  // namespace tessera::bench
