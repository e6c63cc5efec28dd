#include "io/summed.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "io/checksum.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;

/// Returns bytes that repeat neither in words nor in pages.
std::vector<std::byte> some_bytes(index_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  std::uint64_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

class Summed : public testing::Test {
 protected:
  void SetUp() override {
    file_ = fs::path(testing::TempDir()) / ("summed_test_" + std::to_string(getpid()));
    std::ofstream(file_).flush();
  }
  void TearDown() override { fs::remove(file_); }

  /// Writes elements from position 5 on at byte 3, and checks the file and the sum.
  void expect_written(const std::vector<std::byte>& data, index_t element_bytes,
                      const Onlooker& onlooker = {}) {
    const RawFile raw(file_, RawFile::Mode::read_write);
    const StoredElements to{raw, 3, element_bytes};
    fs::resize_file(file_, 0);
    EXPECT_EQ(write_summed(to, 5, data, onlooker), checksum(data, element_bytes, 5));
    std::vector<std::byte> back(data.size()), buffer;
    raw.read_at(3 + 5 * element_bytes, back);
    EXPECT_TRUE(back == data) << element_bytes;
    const index_t count = static_cast<index_t>(data.size()) / element_bytes;
    EXPECT_EQ(sum_stored(to, {5, 5 + count}, buffer), checksum(data, element_bytes, 5));
  }

  fs::path file_;
};

TEST_F(Summed, HaveTheSumOfTheirElements) {
  for (const index_t element_bytes : {1, 2, 4, 8, 16, 100}) {
    for (const index_t count :
         {index_t{0}, index_t{1}, index_t{17} << 10, (index_t{3} << 20) / element_bytes + 1})
      expect_written(some_bytes(count * element_bytes), element_bytes);
  }
}

TEST_F(Summed, AreLookedAtInOrder) {
  const std::vector<std::byte> data = some_bytes(index_t{3} << 20);
  std::vector<std::byte> seen;
  expect_written(data, 4, {3, [&](std::span<const std::byte> some) {
                             seen.insert(seen.end(), some.begin(), some.end());
                           }});
  EXPECT_TRUE(seen == data);
}

}  // namespace
}  // namespace tessera::io
