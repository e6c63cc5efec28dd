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

/// v = a step of u, in the device's layout: ghosts around, rows padded.
template <class T>
struct Sweep {
  Sweep(Meter& meter, const TracedProblem& p)
      : shape(stencil::named_stencil(p.stencil, 2)),
        wide(p.n),
        high(p.m),
        layout(layout_of(shape, p)),
        u(global_array(meter, "u", values(layout.count))),
        v(global_array(meter, "v", std::vector<T>(static_cast<std::size_t>(layout.count)))) {}

  [[nodiscard]] static stencil::DeviceShape layout_of(const Stencil& s, const TracedProblem& p) {
    stencil::Line line[3];
    const index_t size[3] = {1, p.m, p.n};
    for (int d = 0; d < 3; ++d) {
      line[d].end = line[d].global = size[d];
      line[d].before = line[d].after = s.radius[d];
    }
    return stencil::device_shape(line, sizeof(T));
  }
  [[nodiscard]] static std::vector<T> values(index_t count) {
    std::vector<T> all(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<T>(i % 17);
    return all;
  }
  [[nodiscard]] index_t at(index_t y, index_t x) const {
    return layout.origin + y * layout.stride[1] + x;
  }
  [[nodiscard]] index_t at(const Tap& tap, index_t y, index_t x) const {
    return at(y + tap.offset[1], x + tap.offset[2]);
  }

  /// Throws Error(internal) unless v is right, point by point.
  void check(std::string_view kernel) const {
    for (index_t y = 0; y < high; ++y) {
      for (index_t x = 0; x < wide; ++x) {
        double sum = 0, scale = 1;
        for (const Tap& tap : shape.taps) {
          const double term = tap.weight * u.values[static_cast<std::size_t>(at(tap, y, x))];
          sum += term;
          scale += std::abs(term);
        }
        const double error = std::abs(v.values[static_cast<std::size_t>(at(y, x))] - sum);
        require_right(error <= tolerance * scale, kernel);
      }
    }
  }

  static constexpr double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;  // of a few dozen terms
  Stencil shape;
  index_t wide, high;
  stencil::DeviceShape layout;
  Array<T> u, v;
};

/// Computes the point that place(thread) names in every active lane.
template <class T, class At>
void compute_point(Warp& warp, Sweep<T>& s, const At& place) {
  Register<T> sum;
  for (const Tap& tap : s.shape.taps) {
    const auto value =
        warp.load(s.u, [&](const Thread& t) { return s.at(tap, place(t).y, place(t).x); });
    warp.each([&](const Thread& t) { sum[t] += static_cast<T>(tap.weight) * value[t]; });
  }
  warp.operations(2 * static_cast<index_t>(s.shape.taps.size()));
  warp.store(
      s.v, [&](const Thread& t) { return s.at(place(t).y, place(t).x); },
      [&](const Thread& t) { return sum[t]; });
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
    const auto x = [](const Thread& t) { return t.number % tile_x; };
    const auto y = [](const Thread& t) { return t.number / tile_x; };
    block.phase([&](Warp& warp) {
      const auto inside = [&](const Thread& t) {
        return corner.x + x(t) < s.wide && corner.y + y(t) < s.high;
      };
      warp.where(inside, [&] {
        Register<T> sum;
        for (const Tap& tap : s.shape.taps) {
          const auto value = warp.load(tile, [&](const Thread& t) {
            return (y(t) + ry + tap.offset[1]) * row + x(t) + rx + tap.offset[2];
          });
          warp.each([&](const Thread& t) { sum[t] += static_cast<T>(tap.weight) * value[t]; });
        }
        warp.operations(2 * static_cast<index_t>(s.shape.taps.size()));
        warp.store(
            s.v, [&](const Thread& t) { return s.at(corner.y + y(t), corner.x + x(t)); },
            [&](const Thread& t) { return sum[t]; });
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
  return {{"stencil", "cuda_naive", 39, 40, run_naive, check},
          {"stencil", "cuda_tiled", 39, 40, run_tiled, check},
          {"stencil", "cuda_column", 39, 40, run_walk<Order::column>, check},
          {"stencil", "cuda_zigzag", 39, 40, run_walk<Order::zigzag>, check}};
}

}  // namespace tessera::inline v1::paper
