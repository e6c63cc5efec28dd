#include "io/examine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "io/dataset.hpp"

namespace tessera::io {
namespace {

constexpr index_t mebi = index_t{1} << 20;

TEST(Allowance, GrowsWithWhatAStepReadsAndEnds) {
  EXPECT_EQ(allowance_of(0).seconds, 10);
  EXPECT_EQ(allowance_of(0).memory_bytes, 4096 * mebi);
  EXPECT_EQ(allowance_of(1600 * mebi).seconds, 110);
  EXPECT_EQ(allowance_of(1600 * mebi).memory_bytes, (4096 + 4 * 1600) * mebi);
  EXPECT_LT(allowance_of(index_t{1} << 60).seconds, 1100);  // a size that a damaged file may
                                                            // declare
}

/// Description of a chunked dataset of bytes without stored data.
class Claims {
 public:
  Claims(const std::vector<hsize_t>& shape, const std::vector<hsize_t>& chunk) {
    const int rank = static_cast<int>(shape.size());
    const Handle file(H5Fcreate(name_.file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                      H5Fclose);
    const Handle space(H5Screate_simple(rank, shape.data(), nullptr), H5Sclose);
    const Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(list, rank, chunk.data());
    const Handle made(
        H5Dcreate2(file, "A", H5T_NATIVE_UINT8, space, H5P_DEFAULT, list, H5P_DEFAULT), H5Dclose);
  }
  ~Claims() { std::remove(name_.file.c_str()); }
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  [[nodiscard]] index_t to_read(index_t chunks, index_t values) const {
    const Handle file = open_file(name_.file);
    const Handle dataset = open_dataset(file, name_);
    return bytes_to_read(dataset, inspect(dataset, name_), chunks, values);
  }

 private:
  DatasetName name_{testing::TempDir() + "claims_" + std::to_string(getpid()) + ".h5", "/A"};
};

TEST(BytesToRead, AreThoseOfChunksAndValues) {
  const Claims small({1000, 1000}, {10, 100});
  EXPECT_EQ(small.to_read(2, 16), 2016);
  EXPECT_EQ(small.to_read(0, 5), 5);
}

TEST(BytesToRead, AreNoMoreThanAFileCanHold) {
  const Claims vast({index_t{1} << 40, 1 << 20}, {1 << 11, 1 << 20});
  EXPECT_LT(vast.to_read(2, 16), 64 * mebi);  // for a file of a few KiB
  EXPECT_LT(vast.to_read(index_t{1} << 62, index_t{1} << 62), 64 * mebi);
}

}  // namespace
}  // namespace tessera::io
