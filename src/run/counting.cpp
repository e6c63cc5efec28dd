#include "run/counting.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "base/statistics.hpp"

namespace tessera::run {
namespace {

/// The counts by the names that the machine layer gives the events.
constexpr std::array<std::pair<const char*, double Counts::*>, 6> fields{
    {{"cycles", &Counts::cycles},
     {"instructions", &Counts::instructions},
     {"l1_misses", &Counts::l1_misses},
     {"l2_misses", &Counts::l2_misses},
     {"llc_misses", &Counts::llc_misses},
     {"vector_instructions", &Counts::vector_instructions}}};

}  // namespace

io::Row counter_cells(const Counted& counted, const Counts& counts) {
  io::Row row{{"source", counted.source, ""}};
  for (const auto& [name, field] : fields) row.push_back({name, counts.*field, ""});
  row.push_back({"cycles_per_instruction", counts.cycles_per_instruction(), ""});
  row.push_back({"vector_share", counts.vector_share(), ""});
  return row;
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

Counting::Counting(const mpi::Communicator& comm) : comm_(comm), counters_(machine::processor_events()) {
  const bool everywhere = comm_.sum(counters_.any() ? 0.0 : 1.0) == 0;
  counted_.source = everywhere ? "hardware" : "";
  counted_.reason = everywhere ? "" : counters_.any() ? "another rank has none" : counters_.reason();
}

Counts Counting::now() const {
  Counts counts{NAN, NAN, NAN, NAN, NAN, NAN};
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

}  // namespace tessera::run
