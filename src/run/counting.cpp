#include "run/counting.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "base/statistics.hpp"

namespace tessera::inline v1::run {
namespace {

/// Counts by the machine layer's names of the events.
constexpr std::array<std::pair<const char*, double Counts::*>, 6> fields{
    {{"cycles", &Counts::cycles},
     {"instructions", &Counts::instructions},
     {"l1_misses", &Counts::l1_misses},
     {"l2_misses", &Counts::l2_misses},
     {"llc_misses", &Counts::llc_misses},
     {"vector_instructions", &Counts::vector_instructions}}};

Simulator& the_simulator() {
  static Simulator simulator;
  return simulator;
}

}  // namespace

Counted not_simulated(const std::string& reason) {
  return {.source = "none", .reason = {}, .repetitions = {unknown_counts}, .what = reason};
}

void use_simulator(Simulator simulator) { the_simulator() = std::move(simulator); }

Counted simulated(const TracedProblem& problem) {
  const Simulator& simulator = the_simulator();
  return simulator.count ? simulator.count(problem)
                         : not_simulated("this program has no simulator");
}

std::string simulated_caches() {
  return the_simulator().caches ? the_simulator().caches() : "none";
}

io::Row counter_cells(const Counted& counted, const Counts& counts) {
  io::Row row{{"source", counted.source, ""}};
  for (const auto& [name, field] : fields) row.push_back({name, counts.*field, ""});
  row.push_back({"cycles_per_instruction", counts.cycles_per_instruction(), ""});
  row.push_back({"vector_share", counts.vector_share(), ""});
  row.push_back({"accesses", counted.accesses, ""});
  row.push_back({"what", counted.what, ""});
  return row;
}

io::Row shown_cells(const Counted& counted) {
  const io::Row all = counter_cells(counted, typical(counted.repetitions));
  const bool real = counted.source == "hardware";
  io::Row shown;
  for (const io::Cell& cell : all) {
    const bool simulated =
        cell.column.ends_with("_misses") || cell.column == "accesses" || cell.column == "what";
    if (cell.column == "source" ||
        (real ? cell.column != "accesses" && cell.column != "what" : simulated))
      shown.push_back(cell);
  }
  return shown;
}

Counts typical(const std::vector<Counts>& repetitions) {
  Counts result;
  for (const auto& [name, field] : fields) {
    std::vector<double> values;
    for (const Counts& counts : repetitions) values.push_back(counts.*field);
    bool known = !values.empty();
    for (const double value : values) known = known && !std::isnan(value);
    result.*field = known ? summarize(values).median : NAN;
  }
  return result;
}

Counting::Counting(const mpi::Communicator& comm)
    : comm_(comm), counters_(machine::processor_events()) {
  const bool everywhere = comm_.sum(counters_.any() ? 0.0 : 1.0) == 0;
  counted_.source = everywhere ? "hardware" : "";
  counted_.reason = everywhere        ? ""
                    : counters_.any() ? "not available on every rank"
                                      : counters_.reason();
}

Counts Counting::now() const {
  Counts counts = unknown_counts;
  for (const auto& count : counters_.read()) {
    for (const auto& [name, field] : fields) {
      if (count.event == name) counts.*field = count.value;
    }
  }
  return counts;
}

void Counting::begin() { before_ = now(); }

void Counting::end() {
  Counts spent = now();
  if (counted_.source.empty()) return;
  for (const auto& [name, field] : fields) spent.*field = comm_.sum(spent.*field - before_.*field);
  counted_.repetitions.push_back(spent);
}

}  // namespace tessera::inline v1::run
