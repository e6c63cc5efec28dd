// Quantises f32 operands on the device to 8 bits and multiplies them. A row of op(a), or column of
// op(b), is kept in its unit. Rows of int8 that a power of two divides into integers of at
// most 127 are exact; the largest of other rows is 127 units.

#include <limits>
#include <string>

#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_cuts.cuh"
#include "kernels/matmul/cuda_mma.cuh"
#include "kernels/matmul/cuda_quantised.cuh"
#include "kernels/matmul/cuda_tensor.hpp"

namespace tessera::inline v1::matmul {
namespace {

constexpr unsigned infinity_bits = 0x7F800000;

constexpr float least_unit = 0x1p-126F;

/// What is known of a row: the bits of its largest magnitude, and how fine its elements are: all
/// are multiples of 2^(150 - finest). Both are 0 for zeros, and grow with further elements.
struct Found {
  unsigned largest, finest;

  __device__ __forceinline__ void take(float x) {
    const unsigned bits = __float_as_uint(x) & 0x7FFFFFFF;
    if (bits == 0) return;
    const unsigned exponent = bits >> 23, mantissa = bits & 0x7FFFFF;
    const int place = exponent == 0 ? __ffs(static_cast<int>(mantissa))
                                    : static_cast<int>(exponent) +
                                          __ffs(static_cast<int>(mantissa | 0x800000)) - 1;
    take(Found{bits, static_cast<unsigned>(300 - place)});
  }
  __device__ __forceinline__ void take(const Found& other) {
    largest = max(largest, other.largest);
    finest = max(finest, other.finest);
  }
};

/// Returns the unit of a row: for int8 a power of two of which all elements are multiples, of at
/// most 127, or 1/127 of the largest; for fp8 the least power of two of which the largest is at
/// most 448. Units are normal numbers.
__device__ __forceinline__ float unit_of(const Found& row, std::int8_t) {
  if (row.largest == 0) return 1;
  const float largest = __uint_as_float(row.largest),
              exact = ldexpf(1, 150 - static_cast<int>(row.finest));
  return fmaxf(largest <= 127 * exact ? exact : largest / 127, least_unit);
}
__device__ __forceinline__ float unit_of(const Found& row, __nv_fp8_e4m3) {
  constexpr unsigned mantissa = 0x7FFFFF, of_448 = 0x600000;
  const int exponent =
      static_cast<int>(row.largest >> 23) - 127 - 8 + ((row.largest & mantissa) > of_448 ? 1 : 0);
  return fmaxf(ldexpf(1, exponent), least_unit);
}

__device__ __forceinline__ unsigned quantised(float x, std::int8_t) {
  return static_cast<unsigned>(__float2int_rn(x)) & 0xFF;
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
__device__ __forceinline__ unsigned quantised(float x, __nv_fp8_e4m3) {
  return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}
#else  // never launched there
__device__ __forceinline__ unsigned quantised(float, __nv_fp8_e4m3) { return 0; }
#endif

constexpr int lanes = 32, warps = 8, threads = lanes * warps;

/// Adds to to[i] what is found in row i of x, or in column i if turned. NaN is larger than
/// infinity. A block has `lanes` rows (columns) and `depth` elements of each.
constexpr int depth = 1024;
template <bool turned>
__global__ void __launch_bounds__(threads)
    survey(const MatrixView<const float> x, int across, Found* to) {
  if constexpr (kernels::compiled_for < 80) return;  // never launched there
  const index_t first = static_cast<index_t>(blockIdx.x) / across * lanes,
                k0 = static_cast<index_t>(blockIdx.x) % across * depth;
  const int lane = threadIdx.x, warp = threadIdx.y;
  const auto add = [&](index_t row, const Found& found) {
    atomicMax(&to[row].largest, found.largest);
    atomicMax(&to[row].finest, found.finest);
  };
  if constexpr (turned) {
    __shared__ Found of_warp[warps][lanes];
    Found found{};
    if (first + lane < x.cols) {
      const index_t end = min(k0 + depth, x.rows);
#pragma unroll 4
      for (index_t p = k0 + warp; p < end; p += warps) found.take(x(p, first + lane));
    }
    of_warp[warp][lane] = found;
    __syncthreads();
    if (warp > 0 || first + lane >= x.cols) return;
#pragma unroll
    for (int other = 1; other < warps; ++other) found.take(of_warp[other][lane]);
    add(first + lane, found);
  } else {
    const index_t end = min(k0 + depth, x.cols);
    for (int row = warp; row < lanes && first + row < x.rows; row += warps) {
      Found found{};
#pragma unroll 4
      for (index_t p = k0 + lane; p < end; p += lanes) found.take(x(first + row, p));
#pragma unroll
      for (int other = lanes / 2; other > 0; other /= 2)
        found.take(Found{__shfl_xor_sync(0xFFFFFFFF, found.largest, other),
                         __shfl_xor_sync(0xFFFFFFFF, found.finest, other)});
      if (lane == 0) add(first + row, found);
    }
  }
}

/// Computes to = x, or its transpose, in the units of the rows of `to`, and stores the units. A
/// block has a tile of `lanes` rows of `to` and `tile` elements along k.
constexpr int tile = 4 * lanes;
template <bool turned, class T>
__global__ void __launch_bounds__(threads)
    quantise(const MatrixView<const float> x, int across, const Found* found,
             const MatrixView<T> to, float* units) {
  if constexpr (kernels::compiled_for < 80) return;  // never launched there
  __shared__ float block[lanes][tile + 1];           // (rows, k), padded against bank conflicts
  const index_t row0 = static_cast<index_t>(blockIdx.x) / across * lanes,
                k0 = static_cast<index_t>(blockIdx.x) % across * tile;
  const int lane = threadIdx.x, warp = threadIdx.y;
  if constexpr (turned) {
    for (int p = warp; p < tile; p += warps) {
      const bool inside = k0 + p < x.rows && row0 + lane < x.cols;
      block[lane][p] = inside ? x(k0 + p, row0 + lane) : 0;
    }
  } else {
    for (int row = warp; row < lanes; row += warps) {
#pragma unroll
      for (int p = lane; p < tile; p += lanes) {
        const bool inside = row0 + row < x.rows && k0 + p < x.cols;
        block[row][p] = inside ? x(row0 + row, k0 + p) : 0;
      }
    }
  }
  __syncthreads();
  for (int row = warp; row < lanes && row0 + row < to.rows; row += warps) {
    const Found here = found[row0 + row];
    const bool finite = here.largest < infinity_bits;
    const float unit = finite ? unit_of(here, T{}) : __uint_as_float(infinity_bits + 1),
                inverse = finite ? 1 / unit : 0;
    if (k0 == 0 && lane == 0) units[row0 + row] = unit;
    if (k0 + 4 * lane >= to.ld) continue;  // rows end with a whole word
    unsigned word = 0;
#pragma unroll
    for (int e = 0; e < 4; ++e) word |= quantised(block[row][4 * lane + e] * inverse, T{}) << 8 * e;
    *reinterpret_cast<unsigned*>(&to(row0 + row, k0 + 4 * lane)) = word;
  }
}

/// An operand of 8 bits with k along its rows.
template <class T>
class Quantised {
 public:
  Quantised(const MatrixView<const float>& x, bool turned, DeviceStream stream)
      : rows_(turned ? x.cols : x.rows),
        k_(turned ? x.rows : x.cols),
        ld_(round_up(k_, index_t{16})),
        bytes_(static_cast<std::size_t>(checked_mul(rows_, ld_, "size of a quantised operand")),
               stream),
        found_(static_cast<std::size_t>(rows_) * sizeof(Found), stream),
        units_(static_cast<std::size_t>(rows_) * sizeof(float), stream) {
    machine::cuda::check(
        cudaMemsetAsync(found_.data(), 0, static_cast<std::size_t>(rows_) * sizeof(Found), stream),
        "cudaMemsetAsync");
    const auto launch = [&](int edge, const auto& kernel) {
      const index_t across = ceil_div(k_, index_t{edge});
      kernel(narrow<unsigned>(ceil_div(rows_, index_t{lanes}) * across), narrow<int>(across));
      machine::cuda::check(cudaGetLastError(), "quantising kernel");
    };
    auto* const found = static_cast<Found*>(found_.data());
    constexpr dim3 block(lanes, warps);
    launch(depth, [&](unsigned blocks, int across) {
      (turned ? survey<true> : survey<false>)<<<blocks, block, 0, stream>>>(x, across, found);
    });
    launch(tile, [&](unsigned blocks, int across) {
      (turned ? quantise<true, T> : quantise<false, T>)<<<blocks, block, 0, stream>>>(
          x, across, found, {static_cast<T*>(bytes_.data()), rows_, k_, ld_},
          static_cast<float*>(units_.data()));
    });
  }
  [[nodiscard]] MatrixView<const T> view() const {
    return {static_cast<const T*>(bytes_.data()), rows_, k_, ld_};
  }
  [[nodiscard]] const float* units() const { return static_cast<const float*>(units_.data()); }

 private:
  index_t rows_, k_, ld_;
  machine::cuda::Scratch bytes_, found_, units_;
};

template <class T>
constexpr int least_code = std::is_same_v<T, std::int8_t> ? 80 : 89;

template <class Kernel, class T>
__global__ void __launch_bounds__(Kernel::threads, Kernel::blocks)
    multiply_bytes(const QuantisedGemm<T> g, int) {
  if constexpr (kernels::compiled_for < least_code<T>) return;  // never launched there
  extern __shared__ __align__(16) unsigned char stages[];       // stages of a, then of b, padded
  T* const shared_a = reinterpret_cast<T*>(stages);
  T* const shared_b = shared_a + Kernel::stages * Kernel::a_elements;
  const int2 at = tile_number(static_cast<int>(blockIdx.x),
                              static_cast<int>((g.c.rows + Kernel::m - 1) / Kernel::m),
                              static_cast<int>((g.c.cols + Kernel::n - 1) / Kernel::n));
  const index_t row0 = static_cast<index_t>(at.x) * Kernel::m,
                col0 = static_cast<index_t>(at.y) * Kernel::n;
  typename Kernel::CopiesA copies_a(g.a, row0, 0, shared_a);
  typename Kernel::CopiesB copies_b(g.b, col0, 0, shared_b);
  Kernel kernel(shared_a, shared_b);
  multiply_block(kernel, copies_a, copies_b, g.k(), shared_a);
  kernel.each([&](int i, int j, auto sum) {
    const index_t row = row0 + i, col = col0 + j;
    if (row >= g.c.rows || col >= g.c.cols) return;
    store(g.c(row, col), g.alpha, in_units(sum, __ldg(g.a_units + row), __ldg(g.b_units + col)),
          g.beta);
  });
}

template <class T, class S>
using ByteKernel = MmaKernel<T, S, Op::none, Op::transpose, true>;

}  // namespace

template <class T>
void cuda_quantised_mma(const QuantisedGemm<T>& g, DeviceStream stream) {
  const auto launch = [&]<class S>(S) {
    using Kernel = ByteKernel<T, S>;
    launch_tiles<Kernel>(multiply_bytes<Kernel, T>, g, 1, shared_bytes_of<Kernel, T>, stream);
  };
  const int multiprocessors = device_limits().multiprocessors;
  if (share_of_device(g.c, LargeTile::m, LargeTile::n, multiprocessors) >=
      0.7 * share_of_device(g.c, SmallTile::m, SmallTile::n, multiprocessors))
    return launch(LargeTile{});
  launch(SmallTile{});
}

template <class T>
void cuda_quantised_product(QuantisedGemm<T> g, DeviceStream stream) {
  constexpr index_t longest = std::is_same_v<T, std::int8_t> ? longest_byte_sum : index_t{1} << 30;
  const MatrixView<const T> a = g.a, b = g.b;
  for (index_t p = 0; p < a.cols; p += longest, g.beta = 1) {
    const index_t length = std::min(longest, a.cols - p);
    g.a = a.cols_range(p, length);
    g.b = b.cols_range(p, length);
    if (!cuda_quantised_wgmma(g, stream)) cuda_quantised_mma(g, stream);
  }
}

template <class T>
void cuda_quantised(const Gemm<float>& g, const Tuning& tuning, DeviceStream stream) {
  const int code = kernels::device_code().architecture;
  require(code >= least_code<T>, ExitCode::usage,
          "--precision " + std::string(std::is_same_v<T, std::int8_t> ? "int8" : "fp8") +
              " needs tensor cores and code of compute capability " +
              (least_code<T> == 80 ? "8.0" : "8.9") + " or later, and this GPU runs code for " +
              std::to_string(code / 10) + "." + std::to_string(code % 10) +
              "; drop --precision or use bf16");
  if (g.c.empty()) return;
  if (g.k() == 0) return cuda_register(g, tuning, stream);
  const Quantised<T> a(g.a, turns(g.op_a), stream), b(g.b, !turns(g.op_b), stream);
  cuda_quantised_product<T>({g.alpha, a.view(), b.view(), a.units(), b.units(), g.beta, g.c},
                            stream);
}

template void cuda_quantised_mma(const QuantisedGemm<std::int8_t>&, DeviceStream);
template void cuda_quantised_mma(const QuantisedGemm<__nv_fp8_e4m3>&, DeviceStream);
template void cuda_quantised_product(QuantisedGemm<std::int8_t>, DeviceStream);
template void cuda_quantised_product(QuantisedGemm<__nv_fp8_e4m3>, DeviceStream);
template void cuda_quantised<std::int8_t>(const Gemm<float>&, const Tuning&, DeviceStream);
template void cuda_quantised<__nv_fp8_e4m3>(const Gemm<float>&, const Tuning&, DeviceStream);

void add_quantised_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&](const char* of, auto* kernel) {
    to.push_back(machine::device_function("cuda_tensor", of, kernel, threads));
  };
  add("8 bits, units of rows", survey<false>);
  add("8 bits, units of columns", survey<true>);
  add("int8, rows", quantise<false, std::int8_t>);
  add("int8, columns", quantise<true, std::int8_t>);
  add("fp8, rows", quantise<false, __nv_fp8_e4m3>);
  add("fp8, columns", quantise<true, __nv_fp8_e4m3>);
  const auto add_tile = [&]<class T, class S>(const char* of, T, S) {
    using Kernel = ByteKernel<T, S>;
    to.push_back(machine::device_function("cuda_tensor", of, multiply_bytes<Kernel, T>,
                                          Kernel::threads, shared_bytes_of<Kernel, T>));
  };
  add_tile("int8, mma.sync, large tile", std::int8_t{}, LargeTile{});
  add_tile("int8, mma.sync, small tile", std::int8_t{}, SmallTile{});
  add_tile("fp8, mma.sync, large tile", __nv_fp8_e4m3{}, LargeTile{});
  add_tile("fp8, mma.sync, small tile", __nv_fp8_e4m3{}, SmallTile{});
  add_quantised_wgmma_functions(to);
}

}  // namespace tessera::inline v1::matmul
