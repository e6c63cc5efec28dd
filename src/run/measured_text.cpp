#include "run/measured_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"

namespace tessera::run {

std::string cell_text(const io::Value& value) {
  if (const auto* integer = std::get_if<index_t>(&value))
    return *integer == -1 ? "-" : std::to_string(*integer);  // -1: not applicable
  if (const auto* real = std::get_if<double>(&value))
    return std::isnan(*real) ? "-" : human_number(*real);
  return std::get<std::string>(value);
}

std::vector<std::string> setting_texts(const Measured& measured) {
  std::vector<std::string> texts;
  for (const io::Cell& cell : measured.columns)
    texts.push_back(measured.unused.contains(cell.column) ? "-" : cell_text(cell.value));
  return texts;
}

std::string verdict_text(const std::optional<Verdict>& verdict) {
  if (!verdict) return "not checked";
  const std::string ratio = human_number(verdict->ratio), most = human_number(verdict->tolerance);
  return verdict->passed() ? fmt::format("passed ({} <= {})", ratio, most)
                           : fmt::format("FAILED ({}, not <= {})", ratio, most);
}

}  // namespace tessera::run
