// Arithmetic throughput in registers: fused multiply-adds in both precisions, those of the tensor
// cores, exponentials and inverse square roots from exact to fast.

#include <cmath>

#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "kernels/memory/cuda_probe.cuh"

namespace tessera::inline v1::memory {
namespace {

constexpr int threads = 256;
constexpr index_t samples = 512;  // results that are recomputed

template <class T>
__global__ void __launch_bounds__(threads) fma_chains(T* out, int rounds) {
  using C = Chains<T>;
  const index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x;
  T x[C::count];
#pragma unroll
  for (int c = 0; c < C::count; ++c) x[c] = C::start(word_at(i), c);
#pragma unroll 4
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int c = 0; c < C::count; ++c) x[c] = fma(x[c], C::factor, C::summand);
  }
  T sum{0};
#pragma unroll
  for (int c = 0; c < C::count; ++c) sum += x[c];
  out[i] = sum;
}

template <Exponential kind>
__global__ void __launch_bounds__(threads) exponentials(double* out, int rounds) {
  const index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x;
  const double weight = weight_of(word_at(i));
  if constexpr (kind == Exponential::f64) {
    double x = weight;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) x = weight * exp(-x);
    out[i] = x;
  } else {
    const auto single = static_cast<float>(weight);
    float x = single;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
      x = single * (kind == Exponential::fast ? __expf(-x) : expf(-x));
    out[i] = static_cast<double>(x);
  }
}

/// Returns an estimate of 1 / sqrt(x) whose largest relative error is 0.0018: half the exponent by
/// a shift of the bits, then one step of Newton (0x5f3759df of id Software 1999; Lomont 2003).
__device__ __forceinline__ float fast_inverse_root(float x) {
  const float y = __uint_as_float(0x5f3759dfU - (__float_as_uint(x) >> 1));
  return y * (1.5F - 0.5F * x * y * y);
}

template <InverseRoot kind>
__device__ __forceinline__ float inverse_root(float x) {
  if constexpr (kind == InverseRoot::divide) return __fdiv_rn(1.0F, __fsqrt_rn(x));
  if constexpr (kind == InverseRoot::intrinsic) return rsqrtf(x);
  return fast_inverse_root(x);
}

template <InverseRoot kind>
__global__ void __launch_bounds__(threads) inverse_roots(double* out, int rounds) {
  const index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x;
  const auto weight = static_cast<float>(weight_of(word_at(i)));
  float x = weight;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) x = weight * inverse_root<kind>(x);
  out[i] = static_cast<double>(x);
}

/// Operands of sum (16 x 8) += x (16 x 16) y (16 x 8) of a warp. All of a thread's elements of x
/// are equal, and all of y. Of x they are in rows lane / 4 and lane / 4 + 8 and every fourth column
/// from lane % 4 on, of y in column lane / 4 and likewise every fourth row. Those of the sum are in
/// rows lane / 4 and lane / 4 + 8, columns 2 (lane % 4) and 2 (lane % 4) + 1.
struct Operands {
  double x[8], y[4];
};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ __forceinline__ void multiply_add(double (&sum)[4], const Operands& o) {
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7,%8,%9,%10,%11},"
      "{%12,%13,%14,%15},{%0,%1,%2,%3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(o.x[0]), "d"(o.x[1]), "d"(o.x[2]), "d"(o.x[3]), "d"(o.x[4]), "d"(o.x[5]), "d"(o.x[6]),
        "d"(o.x[7]), "d"(o.y[0]), "d"(o.y[1]), "d"(o.y[2]), "d"(o.y[3]));
}
#else  // eight of 8 x 8 x 4, from compute capability 8.0 on
__device__ __forceinline__ void multiply_add(double (&sum)[4], const Operands& o) {
#pragma unroll
  for (int part = 0; part < 8; ++part)
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
        : "+d"(sum[part % 2 * 2]), "+d"(sum[part % 2 * 2 + 1])
        : "d"(o.x[part]), "d"(o.y[part / 2]));
}
#endif
constexpr double flops_of_multiply_add = 2.0 * 16 * 8 * 16;
constexpr int tiles = 4;  // independent sums per warp: enough to keep its tensor core busy

__device__ __host__ constexpr double left_of(int lane) { return 1 + lane / 64.0; }
__device__ __host__ constexpr double right_of(int lane) { return 2 - lane / 128.0; }

__global__ void __launch_bounds__(threads) tensor_chains(double* out, int rounds) {
  if constexpr (kernels::compiled_for < 80) return;  // never launched there
  const index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // Read one by one: if the compiler knew that values are equal, it would copy one to all registers
  // before every use.
  __shared__ volatile double left[32], right[32];
  if (threadIdx.x < 32) {
    left[lane] = left_of(lane);
    right[lane] = right_of(lane);
  }
  __syncthreads();
  Operands o;
#pragma unroll
  for (double& x : o.x) x = left[lane];
#pragma unroll
  for (double& y : o.y) y = right[lane];
  double sum[tiles][4] = {};
#pragma unroll 2
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) multiply_add(sum[tile], o);
  }
  double total = 0;
#pragma unroll
  for (int tile = 0; tile < tiles; ++tile)
    total += sum[tile][0] + sum[tile][1] + sum[tile][2] + sum[tile][3];
  out[i] = total;
}

/// Returns the same result computed by the definition.
double tensor_result(index_t i, index_t rounds) {
  const int row = static_cast<int>(i % 32) / 4, pair = static_cast<int>(i % 32) % 4;
  double total = 0;
  for (int col = 2 * pair; col < 2 * pair + 2; ++col) {
    for (int k = 0; k < 4; ++k) total += 4 * left_of(4 * row + k) * right_of(4 * col + k);
  }
  return 2.0 * tiles * static_cast<double>(rounds) * total;  // two rows of every tile
}

/// A probe with one result per thread and `operations` operations per round.
template <class T>
class Arithmetic : public LaunchedProbe {
 public:
  using Kernel = void (*)(T*, int);
  Arithmetic(const DeviceWalk& walk, Kernel kernel, double operations, double tolerance,
             double (*right)(index_t i, index_t rounds))
      : LaunchedProbe(1),
        kernel_(kernel),
        operations_(operations),
        tolerance_(tolerance),
        right_(right),
        rounds_(walk.rounds),
        threads_(threads_of(walk, threads)),
        out_(threads_) {}
  /// Returns the largest relative error of a sample of the results.
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(out_.data(), threads_);
    double worst = 0;
    for (index_t s = 0; s < samples; ++s) {
      const index_t i = s * (threads_ - 1) / (samples - 1);
      const double right = right_(i, rounds_);
      const double error = std::abs(static_cast<double>(got[i]) - right) / std::abs(right);
      if (!(error <= worst)) worst = error;
    }
    return {"samples", worst, tolerance_};
  }
  [[nodiscard]] double work() const override {
    return operations_ * static_cast<double>(threads_) * static_cast<double>(rounds_);
  }

 private:
  void prepare() override {
    cuda::check(
        cudaMemset(out_.data(), 0xff, static_cast<std::size_t>(threads_) * sizeof(T)),  // NaN
        "cudaMemset");
  }
  void launch(cudaStream_t stream) override {
    kernel_<<<blocks_for(threads_, threads), threads, 0, stream>>>(out_.data(),
                                                                   narrow<int>(rounds_));
  }

  Kernel kernel_;
  double operations_, tolerance_;
  double (*right_)(index_t, index_t);
  index_t rounds_, threads_;
  cuda::DeviceBuffer<T> out_;
};

template <class T>
double fma_right(index_t i, index_t rounds) {
  return static_cast<double>(fma_result<T>(i, rounds));
}

}  // namespace

template <class T>
std::unique_ptr<DeviceProbe> cuda_fma(const DeviceWalk& walk) {
  return std::make_unique<Arithmetic<T>>(walk, fma_chains<T>, 2.0 * Chains<T>::count, 0.0,
                                         fma_right<T>);
}
template std::unique_ptr<DeviceProbe> cuda_fma<float>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_fma<double>(const DeviceWalk&);

std::unique_ptr<DeviceProbe> cuda_mma_f64(const DeviceWalk& walk) {
  if (kernels::device_code().architecture < 80) return nullptr;
  return std::make_unique<Arithmetic<double>>(
      walk, tensor_chains, tiles * flops_of_multiply_add / 32, 1e-10, tensor_result);
}

// Each iteration halves the previous error, so that of one exponential dominates.
template <Exponential kind>
std::unique_ptr<DeviceProbe> cuda_exp(const DeviceWalk& walk) {
  constexpr double tolerance = kind == Exponential::f64   ? 1e-14
                               : kind == Exponential::f32 ? 1e-6
                                                          : 1e-5;
  return std::make_unique<Arithmetic<double>>(walk, exponentials<kind>, 1.0, tolerance, exp_result);
}
template std::unique_ptr<DeviceProbe> cuda_exp<Exponential::f64>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_exp<Exponential::f32>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_exp<Exponential::fast>(const DeviceWalk&);

// As for exponentials; the errors of the fast root have one sign and add up to two thirds of it.
template <InverseRoot kind>
std::unique_ptr<DeviceProbe> cuda_rsqrt(const DeviceWalk& walk) {
  constexpr double tolerance = kind == InverseRoot::fast ? 2e-3 : 1e-6;
  return std::make_unique<Arithmetic<double>>(walk, inverse_roots<kind>, 1.0, tolerance,
                                              rsqrt_result);
}
template std::unique_ptr<DeviceProbe> cuda_rsqrt<InverseRoot::divide>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_rsqrt<InverseRoot::intrinsic>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_rsqrt<InverseRoot::fast>(const DeviceWalk&);

void add_arithmetic_functions(Functions& to) {
  const auto add = [&](const char* name, auto* kernel) {
    to.push_back({name, "", reinterpret_cast<const void*>(kernel), threads, 0});
  };
  add("cuda_fma_f32", fma_chains<float>);
  add("cuda_fma_f64", fma_chains<double>);
  add("cuda_mma_f64", tensor_chains);
  add("cuda_exp_f64", exponentials<Exponential::f64>);
  add("cuda_exp_f32", exponentials<Exponential::f32>);
  add("cuda_exp_fast", exponentials<Exponential::fast>);
  add("cuda_rsqrt_divide", inverse_roots<InverseRoot::divide>);
  add("cuda_rsqrt", inverse_roots<InverseRoot::intrinsic>);
  add("cuda_rsqrt_fast", inverse_roots<InverseRoot::fast>);
}

}  // namespace tessera::inline v1::memory
