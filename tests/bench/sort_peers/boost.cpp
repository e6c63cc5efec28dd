#include <boost/sort/sort.hpp>

#include "sort_peers/peers.hpp"

namespace tessera::bench {
namespace {

template <class T>
struct Pdq {
  static void run(T* data, std::size_t n, int) { boost::sort::pdqsort(data, data + n); }
};
template <class T>
struct BlockIndirect {
  static void run(T* data, std::size_t n, int threads) {
    boost::sort::block_indirect_sort(data, data + n, std::less<>(), static_cast<unsigned>(threads));
  }
};
template <class T>
void spread(T* data, std::size_t n, int) {
  boost::sort::spreadsort::spreadsort(data, data + n);
}

}  // namespace

void add_boost(std::vector<Peer>& peers) {
  peers.push_back(peer_of_all<Pdq>("pdqsort", false));
  peers.push_back({"spreadsort", false, spread<std::uint32_t>, spread<std::uint64_t>,
                   spread<double>, nullptr, nullptr, spread<std::int32_t>, spread<std::int64_t>,
                   spread<float>});
  peers.push_back(peer_of_all<BlockIndirect>("block_indirect", true));
}

}  // namespace tessera::bench
