#include <parallel/algorithm>

#include <algorithm>

#include "sort_peers/peers.hpp"

namespace tessera::bench {
namespace {

template <class T>
struct Std {
  static void run(T* data, std::size_t n, int) { std::sort(data, data + n); }
};
template <class T>
struct Stable {
  static void run(T* data, std::size_t n, int) { std::stable_sort(data, data + n); }
};
template <class T>
struct Gnu {
  static void run(T* data, std::size_t n, int threads) {
    __gnu_parallel::sort(data, data + n,
                         __gnu_parallel::default_parallel_tag(static_cast<unsigned>(threads)));
  }
};

}  // namespace

void add_standard(std::vector<Peer>& peers) {
  peers.push_back(peer_of_all<Std>("std::sort", false));
  peers.push_back(peer_of_all<Stable>("std::stable_sort", false));
  peers.push_back(peer_of_all<Gnu>("gnu_parallel", true));
}

}  // namespace tessera::bench
