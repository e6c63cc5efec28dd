// The halo exchange alone, against values computed point by point.

#include "dist/stencil/halo_exchange.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <random>
#include <sstream>
#include <vector>

#include "allocations.hpp"
#include "base/foreign.hpp"
#include "base/half.hpp"
#include "machine/device.hpp"
#include "mpi/agreement.hpp"

namespace tessera::dist::stencil {
namespace {

using mpi::Communicator;
using tessera::stencil::all_sides;
using tessera::stencil::Side;

template <class T>
T number(index_t value) {
  if constexpr (is_complex<T> || requires { typename T::value_type; }) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(static_cast<float>(value));
  }
}
/// A half of another library, as __half and __nv_bfloat16 are made.
class OtherHalf {
 public:
  OtherHalf() = default;
  OtherHalf(double value) : half_(value) {}
  bool operator==(const OtherHalf& other) const { return half_.bits == other.half_.bits; }

 private:
  Half half_;
};

/// Return the value of field `which` at a point: small, hence exact in every type.
index_t code(int which, Index3 p) { return (p[0] * 31 + p[1] * 7 + p[2] * 3 + which * 5) % 257; }
index_t given_code(int which, Index3 p) {
  return -1 - code(which, {{p[0] + 40, p[1] + 40, p[2] + 40}});
}
constexpr index_t untouched = 999;

/// Returns the index in [0, n) that index i outside repeats, one point at a time.
index_t folded(Boundary kind, index_t i, index_t n) {
  if (n == 1) return 0;
  const index_t period = kind == Boundary::mirror    ? 2 * n - 2
                         : kind == Boundary::reflect ? 2 * n
                                                     : n;
  if (kind == Boundary::clamp) return i < 0 ? 0 : n - 1;
  index_t at = (i % period + period) % period;
  if (at >= n) at = kind == Boundary::mirror ? period - at : period - 1 - at;
  return at;
}

/// Returns the point of a periodic field.
Index3 wrapped(const HaloShape& shape, Index3 p) {
  for (int d = 0; d < 3; ++d) {
    if (shape.sides[static_cast<std::size_t>(d)][0].kind == Boundary::periodic)
      p[d] = folded(Boundary::periodic, p[d], shape.grid.global[d]);
  }
  return p;
}

/// Returns what a point holds after an exchange; the rules of z, y and x in this order.
index_t expected(const HaloShape& shape, int which, Index3 p) {
  const Index3 n = shape.grid.global;
  p = wrapped(shape, p);
  for (int d = 0; d < 3; ++d) {
    if (p[d] >= 0 && p[d] < n[d]) continue;
    const Side& side = shape.sides[static_cast<std::size_t>(d)][p[d] < 0 ? 0 : 1];
    if (side.kind == Boundary::constant) return static_cast<index_t>(side.value);
    if (side.kind == Boundary::given) return given_code(which, p);
    p[d] = folded(side.kind, p[d], n[d]);
  }
  return code(which, p);
}

enum class Memory { rows, columns };

/// A rank's box in memory of the caller: ghost layers, a margin with sentinels, gaps between rows.
template <class T>
class Held {
 public:
  Held(const HaloShape& shape, int rank, int which, Memory memory)
      : shape_(shape), box_(shape.grid.of(rank)), which_(which) {
    Index3 whole;
    for (int d = 0; d < 3; ++d) whole[d] = box_.size()[d] + 2 * (shape.widths[d] + margin);
    const Index3 stride = memory == Memory::rows
                              ? Index3{{whole[1] * (whole[2] + 3), whole[2] + 3, 1}}
                              : Index3{{1, whole[0] + 2, (whole[0] + 2) * whole[1]}};
    memory_.resize(static_cast<std::size_t>((whole[0] + 3) * (whole[1] + 3) * (whole[2] + 3)),
                   number<T>(untouched));
    view_ = {memory_.data(), box_.size(), stride, 3};
    for (int d = 0; d < 3; ++d) view_.data += (shape.widths[d] + margin) * stride[d];
    each([&](Index3 local, Index3 p, bool inside, bool ghost) {
      if (inside) view_(local) = number<T>(code(which_, p));
      if (!inside && ghost && beyond_given(p))
        view_(local) = number<T>(given_code(which_, wrapped(shape_, p)));
    });
  }
  [[nodiscard]] const GridView<T>& view() const { return view_; }

  [[nodiscard]] index_t bytes() const { return std::ssize(memory_) * index_t{sizeof(T)}; }
  /// Copies the memory to a device. Returns the view there.
  [[nodiscard]] GridView<T> upload(const machine::device::Allocation& to) const {
    const auto* const from = reinterpret_cast<const std::byte*>(memory_.data());
    machine::device::upload(row(from), row(to.data()), 1);
    GridView<T> there = view_;
    there.data = reinterpret_cast<T*>(to.data()) + (view_.data - memory_.data());
    return there;
  }
  void download(const machine::device::Allocation& from) {
    machine::device::download(row(from.data()), row(reinterpret_cast<std::byte*>(memory_.data())),
                              1);
  }
  /// Returns the number of points that differ from what is expected, the margin included.
  [[nodiscard]] index_t wrong() const {
    index_t count = 0;
    each([&](Index3 local, Index3 p, bool inside, bool ghost) {
      const index_t want = inside || ghost ? expected(shape_, which_, p) : untouched;
      count += same(view_(local), number<T>(want)) ? 0 : 1;
    });
    return count;
  }

 private:
  static constexpr index_t margin = 1;
  template <class Byte>
  [[nodiscard]] MatrixView<Byte> row(Byte* data) const {
    return {data, 1, bytes(), bytes()};
  }
  static bool same(const T& x, const T& y) { return std::memcmp(&x, &y, sizeof(T)) == 0; }
  [[nodiscard]] bool beyond_given(Index3 p) const {
    for (int d = 0; d < 3; ++d) {
      const auto& both = shape_.sides[static_cast<std::size_t>(d)];
      if (p[d] < 0 && both[0].kind == Boundary::given) return true;
      if (p[d] >= shape_.grid.global[d] && both[1].kind == Boundary::given) return true;
    }
    return false;
  }
  template <class Body>
  void each(const Body& body) const {
    if (box_.empty()) return;
    const Index3 n = box_.size();
    Index3 reach;
    for (int d = 0; d < 3; ++d) reach[d] = shape_.widths[d] + margin;
    for (index_t z = -reach[0]; z < n[0] + reach[0]; ++z) {
      for (index_t y = -reach[1]; y < n[1] + reach[1]; ++y) {
        for (index_t x = -reach[2]; x < n[2] + reach[2]; ++x) {
          const Index3 local{{z, y, x}};
          Index3 p;
          bool inside = true, ghost = true;
          for (int d = 0; d < 3; ++d) {
            p[d] = local[d] + box_.low[d];
            inside = inside && local[d] >= 0 && local[d] < n[d];
            ghost = ghost && local[d] >= -shape_.widths[d] && local[d] < n[d] + shape_.widths[d];
          }
          body(local, p, inside, ghost);
        }
      }
    }
  }

  HaloShape shape_;
  Box3 box_;
  int which_;
  std::vector<T> memory_;
  GridView<T> view_;
};

/// Returns a random shape that fits the ranks: any grid of at most as many boxes, all boundaries.
HaloShape random_shape(std::mt19937& random, int ranks) {
  const auto draw = [&](index_t low, index_t high) {
    return std::uniform_int_distribution<index_t>(low, high)(random);
  };
  HaloShape shape;
  shape.grid.ranks = ranks;
  const int dims = static_cast<int>(draw(1, 3));
  index_t left = ranks;
  for (int d = 3 - dims; d < 3; ++d) {
    shape.grid.parts[d] = draw(1, left);
    left /= shape.grid.parts[d];
    shape.widths[d] = draw(0, 3);
    const index_t least = std::max<index_t>(shape.widths[d], 1) * shape.grid.parts[d];
    shape.grid.global[d] = shape.grid.parts[d] == 1 ? draw(1, 9) : draw(least, least + 7);
    const bool periodic = draw(0, 2) == 0;
    for (Side& side : shape.sides[static_cast<std::size_t>(d)]) {
      constexpr std::array kinds{Boundary::clamp, Boundary::mirror, Boundary::reflect,
                                 Boundary::constant, Boundary::given};
      side.kind = periodic ? Boundary::periodic : kinds[static_cast<std::size_t>(draw(0, 4))];
      side.value = 77;
    }
  }
  return shape;
}

std::string text(const HaloShape& shape) {
  std::ostringstream out;
  for (int d = 0; d < 3; ++d) {
    const auto& both = shape.sides[static_cast<std::size_t>(d)];
    out << shape.grid.global[d] << " points in " << shape.grid.parts[d] << " boxes, width "
        << shape.widths[d] << ' ' << name(both[0].kind) << ' ' << name(both[1].kind) << "; ";
  }
  return out.str();
}

template <class T>
void exchange_at_random(unsigned seed, int cases, Space place = Space::host) {
  const Communicator comm = Communicator::world();
  std::mt19937 random(seed);
  for (int k = 0; k < cases; ++k) {
    const HaloShape shape = random_shape(random, comm.size());
    const int threads = 1 + k % 3;
    std::vector<Held<T>> held;
    std::vector<machine::device::Allocation> there;
    std::vector<GridView<T>> views;
    for (int which = 0; which < 1 + k % 2; ++which) {
      held.emplace_back(shape, comm.rank(), which, k % 3 == 2 ? Memory::columns : Memory::rows);
      views.push_back(held.back().view());
      if (place == Space::host) continue;
      there.emplace_back(held.back().bytes(), machine::device::Home::device);
      views.back() = held.back().upload(there.back());
    }
    HaloPlan<T> plan(comm, shape, static_cast<index_t>(views.size()), threads, place);
    plan.execute(views);
    for (std::size_t which = 0; which < there.size(); ++which) held[which].download(there[which]);
    index_t wrong = 0;
    for (const Held<T>& each : held) wrong += each.wrong();
    ASSERT_EQ(comm.sum(wrong), 0) << k << ": " << text(shape);  // on all ranks
  }
}

TEST(HaloExchange, FillsAllLayersOfRandomShapes) {
  exchange_at_random<double>(1, 300);
  exchange_at_random<float>(2, 60);
  exchange_at_random<std::int32_t>(3, 60);
  exchange_at_random<std::int64_t>(4, 60);
  exchange_at_random<Half>(5, 60);
  exchange_at_random<std::complex<float>>(6, 60);
  exchange_at_random<Complex<double>>(7, 60);
  exchange_at_random<long long>(8, 60);
  exchange_at_random<short>(9, 60);
  exchange_at_random<OtherHalf>(10, 60);
#ifdef TESSERA_HAS_FLOAT16
  exchange_at_random<_Float16>(11, 60);
#endif
}

/// Where there is no GPU, or the build has none, the memory of the host is that of a device.
TEST(HaloExchange, FillsAllLayersOnADevice) {
  exchange_at_random<double>(1, 200, Space::device);
  exchange_at_random<short>(2, 60, Space::device);
  exchange_at_random<Half>(3, 60, Space::device);
  exchange_at_random<Complex<double>>(4, 60, Space::device);
}

/// Points of one byte in a ring of ranks, and a constant that they do not hold.
TEST(HaloExchange, MovesBytes) {
  const Communicator comm = Communicator::world();
  HaloShape shape;
  shape.grid = {{{1, 1, 3 * comm.size()}}, {{1, 1, comm.size()}}, comm.size()};
  shape.widths = {{0, 0, 2}};
  shape.sides = all_sides({Boundary::constant, 250});
  std::vector<unsigned char> row(7);
  for (int x = 0; x < 3; ++x)
    row[static_cast<std::size_t>(x) + 2] = static_cast<unsigned char>(3 * comm.rank() + x);
  exchange_halo(comm, GridView<unsigned char>{row.data() + 2, {{1, 1, 3}}, {{7, 7, 1}}, 1}, shape);
  for (int x = -2; x < 5; ++x) {
    const int at = 3 * comm.rank() + x;
    EXPECT_EQ(row[static_cast<std::size_t>(x + 2)], at < 0 || at >= 3 * comm.size() ? 250 : at);
  }
  EXPECT_THROW(HaloPlan<signed char>(comm, shape), Error);
  shape.sides = all_sides({Boundary::constant, -128.5});
  EXPECT_NO_THROW(HaloPlan<signed char>(comm, shape));
  EXPECT_THROW(HaloPlan<unsigned long long>(comm, shape), Error);
}

HaloShape cube(int ranks, index_t n, index_t width) {
  const Sides sides = all_sides({Boundary::periodic});
  const Index3 global{{n, n, n}}, widths{{width, width, width}};
  return {layout::choose_grid({global, ranks, widths, {true, true, true}}), widths, sides};
}

TEST(HaloExchange, AllocatesNothingAfterTheFirstExecution) {
  const Communicator comm = Communicator::world();
  const HaloShape shape = cube(comm.size(), 96, 2);  // faces above what one thread packs
  const Held<double> field(shape, comm.rank(), 0, Memory::rows);
  HaloPlan<double> plan(comm, shape, 1, 2);
  plan.execute(field.view());
  const std::size_t before = allocated_bytes();
  for (int k = 0; k < 3; ++k) plan.execute(field.view());
  EXPECT_EQ(allocated_bytes() - before, 0U);
  EXPECT_EQ(field.wrong(), 0);
  EXPECT_EQ(comm.sum(plan.messages()) == 0, comm.size() == 1);
}

/// Two plans in flight, and collectives of the caller between start and wait.
TEST(HaloExchange, LetsTheCallerWorkBetweenStartAndWait) {
  const Communicator comm = Communicator::world();
  const HaloShape shape = cube(comm.size(), 20, 1), wide = cube(comm.size(), 20, 3);
  const Held<double> field(shape, comm.rank(), 0, Memory::rows);
  const Held<double> other(wide, comm.rank(), 1, Memory::columns);
  HaloPlan<double> plan(comm, shape), second(comm, wide);
  for (int k = 0; k < 3; ++k) {
    plan.start(field.view());
    second.start(other.view());
    EXPECT_EQ(comm.sum(1), comm.size());
    second.wait();
    plan.wait();
    EXPECT_EQ(field.wrong() + other.wrong(), 0);
  }
}

/// Points that change between start and wait: neighbours get those of start().
TEST(HaloExchange, SendsThePointsAsTheyWereAtStart) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) GTEST_SKIP() << "one rank sends nothing";
  HaloShape shape;
  shape.grid = {{{1, 1, 4 * comm.size()}}, {{1, 1, comm.size()}}, comm.size()};
  shape.widths = {{0, 0, 1}};
  shape.sides = all_sides({Boundary::periodic});
  std::vector<double> row(6, comm.rank());
  const GridView<double> field{row.data() + 1, {{1, 1, 4}}, {{6, 6, 1}}, 1};
  HaloPlan<double> plan(comm, shape);
  plan.start(field);
  for (int x = 0; x < 4; ++x) field(x) = -1;
  plan.wait();
  EXPECT_EQ(row.front(), (comm.rank() + comm.size() - 1) % comm.size());
  EXPECT_EQ(row.back(), (comm.rank() + 1) % comm.size());
}

template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no error";
}

TEST(HaloExchange, NamesWrongArguments) {
  const Communicator comm = Communicator::world();
  const HaloShape right = cube(comm.size(), 12, 1);
  const auto plan_of = [&](const auto& change) {
    HaloShape shape = right;
    change(shape);
    return message_of([&] { const HaloPlan<double> plan(comm, shape); });
  };
  EXPECT_NE(plan_of([](HaloShape& s) { ++s.grid.ranks; }).find("shape.grid"), std::string::npos);
  EXPECT_NE(plan_of([](HaloShape& s) { s.sides[1][0].kind = Boundary::clamp; }).find("shape.sides"),
            std::string::npos);
  EXPECT_NE(plan_of([](HaloShape& s) { s.widths[0] = -1; }).find("shape.widths"),
            std::string::npos);
  if (comm.size() > 1) {
    EXPECT_NE(plan_of([](HaloShape& s) {
                s.widths = {{13, 13, 13}};
              }).find("thinnest box"),
              std::string::npos);
  }
  EXPECT_NE(message_of([&] { const HaloPlan<double> plan(Communicator(), right); }).find("comm"),
            std::string::npos);
  HaloPlan<double> plan(comm, right);
  EXPECT_NE(message_of([&] { plan.wait(); }).find("call start first"), std::string::npos);
  // On one rank only: all ranks throw.
  const Held<double> field(right, comm.rank(), 0, Memory::rows);
  GridView<double> view = field.view();
  if (comm.rank() == comm.size() - 1) --view.extent[1];
  if (!right.grid.of(comm.size() - 1).empty()) {
    EXPECT_NE(message_of([&] { exchange_halo(comm, view, right); }).find("fields[0]"),
              std::string::npos);
  }
  exchange_halo(comm, field.view(), right);
  EXPECT_EQ(field.wrong(), 0);
}

}  // namespace
}  // namespace tessera::dist::stencil
