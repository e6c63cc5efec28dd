// Boxes of contiguous datasets against the library's own reads, with sentinels around them.

#include "io/contiguous.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <random>

#include "io/h5.hpp"
#include "machine/fork_join.hpp"

namespace tessera::io {
namespace {

constexpr double sentinel = -7;

class Contiguous : public testing::Test {
 protected:
  void SetUp() override { quiet_errors(); }
  void TearDown() override { std::filesystem::remove(path_); }

  /// Writes 0, 1, 2, ... as f64, after a user block of that size.
  void write(const std::vector<hsize_t>& extents, hsize_t user_block = 0, bool chunked = false) {
    dataset_.reset();
    file_.reset();
    const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    H5Pset_userblock(creation, user_block);
    file_ = Handle(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT), H5Fclose);
    const int rank = static_cast<int>(extents.size());
    const Handle space(H5Screate_simple(rank, extents.data(), nullptr), H5Sclose);
    const Handle storage(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (chunked) H5Pset_chunk(storage, rank, extents.data());
    dataset_ =
        Handle(H5Dcreate2(file_, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, storage, H5P_DEFAULT),
               H5Dclose);
    std::vector<double> values(static_cast<std::size_t>(
        std::accumulate(extents.begin(), extents.end(), hsize_t{1}, std::multiplies<>())));
    std::iota(values.begin(), values.end(), 0.0);
    ASSERT_GE(H5Dwrite(dataset_, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              0);
    dataset_.reset();
    file_.reset();
    open(H5F_ACC_RDONLY);
  }
  void open(unsigned intent) {
    file_ = Handle(H5Fopen(path_.c_str(), intent, H5P_DEFAULT), H5Fclose);
    dataset_ = Handle(H5Dopen2(file_, "x", H5P_DEFAULT), H5Dclose);
    ASSERT_GE(dataset_, 0);
  }

  /// Reads a box into an array with `pad` more elements in its last dimension, and compares every
  /// element of the array. Returns whether the box was read.
  bool reads(const std::vector<hsize_t>& extents, const Ranges& box, index_t pad,
             hid_t type = H5T_NATIVE_DOUBLE) {
    HeldArray held{type, nullptr, index_t{sizeof(double)}, {}};
    index_t count = 1;
    for (const layout::Range range : box) {
      held.extents.push_back(range.size() + (held.extents.size() + 1 == box.size() ? pad : 0));
      count *= held.extents.back();
    }
    std::vector<double> got(static_cast<std::size_t>(count), sentinel);
    held.data = got.data();
    if (!read_contiguous(dataset_, box, held, 0)) return false;
    for (index_t at = 0; at < count; ++at) {
      index_t rest = at, want = 0, step = 1;
      bool inside = true;
      for (std::size_t d = box.size(); d-- > 0; rest /= held.extents[d]) {
        const index_t i = rest % held.extents[d];
        inside = inside && i < box[d].size();
        want += (box[d].begin + i) * step;
        step *= static_cast<index_t>(extents[d]);
      }
      const double expected = inside ? static_cast<double>(want) : sentinel;
      if (got[static_cast<std::size_t>(at)] != expected) {
        ADD_FAILURE() << "element " << at << " is " << got[static_cast<std::size_t>(at)] << ", not "
                      << expected;
        return true;
      }
    }
    return true;
  }

  std::string path_ = "contiguous." + std::to_string(getpid()) + ".h5";
  Handle file_, dataset_;
};

TEST_F(Contiguous, BoxesOfAnyRankAreThoseOfTheFile) {
  std::mt19937 random(3);
  const auto upto = [&](hsize_t n) { return static_cast<index_t>(random() % n); };
  for (const std::vector<hsize_t>& extents :
       {std::vector<hsize_t>{1500000}, {700, 1100}, {9, 70, 1000}, {3, 4, 50, 700}}) {
    write(extents, extents.size() == 2 ? 1024 : 0);
    int read = 0;
    for (int turn = 0; turn < 40; ++turn) {
      Ranges box;
      for (const hsize_t extent : extents) {
        const index_t begin = turn % 3 == 0 ? 0 : upto(extent), end = begin + 1 + upto(extent);
        box.push_back({begin, turn % 3 == 0 ? static_cast<index_t>(extent)
                                            : std::min(static_cast<index_t>(extent), end)});
      }
      if (turn % 3 == 0) box[0] = {box[0].end / 3, box[0].end};
      read += reads(extents, box, turn % 2 * 5) ? 1 : 0;
      if (HasFailure()) return;
    }
    EXPECT_GE(read, 14) << extents.size();  // whole rows at least
  }
}

TEST_F(Contiguous, RunsAreCutAndReadByAnyNumberOfThreads) {
  const std::vector<hsize_t> extents{3, 700001};  // 5.6 MB a row
  write(extents);
  for (const int threads : {1, 2, 5}) {
    const machine::DefaultThreads some(threads);
    EXPECT_TRUE(reads(extents, {{0, 3}, {0, 700001}}, 0));
    EXPECT_TRUE(reads(extents, {{1, 3}, {1, 700000}}, 3));
  }
}

TEST_F(Contiguous, TheLibraryReadsWhatIsStoredOtherwise) {
  const std::vector<hsize_t> extents{40, 1000};
  const Ranges whole{{0, 40}, {0, 1000}};
  write(extents);
  EXPECT_TRUE(reads(extents, whole, 0));
  EXPECT_FALSE(reads(extents, whole, 0, H5T_NATIVE_LLONG));  // another type
  EXPECT_FALSE(reads(extents, {{0, 40}, {3, 4}}, 0));        // runs shorter than a page
  EXPECT_FALSE(reads(extents, {{0, 0}, {0, 1000}}, 0));      // nothing
  std::vector<double> some(40000);
  EXPECT_FALSE(read_contiguous(dataset_, whole, {H5T_NATIVE_DOUBLE, some.data(), 8, {40, 1000}}));
  write(extents, 0, true);
  EXPECT_FALSE(reads(extents, whole, 0));
}

TEST_F(Contiguous, TheLibraryReadsWhatItMayHoldItself) {
  const std::vector<hsize_t> extents{40, 1000};
  const Ranges whole{{0, 40}, {0, 1000}};
  write(extents);
  dataset_.reset();
  file_.reset();
  const Handle writer(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  open(H5F_ACC_RDONLY);  // shares the writer's buffers
  EXPECT_FALSE(reads(extents, whole, 0));
}

TEST_F(Contiguous, TheLibraryReportsAFileThatEndsEarly) {
  const std::vector<hsize_t> extents{40, 1000};
  write(extents);
  const auto offset = static_cast<std::uintmax_t>(H5Dget_offset(dataset_));
  std::filesystem::resize_file(path_, offset + 39 * 8000 + 100);
  EXPECT_TRUE(reads(extents, {{0, 39}, {0, 1000}}, 0));
  EXPECT_FALSE(reads(extents, {{0, 40}, {0, 1000}}, 0));
}

}  // namespace
}  // namespace tessera::io
