// The simulators against naive implementations of their definitions, and invariants between them.

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <vector>

#include "base/random.hpp"
#include "lab/locality/optimal.hpp"
#include "lab/locality/set_associative.hpp"
#include "lab/locality/stack_distance.hpp"

namespace tessera::locality {
namespace {

using Lines = std::vector<std::uint64_t>;

/// Returns random runs, strides and jumps over `most` lines.
Lines random_lines(std::uint64_t seed, std::uint64_t most, std::size_t count) {
  Lines lines;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t r = mix64(seed * 1000003 + i);
    at = r % 5 == 0 ? r / 5 % most : (at + r / 5 % 3) % most;
    lines.push_back(at);
  }
  return lines;
}

index_t lru_misses_by_definition(const Lines& lines, std::size_t size) {
  std::list<std::uint64_t> stack;
  index_t misses = 0;
  for (const std::uint64_t line : lines) {
    const auto found = std::find(stack.begin(), stack.end(), line);
    if (found == stack.end()) {
      ++misses;
    } else {
      stack.erase(found);
    }
    stack.push_front(line);
    if (stack.size() > size) stack.pop_back();
  }
  return misses;
}

index_t optimal_misses_by_definition(const Lines& lines, std::size_t size) {
  Lines cache;
  index_t misses = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::find(cache.begin(), cache.end(), lines[i]) != cache.end()) continue;
    ++misses;
    if (cache.size() < size) {
      cache.push_back(lines[i]);
      continue;
    }
    const auto next = [&](std::uint64_t line) {
      return std::find(lines.begin() + static_cast<index_t>(i), lines.end(), line);
    };
    *std::max_element(cache.begin(), cache.end(),
                      [&](auto a, auto b) { return next(a) < next(b); }) = lines[i];
  }
  return misses;
}

std::vector<Access> accesses(const Lines& lines) {
  std::vector<Access> result;
  for (const std::uint64_t line : lines) result.emplace_back(Access::Kind::load, line * 64, 8u);
  return result;
}

MissCurve curve_of(const Lines& lines) {
  StackDistance simulator;
  simulator.take(accesses(lines));
  return simulator.curve();
}

std::vector<index_t> optimal_of(const Lines& lines, const std::vector<index_t>& sizes) {
  LineTrace trace(64, 1 << 20);
  trace.take(accesses(lines));
  return optimal_misses(trace.lines(), sizes);
}

const std::vector<index_t> sizes{1, 2, 3, 5, 8, 16, 31, 64, 100, 1000};

TEST(StackDistance, GivesTheMissesOfEverySize) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Lines lines = random_lines(seed, seed % 2 == 0 ? 40 : 300, 4000);
    const MissCurve curve = curve_of(lines);
    for (const index_t size : sizes) {
      EXPECT_EQ(curve.misses(size), lru_misses_by_definition(lines, static_cast<std::size_t>(size)))
          << "seed " << seed << ", " << size << " lines";
    }
  }
}

TEST(StackDistance, KeepsTheOrderWhenItRenumbersTimes) {
  constexpr std::uint64_t lines = 3000;
  Lines cyclic;
  for (std::uint64_t i = 0; i < 500000; ++i) cyclic.push_back(i * 7919 % lines);
  const MissCurve curve = curve_of(cyclic);
  EXPECT_EQ(curve.misses(lines), lines);
  EXPECT_EQ(curve.misses(lines - 1), 500000);
}

TEST(StackDistance, GrowsWithTheLines) {
  constexpr std::uint64_t lines = 200000;
  Lines twice;
  for (std::uint64_t i = 0; i < 2 * lines; ++i) twice.push_back(i % lines);
  const MissCurve curve = curve_of(twice);
  EXPECT_EQ(curve.misses(lines), lines);
  EXPECT_EQ(curve.misses(lines - 1), 2 * lines);
}

TEST(StackDistance, SplitsAnAccessThatCrossesLines) {
  StackDistance simulator;
  const Access crossing(Access::Kind::load, 60, 8);
  simulator.take({&crossing, 1});
  EXPECT_EQ(simulator.curve().compulsory(), 2);
}

TEST(StackDistance, CountsArraysApart) {
  StackDistance simulator;
  for (int i = 0; i < 10; ++i)
    simulator.touch(static_cast<std::uint64_t>(i % 2), static_cast<unsigned>(i % 2));
  EXPECT_EQ(simulator.curve(0).misses(1), 5);
  EXPECT_EQ(simulator.curve(1).misses(1), 5);
  EXPECT_EQ(simulator.curve().misses(2), 2);
}

TEST(StackDistance, NamesTheLevelAtWhichALineIsUsedAgain) {
  StackDistance simulator({.line_bytes = 64, .rate = 1, .caches = {{.bytes = 64, .ways = 0}}});
  const auto line = [](std::uint64_t l) { return Access(Access::Kind::load, l * 64, 8); };
  const Access enter(Access::Kind::enter, 0, 0), leave(Access::Kind::leave, 0, 0);
  // Lines 0 and 1 are touched in one subproblem of level 2, reused in it (level 2), then in its
  // sibling (level 1).
  const std::vector<Access> stream{enter, enter,   line(0), line(1), line(0), line(1), leave,
                                   enter, line(0), line(1), leave,   leave,   line(0)};
  simulator.take(stream);
  const auto& levels = simulator.by_level(0);
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[0].compulsory, 2);
  EXPECT_EQ(levels[0].capacity, 1);
  EXPECT_EQ(levels[1].capacity, 2);
  EXPECT_EQ(levels[2].capacity, 2);
  for (const MissKinds& kinds : levels)
    EXPECT_EQ(kinds.conflict, 0) << "one line: fully associative";
}

TEST(StackDistance, TellsConflictsByLevelToo) {
  // Lines 0 and 2 map to one set of one way: within a subproblem of level 1 they evict each other.
  StackDistance simulator({.line_bytes = 64, .rate = 1, .caches = {{.bytes = 128, .ways = 1}}});
  const auto line = [](std::uint64_t l) { return Access(Access::Kind::load, l * 64, 8); };
  const Access enter(Access::Kind::enter, 0, 0), leave(Access::Kind::leave, 0, 0);
  const std::vector<Access> stream{enter, line(0), line(2), line(0), line(2), leave};
  simulator.take(stream);
  EXPECT_EQ(simulator.by_level(0)[0].compulsory, 2);
  EXPECT_EQ(simulator.by_level(0)[1].conflict, 2);
  EXPECT_EQ(simulator.by_level(0)[1].capacity, 0);
  EXPECT_EQ(simulator.misses(0, 0), 4);
}

TEST(StackDistance, EstimatesFromASampleOfTheLines) {
  const Lines lines = random_lines(3, 20000, 400000);
  const MissCurve exact = curve_of(lines);
  StackDistance sampled({.line_bytes = 64, .rate = 0.1});
  sampled.take(accesses(lines));
  for (const index_t size : {1000, 5000, 10000}) {
    EXPECT_NEAR(sampled.curve().misses(size) / exact.misses(size), 1, 0.1) << size;
  }
}

TEST(Optimal, MissesAsBeladySays) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Lines lines = random_lines(seed, 60, 1500);
    const std::vector<index_t> got = optimal_of(lines, sizes);
    for (std::size_t s = 0; s < sizes.size(); ++s)
      EXPECT_EQ(got[s], optimal_misses_by_definition(lines, static_cast<std::size_t>(sizes[s])))
          << sizes[s];
  }
}

TEST(Optimal, GivesUpBeyondItsLimit) {
  LineTrace trace(64, 100);
  trace.take(accesses(random_lines(1, 50, 1000)));
  EXPECT_FALSE(trace.complete());
}

TEST(Laws, HoldBetweenTheSimulators) {
  for (std::uint64_t seed = 10; seed < 14; ++seed) {
    const Lines lines = random_lines(seed, 500, 20000);
    const MissCurve lru = curve_of(lines);
    const std::vector<index_t> optimal = optimal_of(lines, sizes);
    Lines distinct = lines;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    EXPECT_EQ(lru.misses(1 << 20), static_cast<double>(distinct.size()));
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      const auto q = static_cast<double>(optimal[s]);
      EXPECT_GE(lru.misses(sizes[s]), lru.misses(sizes[s] + 1));
      EXPECT_LE(q, lru.misses(sizes[s]));
      EXPECT_LE(lru.misses(2 * sizes[s]), 2 * q) << "Sleator and Tarjan 1985";
    }
  }
}

TEST(Hierarchy, OfOneSetIsLru) {
  const Lines lines = random_lines(5, 300, 10000);
  const MissCurve lru = curve_of(lines);
  for (const index_t size : {4, 32, 256}) {
    Hierarchy cache({{.bytes = size * 64, .ways = 0}});
    cache.take(accesses(lines));
    EXPECT_EQ(static_cast<double>(cache.counts(0).misses()), lru.misses(size));
  }
}

TEST(Hierarchy, MissesWhereAStrideMeetsOneSet) {
  Hierarchy cache({{.bytes = 32 << 10, .ways = 8}});
  for (int round = 0; round < 10; ++round) {
    for (std::uint64_t i = 0; i < 9; ++i) cache.touch(i * 4096, 8, 0, false);
  }
  EXPECT_EQ(cache.counts(0).misses(), 90);
}

TEST(Hierarchy, AsksTheNextLevelForWhatMisses) {
  Hierarchy cache({{.bytes = 128, .ways = 0}, {.bytes = 512, .ways = 0}});
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 4; ++i) cache.touch(i * 64, 8, 1, true);
  }
  EXPECT_EQ(cache.counts(0, 1).store_misses, 12);
  EXPECT_EQ(cache.counts(1, 1).store_misses, 4);
  EXPECT_EQ(cache.stores(), 12);
}

TEST(Hierarchy, RandomReplacementLosesSomeOfACycleNotAll) {
  Hierarchy cache({{.bytes = 64 * 64, .ways = 0, .replacement = Replacement::random}});
  for (std::uint64_t i = 0; i < 80 * 200; ++i) cache.touch(i % 80 * 64, 8, 0, false);
  EXPECT_GT(cache.counts(0).misses(), 80 * 20);
  EXPECT_LT(cache.counts(0).misses(), 80 * 150);
}

TEST(Geometry, IsReadFromWords) {
  const Geometry g = parse_geometry("1MiB:16:128:random", 64);
  EXPECT_EQ(g.bytes, 1 << 20);
  EXPECT_EQ(g.ways, 16);
  EXPECT_EQ(g.sets(), 512);
  EXPECT_EQ(g.replacement, Replacement::random);
  EXPECT_EQ(parse_geometry("4KiB", 64).sets(), 8);
  EXPECT_EQ(parse_geometry("4KiB:full", 64).sets(), 1);
  EXPECT_THROW((void)parse_geometry("1000:3", 64), Error);
  EXPECT_THROW((void)parse_geometry("4KiB:4:64:fifo", 64), Error);
  EXPECT_THROW((void)parse_geometry("16:1", 64), Error);
}

}  // namespace
}  // namespace tessera::locality
