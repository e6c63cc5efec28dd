// Permutations of axes in device memory.

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/rearrangement_test.hpp"
#include "machine/cuda.hpp"
#include "machine/gpu.hpp"

namespace tessera::transpose {
namespace {

namespace cuda = machine::cuda;

class DeviceRearranges : public ::testing::Test {
 protected:
  void SetUp() override {
    const machine::Gpus gpus = machine::gpus();
    if (gpus.devices.empty()) GTEST_SKIP() << gpus.reason;
  }
};

/// Moves a task's records on the device, from `first` bytes into a, and compares.
void expect_moved(const Rearrangement& task, index_t first) {
  const index_t count = task.total() / task.bytes;
  Fenced a(1, count, count, task.bytes), b(1, count, count, task.bytes);
  a.fill(3);
  const auto up = [](Fenced& x) {
    cuda::DeviceBuffer<std::byte> there(static_cast<index_t>(x.storage().size()));
    cuda::upload(there.data(), x.storage().data(), x.storage().size());
    return there;
  };
  const auto from = up(a), to = up(b);
  const auto within = [](Fenced& x) { return x.view().data - x.storage().data(); };
  const cuda::Stream stream;
  cuda_rearrange(task, from.data() + within(a) + first, to.data() + within(b), stream);
  stream.wait();
  cuda::check(cudaMemcpy(b.storage().data(), to.data(), b.storage().size(), cudaMemcpyDeviceToHost),
              "cudaMemcpy");
  EXPECT_EQ(misplaced(task, a.view().data + first, b.view().data), 0);
  EXPECT_EQ(b.spoiled(), 0);
}

TEST_F(DeviceRearranges, AxesOfAnyArrayInAnyOrder) {
  std::mt19937 random(7);  // NOLINT: the same arrays every time
  const auto below = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most));
  };
  for (int number = 0; number < 80; ++number) {
    const index_t bytes =
        std::vector<index_t>{1, 2, 4, 8, 16, 3, 12, 24}.at(static_cast<std::size_t>(number % 8));
    std::vector<index_t> shape;
    std::vector<int> axes(static_cast<std::size_t>(1 + below(4)));
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random);
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      shape.push_back(1 + below(axes.size() > 2 ? 40 : 600));
    SCOPED_TRACE(testing::PrintToString(shape) + " by " + testing::PrintToString(axes) + ", " +
                 std::to_string(bytes) + " bytes");
    const Rearrangement task = rearrangement(shape, axes, bytes);
    expect_moved(task, 0);
    Rearrangement reversed = task;  // along one axis, from its end on
    Axis& axis = std::data(reversed.axis)[below(task.rank)];
    const index_t first = (axis.extent - 1) * axis.from;
    axis.from = -axis.from;
    expect_moved(reversed, first);
  }
}

}  // namespace
}  // namespace tessera::transpose
