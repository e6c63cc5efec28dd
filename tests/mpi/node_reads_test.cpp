// Long blocks between the ranks of a node, copied by all threads, and what the system may refuse of
// it: this program's process_vm_readv precedes the C library's.

#include "mpi/node_reads.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "machine/fork_join.hpp"
#include "mpi/exchange_amounts.hpp"

namespace {

enum class System { reads, reads_half, refuses_all, refuses_long };
std::atomic<System> system_now{System::reads};
std::atomic<int> long_reads{0};
constexpr std::size_t probe_bytes = 16, piece_bytes = std::size_t{1} << 20;

}  // namespace

extern "C" ssize_t process_vm_readv(pid_t process, const iovec* mine, unsigned long mine_count,
                                    const iovec* its, unsigned long its_count,
                                    unsigned long flags) {
  // The MPI library may read whole blocks.
  const bool is_long = its->iov_len > probe_bytes && its->iov_len <= piece_bytes;
  if (is_long) ++long_reads;
  if (system_now == System::refuses_all || (system_now == System::refuses_long && is_long)) {
    errno = EPERM;
    return -1;
  }
  iovec from = *its, to = *mine;
  if (system_now == System::reads_half && is_long)
    from.iov_len = to.iov_len = (its->iov_len + 1) / 2;
  return syscall(SYS_process_vm_readv, process, &to, mine_count, &from, its_count, flags);
}

namespace tessera::mpi {
namespace {

/// Exchanges blocks shorter and longer than what is copied, and returns the calls for long blocks.
int calls_of_an_exchange(const Communicator& comm) {
  long_reads = 0;
  exchange_amounts(comm, [](index_t from, index_t to) {
    return (from + to) % 3 == 0 ? 1000 + to : 300000 + 10000 * from + to;
  });
  return long_reads;
}

class NodeReads : public testing::Test {
 protected:
  ~NodeReads() override { system_now = System::reads; }
  /// Another communicator: the system is asked once for each.
  const Communicator comm_ = Communicator::world().split(0, Communicator::world().rank());
  const machine::DefaultThreads threads_{3};
};

TEST_F(NodeReads, TakeLongBlocksWhereTheSystemAllows) {
  const bool works = node_reads_work(comm_);
  EXPECT_EQ(comm_.node_readers(), std::vector<bool>(static_cast<std::size_t>(comm_.size()), works));
  EXPECT_EQ(calls_of_an_exchange(comm_) > 0, works);
}

TEST_F(NodeReads, GoOnAfterAPart) {
  system_now = System::reads_half;
  (void)calls_of_an_exchange(comm_);
}

TEST_F(NodeReads, LeaveToMessagesWhatTheSystemRefusesLater) {
  system_now = System::refuses_long;
  EXPECT_EQ(calls_of_an_exchange(comm_) > 0, node_reads_work(comm_));
}

TEST_F(NodeReads, AreNotMadeWhereOneRankIsRefused) {
  if (comm_.rank() == comm_.size() - 1) system_now = System::refuses_all;
  EXPECT_FALSE(node_reads_work(comm_));
  EXPECT_EQ(calls_of_an_exchange(comm_), 0);
}

TEST_F(NodeReads, AreNotMadeByOneThread) {
  const machine::DefaultThreads one(comm_.rank() == 0 ? 1 : 3);
  EXPECT_EQ(calls_of_an_exchange(comm_), 0);
}

TEST_F(NodeReads, CopyBlocksOfThisProcess) {
  std::vector<std::byte> from(3000000), to(from.size() + 2, std::byte{7});
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31);
  std::vector<NodeRead> reads{
      {here(from.data()), std::span(to).subspan(1, 2000001)},
      {here(from.data() + 2000001), std::span(to).subspan(2000002, 999999)}};
  read_node(reads);
  EXPECT_FALSE(reads[0].failed || reads[1].failed);
  EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1));
  EXPECT_EQ(to.front(), std::byte{7});
  EXPECT_EQ(to.back(), std::byte{7});
}

}  // namespace
}  // namespace tessera::mpi
