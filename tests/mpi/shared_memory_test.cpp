#include "mpi/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"

namespace tessera::mpi {
namespace {

TEST(SharedMemory, IsSeenByEveryRankOfTheNode) {
  const Communicator comm = Communicator::world();
  const Communicator node = comm.node();
  for (const index_t bytes : {0, 1, 4096, 100000}) {
    std::vector<index_t> sizes(static_cast<std::size_t>(node.size()), bytes);
    if (node.size() > 1) sizes[1] = 0;  // segments may differ, and be empty
    const index_t mine = sizes[static_cast<std::size_t>(node.rank())];
    SharedMemory memory(node, sizes);
    EXPECT_TRUE(memory.there());
    EXPECT_EQ(memory.size_of(node.rank()), mine);
    memory.fence();
    for (int peer = 0; peer < node.size();
         ++peer) {  // every rank writes its byte into every segment
      if (node.rank() < memory.size_of(peer))
        memory.of(peer)[node.rank()] = static_cast<std::byte>(node.rank() + 1);
    }
    memory.fence();
    for (int peer = 0; peer < node.size(); ++peer) {
      if (peer < mine) {
        EXPECT_EQ(memory.of(node.rank())[peer], static_cast<std::byte>(peer + 1));
      }
    }
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.of(node.rank())) % 4096, 0u);
    const SharedMemory moved = std::move(memory);
    EXPECT_TRUE(moved.there());
    EXPECT_FALSE(memory.there());  // NOLINT: use after move is tested
  }
}

TEST(SharedMemory, RefusesMoreThanThereIs) {
  const Communicator node = Communicator::world().node();
  struct statvfs whole {};  // total, since others may free memory concurrently
  if (statvfs("/dev/shm", &whole) != 0) GTEST_SKIP() << "no /dev/shm";
  const auto too_much =
      static_cast<index_t>(whole.f_blocks * whole.f_frsize) / node.size() + (1 << 20);
  try {
    const SharedMemory memory(
        node, std::vector<index_t>(static_cast<std::size_t>(node.size()), too_much));
    FAIL();
  } catch (const AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::memory);
  }
}

}  // namespace
}  // namespace tessera::mpi
