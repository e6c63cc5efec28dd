#include "mpi/device_transport.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"

namespace tessera::mpi {
namespace {

using Obstacles = std::map<DeviceTransport, std::string>;

DeviceTransportChoice choose(const std::string& wanted, const Obstacles& obstacles,
                             int* asked = nullptr) {
  return choose_device_transport(wanted, [&](DeviceTransport transport) {
    if (asked != nullptr) ++*asked;
    const auto found = obstacles.find(transport);
    return found == obstacles.end() ? std::string() : found->second;
  });
}

TEST(DeviceWays, AutoTakesTheFirstThatCanBeHadAndAsksNoFurther) {
  int asked = 0;
  EXPECT_EQ(choose("auto", {}, &asked).transport, DeviceTransport::ipc);
  EXPECT_EQ(asked, 1);
  asked = 0;
  const auto nccl = choose("auto", {{DeviceTransport::ipc, "several nodes"}}, &asked);
  EXPECT_EQ(nccl.transport, DeviceTransport::nccl);
  EXPECT_EQ(nccl.text, "nccl (ipc: several nodes)");
  EXPECT_EQ(asked, 2);
}

TEST(DeviceWays, StagedIsLeftWithTheReasonsAgainstTheOthers) {
  const auto staged = choose(
      "auto",
      {{DeviceTransport::ipc, "a"}, {DeviceTransport::nccl, "b"}, {DeviceTransport::mpi, "c"}});
  EXPECT_EQ(staged.transport, DeviceTransport::staged);
  EXPECT_EQ(staged.text, "staged (ipc: a; nccl: b; mpi: c)");
}

TEST(DeviceWays, ANamedOneIsTakenOrRefusedWithTheReason) {
  for (const DeviceTransport transport : device_transports) {
    int asked = 0;
    EXPECT_EQ(choose(std::string(name(transport)), {}, &asked).transport, transport);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(choose(std::string(name(transport)), {}).text, name(transport));
    try {
      (void)choose(std::string(name(transport)), {{transport, "because of it"}});
      FAIL() << name(transport);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_NE(std::string(error.what()).find("because of it"), std::string::npos);
    }
  }
  EXPECT_THROW((void)choose("carrier pigeon", {}), Error);
}

TEST(DeviceRounds, CoverEveryByteOnceInStripsThatAreSmallEnough) {
  for (const index_t most : {1, 7, 10, 64, 1000}) {
    std::vector<std::byte> memory(4000);
    std::vector<DeviceIn> pieces;
    index_t at = 0;
    for (const auto& [peer, rows, cols, ld] :
         std::vector<std::tuple<int, index_t, index_t, index_t>>{{2, 5, 7, 9},
                                                                 {0, 1, 100, 100},
                                                                 {2, 3, 1, 4},
                                                                 {5, 0, 3, 3},
                                                                 {0, 11, 13, 20},
                                                                 {5, 4, 25, 25}}) {
      pieces.push_back({peer, {memory.data() + at, rows, cols, ld}});
      at += rows * ld;
    }
    const auto result = device_rounds(std::span<const DeviceIn>(pieces), most);
    EXPECT_EQ(result.peers, 3);
    std::map<int, index_t> slots;
    for (const auto& round : result.rounds) {
      std::map<int, int> of_peer;
      for (const auto& strip : round) {
        EXPECT_EQ(++of_peer[strip.peer], 1);
        EXPECT_LE(strip.size(), most);
        EXPECT_EQ(slots.try_emplace(strip.peer, strip.slot).first->second, strip.slot);
        EXPECT_LT(strip.slot, 3);
        for (index_t i = 0; i < strip.bytes.rows; ++i)
          for (index_t j = 0; j < strip.bytes.cols; ++j)
            strip.bytes(i, j) = static_cast<std::byte>(static_cast<int>(strip.bytes(i, j)) + 1);
      }
    }
    index_t set = 0, wanted = 0;
    for (const auto& piece : pieces) {
      wanted += piece.bytes.rows * piece.bytes.cols;
      for (index_t i = 0; i < piece.bytes.rows; ++i)
        for (index_t j = 0; j < piece.bytes.cols; ++j) EXPECT_EQ(piece.bytes(i, j), std::byte{1});
    }
    for (const std::byte byte : memory) set += static_cast<int>(byte);
    EXPECT_EQ(set, wanted);
  }
}

TEST(DeviceRounds, BothEndsOfAPairComeToTheSameStrips) {
  // Peers and strides differ; both sides of a pair must cut their data alike.
  const index_t most = 100;
  const auto strips_of = [](const auto& rounds, int peer) {
    std::vector<std::pair<std::size_t, index_t>> strips;
    for (std::size_t r = 0; r < rounds.rounds.size(); ++r)
      for (const auto& strip : rounds.rounds[r])
        if (strip.peer == peer) strips.emplace_back(r, strip.bytes.rows * 1000 + strip.bytes.cols);
    return strips;
  };
  const std::vector<DeviceOut> out{
      {4, {nullptr, 9, 9, 9}}, {1, {nullptr, 17, 30, 64}}, {1, {nullptr, 2, 250, 250}}};
  const std::vector<DeviceIn> in{
      {0, {nullptr, 17, 30, 30}}, {3, {nullptr, 1, 1, 1}}, {0, {nullptr, 2, 250, 999}}};
  const auto sent = strips_of(device_rounds(std::span<const DeviceOut>(out), most), 1);
  EXPECT_EQ(sent, strips_of(device_rounds(std::span<const DeviceIn>(in), most), 0));
  EXPECT_EQ(sent.size(), 6u + 6u);
}

TEST(DeviceRounds, NothingIsNoRound) {
  EXPECT_TRUE(device_rounds(std::span<const DeviceOut>(), 10).rounds.empty());
}

}  // namespace
}  // namespace tessera::mpi
