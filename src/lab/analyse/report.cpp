#include "lab/analyse/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/lines.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "io/schema.hpp"
#include "mpi/launcher.hpp"

namespace tessera::inline v1::analyse {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string factor(double value) {
  return std::isinf(value) ? "unlimited" : fmt::format("{:.2f}", value);
}
double ratio(index_t part, index_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<index_t>(1, whole));
}
std::string name_of(const Place& place) {
  return place.function.empty() ? "[" + place.module + "]" : place.function;
}
/// Returns the end of a long name: its beginning is namespaces.
std::string shortened(const std::string& name) {
  constexpr std::size_t most = 36;
  return name.size() <= most ? name : "..." + name.substr(name.size() - most + 3);
}
bool was_parallel(const Profile& profile) { return profile.busy.size() > 2; }

/// Returns how much faster the whole program is if a share of its work takes 1/speedup of its time.
double whole_if(double share, double speedup) { return amdahl(1 - share, speedup); }

std::string phases_text(const Profile& profile, std::size_t columns) {
  if (profile.phases.size() < 2) return {};
  Table table({"phase", "share", "of it serial", "if 2 x faster", "if infinitely"});
  for (const PhaseProfile& phase : profile.phases) {
    const double share = ratio(phase.samples, profile.samples());
    table.add({phase.phase, percent(share), percent(ratio(phase.serial, phase.samples)),
               factor(whole_if(share, 2)), factor(whole_if(share, infinite))});
  }
  return "\nshares of processor time by phase; speed-up of the program if it were faster\n" +
         table.within(columns);
}

std::string spots_text(const Profile& profile, const PhaseProfile& phase, index_t top,
                       std::size_t columns) {
  Table table({"function", "share", "of it serial", "if 2 x faster", "if infinitely"});
  const auto shown = std::min(static_cast<std::size_t>(top), phase.spots.size());
  for (std::size_t s = 0; s < shown; ++s) {
    const Spot& spot = phase.spots[s];
    const double share = ratio(spot.samples, profile.samples());
    table.add({shortened(name_of(spot.place)), percent(share),
               percent(ratio(spot.serial, spot.samples)), factor(whole_if(share, 2)),
               factor(whole_if(share, infinite))});
  }
  const auto rest = phase.spots.size() - shown;
  return fmt::format(
      "\nhotspots in {}, of the program's processor time\n{}{}", phase.phase, table.within(columns),
      rest == 0 ? ""
                : fmt::format("and {}\n", counted(static_cast<index_t>(rest), "other function")));
}

std::string laws_text(const Analysed& analysed, std::size_t columns) {
  const Profile& profile = analysed.profile;
  if (!was_parallel(profile))
    return "\nOne thread at a time was busy: run the program on several threads to distinguish "
           "what is\nserial from what could be parallel. The tables above show what a faster part "
           "gains.\n";
  const double work = profile.serial_of_work(), time = profile.serial_of_time();
  std::string out =
      fmt::format("\nserial: {} of the work (+- {}), {} of the time, while one thread was busy\n",
                  percent(work), percent(profile.serial_error()), percent(time));
  Table table({"processors", "speed-up at most (Amdahl)", "of a grown problem (Gustafson)"});
  for (const double processors : usual_processors())
    table.add({std::isinf(processors) ? "infinite" : fmt::format("{}", processors),
               factor(work > 0 || !std::isinf(processors) ? amdahl(work, processors) : infinite),
               factor(time < 1 ? gustafson(time, processors) : 1)});
  out += table.within(columns);
  return out;
}

std::string measured_text(const Analysed& analysed) {
  const Profile& profile = analysed.profile;
  std::string out = fmt::format("busy processors on average: {:.2f} of {}\n", profile.mean_busy(),
                                counted(static_cast<index_t>(profile.busy.size()) - 1, "thread"));
  if (analysed.alone)
    out += fmt::format("measured: {} on one thread, {} here: {:.2f} times faster\n",
                       human_seconds(*analysed.alone), human_seconds(analysed.wall),
                       *analysed.alone / analysed.wall);
  return out;
}

}  // namespace

void require_no_launcher() {
  require(!mpi::launcher().there, ExitCode::usage,
          "analyse samples one process; start it without mpirun");
}

std::vector<double> usual_processors() { return {2, 4, 16, infinite}; }

std::string text_of(const Analysed& analysed, index_t top, std::size_t columns) {
  const Profile& profile = analysed.profile;
  std::string out = fmt::format(
      "analysed: {}\n{} of {}, each {} of processor time, by {}; {} more waited\n",
      analysed.command, counted(profile.samples(), "sample"), counted(profile.threads, "thread"),
      human_seconds(profile.period), profile.source, profile.waiting);
  if (profile.lost > 0)
    out += fmt::format("lost: {} at the end\n", counted(profile.lost, "sample"));
  out += text_of(analysed.gpu, top, columns);
  if (profile.samples() == 0) return out;
  out += phases_text(profile, columns);
  for (const PhaseProfile& phase : profile.phases) {
    constexpr double worth_telling = 0.05;
    if (ratio(phase.samples, profile.samples()) >= worth_telling)
      out += spots_text(profile, phase, top, columns);
  }
  return out + laws_text(analysed, columns) + measured_text(analysed);
}

std::vector<io::TableRows> tables_of(const Analysed& analysed) {
  const Profile& profile = analysed.profile;
  io::TableRows spots{io::schema::hotspots, {}}, laws{io::schema::laws, {}},
      busy{io::schema::busy, {}}, gpu{io::schema::gpu_calls, {}};
  for (const PhaseProfile& phase : profile.phases)
    for (const Spot& spot : phase.spots)
      spots.rows.push_back({{"phase", phase.phase},
                            {"function", name_of(spot.place)},
                            {"module", spot.place.module},
                            {"samples", spot.samples},
                            {"serial", spot.serial},
                            {"share", ratio(spot.samples, profile.samples())}});
  for (std::size_t k = 1; k < profile.busy.size(); ++k)
    busy.rows.push_back({{"threads", static_cast<index_t>(k)}, {"samples", profile.busy[k]}});
  if (was_parallel(profile))
    for (const double processors : usual_processors())
      laws.rows.push_back({{"processors", processors},
                           {"amdahl", amdahl(profile.serial_of_work(), processors)},
                           {"gustafson", gustafson(profile.serial_of_time(), processors)}});
  for (const auto& [kind, calls] :
       {std::pair("operation", &analysed.gpu.operations), std::pair("call", &analysed.gpu.calls)})
    for (const GpuCall& call : *calls)
      gpu.rows.push_back({{"kind", kind},
                          {"name", call.name},
                          {"calls", call.calls},
                          {"seconds", call.seconds},
                          {"least", call.least},
                          {"most", call.most}});
  std::vector<io::TableRows> tables{spots, busy, laws, gpu};
  std::erase_if(tables, [](const io::TableRows& one) { return one.rows.empty(); });
  return tables;
}

}  // namespace tessera::inline v1::analyse
