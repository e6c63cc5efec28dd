#include "base/text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

namespace tessera::inline v1 {

std::string human_bytes(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", unit == 0 ? fmt::format("{:.0f}", bytes) : human_number(bytes),
                     units[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  constexpr double hour = 3600, day = 24 * hour;
  if (std::abs(seconds) >= 2 * day) return human_number(seconds / day) + " days";
  if (std::abs(seconds) >= 2 * hour) return human_number(seconds / hour) + " h";
  if (std::abs(seconds) >= 1) return human_number(seconds) + " s";
  if (std::abs(seconds) >= 1e-3) return human_number(seconds * 1e3) + " ms";
  if (std::abs(seconds) >= 1e-6) return human_number(seconds * 1e6) + " us";
  return human_number(seconds * 1e9) + " ns";
}

std::string human_number(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == std::floor(value) && size < 1e7) return fmt::format("{:.0f}", value);
  if (size >= 1e7 || size < 1e-3) return fmt::format("{:.3g}", value);
  if (size >= 100) return fmt::format("{:.0f}", value);
  if (size >= 10) return fmt::format("{:.1f}", value);
  if (size >= 1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

std::string counted(index_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string printable(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (code < 0x20 || code == 0x7f) {
      line += fmt::format("\\x{:02x}", code);
    } else {
      line += c;
    }
  }
  return line;
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string wrapped(const std::vector<std::string>& words, std::size_t columns) {
  std::string text;
  std::size_t used = 0;
  for (const std::string& word : words) {
    if (text.empty()) {
      text = word;
    } else if (used + word.size() + 3 > columns) {  // with the comma after it
      text += ",\n" + word;
      used = 0;
    } else {
      text += ", " + word;
      used += 2;
    }
    used += word.size();
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const auto end = text.find(separator, begin);
    parts.emplace_back(trim(text.substr(begin, end - begin)));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

index_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<index_t> d((a.size() + 1) * width);
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      auto& cell = d[i * width + j];
      if (i == 0 || j == 0) {
        cell = static_cast<index_t>(i + j);
        continue;
      }
      const index_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cell = std::min({d[(i - 1) * width + j] + 1, d[i * width + j - 1] + 1,
                       d[(i - 1) * width + j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cell = std::min(cell, d[(i - 2) * width + j - 2] + 1);
      }
    }
  }
  return d.back();
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  if (word.size() < 2) return best;  // a one-letter word has no near candidates
  auto best_distance = static_cast<index_t>((word.size() + 2) / 3) + 1;
  for (const auto& candidate : candidates) {
    const bool is_prefixed = candidate.ends_with(word) && candidate.size() > word.size() + 1;
    if (is_prefixed) continue;  // cublas is not a mistyped blas
    const bool completes =
        word.size() >= 3 && std::string_view(candidate).substr(0, word.size()) == word;
    const index_t distance = completes ? 1 : edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  if (!near.empty()) return fmt::format("; did you mean '{}'?", near);
  return candidates.empty() ? std::string() : fmt::format("; known: {}", join(candidates, ", "));
}

index_t parse_bytes(std::string_view text) {
  const std::string_view trimmed = trim(text);
  double number = 0;
  const auto [rest, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  std::string unit(trim({rest, static_cast<std::size_t>(trimmed.data() + trimmed.size() - rest)}));
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const std::string why =
      fmt::format("'{}' is not a number of bytes; write 4096, 64MiB, 1.5G or 2GB", text);
  require(error == std::errc() && std::isfinite(number) && number >= 0, ExitCode::usage, why);
  constexpr double most = 9e18;
  require(number < most, ExitCode::usage, why);
  if (unit.empty() || unit == "b") return static_cast<index_t>(number);
  const auto power = std::string_view("kmgtpe").find(unit[0]);
  require(power != std::string_view::npos, ExitCode::usage, why);
  const std::string_view tail = std::string_view(unit).substr(1);
  require(tail.empty() || tail == "b" || tail == "i" || tail == "ib", ExitCode::usage, why);
  const double base = tail == "b" ? 1000 : 1024;
  const double bytes = number * std::pow(base, static_cast<double>(power + 1));
  require(bytes < most, ExitCode::usage, why);
  return static_cast<index_t>(bytes);
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace tessera::inline v1
