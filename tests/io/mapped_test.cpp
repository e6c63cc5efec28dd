// Datasets read directly from the file cache.

#include "io/mapped.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using layout::Box;

constexpr index_t rows = 300, cols = 700;

/// Storage of a dataset.
struct Form {
  hid_t type = H5T_NATIVE_DOUBLE;
  hsize_t chunk = 0;       ///< edge; 0: contiguous
  hsize_t user_block = 0;  ///< bytes before the HDF5 data
};

/// Temporary file with one matrix, element (i, j) = 1000 i + j, removed at the end of the test.
class File {
 public:
  explicit File(const Form& form = {})
      : path_(fs::temp_directory_path() / ("mapped_test_" + std::to_string(getpid()) + ".h5")) {
    const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    H5Pset_userblock(creation, form.user_block);
    const Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT), H5Fclose);
    const hsize_t extents[] = {rows, cols}, chunk[] = {form.chunk, form.chunk};
    const Handle space(H5Screate_simple(2, extents, nullptr), H5Sclose);
    const Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (form.chunk > 0) H5Pset_chunk(list, 2, chunk);
    const Handle set(H5Dcreate2(file, "A", form.type, space, H5P_DEFAULT, list, H5P_DEFAULT),
                     H5Dclose);
    std::vector<double> values;
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < cols; ++j) values.push_back(static_cast<double>(1000 * i + j));
    }
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    const Handle empty(
        H5Dcreate2(file, "never_written", form.type, space, H5P_DEFAULT, list, H5P_DEFAULT),
        H5Dclose);
  }
  ~File() { fs::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::unique_ptr<MappedMatrix> map(const std::string& what = "A",
                                                  Element element = Element::f64) const {
    DatasetName name{path_, "/" + what};
    name.selection = cut_selection(name.path);
    return MappedMatrix::open(name, element);
  }

 private:
  std::string path_;
};

void expect_box(MappedMatrix& matrix, const Box& box, index_t first_row, index_t first_col) {
  matrix.will_bring(box);
  matrix.bring(box);
  const MatrixView<const double> view = matrix.view<double>(box);
  ASSERT_EQ(view.rows, box.rows.size());
  ASSERT_EQ(view.cols, box.cols.size());
  for (index_t i = 0; i < view.rows; ++i) {
    for (index_t j = 0; j < view.cols; ++j)
      ASSERT_EQ(view(i, j), static_cast<double>(1000 * (first_row + box.rows.begin + i) +
                                                first_col + box.cols.begin + j));
  }
}

TEST(MappedMatrix, HasTheElementsOfBoxesAndSelections) {
  for (const hsize_t user_block : std::initializer_list<hsize_t>{0, 512, 8192}) {
    const File file({.user_block = user_block});
    const auto all = file.map();
    ASSERT_NE(all, nullptr);
    for (const Box& box :
         {Box{{0, rows}, {0, cols}}, Box{{0, 1}, {0, 1}}, Box{{rows - 1, rows}, {cols - 1, cols}},
          Box{{17, 213}, {5, 698}}, Box{{3, 9}, {0, cols}}, Box{{4, 4}, {0, cols}}})
      expect_box(*all, box, 0, 0);
    const auto part = file.map("A[20:120,9:]");
    ASSERT_NE(part, nullptr);
    expect_box(*part, {{0, 100}, {0, cols - 9}}, 20, 9);
    expect_box(*part, {{7, 30}, {100, 101}}, 20, 9);
  }
}

TEST(MappedMatrix, IsNotThereWhereElementsLieOtherwise) {
  const File file;
  EXPECT_EQ(file.map("A", Element::f32), nullptr);
  EXPECT_EQ(file.map("A", Element::c128), nullptr);
  EXPECT_EQ(file.map("never_written"), nullptr);
  EXPECT_EQ(file.map("A[7,:]"), nullptr);
  EXPECT_EQ(File({.chunk = 32}).map(), nullptr);
  EXPECT_EQ(File({.type = H5T_IEEE_F64BE}).map(), nullptr);
  EXPECT_EQ(File({.type = H5T_IEEE_F32LE}).map(), nullptr);
  EXPECT_NE(File({.type = H5T_IEEE_F32LE}).map("A", Element::f32), nullptr);
}

TEST(MappedMatrix, SaysThatAFileBecameShorter) {
  const File file;
  const auto matrix = file.map();
  ASSERT_NE(matrix, nullptr);
  fs::resize_file(file.path(), 100'000);
  matrix->will_bring({{0, rows}, {0, cols}});  // adjacent runs, then distant ones: no hint fails
  matrix->will_bring({{0, rows}, {cols - 7, cols}});
  try {
    matrix->bring({{0, rows}, {0, cols}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::io);
  }
}

}  // namespace
}  // namespace tessera::io
