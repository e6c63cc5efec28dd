#include <tbb/global_control.h>
#include <tbb/parallel_sort.h>

#include "sort_peers/peers.hpp"

namespace tessera::bench {
namespace {

template <class T>
struct Tbb {
  static void run(T* data, std::size_t n, int threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(threads));
    tbb::parallel_sort(data, data + n);
  }
};

}  // namespace

void add_tbb(std::vector<Peer>& peers) { peers.push_back(peer_of_all<Tbb>("tbb", true)); }

}  // namespace tessera::bench
