// What --json reports of a point: its row of the results tables as members of an object.

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "io/schema.hpp"
#include "run/answer.hpp"

namespace tessera::inline v1::run {
namespace {

const io::TableRows* table_of(const std::vector<io::TableRows>& tables, const char* name) {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const io::TableRows& one) { return one.table == name; });
  return found == tables.end() ? nullptr : &*found;
}

const io::Cell& cell_of(const io::Row& row, const std::string& column) {
  return *std::find_if(row.begin(), row.end(),
                       [&](const io::Cell& cell) { return cell.column == column; });
}

Json member_of(const io::Row& row, const std::string& column) {
  return json_of(cell_of(row, column).value);
}

/// Returns the cells that describe the point, which precede "ranks". -1: not applicable.
Json settings_of(const io::Row& row) {
  Json settings = Json::object();
  for (const io::Cell& cell : row) {
    if (cell.column == "ranks") break;
    if (cell.column != "point")
      settings[cell.column] = cell.value == io::Value(index_t{-1}) ? Json() : json_of(cell.value);
  }
  return settings;
}

Json check_of(const io::Row& row) {
  if (member_of(row, "verified") == -1) return nullptr;
  return {{"method", member_of(row, "verification_method")},
          {"ratio", member_of(row, "verification_ratio")},
          {"tolerance", member_of(row, "verification_tolerance")},
          {"passed", member_of(row, "verified") == 1}};
}

/// Returns the seconds of the slowest rank and the mean of all ranks in each phase, summed over the
/// repetitions.
Json phases_of(const io::TableRows& rows) {
  std::map<std::pair<std::string, index_t>, std::pair<double, double>> each;  // sum, maximum
  std::vector<std::string> order;
  std::map<std::string, index_t> ranks;
  for (const io::Row& row : rows.rows) {
    const auto& phase = std::get<std::string>(cell_of(row, "phase").value);
    const auto repetition = std::get<index_t>(cell_of(row, "repetition").value);
    const auto seconds = std::get<double>(cell_of(row, "seconds").value);
    if (std::find(order.begin(), order.end(), phase) == order.end()) order.push_back(phase);
    auto& [sum, most] = each[{phase, repetition}];
    sum += seconds;
    most = std::max(most, seconds);
    ranks[phase] = std::max(ranks[phase], std::get<index_t>(cell_of(row, "rank").value) + 1);
  }
  Json phases = Json::array();
  for (const std::string& phase : order) {
    double sum = 0, most = 0;
    for (const auto& [key, seconds] : each) {
      if (key.first != phase) continue;
      sum += seconds.first;
      most += seconds.second;
    }
    phases.push_back(
        {{"phase", phase}, {"slowest", most}, {"mean", sum / static_cast<double>(ranks[phase])}});
  }
  return phases;
}

/// Returns the mean energy of a repetition by domain.
Json energy_of(const io::TableRows& rows) {
  Json domains = Json::array();
  for (const io::Row& row : rows.rows) {
    if (cell_of(row, "repetition").value != io::Value(index_t{-1})) continue;
    Json domain = Json::object();
    for (const char* name :
         {"domain", "joules", "watts", "idle_watts", "idle_share", "counters", "source", "reason"})
      domain[name] = member_of(row, name);
    domains.push_back(std::move(domain));
  }
  return domains;
}

}  // namespace

Json json_of(const io::Value& value) {
  return std::visit([](const auto& one) { return Json(one); }, value);  // NaN is printed as null
}

void answer_point(const std::vector<io::TableRows>& tables) {
  const io::TableRows* const summary = table_of(tables, io::schema::summary);
  if (!answer().is_json() || summary == nullptr) return;
  const io::Row& row = summary->rows.front();
  Json point = {{"point", member_of(row, "point")},
                {"settings", settings_of(row)},
                {"ranks", member_of(row, "ranks")},
                {"threads", member_of(row, "threads")},
                {"repetitions", member_of(row, "repetitions")}};
  point["seconds"] = Json::array();
  for (const io::Row& sample : table_of(tables, io::schema::samples)->rows)
    point["seconds"].push_back(member_of(sample, "seconds"));
  point["median"] = member_of(row, "median");
  point["interval"] = {member_of(row, "ci_low"), member_of(row, "ci_high")};
  point["kernels"] = member_of(row, "kernels");
  point["work"] = {{"amount", member_of(row, "work")}, {"unit", cell_of(row, "work").units}};
  point["rate"] = {{"value", member_of(row, "rate")}, {"unit", cell_of(row, "rate").units}};
  point["ceiling_share"] = member_of(row, "ceiling_share");
  point["check"] = check_of(row);
  const io::TableRows* const phases = table_of(tables, io::schema::phases);
  point["phases"] = phases == nullptr ? Json::array() : phases_of(*phases);
  const io::TableRows* const energy = table_of(tables, io::schema::energy);
  point["energy"] = energy == nullptr ? Json::array() : energy_of(*energy);
  answer().append("points", point);
}

void answer_tables(const std::vector<io::TableRows>& tables) {
  if (!answer().is_json()) return;
  for (const io::TableRows& table : tables) {
    Json units = Json::object(), rows = Json::array();
    for (const io::Row& row : table.rows) {
      Json members = Json::object();
      for (const io::Cell& cell : row) {
        members[cell.column] = json_of(cell.value);
        if (!cell.units.empty()) units[cell.column] = cell.units;
      }
      rows.push_back(members);
    }
    answer().add_rows(table.table, units, rows);
  }
}

void answer_memory(index_t planned, index_t peak) {
  answer().set("memory", {{"planned", planned > 0 ? Json(planned) : Json()}, {"peak", peak}});
}

}  // namespace tessera::inline v1::run
