#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/hanging.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "io/schema.hpp"
#include "lab/locality/simulated_counters.hpp"
#include "locality.hpp"

namespace tessera::apps::locality {

namespace lab = tessera::locality;
namespace schema = io::schema;

io::Row row_of(const std::string& key, const tessera::locality::Problem& p) {
  return {{"point", key},       {"workload", p.workload},
          {"kernel", p.kernel}, {"m", p.m},
          {"n", p.n},           {"k", p.k},
          {"tile", p.tile},     {"column_width", p.column_width}};
}

io::Row with(io::Row row, const std::vector<io::Cell>& cells) {
  row.insert(row.end(), cells.begin(), cells.end());
  return row;
}

namespace {

std::string count(double value) { return fmt::format("{:.0f}", value); }
std::string count(index_t value) { return std::to_string(value); }

std::string title(const lab::Analysis& a) {
  const lab::Problem& p = a.problem;
  const std::string sizes =
      lab::sizes_text(p) +
      (p.range > 0 ? fmt::format(", {} distinct keys", p.range) : std::string());
  return fmt::format(
      "{} {} ({} leaf), {}, {}-byte elements:\n  {} loads, {} stores{}, simulated in {}",
      p.workload, p.kernel, a.leaf, sizes, p.element_bytes, a.loads, a.stores,
      a.rate < 1 ? fmt::format(" (curve from {:.3g} % of the lines)", 100 * a.rate) : "",
      human_seconds(a.seconds));
}

/// Returns the ideal cache's misses at that size; "-" if not simulated.
std::string ideal_at(const lab::Analysis& a, index_t lines) {
  for (const auto& ideal : a.ideal) {
    if (ideal.lines == lines) return count(ideal.misses);
  }
  return "-";
}

/// Returns the sizes of the printed curve, in lines, up to the first at which only first touches
/// miss.
std::vector<index_t> sizes_shown(const lab::Analysis& a) {
  std::vector<index_t> sizes;
  for (index_t lines = 16; sizes.size() < 12; lines *= 4) {
    sizes.push_back(lines);
    if (a.curve.misses(lines) <= a.curve.compulsory()) break;
  }
  return sizes;
}

void print_curve(const lab::Analysis& a, index_t line_bytes) {
  std::vector<std::string> headings{"cache",     "lines",   "LRU",        "ideal",
                                    "LRU/ideal", "theorem", "LRU/theorem"};
  headings.insert(headings.end(), a.stages.begin(), a.stages.end());
  Table table(std::move(headings));
  for (const index_t lines : sizes_shown(a)) {
    const double lru = a.curve.misses(lines);
    const std::string ideal = ideal_at(a, lines);
    const double theorem = a.theorem ? a.fitted->predicted(*a.theorem, lines) : NAN;
    std::vector<std::string> cells{
        human_bytes(lines * line_bytes),
        count(lines),
        count(lru),
        ideal,
        ideal == "-" ? "-" : fmt::format("{:.2f}", lru / std::stod(ideal)),
        std::isnan(theorem) ? "-" : count(theorem),
        theorem > 0 ? fmt::format("{:.3f}", lru / theorem) : "-"};
    for (const lab::MissCurve& stage : a.stage_curves) cells.push_back(count(stage.misses(lines)));
    table.add(std::move(cells));
  }
  fmt::print("{}", table.within(terminal_columns()));
}

/// Prints the best width of columns by the sizes of the curve.
void print_widths(const lab::Analysis& a, index_t line_bytes) {
  std::string text;
  for (const index_t lines : sizes_shown(a)) {
    const index_t width = lab::best_width(a.problem, line_bytes, lines);
    if (width > 0)
      text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", width,
                          human_bytes(lines * line_bytes));
  }
  if (!text.empty()) print_hanging("  fewest by the theorem with columns of ", text);
}

void print_theorem(const lab::Analysis& a, index_t line_bytes) {
  if (!a.theorem) {
    fmt::print("no theorem for this kernel\n");
    return;
  }
  const lab::Fit& fit = *a.fitted;
  const double line =
      static_cast<double>(line_bytes) / static_cast<double>(a.problem.element_bytes);
  print_hanging("theorem: Q = ", a.theorem->formula);
  print_widths(a, line_bytes);
  if (std::isnan(fit.constant)) {
    fmt::print(
        "  c is not fitted: the problem is too small for any cache size in the theorem's range\n");
    return;
  }
  if (a.theorem->exponent != 0) {
    fmt::print("  fitted from {} to {} lines: c = {:.3f}, exponent of Z {:.3f} (theory {:g})\n",
               a.theorem->from_lines, a.theorem->to_lines, fit.constant, fit.exponent,
               a.theorem->exponent);
  } else if (a.theorem->fitted) {
    fmt::print("  fitted from {} to {} lines: c = {:.3f}\n", a.theorem->from_lines,
               a.theorem->to_lines, fit.constant);
  } else {
    fmt::print("  measured over predicted, median of all sizes: {:.4f}\n", fit.constant);
  }
  if (fit.tall_from == 0) {
    fmt::print("  {} more than 25 % above the theorem\n",
               a.theorem->fitted ? "up to that size" : "at every size");
    return;
  }
  fmt::print("  at most 25 % above the theorem in tall caches, from {} lines up: Z = {:.1f} L^2\n",
             fit.tall_from, static_cast<double>(fit.tall_from) / line);
}

void print_caches(const lab::Analysis& a) {
  Table table({"cache", "array", "misses", "compulsory", "capacity", "conflict", "random", "ideal",
               "behind"});
  bool below = false;
  for (const lab::CacheReport& cache : a.caches) {
    const auto row = [&](const std::string& array, const lab::MissKinds& s, bool whole) {
      below = below || s.conflict < 0;
      table.add({name(cache.geometry), array, count(s.misses()), count(s.compulsory),
                 count(s.capacity), count(s.conflict), whole ? count(cache.random) : "",
                 whole && cache.ideal ? count(*cache.ideal) : "",
                 whole ? count(cache.behind) : ""});
    };
    for (std::size_t i = 0; i < a.arrays.size(); ++i) row(a.arrays[i], cache.arrays[i], false);
    row("all", cache.all, true);
  }
  fmt::print("{}", table.within(terminal_columns()));
  if (below)
    fmt::print(
        "conflict below 0: fewer misses than in a fully associative LRU cache of that size\n");
}

/// Prints the misses of each recursion level in every cache.
void print_levels(const lab::Analysis& a) {
  std::size_t levels = 0;
  for (const lab::CacheReport& cache : a.caches) levels = std::max(levels, cache.by_level.size());
  if (levels < 2) return;
  std::vector<std::string> headings{"level"};
  for (const lab::CacheReport& cache : a.caches) {
    const auto alike =
        std::count_if(a.caches.begin(), a.caches.end(), [&](const lab::CacheReport& other) {
          return other.geometry.bytes == cache.geometry.bytes;
        });
    for (const char* kind : {"misses", "compulsory", "capacity", "conflict"})
      headings.push_back(fmt::format(
          "{} {}", kind, alike > 1 ? name(cache.geometry) : human_bytes(cache.geometry.bytes)));
  }
  Table table(std::move(headings));
  for (std::size_t level = 0; level < levels; ++level) {
    std::vector<std::string> cells{std::to_string(level)};
    for (const lab::CacheReport& cache : a.caches) {
      const lab::MissKinds kinds =
          level < cache.by_level.size() ? cache.by_level[level] : lab::MissKinds{};
      for (const double misses : {kinds.misses(), kinds.compulsory, kinds.capacity, kinds.conflict})
        cells.push_back(count(misses));
    }
    table.add(std::move(cells));
  }
  fmt::print("by recursion level of the subproblem that last used the line (0: none)\n{}",
             table.within(terminal_columns()));
}

io::Row common(const std::string& key, const lab::Analysis& a, index_t line_bytes) {
  const lab::Problem& p = a.problem;
  return with(row_of(key, p), {{"range", p.range},
                               {"stencil", p.stencil},
                               {"steps", p.steps},
                               {"pad", p.pad},
                               {"element_bytes", p.element_bytes, "B"},
                               {"line_bytes", line_bytes, "B"}});
}

/// Returns the sizes at which the total misses change, unless there are many, and four sizes per
/// octave.
std::vector<index_t> curve_sizes(const lab::MissCurve& curve) {
  constexpr std::size_t most = 2000;
  std::vector<index_t> sizes = lab::sizes_of(curve), steps = curve.steps();
  if (steps.size() <= most) sizes.insert(sizes.end(), steps.begin(), steps.end());
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

io::Row point_row(const std::string& key, const lab::Analysis& a, index_t line_bytes) {
  const bool has = a.theorem.has_value();
  return with(common(key, a, line_bytes),
              {{"leaf", a.leaf},
               {"loads", a.loads},
               {"stores", a.stores},
               {"sampled", a.rate},
               {"compulsory", a.curve.compulsory()},
               {"theorem", has ? a.theorem->formula : std::string()},
               {"constant", has ? a.fitted->constant : NAN},
               {"exponent", has ? a.fitted->exponent : NAN},
               {"exponent_of_theorem", has ? a.theorem->exponent : NAN},
               {"tall_from", has ? a.fitted->tall_from : index_t{0}, "lines"},
               {"seconds", a.seconds, "s"}});
}

/// Returns the miss curves of all arrays together, with the theorem, and of each.
std::vector<io::Row> curve_rows(const std::string& key, const lab::Analysis& a,
                                index_t line_bytes) {
  std::vector<io::Row> rows;
  const auto add = [&](const std::string& array, const lab::MissCurve& curve, bool whole) {
    for (const index_t lines : curve_sizes(a.curve)) {
      rows.push_back(
          {{"point", key},
           {"array", array},
           {"lines", lines},
           {"bytes", lines * line_bytes, "B"},
           {"misses", curve.misses(lines)},
           {"theorem", whole && a.theorem ? a.fitted->predicted(*a.theorem, lines) : NAN}});
    }
  };
  add("all", a.curve, true);
  for (std::size_t i = 0; i < a.arrays.size(); ++i) add(a.arrays[i], a.array_curves[i], false);
  for (std::size_t i = 0; i < a.stages.size(); ++i) add(a.stages[i], a.stage_curves[i], false);
  return rows;
}

std::vector<io::Row> cache_rows(const std::string& key, const lab::Analysis& a) {
  std::vector<io::Row> rows;
  for (std::size_t c = 0; c < a.caches.size(); ++c) {
    const lab::CacheReport& cache = a.caches[c];
    const auto add = [&](const std::string& array, const lab::MissKinds& s, bool whole) {
      rows.push_back({{"point", key},
                      {"level", static_cast<index_t>(c + 1)},
                      {"geometry", name(cache.geometry)},
                      {"bytes", cache.geometry.bytes, "B"},
                      {"ways", cache.geometry.ways_of_set()},
                      {"array", array},
                      {"misses", std::llround(s.misses())},
                      {"compulsory", s.compulsory},
                      {"capacity", s.capacity},
                      {"conflict", s.conflict},
                      {"random", whole ? cache.random : index_t{-1}},
                      {"ideal", whole && cache.ideal ? *cache.ideal : index_t{-1}},
                      {"behind", whole ? cache.behind : index_t{-1}},
                      {"behind_loads", whole ? cache.load_misses : index_t{-1}},
                      {"behind_stores", whole ? cache.store_misses : index_t{-1}}});
    };
    add("all", cache.all, true);
    for (std::size_t i = 0; i < a.arrays.size(); ++i) add(a.arrays[i], cache.arrays[i], false);
  }
  return rows;
}

std::vector<io::Row> level_rows(const std::string& key, const lab::Analysis& a) {
  std::vector<io::Row> rows;
  for (std::size_t c = 0; c < a.caches.size(); ++c) {
    const lab::CacheReport& cache = a.caches[c];
    for (std::size_t level = 0; level < cache.by_level.size(); ++level) {
      rows.push_back({{"point", key},
                      {"cache", static_cast<index_t>(c + 1)},
                      {"bytes", cache.geometry.bytes, "B"},
                      {"level", static_cast<index_t>(level)},
                      {"misses", cache.by_level[level].misses()},
                      {"compulsory", cache.by_level[level].compulsory},
                      {"capacity", cache.by_level[level].capacity},
                      {"conflict", cache.by_level[level].conflict}});
    }
  }
  return rows;
}

}  // namespace

void print(const lab::Analysis& analysis, index_t line_bytes) {
  fmt::print("{}\n", title(analysis));
  print_curve(analysis, line_bytes);
  print_theorem(analysis, line_bytes);
  print_caches(analysis);
  print_levels(analysis);
  fmt::print("\n");
}

std::vector<io::TableRows> tables_of(const std::string& key, const lab::Analysis& a,
                                     index_t line_bytes) {
  io::TableRows ideal{schema::ideal, {}};
  for (const auto& point : a.ideal)
    ideal.rows.push_back({{"point", key}, {"lines", point.lines}, {"misses", point.misses}});
  return {{schema::points, {point_row(key, a, line_bytes)}},
          {schema::curves, curve_rows(key, a, line_bytes)},
          ideal,
          {schema::caches, cache_rows(key, a)},
          {schema::recursion_levels, level_rows(key, a)}};
}

}  // namespace tessera::apps::locality
