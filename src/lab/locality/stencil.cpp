// Stencil kernels on traced elements.

#include <cmath>

#include "base/hash.hpp"
#include "kernels/stencil/cache_oblivious.hpp"
#include "kernels/stencil/column.hpp"
#include "kernels/stencil/engine_bodies.hpp"
#include "kernels/stencil/naive.hpp"
#include "kernels/stencil/tiled.hpp"
#include "kernels/stencil/zigzag.hpp"
#include "lab/locality/kernels.hpp"
#include "lab/locality/traced.hpp"

namespace tessera::inline v1::locality {
namespace {

using Element = Traced<double>;
using Sweep = stencil::Sweep<Element>;
using Kernel = void (*)(const Sweep&, const stencil::Tuning&);

constexpr index_t line_bytes = 64;
constexpr index_t margin =
    line_bytes / index_t{sizeof(double)};  // vector kernels read up to a line beyond a row

/// Allocates a field whose rows begin at lines, with ghosts and a line of margin around.
GridView<Element> level(Tracer& tracer, const char* name, const Problem& p,
                        const stencil::Stencil& s) {
  const index_t before = round_up(s.radius[2], margin) + margin;
  const index_t row = before + round_up(p.n + s.radius[2], margin) + margin + p.pad;
  const index_t rows = p.m + 2 * s.radius[1];
  Element* const data =
      tracer.array<double>(name, checked_mul(rows, row, "size of a field") + margin);
  for (index_t i = 0; i < rows * row + margin; ++i) data[i].raw() = 0;
  return {data + s.radius[1] * row + before, {{1, p.m, p.n}}, {{rows * row, row, 1}}, s.dims};
}

stencil::Tuning tuning_of(const Problem& p) {
  stencil::Tuning t;
  t.tile_y = t.base_rows = t.base_long = t.base_x = t.tile_x = p.tile;
  t.base_steps = p.tile > 0 ? std::max<index_t>(1, p.tile / 2) : 0;
  t.column = p.column_width;
  return t;
}

/// Computes one step by the definition, with zero boundary.
std::vector<double> step(const std::vector<double>& u, const Problem& p,
                         const stencil::Stencil& s) {
  std::vector<double> next(u.size());
  for (index_t y = 0; y < p.m; ++y) {
    for (index_t x = 0; x < p.n; ++x) {
      double sum = 0;
      for (const stencil::Tap& tap : s.taps) {
        const index_t v = y + tap.offset[1], w = x + tap.offset[2];
        if (v >= 0 && v < p.m && w >= 0 && w < p.n)
          sum += tap.weight * u[static_cast<std::size_t>(v * p.n + w)];
      }
      next[static_cast<std::size_t>(y * p.n + x)] = sum;
    }
  }
  return next;
}

void check(const GridView<Element>& got, std::vector<double> want, const Problem& p,
           const stencil::Stencil& s) {
  for (index_t t = 0; t < p.steps; ++t) want = step(want, p, s);
  for (index_t y = 0; y < p.m; ++y) {
    for (index_t x = 0; x < p.n; ++x) {
      const double off = std::abs(got(y, x).raw() - want[static_cast<std::size_t>(y * p.n + x)]);
      require(!(off > 1e-12), ExitCode::internal,
              "the traced kernel " + p.kernel + " computed a wrong field");
    }
  }
}

stencil::Stencil stencil_of(const Problem& p) {
  return stencil::named_stencil(p.stencil.empty() ? "box3x3" : p.stencil, p.m == 1 ? 1 : 2);
}

void check_problem(const Problem& p) {
  require(p.element_bytes == 8, ExitCode::usage, "stencils are traced in f64 only; use --type f64");
  const stencil::Stencil s = stencil_of(p);
  require(!s.two_levels() && s.rule == stencil::Rule::linear, ExitCode::usage,
          "stencil '" + p.stencil + "' cannot be traced: must be a weighted sum of one time level");
}

template <Kernel kernel>
Problem run(Tracer& tracer, const Problem& problem) {
  check_problem(problem);
  Problem p = problem;
  if (p.stencil.empty()) p.stencil = "box3x3";
  if (p.kernel == "tiled" && p.tile == 0) p.tile = 32;
  if (p.column_width == 0) p.column_width = 512;  // the kernels' default
  const stencil::Stencil s = stencil_of(p);
  const GridView<Element> u = level(tracer, "u", p, s), v = level(tracer, "v", p, s);
  std::vector<double> start;
  for (index_t y = 0; y < p.m; ++y) {
    for (index_t x = 0; x < p.n; ++x) {
      start.push_back(
          static_cast<double>(hash_at(p.seed, static_cast<std::uint64_t>(y * p.n + x)) % 1024) /
          1024);
      u(y, x).raw() = start.back();
    }
  }
  const machine::DefaultThreads alone(1);
  const Sweep sweep{
      s, stencil::all_sides({stencil::Boundary::given, 0}), u.extent, {}, {u, v}, p.steps, 1};
  tracer.run([&] { kernel(sweep, tuning_of(p)); });
  check(p.steps % 2 == 0 ? u : v, std::move(start), p, s);
  return p;
}

}  // namespace

std::vector<TracedKernel> stencil_kernels() {
  return {{"stencil", "naive", "scalar, or vectors of 16 B", run<stencil::naive<Element>>,
           check_problem},
          {"stencil", "tiled", "scalar, or vectors of 16 B", run<stencil::tiled<Element>>,
           check_problem},
          {"stencil", "column", "scalar, or vectors of 16 B", run<stencil::column<Element>>,
           check_problem},
          {"stencil", "zigzag", "scalar, or vectors of 16 B", run<stencil::zigzag<Element>>,
           check_problem},
          {"stencil", "cache_oblivious", "vectors of 16 B", run<stencil::cache_oblivious<Element>>,
           check_problem}};
}

}  // namespace tessera::inline v1::locality
