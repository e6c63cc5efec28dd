// Functions that need no MPI, for programs that link io/ only.

#include <unistd.h>

#include <array>
#include <atomic>

#include "mpi/heartbeat.hpp"
#include "mpi/runtime.hpp"

namespace tessera::inline v1::mpi {
namespace {

std::atomic<std::uint64_t> beats{0};

}  // namespace

void heartbeat() noexcept { beats.fetch_add(1, std::memory_order_relaxed); }
std::uint64_t heartbeats() noexcept { return beats.load(); }

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace tessera::inline v1::mpi
