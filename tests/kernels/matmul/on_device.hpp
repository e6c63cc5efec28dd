#pragma once
// Operands in device memory for the tests of device kernels.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "machine/cuda.hpp"
#include "machine/gpu.hpp"
#include "matrices.hpp"

namespace tessera::matmul {

namespace cuda = machine::cuda;

struct Strides {
  index_t lead, pad;
  index_t multiple = 1;  // divisor of an operand's row length, elements
};

/// Matrix of integers of magnitude at most 8 on the device, so that products are exact; rows begin
/// `lead` elements into the buffer and take `ld` elements.
template <class T>
class OnDevice {
 public:
  OnDevice(index_t rows, index_t cols, std::uint64_t stream, index_t lead, index_t ld)
      : host_(static_cast<std::size_t>(lead + rows * ld)),
        device_(static_cast<index_t>(host_.size())),
        view_{device_.data() + lead, rows, cols, ld} {
    for (std::size_t at = 0; at < host_.size(); ++at)
      host_[at] = static_cast<T>(static_cast<float>(
          static_cast<int>(random_bits(3, stream, static_cast<index_t>(at)) % 17) - 8));
    put();
  }
  [[nodiscard]] const MatrixView<T>& view() const { return view_; }
  void put() { cuda::upload(device_.data(), host_.data(), host_.size()); }
  /// Sets the elements of the matrix to value(i, j); those around it remain.
  template <class F>
  void fill(const F& value) {
    for (index_t i = 0; i < view_.rows; ++i) {
      for (index_t j = 0; j < view_.cols; ++j) host_[at(i, j)] = value(i, j);
    }
    put();
  }
  /// Returns the place of an element in bytes().
  [[nodiscard]] std::size_t at(index_t i, index_t j) const {
    return static_cast<std::size_t>(view_.data - device_.data() + i * view_.ld + j);
  }
  /// Returns the element that put() copies.
  [[nodiscard]] T operator()(index_t i, index_t j) const { return host_[at(i, j)]; }
  /// Returns the whole buffer, including the elements around the matrix.
  [[nodiscard]] std::vector<T> bytes() const {
    std::vector<T> all(host_.size());
    cuda::check(
        cudaMemcpy(all.data(), device_.data(), all.size() * sizeof(T), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    return all;
  }

 private:
  std::vector<T> host_;
  cuda::DeviceBuffer<T> device_;
  MatrixView<T> view_;
};

/// Operands of a problem on the device. T: type of a and b, C: type of the result.
template <class T, class C>
struct Operands {
  OnDevice<T> a, b;
  OnDevice<C> c;

  Operands(Shape3 s, Op op_a, Op op_b, Strides strides)
      : a(stored_as(s.m, s.k, op_a, 1, strides)),
        b(stored_as(s.k, s.n, op_b, 2, strides)),
        c(s.m, s.n, 3, strides.lead, s.n + strides.pad) {}

 private:
  static OnDevice<T> stored_as(index_t rows, index_t cols, Op op, std::uint64_t number,
                               Strides strides) {
    if (op == Op::transpose) std::swap(rows, cols);
    return OnDevice<T>(rows, cols, number, strides.lead,
                       round_up(cols + strides.pad, strides.multiple));
  }
};

/// Expects equal results of ours and theirs in each of `runs` runs.
template <class C, class Ours, class Theirs>
void same_results(OnDevice<C>& c, int runs, const Ours& ours, const Theirs& theirs) {
  const cuda::Stream stream;
  c.put();
  theirs(stream);
  stream.wait();
  const std::vector<C> want = c.bytes();
  for (int run = 0; run < runs; ++run) {
    c.put();
    ours(stream);
    stream.wait();
    ASSERT_EQ(c.bytes(), want) << "run " << run;
  }
}

/// Calls f(op_a, op_b) for every pair.
template <class F>
void for_ops(Shape3 s, const F& f) {
  for (const Op op_a : ops) {
    for (const Op op_b : ops) {
      SCOPED_TRACE(text(s, op_a, op_b));
      f(op_a, op_b);
    }
  }
}

/// Returns the random shape of that number: small ones, tall and wide ones, and long sums of few
/// elements, which are cut.
inline Shape3 random_shape(index_t number) {
  const auto side = [&](std::uint64_t stream, std::uint64_t most) {
    return 1 + static_cast<index_t>(random_bits(11, stream, number) % most);
  };
  switch (number % 4) {
    case 0:
      return {side(0, 90), side(1, 90), side(2, 90)};
    case 1:
      return {side(0, 900), side(1, 40), side(2, 300)};
    case 2:
      return {side(0, 40), side(1, 900), side(2, 300)};
    default:
      return {side(0, 200), side(1, 200), side(2, 3000)};
  }
}

class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const machine::Gpus gpus = machine::gpus();
    if (gpus.devices.empty()) GTEST_SKIP() << gpus.reason;
  }
};

}  // namespace tessera::matmul
