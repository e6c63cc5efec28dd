// Points on a GPU on paper: their request, their row of the printed tables, and their results.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/table.hpp"
#include "base/text.hpp"
#include "io/schema.hpp"
#include "kernels/memory/device_probes.hpp"
#include "locality.hpp"

namespace tessera::apps::locality {

using paper::Kind;
using paper::Report;
using paper::Space;

paper::Request paper_request(const run::Values& point) {
  paper::Request r;
  r.problem = request_of(point).problem;
  r.block = point.integer("block");
  if (r.problem.workload != "memory") return r;
  constexpr index_t rounds = 4;  // more of them ask for the same, again
  r.problem.n = round_up(r.problem.n, 4);
  r.walk.bytes = 4 * r.problem.n;
  r.walk.rounds = rounds;
  for (const memory::DeviceParameter& p : memory::device_parameters()) {
    if (is_paper_option(p.name) && point.has(p.name)) r.walk.*p.member = point.integer(p.name);
  }
  const auto* const row = find_variant(memory::device_probes(), r.problem.kernel);
  if (row != nullptr) r.walk = memory::completed(*row, r.walk);
  if (r.walk.ways < 0) r.walk.ways = 4;
  return r;
}

namespace {

paper::Traffic requests(const Report& r, Space space, std::initializer_list<Kind> kinds) {
  paper::Traffic sum;
  for (const Kind kind : kinds) sum += r.meter.all(space, kind);
  return sum;
}

std::string per_request(const paper::Traffic& traffic, index_t count) {
  return traffic.requests > 0 ? fmt::format("{:.2f}", traffic.per_request(count)) : "-";
}

std::string size_of(const Report& r) {
  const TracedProblem& p = r.request.problem;
  if (p.workload == "memory") return fmt::format("{} words", p.n);
  return p.workload == "matmul" ? fmt::format("{} x {} x {}", p.m, p.n, p.k)
                                : fmt::format("{} x {}", p.m, p.n);
}

/// Returns the choices that distinguish points of a kernel.
std::string choice_of(const Report& r) {
  const TracedProblem& p = r.request.problem;
  std::string choice;
  const auto add = [&](bool taken, const char* what, index_t value) {
    if (taken) choice += fmt::format("{}{} {}", choice.empty() ? "" : ", ", what, value);
  };
  add(p.workload == "matmul" && p.kernel == "cuda_tiled", "tiles of", p.tile);
  add(p.column_width > 0, "columns of", p.column_width);
  if (p.workload != "memory") return choice;
  const auto* const row = find_variant(memory::device_probes(), p.kernel);
  for (const memory::DeviceParameter& parameter : memory::device_parameters())
    add(row != nullptr && takes(*row, parameter), parameter.name, r.request.walk.*parameter.member);
  add(p.kernel == "switch_data", "ways", r.request.walk.ways);
  return choice.empty() ? "-" : choice;
}

std::vector<std::string> settings_of(const Report& r) {
  const TracedProblem& p = r.request.problem;
  const std::string choice = choice_of(r);
  return {r.gpu.name,
          p.workload,
          p.workload == "stencil" ? p.stencil : "-",
          size_of(r),
          std::to_string(p.element_bytes),
          p.kernel,
          choice.empty() ? "-" : choice};
}
const std::vector<std::string> settings{"device",        "workload", "stencil", "size",
                                        "element bytes", "kernel",   "choice"};

Table table_of(std::vector<std::string> columns) {
  columns.insert(columns.begin(), settings.begin(), settings.end());
  return Table(std::move(columns));
}

/// Returns the first of several resources; "shared" for "shared memory".
std::string short_name(const std::string& resources) {
  const std::string first = resources.substr(0, resources.find(','));
  return first == "shared memory" ? "shared" : first;
}

io::Row kernel_row(const std::string& key, const Report& r) {
  const TracedProblem& p = r.request.problem;
  const paper::Launch& launch = r.meter.launch;
  io::Row row = with(row_of(key, p), {{"stencil", p.stencil},
                                      {"element_bytes", p.element_bytes, "B"},
                                      {"device", r.gpu.name},
                                      {"compute_capability", r.gpu.version},
                                      {"choice", choice_of(r)},
                                      {"grid", launch.blocks},
                                      {"threads", launch.threads},
                                      {"registers", r.registers},
                                      {"shared_bytes", launch.shared_bytes, "B"},
                                      {"blocks", r.residency.blocks},
                                      {"occupancy", r.residency.occupancy},
                                      {"limit", r.residency.limit},
                                      {"ways", r.meter.ways()},
                                      {"most_ways", r.meter.most_ways()},
                                      {"divergent_warps", r.meter.divergent_warps()},
                                      {"warps", r.meter.warps()},
                                      {"active_lanes", r.meter.active_lanes()},
                                      {"flight", r.flight, "B"},
                                      {"flight_needed", r.gpu.bytes_in_flight(), "B"},
                                      {"operations", r.operations},
                                      {"memory_bytes", r.memory_bytes, "B"},
                                      {"l2_bytes", r.l2_bytes, "B"},
                                      {"intensity", r.intensity(), "FLOP/B"},
                                      {"bound", r.bound().by},
                                      {"least_seconds", r.bound().seconds, "s"},
                                      {"simulated_seconds", r.seconds, "s"}});
  for (const char* by : {"memory", "L2", "shared memory", "compute"}) {
    const auto found = std::find_if(r.bounds.begin(), r.bounds.end(), [&](const paper::Bound& b) {
      return b.by == by || (b.by == "latency" && std::string_view(by) == "memory");
    });
    std::string column = fmt::format("bound_{}", by);
    std::replace(column.begin(), column.end(), ' ', '_');
    row.push_back({column, found == r.bounds.end() ? NAN : found->seconds, "s"});
  }
  return row;
}

std::vector<io::Row> array_rows(const std::string& key, const Report& r) {
  std::vector<io::Row> rows;
  for (const paper::ArrayTraffic& array : r.meter.arrays()) {
    for (const auto& [kind, name] :
         {std::pair{Kind::load, "load"}, {Kind::store, "store"}, {Kind::atomic, "atomic"}}) {
      const paper::Traffic& traffic = array.of(kind);
      if (traffic.requests == 0) continue;
      rows.push_back({{"point", key},
                      {"kernel", r.request.problem.kernel},
                      {"array", array.name},
                      {"space", std::string(array.space == Space::global ? "global" : "shared")},
                      {"kind", std::string(name)},
                      {"requests", traffic.requests},
                      {"lanes", traffic.lanes},
                      {"segments", traffic.segments},
                      {"segment_bytes", r.meter.segment_bytes(), "B"},
                      {"lines", traffic.lines},
                      {"passes", traffic.passes}});
    }
  }
  return rows;
}

Drawn drawn_by(const paper::Steps& steps, const run::Values& point) {
  Drawn drawn{{}, {}, {}, point.integer("diagram"), steps.segment_bytes()};
  for (const paper::Steps::Placed& one : steps.arrays()) {
    drawn.arrays.push_back(one.array.name);
    drawn.begins.push_back(one.begin);
    drawn.bytes.push_back(one.array.bytes);
  }
  return drawn;
}

}  // namespace

OnPaper::OnPaper()
    : requests_(table_of({"segments a load", "segments a store", "passes a load", "passes a store",
                          "ways", "lanes"})),
      bounds_(table_of({"blocks", "flight", "FLOP/B", "at least", "bound"})),
      settings_(settings.size()) {}

std::vector<io::TableRows> OnPaper::run(const std::string& key, const run::Values& point) {
  const paper::PaperGpu gpu = paper::parse_device(point.text("device"));
  std::optional<paper::Steps> steps;
  if (point.has("diagram")) steps.emplace(point.integer("diagram"), gpu.segment_bytes, most_marks);
  const Report r = paper::run(gpu, paper_request(point), steps ? &*steps : nullptr);
  std::vector<io::TableRows> tables = add(key, r);
  if (!steps) return tables;
  fmt::print("{} {}, {}: block 0 of {}, thread by thread\n{}\n", r.request.problem.workload,
             r.request.problem.kernel, size_of(r), r.meter.launch.blocks, steps->text());
  for (io::TableRows& table : tables_of(key, drawn_by(*steps, point), steps->diagram()))
    tables.push_back(std::move(table));
  return tables;
}

std::vector<io::TableRows> OnPaper::add(const std::string& key, const Report& r) {
  const paper::Traffic loads = requests(r, Space::global, {Kind::load}),
                       stores = requests(r, Space::global, {Kind::store, Kind::atomic}),
                       from = requests(r, Space::shared, {Kind::load}),
                       to = requests(r, Space::shared, {Kind::store, Kind::atomic});
  std::vector<io::TableRows> tables{{io::schema::paper, {kernel_row(key, r)}},
                                    {io::schema::paper_arrays, array_rows(key, r)}};
  std::vector<std::string> cells = settings_of(r);
  if (!shown_.insert(join(cells, " ")).second) return tables;  // of options that it ignores
  for (const std::string& cell :
       {per_request(loads, loads.segments), per_request(stores, stores.segments),
        per_request(from, from.passes), per_request(to, to.passes),
        fmt::format("{:.2f}", r.meter.ways()), fmt::format("{:.1f}", r.meter.active_lanes())})
    cells.push_back(cell);
  requests_.add(cells);
  cells = settings_of(r);
  for (const std::string& cell :
       {fmt::format("{} {}", r.residency.blocks, short_name(r.residency.limit)),
        r.flight > 0 ? fmt::format("{:.0f} %", 100 * r.flight_share()) : "-",
        fmt::format("{:.2f}", r.intensity()), human_seconds(r.bound().seconds),
        short_name(r.bound().by)})
    cells.push_back(cell);
  bounds_.add(cells);
  devices_.emplace(
      r.gpu.name, fmt::format("{}: segments of {} B; {} in flight per multiprocessor "
                              "sustain {:.0f} GB/s\n",
                              r.gpu.name, r.gpu.segment_bytes, human_bytes(r.gpu.bytes_in_flight()),
                              r.gpu.bandwidth / 1e9));
  return tables;
}

void OnPaper::print() const {
  if (requests_.empty()) return;
  for (const auto& [name, text] : devices_) fmt::print("{}", text);
  fmt::print("\nper request of a warp to global memory (segments) and shared memory (passes)\n{}",
             requests_.fitted(settings_, terminal_columns()));
  fmt::print(
      "\nblocks of a multiprocessor and their limit, bytes in flight over those that the\n"
      "bandwidth needs, and the longest bound of the time\n{}\n",
      bounds_.fitted(settings_, terminal_columns()));
}

}  // namespace tessera::apps::locality
