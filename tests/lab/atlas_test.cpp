// The atlas: plateaus of constructed curves, and what the tables hold.

#include "lab/atlas/atlas.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "io/schema.hpp"

namespace tessera::atlas {
namespace {

constexpr index_t kib = 1 << 10, mib = 1 << 20;

/// Returns the curve of caches of these bytes with random replacement: a load of a working set of S
/// bytes hits a cache of C bytes with probability min(1, C / S).
std::vector<Chased> curve_of(const std::vector<std::pair<index_t, double>>& caches, double memory,
                             index_t largest) {
  std::vector<Chased> curve;
  for (index_t octave = 4 * kib; octave <= largest; octave *= 2) {
    for (index_t step = 0; step < 4 && octave + octave * step / 4 <= largest; ++step) {
      const index_t bytes = octave + octave * step / 4;
      double seconds = 0, missed = 1;
      for (const auto& [size, latency] : caches) {
        const double hit = std::min(1.0, static_cast<double>(size) / static_cast<double>(bytes));
        seconds += missed * hit * latency;
        missed *= 1 - hit;
      }
      seconds += missed * memory;
      curve.push_back({Chased::Kind::lines_huge, bytes, bytes / 64, {seconds, seconds}});
    }
  }
  return curve;
}

machine::CacheLevel cache(const char* name, index_t bytes) {
  return {.name = name, .bytes = bytes, .line_bytes = 64};
}

TEST(AtlasLevels, AreThePlateausOfTheCurve) {
  const auto curve =
      curve_of({{32 * kib, 1e-9}, {mib, 4e-9}, {32 * mib, 16e-9}}, 100e-9, 512 * mib);
  const auto levels =
      levels_of(curve, {cache("L1d", 32 * kib), cache("L2", mib), cache("L3", 32 * mib)});
  ASSERT_EQ(levels.size(), 4u);
  EXPECT_EQ(levels[0].name, "L1d");
  EXPECT_DOUBLE_EQ(levels[0].seconds, 1e-9);
  EXPECT_NEAR(levels[1].seconds, 4e-9, 0.8e-9);
  EXPECT_NEAR(levels[2].seconds, 16e-9, 3e-9);
  EXPECT_EQ(levels[3].name, "memory");
  EXPECT_EQ(levels[3].nominal, 0);
  EXPECT_NEAR(levels[3].seconds, 90e-9, 10e-9);
  EXPECT_NEAR(levels[0].measured, 1.5 * 32 * kib, 0.5 * 32 * kib);
  EXPECT_NEAR(levels[1].measured, 1.5 * mib, 0.5 * mib);
  EXPECT_NEAR(levels[2].measured, 1.5 * 32 * mib, 0.5 * 32 * mib);
  EXPECT_TRUE(std::isnan(levels[3].measured));
}

TEST(AtlasLevels, ThatAreAlikeAreNotDistinguished) {
  const auto curve = curve_of({{32 * kib, 1e-9}, {mib, 1.1e-9}}, 50e-9, 16 * mib);
  const auto levels = levels_of(curve, {cache("L1d", 32 * kib), cache("L2", mib)});
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_TRUE(std::isnan(levels[0].measured));
  EXPECT_FALSE(std::isnan(levels[1].measured));
}

TEST(AtlasLevels, EndWithTheCurve) {
  const auto curve = curve_of({{32 * kib, 1e-9}, {mib, 4e-9}}, 50e-9, 256 * kib);
  const auto levels =
      levels_of(curve, {cache("L1d", 32 * kib), cache("L2", mib), cache("L3", 32 * mib)});
  ASSERT_EQ(levels.size(), 2u);  // no load reaches L3
  EXPECT_TRUE(std::isnan(levels[1].measured));
  EXPECT_TRUE(levels_of({}, {cache("L1d", kib)}).empty());
  EXPECT_TRUE(levels_of(curve, {}).empty());
}

TEST(AtlasReaches, AreThePagesBeyondWhichLoadsCostMore) {
  constexpr double cycle = 1e-9;
  std::vector<Chased> chases = curve_of({{32 * mib, 5e-9}}, 5e-9, 32 * mib);
  for (index_t pages = 8; pages <= 8192; pages *= 2) {
    const double seconds = pages <= 64 ? 5e-9 : pages <= 2048 ? 12e-9 : 40e-9;
    chases.push_back({Chased::Kind::pages, pages * 4096, pages, {seconds, seconds}});
  }
  const auto reaches = reaches_of(chases, cycle);
  ASSERT_EQ(reaches.size(), 2u);
  EXPECT_EQ(reaches[0].pages, 64);
  EXPECT_TRUE(reaches[0].found);
  EXPECT_EQ(reaches[1].pages, 2048);
  EXPECT_TRUE(reaches[1].found);
  const auto slow = reaches_of(chases, 100 * cycle);  // nothing costs 300 ns more
  EXPECT_FALSE(slow[0].found);
  EXPECT_EQ(slow[0].pages, 8192);
}

TEST(AtlasTables, HoldWhatWasMeasuredAndNoEmptyTable) {
  Atlas atlas;
  atlas.cycle = 0.5e-9;
  atlas.huge_share = 1;
  atlas.caches = {cache("L1d", 32 * kib)};
  atlas.chases = curve_of({{32 * kib, 1e-9}}, 50e-9, mib);
  atlas.messages = {{0, 1, 1000, 2e-6}};
  const auto tables = tables_of(atlas);
  std::vector<std::string> names;
  for (const io::TableRows& table : tables) names.push_back(table.table);
  EXPECT_EQ(names, (std::vector<std::string>{io::schema::atlas_chases, io::schema::atlas_levels,
                                             io::schema::atlas_messages}));
  const io::Row& first = tables[0].rows.front();
  EXPECT_EQ(std::get<std::string>(first[0].value), "lines, huge pages");
  EXPECT_DOUBLE_EQ(std::get<double>(first[3].value), 1);
  EXPECT_EQ(first[3].units, "ns");
  EXPECT_DOUBLE_EQ(std::get<double>(first[5].value), 2);                // cycles
  EXPECT_DOUBLE_EQ(std::get<double>(tables[2].rows[0][4].value), 0.5);  // GB/s
  EXPECT_NE(text_of(atlas, 80).find("L1d"), std::string::npos);
}

TEST(AtlasTables, SetThePagesOfAGpuBesideItsLines) {
  Atlas atlas;
  atlas.gpu_pages = {{2 * mib, 4, 300e-9, 200e-9}, {2 * mib, 8, 450e-9, 200e-9}};
  atlas.gpu_waits = {{"barrier of a block", 256, 20e-9}};
  const auto tables = tables_of(atlas);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].table, io::schema::atlas_gpu_pages);
  const io::Row& last = tables[0].rows.back();
  EXPECT_EQ(std::get<index_t>(last[2].value), 16 * mib);
  EXPECT_DOUBLE_EQ(std::get<double>(last[3].value), 450);
  EXPECT_EQ(tables[1].table, io::schema::atlas_gpu_waits);
  EXPECT_DOUBLE_EQ(std::get<double>(tables[1].rows.front()[2].value), 20);
  const std::string text = text_of(atlas, 80);
  EXPECT_NE(text.find("pages of the GPU: a load per 2 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("barrier of a block"), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera::atlas
