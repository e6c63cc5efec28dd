// The tables of tessera forkjoin in results.

#include <cmath>

#include "io/schema.hpp"
#include "lab/forkjoin/study.hpp"

namespace tessera::inline v1::microscope {
namespace {

namespace schema = io::schema;

io::Row first_columns(const std::string& key, const Study& study, index_t n) {
  return {{"point", key},
          {"kernel", std::string(study.request.program->kernel)},
          {"n", n},
          {"threshold", study.request.threshold}};
}

io::TableRows computations(const std::string& key, const Study& study) {
  io::TableRows table{schema::forkjoin, {}};
  const forkjoin::Variant& variant = study.request.program->variant();
  for (const Size& size : study.sizes) {
    const Computation& all = size.all;
    const auto n = static_cast<double>(size.n);
    io::Row row = first_columns(key, study, size.n);
    for (const auto& [name, count] : {std::pair{"work", all.work()},
                                      {"span", all.span},
                                      {"loads", all.loads},
                                      {"stores", all.stores},
                                      {"arithmetic", all.arithmetic},
                                      {"forks", all.joined},
                                      {"strands", all.strand_count()}})
      row.push_back({name, count});
    row.push_back({"parallelism", all.parallelism()});
    row.push_back({"work_growth", std::string(variant.one.name)});
    row.push_back({"work_theory", variant.one.of(n)});
    row.push_back({"span_growth", std::string(variant.infinite.name)});
    row.push_back({"span_theory", variant.infinite.of(n)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

void add_traffic(io::Row& row, const Study& study, const Execution& e) {
  const locality::CoherenceCounts c = e.traffic ? e.traffic->coherent : locality::CoherenceCounts();
  const bool known = e.traffic.has_value();
  const auto add = [&](const char* name, index_t count) {
    row.push_back({name, known ? count : index_t{-1}});
  };
  add("misses_alone", known ? e.traffic->alone : 0);
  add("misses_bound",
      known ? most_misses(study.serial->alone, e.schedule, study.request.caches->own) : 0);
  add("cold", c.cold);
  add("replaced", c.replaced);
  add("true_sharing", c.true_sharing);
  add("false_sharing", c.false_sharing);
  add("invalidations", c.invalidations);
  add("upgrades", c.upgrades);
  add("write_backs", c.write_backs);
  add("dirty_evictions", c.dirty_evictions);
  add("clean_evictions", c.clean_evictions);
  add("stored_bytes", c.stored_bytes);
  add("shared_misses", known ? e.traffic->shared : 0);
}

io::TableRows schedules(const std::string& key, const Study& study) {
  io::TableRows table{schema::schedules, {}};
  for (const Execution& e : study.executions) {
    const Schedule& s = e.schedule;
    io::Row row = first_columns(key, study, study.sizes.back().n);
    row.push_back({"processors", index_t{s.workers}});
    row.push_back({"time", s.time});
    row.push_back({"least", s.least(study.all())});
    row.push_back({"excess", s.excess(study.all())});
    row.push_back({"steals", static_cast<index_t>(s.steals.size())});
    row.push_back({"attempts", s.attempts});
    row.push_back({"deviations", s.deviations});
    add_traffic(row, study, e);
    row.push_back({"seconds", e.seconds ? e.seconds->median : NAN, "s"});
    row.push_back({"seconds_low", e.seconds ? e.seconds->ci_low : NAN, "s"});
    row.push_back({"seconds_high", e.seconds ? e.seconds->ci_high : NAN, "s"});
    table.rows.push_back(std::move(row));
  }
  return table;
}

io::TableRows states(const std::string& key, const Study& study) {
  io::TableRows table{schema::states, {}};
  for (const Execution& e : study.executions) {
    if (!e.traffic) continue;
    const auto& transitions = e.traffic->coherent.transitions;
    for (std::size_t cause = 0; cause < locality::causes; ++cause) {
      for (std::size_t from = 0; from < locality::line_states; ++from) {
        for (std::size_t to = 0; to < locality::line_states; ++to) {
          if (transitions[cause][from][to] == 0) continue;
          table.rows.push_back({{"point", key},
                                {"processors", index_t{e.schedule.workers}},
                                {"cause", std::string(name(static_cast<locality::Cause>(cause)))},
                                {"from", std::string(name(static_cast<locality::LineState>(from)))},
                                {"to", std::string(name(static_cast<locality::LineState>(to)))},
                                {"times", transitions[cause][from][to]}});
        }
      }
    }
  }
  return table;
}

io::TableRows strands(const std::string& key, const Study& study) {
  io::TableRows table{schema::strands, {}};
  const Computation& all = study.all();
  for (std::size_t s = 0; s < all.strands.size(); ++s) {
    const Strand& strand = all.strands[s];
    const bool is_end = strand.end == Strand::End::finish;
    const Fork fork = is_end ? Fork() : all.forks[static_cast<std::size_t>(strand.fork)];
    const bool forks = strand.end == Strand::End::fork;
    table.rows.push_back({{"point", key},
                          {"strand", static_cast<index_t>(s)},
                          {"operations", strand.operations},
                          {"depth", all.depths[s]},
                          {"critical", index_t{all.critical[s]}},
                          {"first", forks ? static_cast<index_t>(s) + 1 : fork.after},
                          {"second", forks ? fork.second : index_t{-1}}});
  }
  return table;
}

io::TableRows executions(const std::string& key, const Study& study) {
  io::TableRows table{schema::executions, {}};
  for (const Execution& e : study.executions) {
    std::vector<index_t> victim(study.all().strands.size(), -1);
    for (const Steal& steal : e.schedule.steals)
      victim[static_cast<std::size_t>(steal.strand)] = steal.victim;
    for (std::size_t s = 0; s < victim.size(); ++s)
      table.rows.push_back({{"point", key},
                            {"processors", index_t{e.schedule.workers}},
                            {"strand", static_cast<index_t>(s)},
                            {"worker", index_t{e.schedule.worker[s]}},
                            {"begin", e.schedule.begin[s]},
                            {"stolen_from", victim[s]}});
  }
  return table;
}

}  // namespace

std::vector<io::TableRows> tables_of(const std::string& key, const Study& study) {
  std::vector<io::TableRows> tables{computations(key, study), schedules(key, study),
                                    states(key, study)};
  const bool draws = study.request.draws && study.all().strand_count() <= most_stored;
  if (draws) {
    tables.push_back(strands(key, study));
    tables.push_back(executions(key, study));
  }
  return tables;
}

}  // namespace tessera::inline v1::microscope
