// Stencils of two dimensions on paper: one thread per point in several orders, and tiles with halos
// in shared memory. A step of one time level.

#include <fmt/core.h>

#include <cmath>

#include "base/error.hpp"
#include "kernels/stencil/cuda_sweep.hpp"
#include "kernels/stencil/remap.hpp"
#include "kernels/stencil/stencil.hpp"
#include "lab/paper/kernels.hpp"
#include "lab/paper/warp.hpp"

namespace tessera::inline v1::paper {
namespace {

using stencil::Order;
using stencil::Place;
using stencil::Stencil;
using stencil::Tap;

/// v = a step of u, in the device's layout: ghosts around, rows padded. The boundary is the
/// default one, clamp.
template <class T>
struct Sweep {
  Sweep(Meter& meter, const TracedProblem& p)
      : shape(stencil::named_stencil(p.stencil, 2)),
        wide(p.n),
        high(p.m),
        device(device_of(shape, p)),
        layout(stencil::device_shape(device.line, sizeof(T))),
        u(global_array(meter, "u", values(layout.count))),
        v(global_array(meter, "v", std::vector<T>(static_cast<std::size_t>(layout.count)))) {
    if (!loads_taps()) return;
    for (const Tap& tap : shape.taps) {
      for (int d = 0; d < 3; ++d) places.values.push_back(tap.offset[d]);
      weights.values.push_back(static_cast<T>(tap.weight));
    }
    places = global_array(meter, "tap places", std::move(places.values));
    weights = global_array(meter, "tap weights", std::move(weights.values));
  }

  [[nodiscard]] static stencil::DeviceSweep<T> device_of(const Stencil& s, const TracedProblem& p) {
    stencil::Sweep<T> sweep{.stencil = s,
                            .sides = stencil::all_sides({}),
                            .global = {{1, p.m, p.n}},
                            .origin = {},
                            .level = {},
                            .steps = 1};
    for (GridView<T>& level : sweep.level) level.extent = sweep.global;
    return stencil::device_sweep(sweep);
  }
  [[nodiscard]] static std::vector<T> values(index_t count) {
    std::vector<T> all(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<T>(i % 17);
    return all;
  }
  /// Returns whether the kernel is that of any stencil, which loads its taps. Others take weights
  /// as arguments.
  [[nodiscard]] bool loads_taps() const {
    return device.form != stencil::Form::box && (device.star != 1 || device.hollow);
  }
  [[nodiscard]] index_t at(index_t y, index_t x) const {
    return layout.origin + y * layout.stride[1] + x;
  }
  [[nodiscard]] index_t at(const Tap& tap, index_t y, index_t x) const {
    return at(y + tap.offset[1], x + tap.offset[2]);
  }

  /// Throws Error(internal) unless v is right, point by point and ghost by ghost.
  void check(std::string_view kernel) const {
    const Box3 all = device.all();
    for (index_t y = all.low[1]; y < all.high[1]; ++y) {
      for (index_t x = all.low[2]; x < all.high[2]; ++x) {
        const Index3 from = stencil::ghost_of<T>(device.line, {{0, y, x}}).at;
        const T here = v.values[static_cast<std::size_t>(at(y, x))];
        if (from != Index3{{0, y, x}})
          require_right(here == v.values[static_cast<std::size_t>(at(from[1], from[2]))], kernel);
        else
          check_point(kernel, y, x, here);
      }
    }
  }
  void check_point(std::string_view kernel, index_t y, index_t x, T here) const {
    double sum = 0, scale = 1;
    for (const Tap& tap : shape.taps) {
      const double term = tap.weight * u.values[static_cast<std::size_t>(at(tap, y, x))];
      sum += term;
      scale += std::abs(term);
    }
    require_right(std::abs(here - sum) <= tolerance * scale, kernel);
  }

  static constexpr double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;  // of a few dozen terms
  Stencil shape;
  index_t wide, high;
  stencil::DeviceSweep<T> device;
  stencil::DeviceShape layout;
  Array<T> u, v;
  Array<index_t> places;  ///< of the taps: z, y, x
  Array<T> weights;
};

/// Adds the taps of a point; value(tap): the warp's load of one.
template <class T, class Value>
[[nodiscard]] Register<T> sum_of_taps(Warp& warp, const Sweep<T>& s, const Value& value) {
  Register<T> sum;
  index_t number = 0;
  for (const Tap& tap : s.shape.taps) {
    if (s.loads_taps()) {
      for (index_t d = 0; d < 3; ++d)
        (void)warp.load(s.places, [&](const Thread&) { return 3 * number + d; });
      (void)warp.load(s.weights, [&](const Thread&) { return number; });
    }
    const Register<T> u = value(tap);
    warp.each([&](const Thread& t) { sum[t] += static_cast<T>(tap.weight) * u[t]; });
    ++number;
  }
  warp.operations(2 * static_cast<index_t>(s.shape.taps.size()));
  return sum;
}

/// Stores the values of the points place(thread), and in the ghosts that repeat them.
template <class T, class At>
void put(Warp& warp, Sweep<T>& s, const Register<T>& value, const At& place) {
  const auto store = [&](const auto& y, const auto& x) {
    warp.store(
        s.v, [&](const Thread& t) { return s.at(y(place(t)), x(place(t))); },
        [&](const Thread& t) { return value[t]; });
  };
  store([](const Place& p) { return p.y; }, [](const Place& p) { return p.x; });
  const stencil::Line &down = s.device.line[1], &across = s.device.line[2];
  const auto repeats = [](const stencil::Line& line, index_t k, index_t p) {
    return k == 0 || (!line.plain(p) && line.repeats(k, p));
  };
  for (index_t b = 0; b <= down.before + down.after; ++b) {
    for (index_t c = b == 0 ? 1 : 0; c <= across.before + across.after; ++c) {
      warp.where(
          [&](const Thread& t) {
            return repeats(down, b, place(t).y) && repeats(across, c, place(t).x);
          },
          [&] {
            store([&](const Place& p) { return down.candidate(b, p.y); },
                  [&](const Place& p) { return across.candidate(c, p.x); });
          });
    }
  }
}

/// Computes the point that place(thread) names in every active lane.
template <class T, class At>
void compute_point(Warp& warp, Sweep<T>& s, const At& place) {
  const Register<T> sum = sum_of_taps(warp, s, [&](const Tap& tap) {
    return warp.load(s.u, [&](const Thread& t) { return s.at(tap, place(t).y, place(t).x); });
  });
  put(warp, s, sum, place);
}

/// Blocks of 32 points by block / 32 rows.
template <class T>
void point_a_thread(Meter& meter, const Request& r, Sweep<T>& s) {
  const index_t rows = r.block / lanes, across = ceil_div(s.wide, lanes);
  launch(meter, across * ceil_div(s.high, rows), rows * lanes, [&](Block& block) {
    const auto place = [&](const Thread& t) {
      return Place{t.block % across * lanes + t.number % lanes,
                   t.block / across * rows + t.number / lanes};
    };
    block.phase([&](Warp& warp) {
      warp.where([&](const Thread& t) { return place(t).x < s.wide && place(t).y < s.high; },
                 [&] { compute_point(warp, s, place); });
    });
  });
}

template <Order order, class T>
void point_of_walk(Meter& meter, const Request& r, Sweep<T>& s) {
  const index_t points = s.wide * s.high;
  const auto number = [&](const Thread& t) { return t.block * r.block + t.number; };
  const auto place = [&](const Thread& t) {
    return stencil::place_of<index_t>(order, number(t), r.problem.column_width, s.wide, s.high);
  };
  launch(meter, ceil_div(points, r.block), r.block, [&](Block& block) {
    block.phase([&](Warp& warp) {
      warp.where([&](const Thread& t) { return number(t) < points; },
                 [&] { compute_point(warp, s, place); });
    });
  });
}

constexpr index_t tile_x = 32, tile_y = 8;  // points of a block, the kernel's own choice

/// Loads the tile with its halo, in steps of the block's shape.
template <class T>
void fill_tile(Warp& warp, const Sweep<T>& s, Array<T>& tile, const Place& corner) {
  const index_t rx = s.shape.radius[2], ry = s.shape.radius[1];
  const index_t row = tile_x + 2 * rx, rows = tile_y + 2 * ry;
  for (index_t y0 = 0; y0 < rows; y0 += tile_y) {
    for (index_t x0 = 0; x0 < row; x0 += tile_x) {
      const auto x = [&](const Thread& t) { return x0 + t.number % tile_x; };
      const auto y = [&](const Thread& t) { return y0 + t.number / tile_x; };
      warp.where([&](const Thread& t) { return x(t) < row && y(t) < rows; },
                 [&] {
                   // Threads past the last point that any thread needs load another point.
                   const auto value = warp.load(s.u, [&](const Thread& t) {
                     return s.at(std::min(corner.y + y(t) - ry, s.high - 1 + ry),
                                 std::min(corner.x + x(t) - rx, s.wide - 1 + rx));
                   });
                   warp.store(
                       tile, [&](const Thread& t) { return y(t) * row + x(t); },
                       [&](const Thread& t) { return value[t]; });
                 });
    }
  }
}

template <class T>
void point_of_tile(Meter& meter, Sweep<T>& s) {
  const index_t rx = s.shape.radius[2], ry = s.shape.radius[1], row = tile_x + 2 * rx;
  const index_t across = ceil_div(s.wide, tile_x);
  launch(meter, across * ceil_div(s.high, tile_y), tile_x * tile_y, [&](Block& block) {
    Array<T> tile = block.shared<T>("tile", row * (tile_y + 2 * ry));
    const Place corner{block.number() % across * tile_x, block.number() / across * tile_y};
    block.phase([&](Warp& warp) { fill_tile(warp, s, tile, corner); });
    const auto place = [&](const Thread& t) {
      return Place{corner.x + t.number % tile_x, corner.y + t.number / tile_x};
    };
    block.phase([&](Warp& warp) {
      warp.where([&](const Thread& t) { return place(t).x < s.wide && place(t).y < s.high; },
                 [&] {
                   const Register<T> sum = sum_of_taps(warp, s, [&](const Tap& tap) {
                     return warp.load(tile, [&](const Thread& t) {
                       return (t.number / tile_x + ry + tap.offset[1]) * row + t.number % tile_x +
                              rx + tap.offset[2];
                     });
                   });
                   put(warp, s, sum, place);
                 });
    });
  });
}

/// Calls f(sweep) for the request's type and checks the result.
template <class F>
void with_sweep(Meter& meter, const Request& r, const F& f) {
  const auto typed = [&]<class T>(T) {
    Sweep<T> sweep(meter, r.problem);
    f(sweep);
    sweep.check(r.problem.kernel);
  };
  if (r.problem.element_bytes == 4) return typed(float{});
  typed(double{});
}

void run_naive(Meter& meter, Request& r) {
  with_sweep(meter, r, [&](auto& sweep) { point_a_thread(meter, r, sweep); });
}
template <Order order>
void run_walk(Meter& meter, Request& r) {
  if (r.problem.column_width == 0) r.problem.column_width = 32;
  with_sweep(meter, r, [&](auto& sweep) { point_of_walk<order>(meter, r, sweep); });
}
void run_tiled(Meter& meter, Request& r) {
  with_sweep(meter, r, [&](auto& sweep) { point_of_tile(meter, sweep); });
}

void check(const Request& r) {
  const Stencil s = stencil::named_stencil(r.problem.stencil, 2);
  require(!s.two_levels() && s.rule == stencil::Rule::linear, ExitCode::usage,
          fmt::format("stencil '{}' cannot run on paper: must be a weighted sum of one time level",
                      r.problem.stencil));
}

}  // namespace

std::vector<PaperKernel> stencil_kernels() {
  return {{"stencil", "cuda_naive", 38, 40, run_naive, check},
          {"stencil", "cuda_tiled", 38, 40, run_tiled, check},
          {"stencil", "cuda_column", 38, 40, run_walk<Order::column>, check},
          {"stencil", "cuda_zigzag", 38, 40, run_walk<Order::zigzag>, check}};
}

}  // namespace tessera::inline v1::paper
