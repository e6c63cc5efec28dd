#include "dist/sort/on_devices.hpp"

#include <algorithm>
#include <map>

#include "base/random.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels_here.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/device_transports.hpp"

namespace tessera::dist::sort {
namespace {

using layout::BlockMap;
using tessera::sort::digit_values;
using tessera::sort::key_map;
using tessera::sort::Order;
using tessera::sort::part_of;

/// Returns the available kernels, with a lowered threshold for dividing keys.
template <class B>
ResidentKernels<B> kernels() {
  if (machine::gpus().devices.empty()) return kernels_here<B>();
  ResidentKernels<B> kernels = *tessera::sort::resident_kernels(B{});
  if (kernels.dividing != nullptr) {
    static buckets::Kernels dividing = *kernels.dividing;
    dividing.least_keys = 1 << 20;
    kernels.dividing = &dividing;
  }
  return kernels;
}

/// Returns the key at a global position.
template <class B>
B key(const std::string& input, index_t i, index_t total) {
  const std::uint64_t random = random_bits(1, 1, i);
  if (input == "equal") return static_cast<B>(0x1234567);
  if (input == "largest") return static_cast<B>(~B{0});
  if (input == "sorted") return static_cast<B>(i * 5);
  if (input == "reversed") return static_cast<B>((total - i) * 5);
  if (input == "two values") return static_cast<B>(random % 10 < 7 ? 3 : ~std::uint64_t{0});
  if (input == "few bits") return static_cast<B>(random & random >> 13 & random_bits(2, 1, i));
  if (input == "low bits") return static_cast<B>(random % 300);
  if (input == "alike at first") return static_cast<B>(random >> 20 | std::uint64_t{5} << 50);
  if (input == "rising")
    return static_cast<B>(~std::uint64_t{0} / static_cast<std::uint64_t>(total) *
                          static_cast<std::uint64_t>(i));
  if (input == "nearly rising") return key<B>(i < 2 ? "random" : "rising", i, total);
  if (input == "steps") return static_cast<B>(i / std::max<index_t>(1, total / 7));
  if (input == "steps down") return static_cast<B>((total - i) / std::max<index_t>(1, total / 4));
  if (input == "some equal")
    return static_cast<B>(random_bits(2, 1, i) % 600 == 1 ? std::uint64_t{5} << 60 : random);
  if (input == "one apart") return static_cast<B>(i == 12345 ? ~std::uint64_t{0} : random >> 8);
  return static_cast<B>(random);
}
const char* const inputs[] = {"random",     "equal",     "largest",        "sorted",
                              "reversed",   "few bits",  "two values",     "rising",
                              "some equal", "low bits",  "alike at first", "nearly rising",
                              "steps",      "steps down"};

struct SortOnDevices : ::testing::Test {
  const mpi::Communicator comm = mpi::Communicator::world();
  bool divided = false;  ///< by buckets, in the last sort

  template <class B>
  index_t wrong(const mpi::DeviceExchange& exchange, const std::string& input, index_t total,
                const KeyMap<B>& map, int runs = 1) {
    const layout::Range mine = BlockMap(total, comm.size()).range(comm.rank());
    DeviceSort<B> there(exchange, total, map, kernels<B>());
    std::vector<B> all, keys, got(static_cast<std::size_t>(mine.size()));
    for (index_t i = 0; i < total; ++i) all.push_back(key<B>(input, i, total));
    keys.assign(all.begin() + mine.begin, all.begin() + mine.end);
    for (int r = 0; r < runs; ++r) {
      there.put(keys.data(), 1);
      mpi::Phases phases;
      there.run(phases);
      std::fill(got.begin(), got.end(), B{77});
      there.get(got.data(), 1);
    }
    for (B& x : all) x = map.to_bits(x);
    tessera::sort::sort_keys<B>("auto", all, machine::default_threads());
    for (B& x : all) x = map.to_raw(x);
    divided = there.divided();
    index_t count = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      count += got[i] == all[static_cast<std::size_t>(mine.begin) + i] ? 0 : 1;
    return comm.sum(count);
  }
};

TEST_F(SortOnDevices, GivesEveryRankItsShareToTheKeyForAnyInput) {
  for (const auto& exchange : mpi::transports_here()) {
    for (const char* const input : inputs) {
      for (const index_t total : {0, 1, 3, 64, 1000, 30011}) {
        EXPECT_EQ(
            wrong<std::uint64_t>(exchange, input, total, key_map<std::uint64_t>(Order::ascending)),
            0)
            << name(exchange.transport()) << ' ' << input << ' ' << total;
      }
      EXPECT_EQ(
          wrong<std::uint32_t>(exchange, input, 20011, key_map<std::uint32_t>(Order::descending)),
          0)
          << name(exchange.transport()) << ' ' << input;
    }
  }
}

TEST_F(SortOnDevices, OrdersByTheMapOfTheType) {
  for (const auto& exchange : mpi::transports_here()) {
    EXPECT_EQ(wrong<std::uint64_t>(exchange, "random", 5000, key_map<double>(Order::ascending)), 0);
    EXPECT_EQ(wrong<std::uint32_t>(exchange, "random", 5000, key_map<float>(Order::descending)), 0);
    EXPECT_EQ(
        wrong<std::uint32_t>(exchange, "few bits", 5000, key_map<std::int32_t>(Order::ascending)),
        0);
  }
}

TEST_F(SortOnDevices, RepeatedRunsDoNotRace) {
  for (const auto& exchange : mpi::transports_here()) {
    EXPECT_EQ(wrong<std::uint64_t>(exchange, "random", 300007,
                                   key_map<std::uint64_t>(Order::ascending), 4),
              0);
    EXPECT_EQ(wrong<std::uint32_t>(exchange, "low bits", 300007,
                                   key_map<std::uint32_t>(Order::ascending), 4),
              0);
  }
}

TEST_F(SortOnDevices, DividesManyKeysThatLieEvenly) {
  const index_t least = std::max(kernels<std::uint64_t>().dividing->least_keys, index_t{60000});
  const index_t total = least * comm.size() + 4321;
  const auto ascending = key_map<std::uint64_t>(Order::ascending);
  for (const auto& exchange : mpi::transports_here()) {
    const auto divides = [&](const char* input, const KeyMap<std::uint64_t>& map, int runs = 1) {
      EXPECT_EQ(wrong<std::uint64_t>(exchange, input, total, map, runs), 0)
          << name(exchange.transport()) << ' ' << input;
      return divided;
    };
    const auto fits = kernels<std::uint64_t>().dividing->fits;
    const bool several = comm.size() > 1 && (fits == nullptr || fits());
    EXPECT_EQ(divides("random", ascending, 4), several);
    EXPECT_EQ(divides("random", key_map<double>(Order::descending)), several);
    EXPECT_EQ(divides("alike at first", ascending), several);
    EXPECT_EQ(divides("nearly rising", ascending), several);
    EXPECT_FALSE(divides("rising", ascending));  // already sorted
    EXPECT_EQ(divides("some equal", key_map<std::int64_t>(Order::descending)),
              several);  // too many for a part
    EXPECT_FALSE(divides("few bits", ascending));
    EXPECT_FALSE(divides("equal", ascending));
    EXPECT_FALSE(divides("low bits", ascending));
    EXPECT_FALSE(divides("one apart", ascending));
  }
}

/// Returns counts of keys in memory, refined until all bounds are found.
std::vector<index_t> found_below(const std::vector<std::uint32_t>& keys,
                                 const std::vector<index_t>& targets, index_t tolerance,
                                 Bounds<std::uint32_t>& bounds) {
  const auto total = static_cast<index_t>(keys.size());
  BoundSearch<std::uint32_t> search(targets, total, tolerance);
  while (!search.done()) {
    const auto wanted = search.wanted();
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(wanted.count * digit_values));
    count_here<std::uint32_t>(keys.data(), total, key_map<std::uint32_t>(Order::ascending), wanted,
                              counts.data(), nullptr);
    const std::vector<index_t> told(counts.begin(), counts.end());
    search.refine(told, told);
  }
  const auto found = search.finish(mpi::Communicator::self(), total);
  bounds = found.bounds;
  return found.below;
}

TEST(Ends, AreInOrderWithinRanksAndBetweenThem) {
  const Ends none{}, low{3, 1, 5, 0}, next{2, 5, 5, 0}, high{4, 6, ~std::uint64_t{0}, 0};
  const auto ordered = [](std::vector<Ends> ranks) { return in_order(ranks); };
  EXPECT_TRUE(ordered({}));
  EXPECT_TRUE(ordered({none, none}));
  EXPECT_TRUE(ordered({low, next, high}));
  EXPECT_TRUE(ordered({none, low, none, next, none, high}));
  EXPECT_FALSE(ordered({next, low, high}));
  EXPECT_FALSE(ordered({low, high, none, next}));
  EXPECT_FALSE(ordered({low, {2, 5, 5, 1}, high}));
}

TEST(BoundSearch, FindsBoundsWithAsManyKeysBelowAsWanted) {
  const index_t total = 20000;
  for (const char* const input : inputs) {
    for (const index_t tolerance : {0, 1, 100}) {
      std::vector<std::uint32_t> keys;
      for (index_t i = 0; i < total; ++i) keys.push_back(key<std::uint32_t>(input, i, total));
      const std::vector<index_t> targets{0, 1, 5000, 5000, 12345, 19999, 20000};
      Bounds<std::uint32_t> bounds;
      const auto below = found_below(keys, targets, tolerance, bounds);
      std::vector<index_t> parts(targets.size() + 1, 0);
      std::map<std::uint32_t, std::uint64_t> seen;
      for (const std::uint32_t bits : keys)
        ++parts[static_cast<std::size_t>(part_of(bounds, bits, seen[bits]++))];
      index_t sum = 0;
      for (std::size_t s = 0; s < targets.size(); ++s) {
        sum += parts[s];
        EXPECT_EQ(below[s], sum) << input << ' ' << s;
        EXPECT_LE(std::abs(below[s] - targets[s]), tolerance) << input << ' ' << s;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::dist::sort
