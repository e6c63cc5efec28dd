#include <algorithm>
#include <numeric>

#include "base/random.hpp"
#include "workloads/request.hpp"

namespace tessera {
namespace {

using test::Folder;
using Words = std::vector<std::string>;

constexpr index_t n = 20'011;

std::uint64_t key_at(index_t i) { return random_bits(7, 1, i) % 5000; }  // with repetitions

std::vector<std::uint64_t> all_keys() {
  std::vector<std::uint64_t> keys;
  for (index_t i = 0; i < n; ++i) keys.push_back(key_at(i));
  return keys;
}

class Sort : public testing::Test {
 protected:
  Sort() { test::write_numbers<std::uint64_t>(folder, "in.h5", "/K", n, Element::u64, key_at); }
  ExitCode sort(Words words) {
    words.insert(words.begin(), {"--in", folder.file("in.h5") + ":/K", "--overwrite"});
    return test::run(folder.comm(), apps::sort_command(), words);
  }
  [[nodiscard]] std::string name(const std::string& file) const {
    return folder.file(file) + ":/K";
  }
  [[nodiscard]] std::vector<std::uint64_t> keys(const std::string& file, index_t count) const {
    return test::read_numbers<std::uint64_t>(folder.file(file), "/K", Element::u64, {count});
  }
  Folder folder;
};

TEST_F(Sort, GoesThroughRunsInAnyMemoryAndEndsWithTheSameKeys) {
  auto want = all_keys();
  std::sort(want.begin(), want.end());
  for (const char* memory : {"48KiB", "200KiB", "10MiB"}) {
    ASSERT_EQ(sort({"--out", name("out.h5"), "--out-of-core", "always", "--memory", memory}),
              ExitCode::ok)
        << memory;
    EXPECT_EQ(keys("out.h5", n), want) << memory;
  }
}

TEST_F(Sort, IsStableOutOfCore) {
  std::vector<std::uint64_t> want(static_cast<std::size_t>(n));
  std::iota(want.begin(), want.end(), 0);
  const auto all = all_keys();
  std::stable_sort(want.begin(), want.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return all[a] < all[b]; });
  ASSERT_EQ(sort({"--argsort", name("order.h5"), "--out-of-core", "always", "--memory", "300KiB"}),
            ExitCode::ok);
  EXPECT_EQ(keys("order.h5", n), want);
}

TEST_F(Sort, TakesEachKeyOnceAndTheFirstOnes) {
  auto want = all_keys();
  std::sort(want.begin(), want.end());
  ASSERT_EQ(sort({"--out", name("top.h5"), "--top", "100", "--out-of-core", "always", "--memory",
                  "100KiB"}),
            ExitCode::ok);
  EXPECT_EQ(keys("top.h5", 100), std::vector(want.begin(), want.begin() + 100));
  want.erase(std::unique(want.begin(), want.end()), want.end());
  ASSERT_EQ(
      sort({"--out", name("once.h5"), "--unique", "--out-of-core", "always", "--memory", "100KiB"}),
      ExitCode::ok);
  EXPECT_EQ(keys("once.h5", ssize(want)), want);
}

TEST_F(Sort, AppliesAPermutationInBlocks) {
  ASSERT_EQ(sort({"--argsort", name("order.h5")}), ExitCode::ok);
  ASSERT_EQ(sort({"--apply", name("order.h5"), "--out", name("applied.h5"), "--out-of-core",
                  "always", "--memory", "100KiB"}),
            ExitCode::ok);
  auto want = all_keys();
  std::sort(want.begin(), want.end());
  EXPECT_EQ(keys("applied.h5", n), want);
}

TEST_F(Sort, CountsQuantilesOfWhatDoesNotFit) {
  auto want = all_keys();
  std::sort(want.begin(), want.end());
  ASSERT_EQ(sort({"--quantiles", "0,0.5,1", "--out", name("q.h5"), "--memory", "40KiB"}),
            ExitCode::ok);
  EXPECT_EQ(keys("q.h5", 3), (std::vector{want.front(), want[(n - 1) / 2], want.back()}));
}

TEST_F(Sort, EndsWhereMemoryIsTooSmallForARow) {
  EXPECT_EQ(sort({"--out", name("out.h5"), "--out-of-core", "always", "--memory", "16B"}),
            ExitCode::memory);
  EXPECT_FALSE(std::filesystem::exists(folder.file("out.h5")));
}

}  // namespace
}  // namespace tessera
