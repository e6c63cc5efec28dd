#include "run/measured_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"

namespace tessera::inline v1::run {

std::string cell_text(const io::Value& value) {
  if (const auto* integer = std::get_if<index_t>(&value))
    return *integer == -1 ? "-" : std::to_string(*integer);  // -1: not applicable
  if (const auto* real = std::get_if<double>(&value))
    return std::isnan(*real) ? "-" : human_number(*real);
  return std::get<std::string>(value);
}

std::string exact_bytes(index_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, units[unit]);
}

std::vector<std::string> setting_texts(const Measured& measured) {
  std::vector<std::string> texts;
  for (const io::Cell& cell : measured.columns) {
    const auto* const bytes = cell.units == "B" ? std::get_if<index_t>(&cell.value) : nullptr;
    if (measured.unused.contains(cell.column))
      texts.emplace_back("-");
    else
      texts.push_back(bytes != nullptr ? exact_bytes(*bytes) : cell_text(cell.value));
  }
  return texts;
}

std::string interval_heading(index_t repetitions) {
  const std::string text = interval_text({.count = static_cast<std::size_t>(repetitions)});
  const auto mark = text.find(" (");
  return (mark == std::string::npos ? "95 %" : text.substr(mark + 2, text.size() - mark - 3)) +
         " interval";
}

std::string interval_cell(const Summary& seconds, index_t repetitions) {
  std::string text = interval_text(seconds);
  if (static_cast<index_t>(seconds.count) == repetitions)
    text.resize(std::min(text.find(" ("), text.size()));
  return text;
}

std::vector<std::string> energy_cells(const NodesEnergy& energy) {
  const double idle = energy.idle_share;
  return {cell_text(energy.joules), cell_text(energy.watts),
          std::isnan(idle) ? "-" : fmt::format("{:.0f} %", 100 * idle)};
}

std::string verdict_text(const std::optional<Verdict>& verdict) {
  if (!verdict) return "not checked";
  const std::string ratio = human_number(verdict->ratio), most = human_number(verdict->tolerance);
  const std::string error =
      verdict->error ? fmt::format("; error {:.1e}", *verdict->error) : std::string();
  return verdict->passed() ? fmt::format("passed ({} <= {}{})", ratio, most, error)
                           : fmt::format("FAILED ({}, not <= {}{})", ratio, most, error);
}

}  // namespace tessera::inline v1::run
