#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/lines.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "io/schema.hpp"
#include "lab/scalability/scalability.hpp"

namespace tessera::inline v1::scalability {

constexpr double busy = 0.03;  // larger shares of waiting are reported

std::string SpeedupForecast::place() const {
  if (std::isnan(measured.median)) return "";
  if (measured.high < least()) return measured.waited > busy ? "busy" : "below";
  return measured.low > bounds.upper ? "above" : "between";
}

namespace {

std::string fixed(double value) { return std::isnan(value) ? "-" : fmt::format("{:.2f}", value); }

/// Returns what the instrumented execution found, by cores.
Table recorded(const std::vector<SpeedupForecast>& forecasts) {
  Table table({"cores", "forks", "work", "span", "parallelism", "burdened span", "burdened par."});
  for (const SpeedupForecast& f : forecasts)
    table.add({std::to_string(f.processors), std::to_string(f.found.forks),
               human_seconds(f.found.work), human_seconds(f.found.span),
               human_number(f.found.parallelism()), human_seconds(f.found.burdened_span),
               human_number(f.found.burdened_parallelism())});
  return table;
}

/// Returns the bounds of the speed-up and the measured one, by cores.
Table speedups(const std::vector<SpeedupForecast>& forecasts) {
  Table table({"cores", "ideal cores", "slowdown", "at least", "at most", "measured", "range",
               "place", "waiting"});
  for (const SpeedupForecast& f : forecasts) {
    const bool known = !std::isnan(f.measured.median);
    const double waited = f.measured.waited;
    table.add({std::to_string(f.processors), fixed(f.bounds.lower), fixed(f.contention),
               fixed(f.least()), fixed(f.bounds.upper), fixed(f.measured.median),
               known ? fixed(f.measured.low) + " .. " + fixed(f.measured.high) : "-",
               known ? f.place() : "-",
               std::isnan(waited) ? "-" : fmt::format("{:.0f} %", 100 * waited)});
  }
  return table;
}

/// Returns the sentences below the tables.
std::vector<std::string> sentences(const Program& program,
                                   const std::vector<SpeedupForecast>& forecasts) {
  std::vector<std::string> all;
  if (program.theory > 0)
    all.push_back(fmt::format("parallelism grows with n as {} in theory: here {} times that",
                              program.growth,
                              human_number(forecasts.back().found.parallelism() / program.theory)));
  for (const SpeedupForecast& f : forecasts) {
    if (f.measured.waited > busy)
      all.push_back(
          fmt::format("the machine was busy: {} threads waited {:.0f} % of their time for a core",
                      f.processors, 100 * f.measured.waited));
    else if (f.place() == "below")
      all.push_back(fmt::format("{} threads are slower than work, span and contention predict",
                                f.processors));
  }
  if (std::any_of(forecasts.begin(), forecasts.end(), [](const SpeedupForecast& f) {
        return !std::isnan(f.contention) && f.processors > 1;
      }))
    all.emplace_back(
        "slowdown: the kernel on its part of the data, on all these cores at once relative to one "
        "alone (memory, caches, clock; upper end of its interval); at least: the bound of ideal "
        "cores divided by the slowdown");
  if (forecasts.back().found.forks == 0)
    all.emplace_back("this kernel does not fork: one thread does all the work");
  return all;
}

}  // namespace

std::string text_of(const run::Values& point, const Program& program,
                    const std::vector<SpeedupForecast>& forecasts, std::size_t columns) {
  const machine::TaskCosts& costs = forecasts.back().costs;
  std::string out =
      fmt::format("{} {}, n {}", point.text("workload"), point.text("kernel"), point.text("n"));
  if (point.has("threshold")) out += fmt::format(", threshold {}", point.text("threshold"));
  out +=
      fmt::format(": speed-up by cores\ncosts of a task: fork {}, join {}, steal {}\n",
                  human_seconds(costs.fork), human_seconds(costs.join), human_seconds(costs.steal));
  out += recorded(forecasts).within(columns) + "\n" + speedups(forecasts).within(columns);
  for (const std::string& sentence : sentences(program, forecasts))
    out += filled(sentence, columns) + "\n";
  return out;
}

io::TableRows rows_of(const run::Values& point, const Program& program,
                      const std::vector<SpeedupForecast>& forecasts) {
  io::TableRows table{io::schema::scalability, {}};
  for (const SpeedupForecast& f : forecasts) {
    io::Row row;
    for (const char* name : {"workload", "kernel", "type", "stencil"})
      row.push_back({name, point.text(name), ""});
    row.push_back({"n", point.integer("n"), ""});
    row.push_back(
        {"threshold", point.has("threshold") ? point.integer("threshold") : index_t{-1}, ""});
    row.push_back({"steps", point.integer("steps"), ""});
    row.push_back({"processors", index_t{f.processors}, ""});
    row.push_back({"forks", f.found.forks, ""});
    const auto real = [&](const char* name, double value, const char* units) {
      row.push_back({name, value, units});
    };
    real("work", f.found.work, "s");
    real("span", f.found.span, "s");
    real("burdened_span", f.found.burdened_span, "s");
    real("parallelism", f.found.parallelism(), "");
    real("burdened_parallelism", f.found.burdened_parallelism(), "");
    real("task_fork", f.costs.fork, "s");
    real("task_join", f.costs.join, "s");
    real("task_steal", f.costs.steal, "s");
    real("lower_bound", f.bounds.lower, "");
    real("contention", f.contention, "");
    real("least", f.least(), "");
    real("upper_bound", f.bounds.upper, "");
    real("seconds", f.measured.seconds, "s");
    real("speedup", f.measured.median, "");
    real("speedup_low", f.measured.low, "");
    real("speedup_high", f.measured.high, "");
    real("waited", f.measured.waited, "");
    row.push_back({"place", f.place(), ""});
    row.push_back({"growth", program.growth, ""});
    real("theory", program.theory, "");
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace tessera::inline v1::scalability
