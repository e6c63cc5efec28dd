#include "lab/locality/theorem.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/stencil/stencil.hpp"

namespace tessera::inline v1::locality {
namespace {

/// Sizes of a problem as real numbers, in elements; M = Z / L lines.
struct Sizes {
  double m, n, k, line;
};

Sizes sizes(const Problem& p, index_t line_bytes) {
  return {static_cast<double>(p.m), static_cast<double>(p.n), static_cast<double>(p.k),
          static_cast<double>(line_bytes) / static_cast<double>(p.element_bytes)};
}

double all_once(const Sizes& s) { return (s.m * s.k + s.k * s.n + s.m * s.n) / s.line; }

/// Returns the misses of rows of A times column strips of B, `width` columns of C at a time.
Theorem matmul_by_columns(const Sizes s, double width, const char* formula) {
  return {.formula = formula, .misses = [=](index_t lines) {
            const auto room = static_cast<double>(lines);
            const double products = s.m * s.n * s.k, strips = std::ceil(s.n / width);
            const double wide = std::min(width, s.n);
            const double kept =
                width < s.n ? s.m * (s.k + wide) + 2 * s.k * wide : s.k * s.n + s.k + s.n;
            if (room >= kept / s.line) return all_once(s);
            if (width < s.n && room >= (s.k * wide + s.k + wide) / s.line)
              return (s.k * s.n + s.m * s.k * strips + s.m * s.n) / s.line;
            if (room >= s.k * (1 + 1 / s.line) + 1)
              return (products + s.m * s.k * strips + s.m * s.n) / s.line;
            return products * (1 + 1 / s.line) + s.m * s.n;
          }};
}

/// Returns the misses of transposing B (n columns of k), then multiplying rows by rows.
Theorem matmul_transposed(const Sizes s) {
  return {.formula = "n^3/L + 4n^2/L (2n^3/L + n^2 if Z < 2n), 5n^2/L if all fits",
          .misses = [=](index_t lines) {
            const auto room = static_cast<double>(lines);
            const double turned = s.k * s.n, products = s.m * s.n * s.k;
            const double turning = (room >= s.k + 1 ? turned / s.line : turned) + turned / s.line;
            if (room >= (turned + s.k + s.n) / s.line) return all_once(s) + turned / s.line;
            if (room >= 2 * s.k / s.line + 1)
              return turning + (products + s.m * s.k + s.m * s.n) / s.line;
            return turning + 2 * products / s.line + s.m * s.n;
          }};
}

/// Returns the misses of s x s tiles: a tile of B is reused for every row of A's tile, a row panel
/// of A for every tile in C's row.
Theorem matmul_tiled(const Sizes s, double tile) {
  return {.formula =
              "2n^3/(sL) + 2n^2/L if Z >= 4s^2, 3n^3/(sL) if Z > s^2, else n^3/L or n^3; s: --tile",
          .misses = [=](index_t lines) {
            const double room = static_cast<double>(lines) * s.line;
            const double products = s.m * s.n * s.k, by_tiles = products / (tile * s.line);
            const double scaling = s.m * s.n / s.line;  // zeroing of C
            if (room >= s.k * s.n + s.m * s.n + 2 * tile * s.k) return all_once(s);
            if (room >= 2 * tile * s.k + 3 * tile * tile)
              return by_tiles + s.m * s.k / s.line + 2 * scaling;
            if (room >= 4 * tile * tile) return 2 * by_tiles + 2 * scaling;
            if (room >= tile * (tile + 3)) return 3 * by_tiles + scaling;
            if (room >= (tile + 1) * s.line) return products / s.line + 2 * by_tiles + scaling;
            return products * (1 + 1 / s.line + 1 / tile) + scaling;
          }};
}

/// Returns the misses of transposing B, then multiplying tiles by tiles, rows by rows: below s^2
/// only the tile of B is fetched again for every row of A's.
Theorem matmul_transposed_tiled(const Sizes s, double tile) {
  const Theorem tiled = matmul_tiled(s, tile);
  return {.formula = "as tiled, n^3/L at most, and n^2(1 + 1/L) if Z < n(L + 1), else 2n^2/L",
          .misses = [=](index_t lines) {
            const double room = static_cast<double>(lines) * s.line, turned = s.k * s.n;
            if (room >= 2 * turned + s.m * s.n + 2 * tile * s.k)
              return all_once(s) + turned / s.line;
            const double turning = (room >= s.k * (s.line + 1) ? turned / s.line : turned);
            const double by_rows = (s.m * s.n * s.k * (1 + 2 / tile) + s.m * s.n) / s.line;
            return turning + turned / s.line +
                   (room >= tile * (tile + 3) ? tiled.misses(lines) : by_rows);
          }};
}

Theorem matmul_recursive(const Sizes s, double leaf) {
  const double small = std::min({s.m, s.n, s.k});
  return {.formula = "c n^3/(L sqrt Z) + 3n^2/L",
          .misses = [=](index_t) { return all_once(s); },
          .fitted =
              [=](index_t lines) {
                const double z = static_cast<double>(lines) * s.line;
                return z >= s.m * s.n + s.n * s.k + s.m * s.k
                           ? 0
                           : s.m * s.n * s.k / (s.line * std::sqrt(z));
              },
          .exponent = -0.5,
          .from_lines = static_cast<index_t>(4 * leaf * leaf / s.line),
          .to_lines = static_cast<index_t>(small * small / (16 * s.line))};
}

std::optional<Theorem> matmul_theorem(const Problem& p, const Sizes& s) {
  const auto tile = static_cast<double>(p.tile), width = static_cast<double>(p.column_width);
  if (p.kernel == "naive")
    return matmul_by_columns(s, s.n,
                             "n^3(1 + 1/L) + n^2 if Z < nL, n^3/L + 2n^2/L, 3n^2/L if all fits");
  if (p.kernel == "column" || p.kernel == "zigzag")
    return matmul_by_columns(
        s, width, "2n^2/L + n^3/(wL) if Z >= n(w + 1), else as naive; w: --column-width");
  if (p.kernel == "transposed") return matmul_transposed(s);
  if (p.kernel == "tiled") return matmul_tiled(s, tile);
  if (p.kernel == "transposed_tiled") return matmul_transposed_tiled(s, tile);
  if (p.kernel == "recursive") return matmul_recursive(s, tile);
  return std::nullopt;
}

/// Returns the misses of transposing in strips of w columns. If strips do not begin at lines, two
/// of them fetch a common line of a, unless one strip stays resident for the next; likewise rows of
/// b. With starts at multiples of g this adds L - g elements.
Theorem transpose_by_columns(const Problem& p, const Sizes& s, double width) {
  const auto line = std::max<index_t>(1, static_cast<index_t>(s.line));
  const auto more = [&](index_t row, index_t each) {
    return static_cast<double>(line - std::gcd(line, std::gcd(row, each)));
  };
  const double from_a = s.m * (s.n + std::ceil(s.n / width) * more(p.n + p.pad, p.column_width));
  const double to_b = s.n * (s.m + more(p.m + p.pad, 0));
  return {.formula =
              "2mn/L if Z >= w(L + 1) and L divides w, mn/L + mn(w + L - g)/(wL) if not, g: their "
              "divisor; "
              "else mn(1 + 1/L); w: --column-width",
          .misses = [=](index_t lines) {
            const auto room = static_cast<double>(lines);
            if (room < width * (1 + 1 / s.line) + 1) return s.m * s.n * (1 + 1 / s.line);
            return (room < s.m * (1 + width / s.line) + width ? from_a + to_b : 2 * s.m * s.n) /
                   s.line;
          }};
}

/// Returns the misses of an m x n transpose; a line of b must stay resident until the rows of a
/// have filled it.
std::optional<Theorem> transpose_theorem(const Problem& p, const Sizes& s) {
  const double once = 2 * s.m * s.n / s.line, rows_apart = s.m * s.n * (1 + 1 / s.line);
  const auto step = [=](double room_needed, const char* formula) {
    return Theorem{.formula = formula, .misses = [=](index_t lines) {
                     return static_cast<double>(lines) >= room_needed ? once : rows_apart;
                   }};
  };
  const auto tile = static_cast<double>(p.tile), width = static_cast<double>(p.column_width);
  if (p.kernel == "naive")
    return step(s.n * (1 + 1 / s.line), "2mn/L if Z >= n(L + 1), else mn(1 + 1/L)");
  if (p.kernel == "column") return transpose_by_columns(p, s, width);
  if (p.kernel == "tiled")
    return step(tile * (1 + 1 / s.line) + 1, "2mn/L if Z >= s(L + 1), else mn(1 + 1/L); s: --tile");
  const double leaf = p.kernel == "recursive" ? std::max(tile, s.line) : s.line;
  return step(leaf * (1 + 1 / s.line) + 1,
              "2mn/L if Z >= L^2 + 2L: tall caches (rows of whole lines)");
}

/// Returns the misses of m x n points, t steps, radius r: (2r + 1) rows of one field and one row of
/// the other must stay resident.
std::optional<Theorem> stencil_theorem(const Problem& p, const Sizes& s) {
  const auto t = static_cast<double>(p.steps);
  const stencil::Stencil shape =
      stencil::named_stencil(p.stencil.empty() ? "box3x3" : p.stencil, p.m == 1 ? 1 : 2);
  const auto rx = static_cast<double>(shape.radius[2]),
             rows = 2 * static_cast<double>(shape.radius[1]) + 1;
  const double fields = (s.n + 2 * rx + s.line) * (s.m + rows - 1) / s.line + s.m * s.n / s.line;
  if (p.kernel == "cache_oblivious") {
    const double d = p.m == 1 ? 1 : 2;
    return Theorem{.formula = fmt::format("c Nt/(L Z^(1/{})) + 2N/L", d),
                   .misses = [=](index_t) { return fields; },
                   .fitted =
                       [=](index_t lines) {
                         const double z = static_cast<double>(lines) * s.line;
                         return z >= 2 * s.m * s.n ? 0
                                                   : s.m * s.n * t / (s.line * std::pow(z, 1 / d));
                       },
                   .exponent = -1 / d,
                   .from_lines = 64,
                   .to_lines = static_cast<index_t>(s.m * s.n / (4 * s.line))};
  }
  // Blocks of c points in h rows; columns are blocks of full height, the naive sweep is a single
  // one.
  const auto width = static_cast<double>(p.kernel == "naive"   ? p.n
                                         : p.kernel == "tiled" ? std::min(p.tile, p.n)
                                                               : std::min(p.column_width, p.n));
  const auto height = static_cast<double>(p.kernel == "tiled" ? std::min(p.tile, p.m) : p.m);
  const double blocks = std::ceil(s.n / width) * std::ceil(s.m / height);
  const double across = width / s.line + 2 * std::ceil(rx / s.line);  // a block begins at a line
  const char* const formula = p.kernel == "tiled"
                                  ? "t (N/L + N(c + 2L)(c + 2r)/(c^2 L)), tiles of c x c, if Z >= "
                                    "(2r + 2)(c + 2L); 2N/L if all fits"
                                  : "t (N/L + N(c + 2L)/(cL)), c columns at a time, if Z >= (2r + "
                                    "2)(c + 2L); 2N/L if all fits";
  return Theorem{.formula = formula, .misses = [=](index_t lines) {
                   const auto room = static_cast<double>(lines);
                   if (room >= 2 * s.m * (s.n + 2 * rx) / s.line) return fields;
                   const bool rows_stay = room >= (rows + 1) * across;
                   return t * (s.m * s.n / s.line +
                               blocks * across * (rows_stay ? height + rows - 1 : height * rows));
                 }};
}

/// Returns the misses of a walk over one to three arrays; columns need a line of every row.
Theorem memory_theorem(const Problem& p, const Sizes& s) {
  const bool columns = p.kernel == "columns";
  const double arrays = p.kernel == "add" ? 3 : p.kernel == "copy" || p.kernel == "reverse" ? 2 : 1;
  const double room_needed = columns ? s.m : arrays;
  return {.formula = columns ? "mn/L if Z >= mL, else mn"
                             : fmt::format("{}mn/L, and 1 for an array between lines",
                                           arrays == 1 ? "" : fmt::format("{} ", arrays)),
          .misses = [=](index_t lines) {
            const double touches = arrays * s.m * s.n;
            return static_cast<double>(lines) >= room_needed ? touches / s.line : touches;
          }};
}

}  // namespace

std::optional<Theorem> theorem_of(const Problem& problem, index_t line_bytes) {
  const Sizes s = sizes(problem, line_bytes);
  if (problem.workload == "matmul") return matmul_theorem(problem, s);
  if (problem.workload == "stencil") return stencil_theorem(problem, s);
  if (problem.workload == "sort" || problem.workload == "forkjoin")
    return sort_theorem(problem, line_bytes);
  if (problem.workload == "transpose") return transpose_theorem(problem, s);
  if (problem.workload == "memory") return memory_theorem(problem, s);
  return std::nullopt;
}

index_t best_width(const Problem& problem, index_t line_bytes, index_t lines) {
  if (problem.kernel != "column" && problem.kernel != "zigzag") return 0;
  const auto misses = [&](index_t width) {
    Problem p = problem;
    p.column_width = width;
    const std::optional<Theorem> theorem = theorem_of(p, line_bytes);
    return theorem ? theorem->misses(lines) : 0;
  };
  constexpr index_t most = 4096;
  const index_t line = std::max<index_t>(1, line_bytes / problem.element_bytes);
  index_t best = 0;
  double fewest = misses(problem.n);
  for (index_t width = line; width < std::min(problem.n, most); width += line) {
    const double here = misses(width);
    if (here >= fewest) continue;
    fewest = here;
    best = width;
  }
  return best;
}

std::vector<index_t> sizes_of(const MissCurve& curve) {
  std::vector<index_t> result;
  for (int quarter = 0;; ++quarter) {
    const auto lines = static_cast<index_t>(std::lround(std::exp2(quarter / 4.0)));
    if (!result.empty() && result.back() == lines) continue;
    result.push_back(lines);
    if (curve.misses(lines) <= curve.compulsory()) return result;
  }
}

namespace {

/// Returns the least-squares slope of log y over log x.
double slope(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = std::log(x[i]), b = std::log(y[i]);
    sx += a, sy += b, sxx += a * a, sxy += a * b;
  }
  return x.size() < 2 ? 0 : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

double median(std::vector<double> values) {
  if (values.empty()) return 1;
  std::nth_element(values.begin(), values.begin() + static_cast<index_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

Fit fit(const Theorem& theorem, const MissCurve& curve) {
  Fit result;
  const std::vector<index_t> all = sizes_of(curve);
  std::vector<double> z, q, ratios;
  for (const index_t lines : all) {
    if (theorem.fitted && (lines < theorem.from_lines || lines > theorem.to_lines)) continue;
    const double measured = curve.misses(lines);
    if (measured == 0) continue;  // no accesses
    z.push_back(static_cast<double>(lines));
    q.push_back(measured);
    ratios.push_back(theorem.fitted ? (measured - theorem.misses(lines)) / theorem.fitted(lines)
                                    : measured / theorem.misses(lines));
  }
  if (theorem.fitted && ratios.empty()) {  // the problem is too small for the fitted term to
                                           // dominate
    result.constant = result.exponent = NAN;
    return result;
  }
  result.constant = median(ratios);
  if (theorem.exponent != 0) result.exponent = slope(z, q);
  for (auto lines = all.rbegin(); lines != all.rend(); ++lines) {
    if (theorem.fitted && *lines > theorem.to_lines)
      continue;  // recursion levels are discrete, the formula is smooth
    const double ratio = curve.misses(*lines) / result.predicted(theorem, *lines);
    if (ratio > 1.25) break;
    result.tall_from = *lines;
  }
  return result;
}

}  // namespace tessera::inline v1::locality
