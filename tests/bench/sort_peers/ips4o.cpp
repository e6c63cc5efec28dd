#include <ips4o.hpp>

#include "sort_peers/peers.hpp"

namespace tessera::bench {
namespace {

template <class T>
struct One {
  static void run(T* data, std::size_t n, int) { ips4o::sort(data, data + n); }
};
template <class T>
struct All {
  static void run(T* data, std::size_t n, int threads) {
    ips4o::parallel::sort(data, data + n, std::less<>(), threads);
  }
};

}  // namespace

void add_ips4o(std::vector<Peer>& peers) {
  peers.push_back(peer_of_all<One>("ips4o", false));
  peers.push_back(peer_of_all<All>("ips4o::parallel", true));
}

}  // namespace tessera::bench
