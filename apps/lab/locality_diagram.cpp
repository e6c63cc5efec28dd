#include "io/schema.hpp"
#include "locality.hpp"

namespace tessera::apps::locality {

namespace lab = tessera::locality;
namespace schema = io::schema;

namespace {

io::TableRows arrays_of(const std::string& key, const Drawn& a, bool exact) {
  io::TableRows table{schema::arrays, {}};
  for (std::size_t i = 0; i < a.arrays.size(); ++i) {
    table.rows.push_back({{"point", key},
                          {"array", a.arrays[i]},
                          {"begin", a.begins[i], "B"},
                          {"bytes", a.bytes[i], "B"},
                          {"cache_lines", a.lines},
                          {"line_bytes", a.line_bytes, "B"},
                          {"exact", index_t{exact}}});
  }
  return table;
}

}  // namespace

std::vector<io::TableRows> tables_of(const std::string& key, const Drawn& a,
                                     const lab::Diagram& diagram) {
  io::TableRows marks{schema::marks, {}}, stays{schema::stays, {}}, density{schema::density, {}};
  if (diagram.exact()) {
    for (const lab::Mark& m : diagram.marks()) {
      marks.rows.push_back({{"point", key},
                            {"time", m.time},
                            {"address", m.address, "B"},
                            {"array", a.arrays[m.array]},
                            {"store", index_t{m.store}},
                            {"fetched", index_t{m.fetched}}});
    }
    for (const lab::Stay& s : diagram.stays()) {
      stays.rows.push_back({{"point", key},
                            {"line", s.line},
                            {"array", a.arrays[s.array]},
                            {"from", s.from},
                            {"to", s.to}});
    }
  } else {
    const lab::Diagram::Density d = diagram.density();
    for (const lab::DensityCell& c : d.cells) {
      density.rows.push_back({{"point", key},
                              {"time", c.time},
                              {"line", c.line},
                              {"time_step", d.time_step},
                              {"line_step", d.line_step},
                              {"array", a.arrays[c.array]},
                              {"touches", c.touches},
                              {"fetched", c.fetched}});
    }
  }
  return {arrays_of(key, a, diagram.exact()), marks, stays, density};
}

}  // namespace tessera::apps::locality
