// Device kernels on resident data: strides and offsets that the table's staged rows never have, and
// sizes that occupy every multiprocessor for many rounds.

#include <cmath>

#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_mixed.hpp"
#include "kernels/matmul/cuda_pieces.hpp"
#include "on_device.hpp"

namespace tessera::matmul {
namespace {

template <class T>
struct Named {
  const char* name;
  void (*run)(const Gemm<T>&, const Tuning&, DeviceStream);
};

/// Compares every kernel with cublas.
template <class T>
void compare(const std::vector<Named<T>>& kernels, Shape3 s, Strides strides, T beta, int runs) {
  for_ops(s, [&](Op op_a, Op op_b) {
    Operands<T, T> x(s, op_a, op_b, strides);
    const Gemm<T> g{T{2}, x.a.view(), op_a, x.b.view(), op_b, beta, x.c.view()};
    for (const Named<T>& kernel : kernels) {
      SCOPED_TRACE(kernel.name);
      same_results(
          x.c, runs, [&](DeviceStream stream) { kernel.run(g, {}, stream); },
          [&](DeviceStream stream) { cublas<T>(g, {}, stream); });
    }
  });
}

/// Compares operands narrower than the sums: run(g, stream), which returns whether it launched,
/// with cublas.
template <class T, class Run>
void compare_mixed(const Run& run, Shape3 s, Strides strides, float beta, int runs) {
  for_ops(s, [&](Op op_a, Op op_b) {
    if (sizeof(T) == 4 && (op_a != Op::none || op_b != Op::transpose)) return;
    Operands<T, float> x(s, op_a, op_b, strides);
    const MixedGemm<T> g{2, x.a.view(), op_a, x.b.view(), op_b, beta, x.c.view()};
    same_results(
        x.c, runs, [&](DeviceStream stream) { EXPECT_TRUE(run(g, stream)); },
        [&](DeviceStream stream) { cublas_mixed(g, stream); });
  });
}

const std::vector<Named<float>> f32{{"cuda_register", cuda_register<float>},
                                    {"cuda_tiled", cuda_tiled<float>},
                                    {"cuda_column", cuda_column<float>}};
const std::vector<Named<double>> f64{{"cuda_register", cuda_register<double>},
                                     {"cuda_tensor", cuda_tensor},
                                     {"cuda_tiled", cuda_tiled<double>}};

TEST_F(OnGpu, TakeRowsThatBeginAnywhere) {
  for (const Strides strides :
       {Strides{0, 0}, Strides{1, 0}, Strides{0, 1}, Strides{3, 5}, Strides{4, 4}}) {
    for (const Shape3 s : {Shape3{130, 131, 67}, Shape3{257, 65, 33}, Shape3{1, 300, 16}}) {
      compare(f32, s, strides, -3.0F, 1);
      compare(f64, s, strides, 0.0, 1);
    }
  }
}

TEST_F(OnGpu, TakeRandomShapesWithRowsThatBeginAnywhere) {
  for (index_t number = 0; number < 32; ++number) {
    const index_t lead = number % 3, pad = number / 4 % 4;
    compare<float>({{"cuda_register", cuda_register<float>}}, random_shape(number), {lead, pad},
                   number % 2 == 0 ? 0.0F : -3.0F, 2);
    compare<double>({{"cuda_tensor", cuda_tensor}}, random_shape(number), {lead, pad},
                    number % 2 == 0 ? 0.0 : -3.0, 2);
  }
}

TEST_F(OnGpu, GiveTheSameBitsOnManyTilesEveryTime) {
  compare(f64, {2304, 2176, 1000}, {0, 0}, 0.0, 10);
  compare(f64, {1000, 1100, 1050}, {0, 0}, 1.0, 10);
  compare(f32, {2304, 2176, 1000}, {0, 0}, 0.0F, 4);
  compare(f32, {1000, 1100, 1050}, {0, 0}, 1.0F, 4);
  compare(f32, {2300, 4300, 301}, {0, 4}, 1.0F, 4);
}

TEST_F(OnGpu, RoundOperandsToFewerBitsWhereAsked) {
  for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::f16}) {
    const Tuning tuning{.precision = precision};
    for (const Strides strides : {Strides{0, 0}, Strides{1, 3}}) {
      for_ops({130, 71, 67}, [&](Op op_a, Op op_b) {
        Operands<float, float> x({130, 71, 67}, op_a, op_b, strides);
        const Gemm<float> g{2, x.a.view(), op_a, x.b.view(), op_b, -3, x.c.view()};
        same_results(
            x.c, 1, [&](DeviceStream stream) { cuda_tensor(g, tuning, stream); },
            [&](DeviceStream stream) { cublas<float>(g, {}, stream); });
      });
    }
    // 1 + u / 4 rounds to 1, and 1 + u does not, for the precision's unit u.
    const float unit = static_cast<float>(2 * rounding_error(precision).relative());
    const cuda::Stream stream;
    const cuda::DeviceBuffer<float> numbers(3);
    for (const auto& [added, want] : {std::pair{unit / 4, 0.0F}, {unit, unit}}) {
      const float host[3] = {1 + added, 1, 0};
      cuda::upload(numbers.data(), host, 3);
      const auto one = [&](index_t at) { return MatrixView<float>{numbers.data() + at, 1, 1, 1}; };
      cuda_tensor(Gemm<float>{1, one(0), Op::none, one(1), Op::none, 0, one(2)}, tuning, stream);
      stream.wait();
      float got = 0;
      cuda::check(cudaMemcpy(&got, numbers.data() + 2, sizeof(got), cudaMemcpyDeviceToHost),
                  "cudaMemcpy");
      EXPECT_EQ(got, 1 + want);
    }
  }
}

/// Expects that the product in pieces within `limit` bytes equals the whole product bit for bit:
/// sums of integers are exact.
void expect_pieces_equal(Shape3 s, index_t limit, double beta, const Passage& passage) {
  for_ops(s, [&](Op op_a, Op op_b) {
    const auto make = [](std::uint64_t stream) {
      return [stream](index_t r, index_t c) { return Matrix<double>::integers(r, c, stream); };
    };
    const auto a = stored<double>(s.m, s.k, op_a, make(1)),
               b = stored<double>(s.k, s.n, op_b, make(2));
    auto want = beta == 0
                    ? Matrix<double>::filled(s.m, s.n, std::numeric_limits<double>::quiet_NaN())
                    : Matrix<double>::integers(s.m, s.n, 3);
    auto got = want;
    Gemm<double> g{2, a.view(), op_a, b.view(), op_b, beta, want.view()};
    variants().front()(g);
    g.c = got.view();
    const Pieces pieces = plan_pieces(pieces_request(g, {}), limit);
    (void)multiply_in_pieces<double>(cuda_tensor, g, {}, pieces, passage);
    EXPECT_TRUE(same_bits(got, want));
  });
}

TEST_F(OnGpu, GiveTheSameBitsInPiecesHoweverTheyTravel) {
  using Route = machine::StagingPlan::Route;
  for (const Route route : {Route::automatic, Route::chunks, Route::straight}) {
    for (const auto overlap : {Passage::Overlap::yes, Passage::Overlap::no}) {
      for (const index_t chunk : {1000, 100'000}) {
        const Passage passage{{.route = route,
                               .chunk_bytes = chunk,
                               .chunks_there = 3,
                               .chunks_back = 2,
                               .threads = 2},
                              overlap};
        for (const double beta : {0.0, -3.0}) {
          expect_pieces_equal({97, 101, 103}, 60'000, beta, passage);
          expect_pieces_equal({130, 71, 300}, 200'000, beta, passage);
        }
      }
    }
  }
}

template <class T>
class MixedKernels : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (this->IsSkipped()) return;
    if (kernels::device_code().architecture < 80)
      GTEST_SKIP() << "tensor cores of compute capability 8.0 on";
  }
};
using MixedTypes = ::testing::Types<__nv_bfloat16, __half, float>;
TYPED_TEST_SUITE(MixedKernels, MixedTypes);

TYPED_TEST(MixedKernels, OfGroupsOfWarpsAreExactOnSmallIntegersEveryTime) {
  if (!kernels::device_code().wgmma) GTEST_SKIP() << "the device runs no code for 9.0a";
  const auto run = [](const MixedGemm<TypeParam>& g, DeviceStream stream) {
    return cuda_wgmma(g, stream);
  };
  for (const Shape3 s :
       {Shape3{8, 8, 8}, Shape3{128, 256, 64}, Shape3{200, 304, 72}, Shape3{136, 264, 1000}})
    compare_mixed<TypeParam>(run, s, {0, 0}, 0, 1);
  compare_mixed<TypeParam>(run, {200, 304, 72}, {8, 8}, -3, 1);
  compare_mixed<TypeParam>(run, {2304, 2176, 1000}, {0, 0}, 0, 10);
}

/// Calls f(run) for both tiles of the kernels with independent warps.
template <class T, class F>
void for_mma_tiles(const F& f) {
  for (const MmaTile tile : {MmaTile::large, MmaTile::small}) {
    SCOPED_TRACE(tile == MmaTile::large ? "large tile" : "small tile");
    f([tile](const MixedGemm<T>& g, DeviceStream stream) { return cuda_mma(g, stream, tile); });
  }
}

TYPED_TEST(MixedKernels, OfSingleWarpsTakeShapesThatEndAnywhere) {
  for_mma_tiles<TypeParam>([](const auto& run) {
    for (const Shape3 s :
         {Shape3{1, 1, 1}, Shape3{128, 256, 32}, Shape3{127, 255, 31}, Shape3{129, 257, 33},
          Shape3{65, 63, 67}, Shape3{1, 300, 16}, Shape3{300, 1, 100}}) {
      compare_mixed<TypeParam>(run, s, {0, 0, 8}, 0, 1);
      compare_mixed<TypeParam>(run, s, {8, 3, 8}, -3, 1);
    }
  });
}

TYPED_TEST(MixedKernels, OfSingleWarpsAreExactOnSmallIntegersEveryTime) {
  for_mma_tiles<TypeParam>([](const auto& run) {
    compare_mixed<TypeParam>(run, {136, 264, 1000}, {0, 0, 8}, 0, 1);
    compare_mixed<TypeParam>(run, {1301, 1177, 1003}, {0, 0, 8}, 1, 5);
  });
}

TYPED_TEST(MixedKernels, OfSingleWarpsScaleWhereThereIsNothingToMultiply) {
  OnDevice<float> c(130, 71, 3, 0, 71);
  const std::vector<float> before = c.bytes();
  const MatrixView<const TypeParam> a{nullptr, 130, 0, 0}, b{nullptr, 71, 0, 0};
  const cuda::Stream stream;
  ASSERT_TRUE(
      cuda_mma(MixedGemm<TypeParam>{1, a, Op::none, b, Op::transpose, -2, c.view()}, stream));
  stream.wait();
  const std::vector<float> after = c.bytes();
  for (std::size_t at = 0; at < after.size(); ++at) ASSERT_EQ(after[at], -2 * before[at]);
}

template <class T>
class NarrowKernels : public MixedKernels<T> {};
using NarrowTypes = ::testing::Types<__nv_bfloat16, __half>;
TYPED_TEST_SUITE(NarrowKernels, NarrowTypes);

TYPED_TEST(NarrowKernels, TakeRandomShapesWithRowsThatBeginAnywhere) {
  const auto run = [](const MixedGemm<TypeParam>& g, DeviceStream stream) {
    cuda_narrow(g, stream);
    return true;
  };
  for (index_t number = 0; number < 32; ++number)
    compare_mixed<TypeParam>(run, random_shape(number), {number % 3, number / 4 % 4},
                             number % 2 == 0 ? 0.0F : -3.0F, 2);
  compare_mixed<TypeParam>(run, {136, 264, 1000}, {0, 0, 8}, -3, 1);
  for (const Strides strides : {Strides{0, 0}, Strides{1, 3}, Strides{0, 0, 8}})
    compare_mixed<TypeParam>(run, {1301, 1177, 1003}, strides, 1, 3);  // copied to aligned rows
}

TEST_F(OnGpu, RefuseRoundedOperandsOfOlderCodeAndSayWhy) {
  if (kernels::device_code().architecture >= 80) GTEST_SKIP() << "the device's code supports them";
  const Operands<float, float> x({8, 8, 8}, Op::none, Op::none, {0, 0});
  const cuda::Stream stream;
  const Gemm<float> g{1, x.a.view(), Op::none, x.b.view(), Op::none, 0, x.c.view()};
  for (const auto precision :
       {Precision::bf16, Precision::f16, Precision::tf32, Precision::fp8, Precision::int8}) {
    Tuning tuning;
    tuning.precision = precision;
    try {
      cuda_tensor(g, tuning, stream);
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_NE(std::string(error.what()).find("compute capability 8."), std::string::npos);
    }
  }
}

TYPED_TEST(MixedKernels, OfSingleWarpsRefuseRowsThatBeginElsewhere) {
  OnDevice<TypeParam> x(40, 40, 1, 1, 48);
  OnDevice<float> c(40, 40, 3, 0, 40);
  const cuda::Stream stream;
  EXPECT_FALSE(cuda_mma(
      MixedGemm<TypeParam>{1, x.view(), Op::none, x.view(), Op::transpose, 0, c.view()}, stream));
}

}  // namespace
}  // namespace tessera::matmul
