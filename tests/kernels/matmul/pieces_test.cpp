// Products larger than the device: the plan, and its execution on the host.

#include "kernels/matmul/pieces.hpp"

#include <algorithm>
#include <random>

#include "base/error.hpp"
#include "kernels/matmul/variants.hpp"
#include "matrices.hpp"

namespace tessera::matmul {
namespace {

constexpr index_t gib = index_t{1} << 30;

struct Held {
  index_t first = -1, second = -1;  // tile
  std::vector<double> values;
};

/// Emulated device with tiles in slots according to the plan.
class Followed {
 public:
  Followed(const Gemm<double>& g, const Pieces& pieces)
      : g_(g),
        p_(pieces),
        operands_(static_cast<std::size_t>(p_.places)),
        results_(static_cast<std::size_t>(p_.c_places)) {
    for (const PieceStep& step : p_.steps) follow(step);
  }

 private:
  using Does = PieceStep::Does;
  struct Part {
    index_t begin, size;
  };
  static Part part(index_t number, index_t edge, index_t length) {
    return {number * edge, std::min(edge, length - number * edge)};
  }

  void follow(const PieceStep& x) {
    const Part i = part(x.i, p_.m, g_.m()), j = part(x.j, p_.n, g_.n()),
               p = part(x.p, p_.k, g_.k());
    ASSERT_GT(i.size, 0);
    ASSERT_GT(j.size, 0);
    if (x.does == Does::send_a)
      return take(operands_.at(static_cast<std::size_t>(x.a)), x.i, x.p, a(i, p));
    if (x.does == Does::send_b)
      return take(operands_.at(static_cast<std::size_t>(x.b)), x.p, x.j, b(p, j));
    Held& c = results_.at(static_cast<std::size_t>(x.c));
    const MatrixView<double> home = g_.c.block(i.begin, j.begin, i.size, j.size);
    const bool begins = x.does == Does::send_c || (x.p == 0 && g_.beta == 0);
    if (begins) {
      ASSERT_EQ(c.first, -1) << "a tile of C is still there";
      take(c, x.i, x.j, home);
    }
    if (x.does == Does::send_c) return;
    const Held &left = operands_.at(static_cast<std::size_t>(x.a)),
               &right = operands_.at(static_cast<std::size_t>(x.b));
    ASSERT_TRUE(left.first == x.i && left.second == x.p && right.first == x.p &&
                right.second == x.j);
    ASSERT_TRUE(c.first == x.i && c.second == x.j) << "C is not there";
    const auto view = [](const std::vector<double>& values, const MatrixView<const double>& like) {
      return MatrixView<const double>{values.data(), like.rows, like.cols, like.cols};
    };
    const MatrixView<double> sum{c.values.data(), i.size, j.size, j.size};
    variants().front()(Gemm<double>{g_.alpha, view(left.values, a(i, p)), g_.op_a,
                                    view(right.values, b(p, j)), g_.op_b, x.p == 0 ? g_.beta : 1.0,
                                    sum});
    if (x.p + 1 < p_.tiles_k()) return;
    for (index_t row = 0; row < i.size; ++row)
      for (index_t col = 0; col < j.size; ++col) home(row, col) = sum(row, col);
    c = {};
  }

  [[nodiscard]] MatrixView<const double> a(Part i, Part p) const {
    return g_.op_a == Op::none ? g_.a.block(i.begin, p.begin, i.size, p.size)
                               : g_.a.block(p.begin, i.begin, p.size, i.size);
  }
  [[nodiscard]] MatrixView<const double> b(Part p, Part j) const {
    return g_.op_b == Op::none ? g_.b.block(p.begin, j.begin, p.size, j.size)
                               : g_.b.block(j.begin, p.begin, j.size, p.size);
  }
  static void take(Held& place, index_t first, index_t second,
                   const MatrixView<const double>& from) {
    place.first = first;
    place.second = second;
    place.values.clear();
    for (index_t row = 0; row < from.rows; ++row)
      for (index_t col = 0; col < from.cols; ++col) place.values.push_back(from(row, col));
  }

  const Gemm<double>& g_;
  const Pieces& p_;
  std::vector<Held> operands_, results_;
};

void expect_followed_is_the_product(Shape3 s, index_t limit, double beta) {
  for (const Op op_a : ops) {
    for (const Op op_b : ops) {
      SCOPED_TRACE(text(s, op_a, op_b) + " within " + std::to_string(limit));
      const auto a = stored<double>(
          s.m, s.k, op_a, [](index_t r, index_t c) { return Matrix<double>::integers(r, c, 1); });
      const auto b = stored<double>(
          s.k, s.n, op_b, [](index_t r, index_t c) { return Matrix<double>::integers(r, c, 2); });
      auto want = beta == 0
                      ? Matrix<double>::filled(s.m, s.n, std::numeric_limits<double>::quiet_NaN())
                      : Matrix<double>::integers(s.m, s.n, 3);
      auto got = want;
      Gemm<double> g{2, a.view(), op_a, b.view(), op_b, beta, want.view()};
      variants().front()(g);
      g.c = got.view();
      const Pieces pieces = plan_pieces(pieces_request(g, {}), limit);
      EXPECT_LE(pieces.device_bytes(), limit);
      const Followed followed(g, pieces);
      EXPECT_TRUE(same_bits(got, want));
    }
  }
}

TEST(Pieces, FollowedToTheLetterMakeTheProduct) {
  for (const Shape3 s :
       {Shape3{1, 1, 1}, Shape3{40, 33, 50}, Shape3{97, 101, 103}, Shape3{300, 20, 7},
        Shape3{5, 211, 64}, Shape3{30, 30, 1000}, Shape3{20, 24, 0}}) {
    for (const index_t limit : {20'000, 30'000, 60'000, 150'000}) {
      for (const double beta : {0.0, -3.0}) expect_followed_is_the_product(s, limit, beta);
    }
  }
}

PiecesRequest square(index_t n, index_t element_bytes = 8) {
  return {n, n, n, Op::none, Op::none, element_bytes};
}

TEST(Pieces, OfALargeProductCrossTheLinkOnceWhereOneOperandFits) {
  const Pieces pieces = plan_pieces(square(32768), 12 * gib);
  EXPECT_LE(pieces.device_bytes(), 12 * gib);
  EXPECT_EQ(pieces.tiles_k(), 1);  // so the result equals that of a product that fits, bit for bit
  EXPECT_EQ(pieces.sent_bytes, 2 * 8 * gib);
  EXPECT_EQ(pieces.brought_bytes, 8 * gib);
}

TEST(Pieces, StayInTheLimitAndCrossTheLinkFasterThanTheyAreMultiplied) {
  for (const index_t n : {20000, 32768, 50001}) {
    for (const index_t gibs : {6, 9, 16}) {
      SCOPED_TRACE(std::to_string(n) + " within " + std::to_string(gibs));
      const Pieces pieces = plan_pieces(square(n), gibs * gib);
      EXPECT_LE(pieces.device_bytes(), gibs * gib);
      const double link = static_cast<double>(pieces.sent_bytes) / 5e10;
      EXPECT_LE(link, 2.0 * static_cast<double>(n) * static_cast<double>(n) *
                          static_cast<double>(n) / 6e13);
    }
  }
}

TEST(Pieces, CutAnInnerDimensionThatIsTooLong) {
  const Pieces pieces =
      plan_pieces({8192, 8192, index_t{1} << 22, Op::none, Op::transpose, 8}, 8 * gib);
  EXPECT_GT(pieces.tiles_k(), 1);
  EXPECT_LE(pieces.device_bytes(), 8 * gib);
  EXPECT_LE(pieces.sent_bytes, 2 * 8 * 8192 * (index_t{1} << 22));  // C stays resident: each
                                                                    // operand is sent once
}

TEST(Pieces, SendASmallOperandOnceHoweverLongTheOther) {
  const index_t rows = 4'000'000;
  for (const bool left : {true, false}) {
    const PiecesRequest request = left ? PiecesRequest{rows, 4096, 4096, Op::none, Op::none, 8}
                                       : PiecesRequest{4096, rows, 4096, Op::none, Op::none, 8};
    const Pieces pieces = plan_pieces(request, 4 * gib);
    EXPECT_LE(pieces.device_bytes(), 4 * gib);
    EXPECT_EQ(pieces.sent_bytes, 8 * (rows * 4096 + 4096 * 4096));
  }
}

TEST(Pieces, CountWhatKernelsTakeToRoundOperands) {
  PiecesRequest request = square(20000, 4);
  request.rounded_bytes = 2;
  const Pieces pieces = plan_pieces(request, 3 * gib);
  EXPECT_GT(pieces.rounded_bytes, 0);
  EXPECT_LE(pieces.device_bytes(), 3 * gib);
}

TEST(Pieces, AreSentEarlyButNeverWhereAnotherIsStillNeeded) {
  std::mt19937 rng(5);
  const auto draw = [&](index_t low, index_t high) {
    return std::uniform_int_distribution<index_t>(low, high)(rng);
  };
  for (int round = 0; round < 300; ++round) {
    const Shape3 s{draw(1, 600), draw(1, 600), draw(0, 600)};
    PiecesRequest request{
        s.m, s.n, s.k, ops[round % 2], ops[round / 2 % 2], round % 3 == 0 ? 4 : 8, round % 5 == 0};
    const index_t limit = draw(16'000, 900'000);
    SCOPED_TRACE(text(s, request.op_a, request.op_b) + " within " + std::to_string(limit));
    const Pieces pieces = plan_pieces(request, limit);
    ASSERT_LE(pieces.device_bytes(), limit);
    index_t products = 0;
    for (const PieceStep& step : pieces.steps)
      products += step.does == PieceStep::Does::multiply ? 1 : 0;
    ASSERT_EQ(products, pieces.products());
  }
}

TEST(Pieces, RefuseALimitThatHoldsNoTiles) {
  try {
    (void)plan_pieces(square(1000), 1000);
    FAIL() << "no tiles fit into 1000 bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::memory);
    EXPECT_NE(std::string(error.what()).find("device_memory"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera::matmul
