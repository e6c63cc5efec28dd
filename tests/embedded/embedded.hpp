#pragma once
// The fixture of the tests on the ranks of a part.

#include <gtest/gtest.h>

#include "dist/matrix.hpp"
#include "embedded/watch.hpp"
#include "mpi/communicator.hpp"

namespace tessera::embedded {

using mpi::Communicator;

/// Counts what Tessera must not do.
class Embedded : public testing::Test {
 protected:
  Communicator comm{part};

  void SetUp() override { calls_on_world = calls_by_others = 0; }
  void TearDown() override {
    EXPECT_EQ(calls_on_world, 0);
    EXPECT_EQ(calls_by_others, 0);
    EXPECT_TRUE(before_ == ProcessState::now()) << "environment, signal handlers, HDF5";
  }

 private:
  const ProcessState before_ = ProcessState::now();
};

/// a(i, p) = i + p, b(p, j) = p - j: exact in any order of summation.
template <class T>
dist::DistributedMatrix<T> matrix(const Communicator& comm, index_t rows, index_t cols, int sign) {
  dist::DistributedMatrix<T> result(comm, layout::row_blocks(rows, cols, comm.size()));
  const auto view = result.view();
  for (index_t i = 0; i < view.rows; ++i)
    for (index_t j = 0; j < view.cols; ++j)
      view(i, j) = static_cast<T>(static_cast<float>(result.box().rows.begin + i + sign * j));
  return result;
}

}  // namespace tessera::embedded
