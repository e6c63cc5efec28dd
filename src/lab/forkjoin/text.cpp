// What tessera forkjoin prints.

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "base/lines.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "lab/forkjoin/study.hpp"

namespace tessera::inline v1::microscope {
namespace {

std::string fixed(double value) { return fmt::format("{:.2f}", value); }

/// Prints the strands from `first` to the end of their side, forks indented; returns the strand
/// that ends it.
index_t draw_side(const Computation& all, index_t first, const std::string& indent,
                  std::string& out) {
  for (index_t strand = first;;) {
    const auto s = static_cast<std::size_t>(strand);
    out += fmt::format("{}{} {}: {}\n", indent, all.critical[s] ? '*' : '|', strand,
                       all.strands[s].operations);
    if (all.strands[s].end != Strand::End::fork) return strand;
    const Fork& fork = all.forks[static_cast<std::size_t>(all.strands[s].fork)];
    draw_side(all, strand + 1, indent + "  ", out);
    out += indent + "  +\n";
    draw_side(all, fork.second, indent + "  ", out);
    strand = fork.after;
  }
}

Table bounds_table(const Study& study) {
  Table table({"P", "T_P", "T_1/P", "c", "speed-up", "at most", "steals", "attempts", "idle, %"});
  const Computation& all = study.all();
  const auto work = static_cast<double>(all.work());
  for (const Execution& e : study.executions) {
    const Schedule& s = e.schedule;
    const auto time = static_cast<double>(std::max<index_t>(1, s.time));
    table.add({std::to_string(s.workers), std::to_string(s.time),
               fmt::format("{:.0f}", work / s.workers), fixed(s.excess(all)), fixed(work / time),
               fixed(std::min<double>(s.workers, all.parallelism())),
               std::to_string(s.steals.size()), std::to_string(s.attempts),
               fmt::format("{:.1f}", 100 * (1 - work / (time * s.workers)))});
  }
  return table;
}

/// Returns a row for every execution: P, and counts.
Table counts_table(const Study& study, std::vector<std::string> headings,
                   const std::function<std::vector<index_t>(const Execution&)>& counts) {
  headings.insert(headings.begin(), "P");
  Table table(std::move(headings));
  for (const Execution& e : study.executions) {
    std::vector<std::string> cells{std::to_string(e.schedule.workers)};
    for (const index_t count : counts(e)) cells.push_back(std::to_string(count));
    table.add(std::move(cells));
  }
  return table;
}

Table misses_table(const Study& study) {
  return counts_table(
      study,
      {"Q_P", "at most", "deviations", "coherent", "true sharing", "false sharing", "shared"},
      [&](const Execution& e) -> std::vector<index_t> {
        const locality::CoherenceCounts& c = e.traffic->coherent;
        return {e.traffic->alone,
                most_misses(study.serial->alone, e.schedule, study.request.caches->own),
                e.schedule.deviations,
                c.misses(),
                c.true_sharing,
                c.false_sharing,
                e.traffic->shared};
      });
}

Table coherence_table(const Study& study) {
  return counts_table(study,
                      {"invalidations", "upgrades", "write-backs", "dirty evictions",
                       "clean evictions", "stored B"},
                      [](const Execution& e) -> std::vector<index_t> {
                        const locality::CoherenceCounts& c = e.traffic->coherent;
                        return {c.invalidations,   c.upgrades,        c.write_backs,
                                c.dirty_evictions, c.clean_evictions, c.stored_bytes};
                      });
}

/// Returns the changes of the states of lines on the most processors.
Table states_table(const Execution& e) {
  Table table({"cause", "from", "to", "times"});
  const auto& transitions = e.traffic->coherent.transitions;
  for (std::size_t cause = 0; cause < locality::causes; ++cause) {
    for (std::size_t from = 0; from < locality::line_states; ++from) {
      for (std::size_t to = 0; to < locality::line_states; ++to) {
        if (transitions[cause][from][to] == 0) continue;
        table.add({name(static_cast<locality::Cause>(cause)),
                   name(static_cast<locality::LineState>(from)),
                   name(static_cast<locality::LineState>(to)),
                   std::to_string(transitions[cause][from][to])});
      }
    }
  }
  return table;
}

/// Returns the measured times and speed-ups next to the simulated ones.
Table measured_table(const Study& study) {
  Table table({"threads", "median", "speed-up", "simulated", "at least", "at most"});
  const Computation& all = study.all();
  const auto work = static_cast<double>(all.work());
  double one = 0;
  for (const Execution& e : study.executions) {
    if (!e.seconds) continue;
    const int p = e.schedule.workers;
    if (p == 1) one = e.seconds->median;
    const double greedy = work / (work / p + static_cast<double>(all.span));
    table.add({std::to_string(p), human_seconds(e.seconds->median),
               one > 0 ? fixed(one / e.seconds->median) : "-",
               fixed(work / static_cast<double>(std::max<index_t>(1, e.schedule.time))),
               fixed(p == 1 ? 1 : greedy), fixed(std::min<double>(p, all.parallelism()))});
  }
  return table;
}

std::string caches_text(const Caches& caches) {
  return fmt::format("private caches of {}, lines of {} B, {}, a shared one of {} behind them",
                     name(caches.own), caches.own.line_bytes, name(caches.protocol),
                     name(caches.shared));
}

}  // namespace

std::string drawn(const Computation& all) {
  std::string out;
  draw_side(all, 0, "", out);
  return out;
}

std::string text_of(const Study& study, std::size_t columns) {
  const Computation& all = study.all();
  const Request& r = study.request;
  std::string out =
      fmt::format("{}, n {}, threshold {}\n", r.program->kernel, study.sizes[0].n, r.threshold);
  out += filled(fmt::format("T_1 = {} operations: {} loads, {} stores, {} of arithmetic, {} forks "
                            "and joins; T_inf = {}, parallelism {}; {}",
                            all.work(), all.loads, all.stores, all.arithmetic, 2 * all.joined,
                            all.span, human_number(all.parallelism()),
                            counted(all.strand_count(), "strand")),
                columns) +
         "\n";
  if (r.draws && all.strand_count() <= most_drawn)
    out += "strands and their operations, in order; * the longest path, + the second side\n" +
           drawn(all);
  if (r.draws && all.strand_count() > most_drawn)
    out += filled(fmt::format("not drawn: more than {} strands; choose a smaller --n", most_drawn),
                  columns) +
           "\n";
  if (study.executions.empty()) return out;
  out += "\nwork stealing: T_P = T_1/P + c T_inf\n" + bounds_table(study).within(columns);
  if (r.caches) {
    out += "\n" + filled(caches_text(*r.caches), columns) + "\n" +
           filled(fmt::format("Q_P: misses without invalidations, at most Q_1 + deviations * {} "
                              "lines; coherent: with them; shared: of the shared cache",
                              r.caches->own.lines()),
                  columns) +
           "\n" + misses_table(study).within(columns) + "\n" +
           coherence_table(study).within(columns);
    if (r.draws)
      out +=
          fmt::format("\nstates of lines, {} workers\n", study.executions.back().schedule.workers) +
          states_table(study.executions.back()).within(columns);
  }
  if (!r.threads.empty())
    out += "\nmeasured on this machine; at least: of a greedy scheduler\n" +
           measured_table(study).within(columns);
  return out;
}

std::string growth_of(const std::vector<Study>& studies, std::size_t columns) {
  Table counts({"kernel", "n", "T_1", "T_inf", "parallelism"});
  Table powers({"kernel", "T_1", "power", "theory", "T_inf", "power", "theory", "fit, %"});
  for (const Study& study : studies) {
    const Program& program = *study.request.program;
    const forkjoin::Variant& variant = program.variant();
    std::vector<double> sizes, works, spans, work_theory, span_theory;
    for (const Size& size : study.sizes) {
      sizes.push_back(program.scale(size.n));
      works.push_back(static_cast<double>(size.all.work()));
      spans.push_back(static_cast<double>(size.all.span));
      work_theory.push_back(variant.one.of(static_cast<double>(size.n)));
      span_theory.push_back(variant.infinite.of(static_cast<double>(size.n)));
    }
    const GrowthFit work = fit(sizes, works, work_theory), span = fit(sizes, spans, span_theory);
    const std::string kernel(program.kernel);
    counts.add({kernel, std::to_string(study.sizes.back().n), std::to_string(study.all().work()),
                std::to_string(study.all().span), human_number(study.all().parallelism())});
    powers.add({kernel, std::string(variant.one.name), fixed(work.power), fixed(work.theory),
                std::string(variant.infinite.name), fixed(span.power), fixed(span.theory),
                fmt::format("{:.1f}", 100 * span.explained)});
  }
  return "work and span in operations, at the largest of four sizes\n" + counts.within(columns) +
         "\n" +
         filled(
             "power of n (fib: of phi^n) over the four sizes, and that of the theory; fit: share "
             "of the variance of T_inf that a + b theory explains",
             columns) +
         "\n" + powers.within(columns);
}

}  // namespace tessera::inline v1::microscope
