// Rows with parts of variable length, read in rounds.

#include "io/carried_rows.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

namespace tessera::io {
namespace {

namespace fs = std::filesystem;

constexpr index_t rows = 500, cols = 3;

/// Returns the text of an element: of 0 to 96 characters.
std::string text(index_t row, index_t col) {
  return std::string(static_cast<std::size_t>(row * 7 % 97), static_cast<char>('a' + col));
}

/// A temporary file with a matrix of strings, removed at the end of the test.
class CarriedRowsTest : public testing::Test {
 protected:
  void SetUp() override {
    quiet_errors();
    path_ = fs::temp_directory_path() / ("carried_rows_test_" + std::to_string(getpid()) + ".h5");
    const Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const hsize_t extents[] = {rows, cols};
    const Handle space(H5Screate_simple(2, extents, nullptr), H5Sclose), type = text_type();
    const Handle set(H5Dcreate2(file, "t", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     H5Dclose);
    std::vector<std::string> texts;
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < cols; ++j) texts.push_back(text(i, j));
    std::vector<const char*> pointers;
    for (const std::string& one : texts) pointers.push_back(one.c_str());
    ASSERT_GE(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()), 0);
  }
  void TearDown() override { fs::remove(path_); }

  [[nodiscard]] DatasetName name() const { return {path_.string(), "/t"}; }
  /// Reads rows row_of(0), row_of(1), ... in that memory, compares them, and returns the rounds.
  index_t rounds(index_t memory, const std::function<index_t(index_t)>& row_of) const {
    const Handle file = open_file(path_), dataset = open_dataset(file, name());
    bound_cache(file, memory);
    CarriedRows reading(dataset, memory);
    const RowOrder order{rows,
                         [&](index_t first, std::span<std::uint64_t> numbers) {
                           for (std::uint64_t& number : numbers)
                             number = static_cast<std::uint64_t>(row_of(first++));
                         },
                         memory};
    index_t all = 0, count = 0;
    for_rounds(reading, order, [&](index_t first, index_t n) {
      EXPECT_EQ(first, all);
      EXPECT_EQ(reading.data().size(), static_cast<std::size_t>(n * cols) * sizeof(char*));
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < cols; ++j) {
          const char* found = nullptr;
          std::memcpy(&found, reading.data().data() + (i * cols + j) * index_t{sizeof found},
                      sizeof found);
          EXPECT_STREQ(found == nullptr ? "" : found, text(row_of(first + i), j).c_str());
        }
      all += n;
      ++count;
    });
    EXPECT_EQ(all, rows);
    return count;
  }

  fs::path path_;
};

TEST_F(CarriedRowsTest, ReadsRowsInAnyOrder) {
  const index_t enough = carried_bytes(name(), rows);
  EXPECT_EQ(rounds(enough, [](index_t i) { return i; }), 1);
  EXPECT_EQ(rounds(enough, [](index_t i) { return rows - 1 - i; }), 1);
  EXPECT_EQ(rounds(enough, [](index_t i) { return i * 211 % rows; }), 1);
}

TEST_F(CarriedRowsTest, TakesAsManyRoundsAsTheMemoryRequires) {
  index_t before = 1;
  for (const index_t memory : {index_t{32} << 10, index_t{8} << 10, index_t{2} << 10}) {
    const index_t now = rounds(memory, [](index_t i) { return i * 211 % rows; });
    EXPECT_GT(now, before);
    before = now;
  }
}

TEST_F(CarriedRowsTest, NamesARowThatDoesNotFit) {
  try {
    (void)rounds(256, [](index_t i) { return i; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::memory);
    EXPECT_NE(std::string(error.what()).find("a row of /t needs more than"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera::io
