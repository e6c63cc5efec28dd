// The order of keys in device memory.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "kernels/sort/on_device.hpp"
#include "machine/cuda.hpp"
#include "machine/gpu.hpp"

namespace tessera::sort {
namespace {

namespace cuda = machine::cuda;

template <class T>
class CudaArgsort : public ::testing::Test {
 protected:
  void SetUp() override {
    const machine::Gpus gpus = machine::gpus();
    if (gpus.devices.empty()) GTEST_SKIP() << gpus.reason;
  }
};
using Types = ::testing::Types<float, double, std::int32_t, std::uint64_t>;
TYPED_TEST_SUITE(CudaArgsort, Types);

/// Returns a key of many equal ones, of both signs; floating-point ones include NaN and both zeros.
template <class T>
T key_of(index_t i) {
  const std::uint64_t bits = random_bits(3, 1, i);
  if constexpr (std::is_floating_point_v<T>) {
    if (bits % 50 == 0) return std::numeric_limits<T>::quiet_NaN();
    if (bits % 50 == 1) return -T{0};
    return static_cast<T>(static_cast<int>(bits / 50 % 1001) - 500) / 8;
  } else {
    return static_cast<T>(bits % 1001 - 500);
  }
}

TYPED_TEST(CudaArgsort, HasTheStableOrderOfTheHostUnderACheck) {
  using T = TypeParam;
  constexpr std::uint64_t sentinel = 0xA5A5A5A5A5A5A5A5;
  for (const index_t n : {1, 2, 1000, 5000, 100'003}) {
    for (const index_t stride : {index_t{sizeof(T)}, 3 * index_t{sizeof(T)}}) {
      std::vector<std::byte> host(static_cast<std::size_t>(n * stride));
      for (index_t i = 0; i < n; ++i) {
        const T key = key_of<T>(i);
        std::memcpy(host.data() + i * stride, &key, sizeof(key));
      }
      const cuda::DeviceBuffer<std::byte> keys(n * stride);
      cuda::upload(keys.data(), host.data(), host.size());
      for (const Order order : {Order::ascending, Order::descending}) {
        SCOPED_TRACE(testing::Message() << n << " keys, stride " << stride);
        std::vector<std::uint64_t> want(static_cast<std::size_t>(n)),
            got(want.size() + 2, sentinel);
        argsort_keys<T>({host.data(), stride, n}, order, want, 2);
        const cuda::DeviceBuffer<std::uint64_t> there(n + 2);
        cuda::upload(there.data(), got.data(), got.size());
        argsort_on_device<T>({keys.data(), stride, n}, order, there.data() + 1);
        cuda::check(cudaMemcpy(got.data(), there.data(), got.size() * sizeof(got.front()),
                               cudaMemcpyDeviceToHost),
                    "cudaMemcpy");
        want.insert(want.begin(), sentinel);
        want.push_back(sentinel);
        ASSERT_EQ(got, want);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::sort
