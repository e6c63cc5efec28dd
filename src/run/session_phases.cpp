// Time by phase, ranks and machine as rows of the results.

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"
#include "io/schema.hpp"
#include "machine/topology.hpp"
#include "mpi/account.hpp"
#include "mpi/runtime.hpp"
#include "run/session.hpp"

namespace tessera::inline v1::run {

/// Returns the phases that any rank went through, in the same order on all ranks: a rank without
/// data may have skipped some.
std::vector<std::string> Session::phase_names(const mpi::Phases& phases) const {
  std::vector<std::string> mine, all;
  for (const auto& [name, seconds] : phases.seconds()) mine.push_back(name);
  for (const std::string& text : comm_.gather(join(mine, ","), 0)) {
    for (std::string& name : split(text, ',')) {
      if (!name.empty() && std::find(all.begin(), all.end(), name) == all.end())
        all.push_back(std::move(name));
    }
  }
  const std::string agreed = comm_.broadcast(join(all, ","), 0);
  return agreed.empty() ? std::vector<std::string>{} : split(agreed, ',');
}

std::vector<io::Row> Session::phase_rows(const std::string& point, const Measured& measured) const {
  std::vector<io::Row> result;
  const auto add = [&](const mpi::Phases& phases, index_t repetition) {
    for (const std::string& name : phase_names(phases)) {
      const std::vector<double> all = comm_.all_gather(phases.of(name));
      for (std::size_t r = 0; r < all.size(); ++r) {
        result.push_back({{"point", point, ""},
                          {"repetition", repetition, ""},
                          {"rank", static_cast<index_t>(r), ""},
                          {"phase", name, ""},
                          {"seconds", all[r], "s"}});
      }
    }
  };
  for (std::size_t r = 0; r < measured.phases.size(); ++r)
    add(measured.phases[r], static_cast<index_t>(r));
  add(measured.once, -1);  // once per point: read, verify, write
  return result;
}

/// Returns the time of every process by phase, from its start until now. Collective.
std::vector<io::Row> Session::wall_rows() const {
  std::string mine;
  for (const auto& [phase, seconds] : mpi::account().seconds())
    mine += fmt::format("{}\t{:.9f}\n", phase, seconds);
  std::vector<io::Row> result;
  index_t rank = 0;
  for (const std::string& text : comm_.gather(mine, 0)) {
    for (const std::string& line : split(text, '\n')) {
      const std::vector<std::string> words = split(line, '\t');
      if (words.size() != 2) continue;
      result.push_back(
          {{"rank", rank, ""}, {"phase", words[0], ""}, {"seconds", std::stod(words[1]), "s"}});
    }
    ++rank;
  }
  return result;
}

/// Returns the measured ceilings and the figures of the GPU's driver.
std::vector<Ceiling> Session::machine_rows() const {
  std::vector<Ceiling> result = ceilings_.all;
  if (gpus_ == nullptr || gpus_->devices.empty()) return result;
  const std::vector<Ceiling> gpu = properties(gpus_->devices.front());
  result.insert(result.end(), gpu.begin(), gpu.end());
  return result;
}

/// Returns the tables of the ranks and of the machine. Collective.
std::vector<io::TableRows> Session::machine_tables() const {
  const auto hosts = comm_.gather(mpi::host_name(), 0);
  const auto cpus = comm_.gather(machine::topology().cpu_list, 0);
  const auto peaks = comm_.all_gather(machine::peak_resident()),
             planned = comm_.all_gather(planned_);
  io::TableRows ranks{io::schema::ranks, {}};
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    ranks.rows.push_back({{"rank", static_cast<index_t>(r), ""},
                          {"host", hosts[r], ""},
                          {"cpus", cpus[r], ""},
                          {"planned_resident", planned[r], "B"},
                          {"peak_resident", peaks[r], "B"}});
  }
  io::TableRows machine{io::schema::machine, {}};
  for (const Ceiling& c : machine_rows()) {
    machine.rows.push_back({{"name", c.name, ""},
                            {"threads", c.threads, ""},
                            {"value", c.value, ""},
                            {"units", c.units, ""}});
  }
  return {std::move(ranks), std::move(machine)};
}

/// Returns every phase interval of every rank in the watched repetition. Collective.
std::vector<io::Row> Session::timeline_rows(const std::string& point,
                                            const Measured& measured) const {
  std::string mine;
  for (const mpi::Phases& phases : measured.phases) {
    for (const mpi::Stay& stay : phases.stays())
      mine += fmt::format("{}\t{:.9f}\t{:.9f}\n", stay.phase, stay.begin, stay.end);
  }
  std::vector<io::Row> result;
  index_t rank = 0;
  for (const std::string& text : comm_.gather(mine, 0)) {
    for (const std::string& line : split(text, '\n')) {
      const std::vector<std::string> words = split(line, '\t');
      if (words.size() != 3) continue;
      result.push_back({{"point", point, ""},
                        {"rank", rank, ""},
                        {"phase", words[0], ""},
                        {"begin", std::stod(words[1]), "s"},
                        {"end", std::stod(words[2]), "s"}});
    }
    ++rank;
  }
  return result;
}

}  // namespace tessera::inline v1::run
