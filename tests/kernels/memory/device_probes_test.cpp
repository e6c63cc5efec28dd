// GPU probes: their table and arithmetic on any machine, and a run of each if there is a device.

#include "kernels/memory/device_probes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "kernels/memory/device_words.hpp"

namespace tessera::memory {
namespace {

const DeviceProbeVariant& row(std::string_view name) {
  return *find_variant(device_probes(), name);
}

TEST(DeviceProbes, HaveNamesOfTheirOwnAndAreMadeWhereCudaIsBuilt) {
  std::set<std::string_view> names;
  for (const DeviceProbeVariant& probe : device_probes()) {
    EXPECT_TRUE(names.insert(probe.name).second) << probe.name;
    EXPECT_EQ(probe.space, Space::device);
    EXPECT_EQ(can_make(probe), machine::gpus().built) << probe.name;
  }
}

TEST(DeviceProbes, CompleteWhatIsLeftToThemAndRefuseWhatTheyDoNotTake) {
  const DeviceWalk usual = completed(row("cuda_histogram_shared"), {});
  EXPECT_EQ(usual.bins, 256);
  EXPECT_EQ(usual.bytes, index_t{1} << 30);
  EXPECT_EQ(usual.rounds, 1);
  EXPECT_EQ(usual.offset, -1);
  EXPECT_EQ(completed(row("cuda_copy"), {.bytes = 17}).bytes, 32);
  EXPECT_EQ(completed(row("cuda_copy_offset"), {.offset = 3}).offset, 3);
  EXPECT_EQ(completed(row("cuda_shared_stride"), {.lane_stride = 64}).lane_stride, 64);
  const auto refused = [](const char* name, const DeviceWalk& walk) {
    try {
      (void)completed(row(name), walk);
    } catch (const Error& error) {
      return error.code() == ExitCode::usage;
    }
    return false;
  };
  EXPECT_TRUE(refused("cuda_copy", {.offset = 0}));
  EXPECT_TRUE(refused("cuda_shared_stride", {.lane_stride = 65}));
  EXPECT_TRUE(refused("cuda_read_constant", {.lane_stride = 65}));
  EXPECT_TRUE(refused("cuda_copy", {.passes = 2}));
  EXPECT_TRUE(refused("cuda_barrier_block", {.bytes = 4112}));
  EXPECT_EQ(completed(row("cuda_transpose_naive"), {.passes = 7}).passes, 7);
  EXPECT_EQ(completed(row("cuda_streams"), {}).host_rounds, 0);
  EXPECT_TRUE(refused("cuda_copy_stride", {.lane_stride = 0}));
  EXPECT_TRUE(refused("cuda_managed_to_device", {.bytes = index_t{1} << 30}));
}

TEST(DeviceWords, ArePowersOfTheirSteps) {
  for (const int way : {0, 1, 31}) {
    for (const index_t n : {0, 1, 2, 7, 64, 1001}) {
      DeviceWord x = 12345;
      const DeviceWord begin = x;
      for (index_t i = 0; i < n; ++i) x = step_of(way)(x);
      EXPECT_EQ(power(step_of(way), n)(begin), x);
    }
  }
}

TEST(DeviceWords, FallEvenlyIntoBinsAndNeverBeyond) {
  for (const index_t bins : {1, 2, 7, 256, 12288}) {
    EXPECT_EQ(bin_of(0, bins), 0);
    EXPECT_EQ(bin_of(~DeviceWord{0}, bins), bins - 1);
  }
  std::vector<DeviceWord> counts(4, 0);
  constexpr index_t n = 40'000;
  for (index_t i = 0; i < n; ++i) ++counts[static_cast<std::size_t>(bin_of(word_at(i), 4))];
  for (const DeviceWord count : counts) EXPECT_NEAR(count, n / 4, 400);
  EXPECT_EQ(wrong_counts(counts.data(), 4, n), 0);
  ++counts[2];
  EXPECT_EQ(wrong_counts(counts.data(), 4, n), 1);
}

TEST(DeviceWords, CopiesAreCheckedWordByWord) {
  constexpr index_t n = 101, offset = 3, stride = 7;
  const index_t count = ceil_div(n - offset, stride);
  std::vector<DeviceWord> to(n, untouched);
  for (index_t i = 0; i < count; ++i)
    to[static_cast<std::size_t>(offset + i * stride)] = word_at(offset + i * stride);
  EXPECT_EQ(wrong_copies(to.data(), n, offset, stride, count), 0);
  EXPECT_EQ(wrong_copies(to.data(), n, offset, stride, count - 1), 1);
  to[0] = 0;
  to[offset] += 1;
  EXPECT_EQ(wrong_copies(to.data(), n, offset, stride, count), 2);
}

TEST(DeviceWords, IncrementsSumsAndReversalsAreComparedWordByWord) {
  constexpr index_t n = 1001;
  std::vector<DeviceWord> more(n), sums(n), back(n);
  for (index_t i = 0; i < n; ++i) {
    more[static_cast<std::size_t>(i)] = word_at(i) + 3;
    sums[static_cast<std::size_t>(i)] = word_at(i) + word_at(n + i);
    back[static_cast<std::size_t>(n - 1 - i)] = word_at(i);
  }
  EXPECT_EQ(wrong_increments(more.data(), n, 3), 0);
  EXPECT_EQ(wrong_increments(more.data(), n, 2), n);
  EXPECT_EQ(wrong_sums(sums.data(), n), 0);
  EXPECT_EQ(wrong_reversals(back.data(), n), 0);
  sums[7] += 1;
  std::swap(back[0], back[1000]);
  EXPECT_EQ(wrong_sums(sums.data(), n), 1);
  EXPECT_EQ(wrong_reversals(back.data(), n), 2);
}

TEST(DeviceWords, MovesOfAMatrixAreThoseOfItsElements) {
  constexpr index_t edge = 96, tile = 32;
  for (const Moves moves : {Moves::nothing, Moves::inside_tiles, Moves::tiles, Moves::all}) {
    std::vector<DeviceWord> to(edge * edge);
    for (index_t i = 0; i < edge; ++i) {
      for (index_t j = 0; j < edge; ++j) {
        const index_t i0 = i / tile * tile, j0 = j / tile * tile, y = i - i0, x = j - j0;
        const index_t at = moves == Moves::nothing        ? i * edge + j
                           : moves == Moves::inside_tiles ? (i0 + x) * edge + j0 + y
                           : moves == Moves::tiles        ? (j0 + y) * edge + i0 + x
                                                          : j * edge + i;
        to[static_cast<std::size_t>(at)] = word_at(i * edge + j);
      }
    }
    EXPECT_EQ(wrong_moves(to.data(), edge, moves), 0);
    for (const Moves other : {Moves::nothing, Moves::inside_tiles, Moves::tiles, Moves::all})
      EXPECT_EQ(wrong_moves(to.data(), edge, other) == 0, other == moves);
    to[100] += 1;
    EXPECT_EQ(wrong_moves(to.data(), edge, moves), 1);
  }
}

TEST(DeviceWords, TheHostTakesTheStepsOfTheDevice) {
  constexpr index_t n = 77, rounds = 9;
  std::vector<DeviceWord> words(n + 1);
  fill_words(words.data(), n + 1);
  walk_words(words.data(), n, rounds);
  EXPECT_EQ(wrong_powers(words.data(), n, 1, rounds), 0);
  EXPECT_EQ(words[n], word_at(n));
}

TEST(DeviceWords, LaneSumsAreThoseOfEachLane) {
  std::vector<DeviceWord> sums(64);
  for (index_t i = 0; i < 64; ++i) sums[static_cast<std::size_t>(i)] = shared_sum(i % 32, 3, 5);
  EXPECT_EQ(wrong_lane_sums(sums.data(), 64, 3, 5), 0);
  sums[40] += 1;
  EXPECT_EQ(wrong_lane_sums(sums.data(), 64, 3, 5), 1);
}

TEST(DeviceWords, InverseRootsForgetWhereTheyBegan) {
  const double once = rsqrt_result(7, 200);
  EXPECT_NEAR(once, weight_of(word_at(7)) / std::sqrt(once), 1e-15);
  EXPECT_NEAR(once, std::cbrt(weight_of(word_at(7)) * weight_of(word_at(7))), 1e-15);
}

TEST(DeviceWords, CyclesVisitEveryPlaceOnce) {
  for (const index_t words : {1, 2, 31, 32, 33, 1000, 4096}) {
    for (const index_t stride : {1, 16, 32}) {
      const std::vector<DeviceWord> cycle = cycle_of(words, stride);
      ASSERT_EQ(static_cast<index_t>(cycle.size()), words);
      DeviceWord at = 0;
      index_t steps = 0;
      do {
        at = cycle[at];
        ASSERT_EQ(at % stride, 0);
        ++steps;
      } while (at != 0);
      EXPECT_EQ(steps, (words + stride - 1) / stride);
    }
  }
}

/// The levels of a GPU's memory are ordered: a load of a larger working set is not faster.
TEST(DeviceProbes, ChasesShowTheLevels) {
  if (machine::gpus().devices.empty()) GTEST_SKIP() << "not run: " << machine::gpus().reason;
  machine::use_gpu(0);
  const auto nanoseconds = [](const char* name, index_t bytes) {
    const auto probe = make_probe(row(name), completed(row(name), {.bytes = bytes}));
    double best = 1;
    for (int run = 0; run < 3; ++run) best = std::min(best, probe->run() / probe->work());
    return 1e9 * best;
  };
  const double l1 = nanoseconds("cuda_chase", 16 << 10), l2 = nanoseconds("cuda_chase", 4 << 20),
               memory = nanoseconds("cuda_chase", index_t{512} << 20);
  EXPECT_LT(1.5 * l1, l2);
  EXPECT_LT(1.3 * l2, memory);
  EXPECT_LT(nanoseconds("cuda_chase_shared", 16 << 10), l2);
  EXPECT_LT(nanoseconds("cuda_chase_constant", 1 << 10), l2);
}

TEST(DeviceWords, SumsAreThoseOfTheWords) {
  std::vector<DeviceWord> words(1000);
  fill_words(words.data(), 1000);
  EXPECT_EQ(words[999], word_at(999));
  EXPECT_EQ(sum(words.data(), 1000), sum_of_words(1000));
  EXPECT_EQ(sum_of_words(0), 0u);
}

TEST(DeviceWords, PowersKnowTheWayOfTheirLane) {
  constexpr index_t n = 96, ways = 5, rounds = 9;
  std::vector<DeviceWord> out(n);
  for (index_t i = 0; i < n; ++i) {
    DeviceWord x = word_at(i);
    for (index_t r = 0; r < rounds; ++r) x = step_of(static_cast<int>(i % 32 % ways))(x);
    out[static_cast<std::size_t>(i)] = x;
  }
  EXPECT_EQ(wrong_powers(out.data(), n, ways, rounds), 0);
  EXPECT_GT(wrong_powers(out.data(), n, ways + 1, rounds), 0);
}

TEST(DeviceWords, SharedSumsFollowTheLoop) {
  for (const index_t rounds : {0, 1, 3, 4, 10}) {
    DeviceWord total = 0;
    for (index_t r = 0; r < rounds; ++r) {
      for (index_t u = 0; u < 16; ++u) total += word_at(5 * 33 + r % 4 * 16 + u);
    }
    EXPECT_EQ(shared_sum(5, 33, rounds), total);
  }
}

TEST(DeviceWords, ExponentialsForgetWhereTheyBegan) {
  const double once = exp_result(7, 200), more = exp_result(7, 201);
  EXPECT_NEAR(once, more, 1e-15);
  EXPECT_NEAR(once, weight_of(word_at(7)) * std::exp(-once), 1e-15);
}

/// Returns small sizes: less than a block, a block, odd ones, several waves; and all parameters of
/// a probe.
std::vector<DeviceWalk> walks_of(const DeviceProbeVariant& probe) {
  std::vector<DeviceWalk> walks;
  for (const index_t bytes : {16, 4096, 4112, 1 << 20, (4 << 20) + 48}) {
    if (probe.most_bytes > 0 && bytes > probe.most_bytes) continue;
    DeviceWalk plain{.bytes = bytes, .rounds = 3};
    walks.push_back(plain);
    for (const DeviceParameter& p : device_parameters()) {
      if (!takes(probe, p)) continue;
      for (const index_t value :
           {p.low, index_t{1}, index_t{2}, index_t{5}, index_t{16}, index_t{32}}) {
        if (value < p.low || value > p.high) continue;
        if (value == 0 && probe.name == "cuda_copy_stride") continue;  // refused
        DeviceWalk walk = plain;
        walk.*p.member = value;
        walks.push_back(walk);
      }
    }
  }
  return walks;
}

TEST(DeviceProbes, RunAndAreRight) {
  if (machine::gpus().devices.empty()) GTEST_SKIP() << "not run: " << machine::gpus().reason;
  machine::use_gpu(0);
  for (const DeviceProbeVariant& row : device_probes()) {
    if (row.result == Result::races) continue;
    for (const DeviceWalk& walk : walks_of(row)) {
      SCOPED_TRACE(std::string(row.name) + " of " + std::to_string(walk.bytes) + " bytes");
      const auto probe = make_probe(row, completed(row, walk));
      if (probe == nullptr && row.name == "cuda_mma_f64") continue;  // code older than 8.0
      if (probe == nullptr && row.name == "cuda_peer_to_peer") {
        EXPECT_EQ(machine::gpus().devices.size(), 1u);
        continue;
      }
      ASSERT_NE(probe, nullptr);
      for (int run = 0; run < 2; ++run) {
        EXPECT_GT(probe->run(), 0);
        const DeviceCheck check = probe->check();
        EXPECT_LE(check.ratio, check.tolerance) << check.method;
        EXPECT_GT(probe->work(), 0);
      }
    }
  }
}

TEST(DeviceProbes, KeepTheTimelineOfTheirStreams) {
  if (machine::gpus().devices.empty()) GTEST_SKIP() << "not run: " << machine::gpus().reason;
  machine::use_gpu(0);
  const auto& streams = row("cuda_streams");
  const auto probe =
      make_probe(streams, completed(streams, {.bytes = 16 << 20, .rounds = 64, .streams = 4}));
  const double seconds = probe->run();
  const auto spans = probe->spans();
  ASSERT_EQ(spans.size(), 3u * 16u);
  for (const DeviceSpan& span : spans) {
    EXPECT_LE(0, span.begin);
    EXPECT_LT(span.begin, span.end) << span.what << " of piece " << span.piece;
    EXPECT_LE(span.end, seconds);
    EXPECT_EQ(span.stream, span.piece % 4);
  }
  for (std::size_t i = 0; i < spans.size(); i += 3) {  // the three spans of a piece are sequential
    EXPECT_LE(spans[i].end, spans[i + 1].begin);
    EXPECT_LE(spans[i + 1].end, spans[i + 2].begin + 1e-9);
  }
}

TEST(DeviceProbes, TheHostComputesMeanwhile) {
  if (machine::gpus().devices.empty()) GTEST_SKIP() << "not run: " << machine::gpus().reason;
  machine::use_gpu(0);
  const auto& streams = row("cuda_streams");
  for (const index_t issue : {0, 1}) {
    const auto probe = make_probe(
        streams,
        completed(
            streams,
            {.bytes = 16 << 20, .rounds = 64, .streams = 3, .issue = issue, .host_rounds = 5}));
    const double seconds = probe->run();
    EXPECT_LE(probe->check().ratio, 0);
    const auto spans = probe->spans();
    ASSERT_EQ(spans.size(), 3u * 16u + 1u);
    EXPECT_STREQ(spans.back().what, "host");
    EXPECT_LT(spans.back().begin, spans.back().end);
    EXPECT_LE(spans.back().end, seconds);
  }
}

/// A race need not be lost: its wrong elements are a count, not a failure.
TEST(DeviceProbes, CountTheWrongElementsOfARace) {
  if (machine::gpus().devices.empty()) GTEST_SKIP() << "not run: " << machine::gpus().reason;
  machine::use_gpu(0);
  const auto& race = row("cuda_reverse_race");
  EXPECT_EQ(race.result, Result::races);
  constexpr index_t words = 1 << 20;
  const auto probe = make_probe(race, completed(race, {.bytes = 4 * words}));
  EXPECT_GT(probe->run(), 0);
  const DeviceCheck found = probe->check();
  EXPECT_LE(found.wrong, words);
  EXPECT_DOUBLE_EQ(found.ratio, static_cast<double>(found.wrong) / words);
}

TEST(DeviceProbes, TellWhatTheirFunctionsTake) {
  if (machine::gpus().devices.empty()) GTEST_SKIP() << "not run: " << machine::gpus().reason;
  machine::use_gpu(0);
  for (const machine::DeviceFunction& f : device_functions()) {
    const machine::Occupancy found = machine::occupancy(f);
    EXPECT_GT(found.registers, 0) << f.kernel;
    EXPECT_EQ(found.local_bytes, 0) << f.kernel << " spills";
    EXPECT_GT(found.blocks, 0) << f.kernel;
    EXPECT_LE(found.warps * 32, machine::gpus().devices.front().threads) << f.kernel;
    EXPECT_FALSE(found.limit.empty()) << f.kernel;
  }
}

TEST(DeviceCeilings, AreThereWhereADeviceIs) {
  if (machine::gpus().devices.empty()) GTEST_SKIP() << "not run: " << machine::gpus().reason;
  machine::use_gpu(0);
  const auto ceilings = device_ceilings();
  const auto& mma = row("cuda_mma_f64");  // not of code older than 8.0
  EXPECT_EQ(ceilings.size(), make_probe(mma, completed(mma, {})) == nullptr ? 6u : 7u);
  for (const DeviceCeiling& c : ceilings) EXPECT_GT(c.value, 1) << c.name;
}

}  // namespace
}  // namespace tessera::memory
