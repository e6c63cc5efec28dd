// Products and transposes from file to file.

#include "workloads/request.hpp"

namespace tessera {
namespace {

using test::Folder;
using Words = std::vector<std::string>;

class Matrices : public testing::Test {
 protected:
  /// A random matrix in a file: a copy of what is generated.
  void make(const std::string& file, index_t rows, index_t cols, const char* type, int seed) {
    ASSERT_EQ(transpose({"--op", "N", "--m", std::to_string(rows), "--n", std::to_string(cols),
                         "--type", type, "--seed", std::to_string(seed), "--out", name(file)}),
              ExitCode::ok);
  }
  ExitCode transpose(Words words) {
    words.insert(words.end(), {"--overwrite", "--repetitions", "1", "--warmups", "0"});
    return test::run(folder.comm(), apps::transpose_command(), words);
  }
  ExitCode multiply(Words words) {
    words.insert(words.end(), {"--overwrite", "--repetitions", "1", "--warmups", "0"});
    return test::run(folder.comm(), apps::matmul_command(), words);
  }
  [[nodiscard]] std::string name(const std::string& file) const {
    return folder.file(file) + ":/M";
  }
  [[nodiscard]] std::vector<double> matrix(const std::string& file, index_t rows,
                                           index_t cols) const {
    return test::read_numbers<double>(folder.file(file), "/M", Element::f64, {rows, cols});
  }
  Folder folder;
};

TEST_F(Matrices, AreTransposedInTilesOfAnyMemory) {
  const index_t rows = 211, cols = 307;
  make("a.h5", rows, cols, "f64", 1);
  const auto a = matrix("a.h5", rows, cols);
  for (const char* memory : {"8KiB", "100KiB", "4MiB"}) {
    ASSERT_EQ(transpose({"--in", name("a.h5"), "--out", name("t.h5"), "--out-of-core", "always",
                         "--memory", memory}),
              ExitCode::ok)
        << memory;
    const auto t = matrix("t.h5", cols, rows);
    index_t wrong = 0;
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < cols; ++j)
        wrong +=
            a[static_cast<std::size_t>(i * cols + j)] != t[static_cast<std::size_t>(j * rows + i)]
                ? 1
                : 0;
    }
    EXPECT_EQ(wrong, 0) << memory;
  }
}

TEST_F(Matrices, HaveAProductOfTheSameBitsInMemoryAndOutOfCore) {
  const index_t m = 130, n = 90, k = 2500;  // a tree of several leaves
  make("a.h5", m, k, "f64", 1);
  make("b.h5", k, n, "f64", 2);
  const Words operands{"--a", name("a.h5"), "--b", name("b.h5"), "--out"};
  Words words = operands;
  words.push_back(name("c.h5"));
  ASSERT_EQ(multiply(words), ExitCode::ok);
  for (const char* memory : {"2MiB", "8MiB"}) {
    words = operands;
    words.insert(words.end(), {name("tiles.h5"), "--out-of-core", "always", "--memory", memory});
    ASSERT_EQ(multiply(words), ExitCode::ok) << memory;
    EXPECT_EQ(matrix("tiles.h5", m, n), matrix("c.h5", m, n)) << memory;
  }
}

TEST_F(Matrices, OfOtherInnerSizesAreRefused) {
  make("a.h5", 5, 6, "f64", 1);
  EXPECT_EQ(multiply({"--a", name("a.h5"), "--b", name("a.h5"), "--out", name("c.h5")}),
            ExitCode::bad_data);
}

}  // namespace
}  // namespace tessera
