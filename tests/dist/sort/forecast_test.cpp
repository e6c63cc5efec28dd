#include "dist/sort/forecast.hpp"

#include <gtest/gtest.h>

#include "mpi/exchange.hpp"

namespace tessera::dist::sort {
namespace {

TEST(Forecast, SharesDifferByAtMostOneItem) {
  for (const index_t ranks : {1, 3, 7, 64}) {
    const auto all = forecast({.n = 1000, .ranks = ranks});
    ASSERT_EQ(static_cast<index_t>(all.size()), ranks);
    index_t total = 0;
    for (const Forecast& f : all) {
      total += f.items;
      EXPECT_LE(all.front().items - f.items, 1);
    }
    EXPECT_EQ(total, 1000);
  }
}

TEST(Forecast, OneRankSendsNothing) {
  const auto one = forecast({.n = 1 << 20, .key_bytes = 4}).front();
  EXPECT_EQ(one.sent_bytes, 0);
  EXPECT_EQ(one.most_sent_bytes, 0);
  EXPECT_EQ(one.messages, 0);
  EXPECT_EQ(one.memory(), 2 * (4 << 20));  // the keys and as much scratch
}

TEST(Forecast, CountsBytesAndMessages) {
  const auto f = forecast({.n = index_t{4} << 30, .key_bytes = 8, .ranks = 4}).front();
  EXPECT_EQ(f.most_sent_bytes, index_t{8} << 30);
  EXPECT_EQ(f.sent_bytes, static_cast<double>(index_t{6} << 30));
  EXPECT_EQ(f.messages, 3 * ((index_t{2} << 30) / (mpi::round_bytes / 4)));
  EXPECT_EQ(f.home_bytes, index_t{8} << 30);
  EXPECT_EQ(forecast({.n = index_t{4} << 30, .ranks = 4, .keeps_input = true}).front().home_bytes,
            index_t{16} << 30);
}

/// A column of 24 bytes is gathered into another, one of 32 bytes permuted in place.
TEST(Forecast, CountsTheColumnThatTakesMostAndNotTheWidest) {
  const index_t n = index_t{1} << 20;
  const auto memory = [](std::set<index_t> column_bytes, index_t ranks) {
    return forecast({.n = n * ranks, .ranks = ranks, .passes = 1, .column_bytes = column_bytes})
        .front()
        .memory();
  };
  EXPECT_EQ(memory({8}, 1), n * (8 + 8 + 16 + 16));  // sorting pairs takes more
  EXPECT_EQ(memory({24, 32}, 1), memory({24}, 1));
  EXPECT_GE(memory({24, 32}, 1), n * (8 + 24 + 24));
  EXPECT_GE(memory({24, 32}, 3), n * (8 + 32 + 32));
}

TEST(Forecast, RoundsNeedAnEighthOfTheKeysBesideThem) {
  for (const index_t ranks : {1, 4}) {
    const auto f =
        forecast({.n = index_t{1} << 26, .ranks = ranks, .algorithm = Algorithm::rounds}).front();
    EXPECT_LE(static_cast<double>(f.memory()), 1.13 * 8 * static_cast<double>(f.items));
  }
}

TEST(Forecast, SurvivesCountsBeyondTwoToThe31) {
  const auto f = forecast({.n = index_t{1} << 40, .key_bytes = 8, .ranks = 3, .passes = 2}).front();
  EXPECT_GT(f.memory(), 2 * 16 * f.items);
  EXPECT_THROW((void)forecast({.n = index_t{1} << 61}), Error);
}

TEST(ExchangeMessages, CountRoundsOfEveryPeerButOneself) {
  const index_t piece = mpi::round_bytes / 4;
  const std::vector<index_t> bytes{piece, 0, piece + 1, 1};
  EXPECT_EQ(mpi::exchange_messages(bytes, 0), 3);
  EXPECT_EQ(mpi::exchange_messages(bytes, 2), 2);
}

TEST(Forecast, HoldsWhatComesInBySpeedOrLeavesInEqualShares) {
  const auto all = forecast({.n = 1000, .ranks = 4, .weights = {7, 1, 1, 1}});
  EXPECT_EQ(all[0].items, 700);
  EXPECT_EQ(all[1].items, 250);
  EXPECT_EQ(forecast({.n = 1000, .ranks = 2, .weights = {7, 1, 1, 1}})[0].items, 500)
      << "weights of another job";
}

}  // namespace
}  // namespace tessera::dist::sort
