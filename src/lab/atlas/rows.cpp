// Tables of the atlas in results files.

#include <cmath>

#include "io/schema.hpp"
#include "lab/atlas/atlas.hpp"

namespace tessera::inline v1::atlas {
namespace {

namespace schema = io::schema;
using io::Row;
using io::TableRows;

/// Returns a table of one row per item, without rows if there are none.
template <class Item, class Make>
TableRows table(const char* name, const std::vector<Item>& items, const Make& make) {
  TableRows result{name, {}};
  for (const Item& item : items) result.rows.push_back(make(item));
  return result;
}

double ns(double seconds) { return 1e9 * seconds; }

Row chase_row(const Chased& one, double cycle) {
  return {{"chase", std::string(name(one.kind))},
          {"bytes", one.bytes, "B"},
          {"loads", one.loads},
          {"latency", ns(one.seconds.least), "ns"},
          {"median", ns(one.seconds.median), "ns"},
          {"cycles", one.seconds.least / cycle}};
}

Row level_row(const Level& level, double cycle) {
  return {{"level", level.name},
          {"nominal", level.nominal, "B"},
          {"measured", level.measured, "B"},
          {"latency", ns(level.seconds), "ns"},
          {"cycles", level.seconds / cycle}};
}

Row reach_row(const Reach& reach) {
  return {{"threshold", reach.cycles, "cycles"},
          {"pages", reach.pages},
          {"reach", reach.pages * machine::page_bytes(), "B"},
          {"found", index_t{reach.found}}};
}

Row rate_row(const Rate& rate) {
  return {{"traffic", std::string(name(rate.traffic))},
          {"threads", index_t{rate.threads}},
          {"bytes", rate.bytes, "B"},
          {"bandwidth", rate.bytes_per_second / 1e9, "GB/s"}};
}

Row pair_row(const CorePair& pair) {
  return {{"unit", index_t{pair.unit}},
          {"other", index_t{pair.other}},
          {"latency", ns(pair.seconds.least), "ns"},
          {"median", ns(pair.seconds.median), "ns"}};
}

Row operation_row(const Operation& one) {
  return {{"operation", one.name},
          {"apart", one.apart, "B"},
          {"threads", index_t{one.threads}},
          {"time", ns(one.seconds), "ns"}};
}

Row root_row(const InverseRoot& one) {
  return {{"root", one.name}, {"time", ns(one.cost.seconds), "ns"}, {"error", one.cost.error}};
}

Row remote_row(const Remote& one) {
  return {{"from", index_t{one.from}},
          {"to", index_t{one.to}},
          {"distance", one.distance},
          {"latency", ns(one.seconds.least), "ns"},
          {"median", ns(one.seconds.median), "ns"}};
}

Row gpu_page_row(const PagesOnDevice& one) {
  return {{"page", one.page, "B"},
          {"pages", one.pages},
          {"bytes", one.page * one.pages, "B"},
          {"latency", ns(one.of_pages), "ns"},
          {"of_lines", ns(one.of_lines), "ns"}};
}

Row gpu_wait_row(const WaitOnDevice& one) {
  return {{"what", one.what}, {"threads", one.threads}, {"time", ns(one.seconds), "ns"}};
}

Row message_row(const Message& one) {
  return {{"from", index_t{one.from}},
          {"to", index_t{one.to}},
          {"bytes", one.bytes, "B"},
          {"time", 1e6 * one.seconds, "us"},
          {"bandwidth", static_cast<double>(one.bytes) / one.seconds / 1e9, "GB/s"}};
}

}  // namespace

std::vector<TableRows> tables_of(const Atlas& atlas) {
  const double cycle = atlas.cycle;
  std::vector<TableRows> tables{
      table(schema::atlas_chases, atlas.chases,
            [=](const Chased& one) { return chase_row(one, cycle); }),
      table(schema::atlas_levels, levels_of(atlas.curve(), atlas.caches),
            [=](const Level& one) { return level_row(one, cycle); }),
      table(schema::atlas_reaches, reaches_of(atlas.chases, cycle), reach_row),
      table(schema::atlas_rates, atlas.rates, rate_row),
      table(schema::atlas_pairs, atlas.pairs, pair_row),
      table(schema::atlas_operations, atlas.operations, operation_row),
      table(schema::atlas_roots, atlas.roots, root_row),
      table(schema::atlas_remotes, atlas.remotes, remote_row),
      table(schema::atlas_messages, atlas.messages, message_row),
      table(schema::atlas_gpu_pages, atlas.gpu_pages, gpu_page_row),
      table(schema::atlas_gpu_waits, atlas.gpu_waits, gpu_wait_row)};
  for (const auto& [units, latency] : {std::pair{"ns", true}, std::pair{"GB/s", false}}) {
    TableRows found{latency ? schema::atlas_gpu_chases : schema::atlas_gpu_rates, {}};
    for (const OnDevice& one : atlas.on_device)
      if (one.units == units)
        found.rows.push_back({{"kernel", one.kernel},
                              {"bytes", one.bytes, "B"},
                              {latency ? "latency" : "bandwidth", one.value, units}});
    tables.push_back(std::move(found));
  }
  std::erase_if(tables, [](const TableRows& one) { return one.rows.empty(); });
  return tables;
}

}  // namespace tessera::inline v1::atlas
