#include "io/pieces.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "io/h5.hpp"

namespace tessera::io {
namespace {

/// Returns the positions of a part's elements in an array of the given extents, in row-major order.
std::vector<index_t> positions(const Ranges& part, const std::vector<index_t>& extents) {
  std::vector<index_t> result{0};
  for (std::size_t d = 0; d < part.size(); ++d) {
    std::vector<index_t> longer;
    for (const index_t prefix : result)
      for (index_t i = part[d].begin; i < part[d].end; ++i)
        longer.push_back(prefix * extents[d] + i);
    result = longer;
  }
  return result;
}

TEST(EachPiece, TakesEveryElementOnceInOrderAndNoMoreThanItMay) {
  const std::vector<index_t> extents{3, 4, 5};
  for (const Ranges& box : {Ranges{{0, 3}, {0, 4}, {0, 5}}, Ranges{{1, 3}, {2, 3}, {1, 4}},
                            Ranges{{2, 3}, {0, 4}, {4, 5}}}) {
    for (const index_t most : {1, 2, 3, 5, 7, 19, 20, 21, 60, 1000}) {
      std::vector<index_t> taken;
      each_piece(box, most, [&](const Ranges& part) {
        const auto some = positions(part, extents);
        EXPECT_LE(static_cast<index_t>(some.size()), most);
        taken.insert(taken.end(), some.begin(), some.end());
      });
      EXPECT_EQ(taken, positions(box, extents)) << most;
    }
  }
}

TEST(EachPiece, OfNothingIsNone) {
  for (const Ranges& box :
       {Ranges{}, Ranges{{2, 2}}, Ranges{{0, 3}, {1, 1}}, Ranges{{1, 1}, {0, 3}}})
    each_piece(box, 4, [](const Ranges&) { FAIL(); });
}

TEST(FirstRefused, IsTheFirstInRowMajorOrder) {
  const std::vector<index_t> extents{4, 3, 5};
  const Ranges box{{1, 4}, {0, 3}, {2, 5}};
  for (const index_t bad : positions(box, extents)) {
    const auto found = first_refused(box, [&](const Ranges& part) {
      for (const index_t at : positions(part, extents))
        if (at == bad || at == extents[0] * extents[1] * extents[2] - 1) return false;
      return true;
    });
    EXPECT_EQ((found[0] * extents[1] + found[1]) * extents[2] + found[2], bad);
  }
}

class Dataset : public testing::Test {
 protected:
  void SetUp() override {
    quiet_errors();
    std::iota(values_.begin(), values_.end(), 0);
    file_ = Handle(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const hsize_t extents[] = {4, 5, 6};
    const Handle space(H5Screate_simple(3, extents, nullptr), H5Sclose);
    dataset_ =
        Handle(H5Dcreate2(file_, "A", H5T_STD_I64BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
               H5Dclose);
    write();
  }
  void write() {
    ASSERT_GE(H5Dwrite(dataset_, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values_.data()),
              0);
  }
  void TearDown() override {
    dataset_.reset();
    file_.reset();
    std::filesystem::remove(path_);
  }

  std::string path_ = (std::filesystem::temp_directory_path() /
                       ("tessera_pieces_test_" + std::to_string(getpid()) + ".h5"))
                          .string();
  std::vector<index_t> values_ = std::vector<index_t>(120);
  Handle file_, dataset_;
};

TEST_F(Dataset, IsReadInPiecesOfAnySize) {
  const Ranges box{{1, 4}, {2, 4}, {1, 6}};
  const std::vector<index_t> held{3, 2, 7};  // rows of the array are longer than those of the box
  for (const index_t bytes : {8, 16, 32, 40, 80, 81, 240, 100000}) {
    std::vector<double> to(42, -1), wanted(42, -1);
    read_pieces(dataset_, "A", box, {H5T_NATIVE_DOUBLE, to.data(), 8, held}, bytes);
    for (index_t i = 0; i < 3; ++i)
      for (index_t j = 0; j < 2; ++j)
        for (index_t k = 0; k < 5; ++k)
          wanted[static_cast<std::size_t>((i * 2 + j) * 7 + k)] =
              static_cast<double>(((i + 1) * 5 + j + 2) * 6 + k + 1);
    EXPECT_EQ(to, wanted) << bytes;
  }
}

TEST_F(Dataset, TellsTheFirstNumberThatIsNotHeld) {
  values_[(2 * 5 + 3) * 6 + 4] = (index_t{1} << 53) + 1;
  values_[(3 * 5 + 1) * 6 + 0] = (index_t{1} << 53) + 3;
  write();
  std::vector<double> to(120);
  for (const index_t bytes : {8, 48, 100, 100000}) {
    try {
      read_pieces(dataset_, "A", {{0, 4}, {0, 5}, {0, 6}},
                  {H5T_NATIVE_DOUBLE, to.data(), 8, {4, 5, 6}}, bytes);
      FAIL() << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::bad_data);
      EXPECT_NE(
          std::string(error.what()).find("A holds 9007199254740993 at [2, 3, 4], which f64 cannot"),
          std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace tessera::io
