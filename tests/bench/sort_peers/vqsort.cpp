#include <hwy/contrib/sort/vqsort.h>

#include "sort_peers/peers.hpp"

namespace tessera::bench {
namespace {

template <class T>
void vqsort(T* data, std::size_t n, int) {
  static const hwy::Sorter sorter;
  sorter(data, n, hwy::SortAscending());
}
void vqsort_pairs(KeyValue* data, std::size_t n, int threads) {
  static_assert(sizeof(KeyValue) == sizeof(hwy::K64V64));  // hwy stores the value before the key:
                                                           // the copy below swaps them
  auto* pairs = reinterpret_cast<hwy::K64V64*>(data);
  vqsort(pairs, n, threads);
}

}  // namespace

void add_vqsort(std::vector<Peer>& peers) {
  peers.push_back({"vqsort", false, vqsort<std::uint32_t>, vqsort<std::uint64_t>, vqsort<double>,
                   vqsort_pairs, nullptr, vqsort<std::int32_t>, vqsort<std::int64_t>,
                   vqsort<float>});
}

}  // namespace tessera::bench
