#include "mpi/network.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::mpi {
namespace {

TEST(Network, AChainIsFilledWithSegments) {
  EXPECT_FALSE(uses_chain(1 << 20, 3)) << "a library's two rounds are no slower";
  EXPECT_FALSE(uses_chain(1000, 64));
  ASSERT_TRUE(uses_chain(1 << 20, 64));
  const Network network{.latency = 2e-6,
                        .message = 0,
                        .bandwidth = 1e10,
                        .crowd_bandwidth = 1e10,
                        .shift_bandwidth = {1e10}};
  const double alone = 2e-6 + 8e6 / 1e10;
  EXPECT_NEAR(broadcast(network, 8e6, {4, 1}), alone * (1 + 2.0 / 16), 0.1 * alone);
  EXPECT_LT(broadcast(network, 8e6, {64, 1}), 1.5 * alone);
  EXPECT_EQ(chain_filling(network, 1000, {64, 1}), 0);
}

TEST(Network, ShiftsBetweenMeasuredDistancesLieBetweenTheirSeconds) {
  const Network network{.shift_bandwidth = {8e9, 4e9, 2e9}};
  EXPECT_DOUBLE_EQ(shift_seconds(network, 1), 1 / 8e9);
  EXPECT_DOUBLE_EQ(shift_seconds(network, 3), (1 / 4e9 + 1 / 2e9) / 2);
  EXPECT_DOUBLE_EQ(shift_seconds(network, 4), 1 / 2e9);
  EXPECT_DOUBLE_EQ(shift_seconds(network, 1000), 1 / 2e9) << "as at the longest that was measured";
  EXPECT_DOUBLE_EQ(shift_seconds(network, index_t{1} << 60), 1 / 2e9);
}

TEST(Network, LinesWhoseRanksLieApartTakeWhatTheirDistanceGives) {
  const Network network{.latency = 1e-6,
                        .message = 0,
                        .bandwidth = 8e9,
                        .shift_bandwidth = {8e9, 8e9, 8e9, 8e9, 1e9}};
  EXPECT_NEAR(broadcast(network, 8e6, {4, 16}) / broadcast(network, 8e6, {4, 1}), 8, 0.1);
  EXPECT_NEAR(broadcast(network, 8e3, {2, 16}), 1e-6 + 8e3 / 1e9, 1e-9);
  EXPECT_NEAR(broadcast(network, 8e3, {2, 1}), 1e-6 + 8e3 / 8e9, 1e-9);
}

TEST(Network, LinesThatBeginOneAfterTheOtherHaveInTurnWhatTheyShare) {
  const Network network{
      .latency = 0, .message = 0, .bandwidth = 8e9, .shift_bandwidth = {8e9, 8e9, 8e9, 8e9, 1e9}};
  const double alone = broadcast(network, 8e6, {4, 1}), together = broadcast(network, 8e6, {4, 16});
  EXPECT_NEAR(broadcast(network, 8e6, {4, 16, 3e-3}) / together, 5.0 / 8, 1e-9)
      << "3 of 8 ms have gone before";
  EXPECT_DOUBLE_EQ(broadcast(network, 8e6, {4, 16, 1}), alone) << "no faster than a line alone";
  EXPECT_DOUBLE_EQ(broadcast(network, 8e6, {4, 1, 1}), alone);
  EXPECT_NEAR(chain_filling(network, 8e6, {4, 16, 3e-3}) / chain_filling(network, 8e6, {4, 16}),
              5.0 / 8, 1e-9);
}

TEST(Network, FewBusyRanksHaveTheirLinksToThemselves) {
  const Network network{.latency = 1e-6, .message = 0, .bandwidth = 8e9, .crowd_bandwidth = 1e9};
  const index_t bytes = 8000000;
  std::vector<Load> loads(16, Load{1, 1, bytes, bytes});
  EXPECT_DOUBLE_EQ(at_once(network, loads), at_once(network, loads[0])) << "all do as much";
  for (std::size_t i = 1; i < loads.size(); ++i) loads[i] = {};
  EXPECT_NEAR(at_once(network, loads), 1e-6 + 8e6 / 8e9, 1e-9);
  loads[1] = loads[2] = loads[3] = loads[0];
  EXPECT_NEAR(at_once(network, loads), 1e-6 + 8e6 / 4 / 1e9, 1e-9)
      << "the network's share of all is more";
  EXPECT_EQ(at_once(network, std::vector<Load>(3)), 0);
}

TEST(Network, NeighboursHaveTheLinksOfTheirDistance) {
  const Network network{.latency = 1e-6,
                        .message = 1e-7,
                        .bandwidth = 8e9,
                        .crowd_bandwidth = 1e9,
                        .shift_bandwidth = {8e9, 8e9, 8e9, 8e9, 1e9}};
  const double start = 2e-7 + 1e-6 - 1e-7;
  EXPECT_DOUBLE_EQ(among_neighbours(network, std::vector<Sent>{{1, 8000}, {-1, 8000}}),
                   start + 16e3 / 8e9);
  EXPECT_DOUBLE_EQ(among_neighbours(network, std::vector<Sent>{{16, 8000}, {-16, 8000}}),
                   start + 8e3 / 1e9);
  EXPECT_DOUBLE_EQ(among_neighbours(network, std::vector<Sent>{{16, 8000}, {16, 8000}}),
                   start + 16e3 / 1e9);
  EXPECT_EQ(among_neighbours(network, {}), 0);
}

TEST(Network, LongSumsAndGathersAreMostlyTheNeighbours) {
  const Network network{.latency = 0,
                        .message = 0,
                        .bandwidth = 8e9,
                        .crowd_bandwidth = 1e9,
                        .shift_bandwidth = {8e9, 8e9, 1e9}};
  const double near = 3 * 1e6 / 4 / 8e9, far = 1e6 / 8 / 1e9;
  EXPECT_DOUBLE_EQ(all_gather(network, 1e6, 8), near + far);
  EXPECT_DOUBLE_EQ(all_reduce(network, 1e6, 8), 2 * (near + far));
  EXPECT_DOUBLE_EQ(all_reduce(network, 1e6, 9), 2 * (near + far + 1e6 / 1e9))
      << "one hands its part on";
}

}  // namespace
}  // namespace tessera::mpi
