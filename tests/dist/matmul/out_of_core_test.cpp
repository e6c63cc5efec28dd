#include "dist/matmul/out_of_core.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <future>

#include "base/random.hpp"
#include "dist/matmul/leaf_stack.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "machine/fork_join.hpp"
#include "mpi/transfer.hpp"

namespace tessera::dist::matmul {
namespace {

using layout::Box;

ForecastRequest shape(index_t m, index_t n, index_t k, index_t ranks = 1) {
  ForecastRequest q;
  q.m = m;
  q.n = n;
  q.k = k;
  q.ranks = ranks;
  return q;
}

TEST(OutOfCorePlan, CoversEveryElementOnceWithinTheLimit) {
  for (index_t c = 0; c < 300; ++c) {
    const auto draw = [&](std::uint64_t what, index_t low, index_t high) {
      return low + static_cast<index_t>(random_bits(3, what, c) %
                                        static_cast<std::uint64_t>(high - low + 1));
    };
    OutOfCoreRequest request{
        .shape = shape(draw(0, 0, 700), draw(1, 0, 700), draw(2, 0, 3000), draw(3, 1, 7))};
    if (c % 2 == 0) request.a_chunk = {draw(4, 1, 200), draw(5, 1, 200)};
    if (c % 3 == 0) request.b_chunk = {draw(6, 1, 200), draw(7, 1, 200)};
    const index_t limit = draw(8, 3'000'000, 20'000'000);
    const OutOfCorePlan stream = plan_out_of_core(request, limit);
    EXPECT_LE(stream.rank_bytes, limit);
    std::vector<int> seen(static_cast<std::size_t>(request.shape.m * request.shape.n));
    for (index_t t = 0; t < stream.tiles(); ++t) {
      const Box box = stream.tile(t);
      EXPECT_LE(box.rows.size(), stream.m);
      EXPECT_LE(box.cols.size(), stream.n);
      for (index_t i = box.rows.begin; i < box.rows.end; ++i) {
        for (index_t j = box.cols.begin; j < box.cols.end; ++j)
          ++seen[static_cast<std::size_t>(i * request.shape.n + j)];
      }
    }
    for (const int times : seen) ASSERT_EQ(times, 1);
  }
}

TEST(OutOfCorePlan, ReadsAsMuchAsItSays) {
  const OutOfCorePlan stream =
      plan_out_of_core({.shape = shape(8192, 8192, 8192)}, index_t{384} << 20);
  EXPECT_EQ(stream.read_bytes, (stream.tiles_m() + stream.tiles_n()) * 8192 * 8192 * 8);
  EXPECT_LE(stream.tiles(), 16) << "tiles are as large as there is room for";
}

TEST(OutOfCorePlan, HasNoRoomForPanelsThatAreMapped) {
  OutOfCoreRequest request{.shape = shape(4096, 4096, 4096)};
  const OutOfCorePlan copied = plan_out_of_core(request, index_t{96} << 20);
  request.maps_a = request.maps_b = true;
  const OutOfCorePlan mapped = plan_out_of_core(request, index_t{96} << 20);
  EXPECT_GT(mapped.m * mapped.n, copied.m * copied.n);
  EXPECT_LT(mapped.read_bytes, copied.read_bytes);
  EXPECT_LE(mapped.rank_bytes, index_t{96} << 20);
}

TEST(OutOfCorePlan, HasOneBufferForASingleTile) {
  OutOfCoreRequest request{.shape = shape(5120, 5120, 5120, 4), .maps_a = true, .maps_b = true};
  const OutOfCorePlan one = plan_out_of_core(request, index_t{256} << 20);
  ASSERT_EQ(one.tiles(), 4) << "a tile per rank";
  const index_t tile = one.m * one.n * 8, waiting = most_waiting(one.leaves());
  EXPECT_GE(one.rank_bytes, (1 + waiting) * tile);
  EXPECT_LT(one.rank_bytes, (2 + waiting) * tile) << "none is written while another is computed";
}

TEST(OutOfCorePlan, CountsOnlyWhatTheKernelPacks) {
  OutOfCoreRequest request{.shape = shape(4200, 4200, 500)};
  const index_t limit = index_t{64} << 20;
  const OutOfCorePlan guessed = plan_out_of_core(request, limit);
  request.knows_packing = true;
  const OutOfCorePlan known = plan_out_of_core(request, limit);
  EXPECT_LE(known.rank_bytes, limit);
  const index_t larger = known.m * known.n - guessed.m * guessed.n;
  EXPECT_TRUE(larger > 0 || (larger == 0 && known.rank_bytes < guessed.rank_bytes));
}

TEST(OutOfCorePlan, HasLongPanelsForADevice) {
  OutOfCoreRequest request{
      .shape = shape(16384, 16384, 16384), .maps_a = true, .maps_b = true, .on_device = true};
  const index_t limit = index_t{1} << 30;
  EXPECT_LE(plan_out_of_core(request, limit).k, 4096) << "no room in the file cache";
  request.cache_bytes = index_t{8} << 30;
  const OutOfCorePlan stream = plan_out_of_core(request, limit);
  EXPECT_GT(stream.k, 4096);
  EXPECT_EQ(stream.leaves().count(), 1);
  EXPECT_LE(stream.rank_bytes, limit);
  EXPECT_LE(stream.rank_bytes + 2 * (stream.m + stream.n) * stream.k * 8, request.cache_bytes);
}

TEST(OutOfCorePlan, GivesEveryRankWork) {
  for (const index_t ranks : {2, 4, 7}) {
    const OutOfCorePlan stream =
        plan_out_of_core({.shape = shape(20000, 20000, 20000, ranks)}, index_t{1} << 30);
    EXPECT_GE(stream.tiles(), ranks);
    EXPECT_LE(static_cast<double>(ceil_div(stream.tiles(), ranks) * ranks),
              1.35 * static_cast<double>(stream.tiles()));
  }
}

TEST(OutOfCorePlan, RefusesTooLittleMemory) {
  try {
    (void)plan_out_of_core({.shape = shape(5000, 5000, 5000), .other_bytes = 1000}, 100'000);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::memory);
  }
}

/// Matrices in memory that substitute for files.
template <class T>
class Held : public OutOfCoreFiles<T> {
 public:
  Held(Extents a, Extents b, index_t m, index_t n)
      : a_(random(a, 1)), b_(random(b, 2)), c_(random({m, n}, 3)), out_(m * n) {
    std::memset(out_.data(), 0xff, static_cast<std::size_t>(out_.size()) * sizeof(T));
    shapes_[0] = a;
    shapes_[1] = b;
    shapes_[2] = {m, n};
  }
  MatrixView<const T> read_a(const Box& box, MatrixView<T> room) override {
    return read(a_, 0, box, room);
  }
  MatrixView<const T> read_b(const Box& box, MatrixView<T> room) override {
    return read(b_, 1, box, room);
  }
  void read_c(const Box& box, MatrixView<T> to) override { copy(c_, 2, box, to); }
  void write(const Box& box, MatrixView<const T> c) override {
    mpi::copy_block<T>(
        c, view(out_, 2).block(box.rows.begin, box.cols.begin, box.rows.size(), box.cols.size()));
  }
  void begin(std::function<void()> step) override {
    EXPECT_FALSE(begun_.valid()) << "one after the other";
    begun_ = std::async(std::launch::async, std::move(step));
  }
  void end() override { begun_.get(); }
  /// Returns the kernel's product of the whole matrices.
  std::vector<T> want(const OutOfCorePlan& stream, const Factors<T>& factors) {
    std::vector<T> c(c_.begin(), c_.end());
    const tessera::matmul::Gemm<T> g{factors.alpha,
                                     view(a_, 0),
                                     stream.shape.op_a,
                                     view(b_, 1),
                                     stream.shape.op_b,
                                     factors.beta,
                                     matrix_view(c.data(), shapes_[2].rows, shapes_[2].cols)};
    machine::parallel(2, [&] { cache_oblivious(g); });
    return c;
  }
  [[nodiscard]] std::span<const T> got() const { return out_.span(); }

 private:
  /// Empty room: the data is mapped.
  MatrixView<const T> read(machine::Buffer<T>& x, std::size_t which, const Box& box,
                           MatrixView<T> room) {
    if (room.data == nullptr)
      return view(x, which).block(box.rows.begin, box.cols.begin, box.rows.size(), box.cols.size());
    copy(x, which, box, room);
    return room;
  }
  static machine::Buffer<T> random(Extents e, std::uint64_t stream) {
    machine::Buffer<T> x(e.rows * e.cols);
    for (index_t at = 0; at < x.size(); ++at) x[at] = random_symmetric<T>(1, stream, at);
    return x;
  }
  MatrixView<T> view(machine::Buffer<T>& x, std::size_t which) {
    return matrix_view(x.data(), shapes_[which].rows, shapes_[which].cols);
  }
  void copy(machine::Buffer<T>& x, std::size_t which, const Box& box, MatrixView<T> to) {
    ASSERT_EQ(to.rows, box.rows.size());
    const MatrixView<T> from =
        view(x, which).block(box.rows.begin, box.cols.begin, box.rows.size(), box.cols.size());
    mpi::copy_block<T>(from, to);
  }
  machine::Buffer<T> a_, b_, c_, out_;
  Extents shapes_[3];
  std::future<void> begun_;
};

template <class T>
class StreamedProduct : public testing::Test {};
using Types = testing::Types<float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(StreamedProduct, Types);

TYPED_TEST(StreamedProduct, HasTheBitsOfOneInMemory) {
  using T = TypeParam;
  const Op turned = is_complex<T> ? Op::hermitian : Op::transpose;
  for (const auto& [m, n, k] :
       {std::array<index_t, 3>{150, 170, 2600}, {97, 1, 9000}, {1, 130, 600}, {60, 50, 0}}) {
    for (const Op op_a : {Op::none, turned}) {
      for (const Op op_b : {Op::none, turned}) {
        for (const T beta : {T{0}, T{-2}}) {
          ForecastRequest q = shape(m, n, k, 2);
          q.op_a = op_a;
          q.op_b = op_b;
          q.element_bytes = sizeof(T);
          q.reads_c = beta != T{0};
          OutOfCorePlan stream{
              .shape = q, .m = std::min<index_t>(m, 64), .n = std::min<index_t>(n, 72), .k = 1024};
          stream.maps_a = turns(op_b);
          stream.maps_b = beta != T{0};
          Held<T> files(stored(op_a, m, k), stored(op_b, k, n), m, n);
          const Factors<T> factors{T{3}, beta};
          mpi::Phases phases;
          const Method method{.kernel = &tessera::matmul::best(), .threads = 2};
          for (int rank = 0; rank < 2; ++rank) {
            const layout::Range share = layout::BlockMap(stream.tiles(), 2).range(rank);
            EXPECT_EQ(multiply_out_of_core<T>(
                          {.plan = stream, .share = share, .factors = factors, .method = method},
                          files, [] { return false; }, phases),
                      share.size());
          }
          const auto want = files.want(stream, factors);
          EXPECT_EQ(std::memcmp(want.data(), files.got().data(), want.size() * sizeof(T)), 0)
              << m << " " << n << " " << k << " " << turns(op_a) << turns(op_b);
        }
      }
    }
  }
}

TEST(StreamedProduct, SumsPanelsAsTheyComeWhereNoTreeIsAskedFor) {
  for (const double beta : {0.0, -2.0}) {
    ForecastRequest q = shape(70, 90, 9000);
    q.reads_c = beta != 0;
    const OutOfCorePlan stream{.shape = q, .m = 40, .n = 90, .k = 2048, .one_leaf = true};
    Held<double> files({70, 9000}, {9000, 90}, 70, 90);
    const Factors<double> factors{3, beta};
    mpi::Phases phases;
    const Method method{.kernel = tessera::find_variant(tessera::matmul::variants(), "transposed")};
    EXPECT_EQ(multiply_out_of_core<double>(
                  {.plan = stream, .share = {0, 2}, .factors = factors, .method = method}, files,
                  [] { return false; }, phases),
              2);
    const auto want = files.want(stream, factors);
    for (std::size_t at = 0; at < want.size(); ++at) ASSERT_NEAR(files.got()[at], want[at], 1e-9);
  }
}

TEST(StreamedProduct, StopsBetweenTiles) {
  const OutOfCorePlan stream{.shape = shape(100, 100, 100), .m = 50, .n = 50, .k = 100};
  Held<double> files({100, 100}, {100, 100}, 100, 100);
  mpi::Phases phases;
  int asked = 0;
  const Method method{.kernel = &tessera::matmul::best()};
  EXPECT_EQ(multiply_out_of_core<double>(
                {.plan = stream, .share = {0, 4}, .method = method}, files,
                [&] { return ++asked > 3; }, phases),
            3);
}

TEST(StreamedProduct, EndsWithTheReadersError) {
  class Failing : public Held<double> {
   public:
    using Held::Held;
    MatrixView<const double> read_b(const Box& box, MatrixView<double> room) override {
      require(box.cols.begin == 0, ExitCode::io, "no more");
      return Held::read_b(box, room);
    }
  };
  const OutOfCorePlan stream{.shape = shape(100, 100, 100), .m = 50, .n = 50, .k = 100};
  Failing files({100, 100}, {100, 100}, 100, 100);
  mpi::Phases phases;
  const Method method{.kernel = &tessera::matmul::best()};
  EXPECT_THROW(
      (void)multiply_out_of_core<double>(
          {.plan = stream, .share = {0, 4}, .method = method}, files, [] { return false; }, phases),
      Error);
}

}  // namespace
}  // namespace tessera::dist::matmul
