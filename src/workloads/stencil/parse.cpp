// Parsers of --boundary, --weights and --checkpoint-every.

#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "base/text.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

using dist::stencil::Boundary;
using dist::stencil::Sides;
using tessera::stencil::Side;

double parse_number(const std::string& word, const std::string& where) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  require(error == std::errc() && end == word.data() + word.size() && std::isfinite(value),
          ExitCode::usage, fmt::format("{}: '{}' is not a finite number", where, word));
  return value;
}

/// Parses "mirror", "constant:1.5".
Side parse_side(const std::string& text) {
  const auto parts = split(text, ':');
  Side side{tessera::stencil::parse_boundary(parts[0]), 0};
  const bool has_value = parts.size() == 2;
  const bool is_zero = parts[0] == "zero" || parts[0] == "zeros";
  require(parts.size() <= 2 && has_value == (info(side.kind).takes_value && !is_zero),
          ExitCode::usage,
          fmt::format("--boundary '{}': constant requires a value and no other name accepts one; "
                      "write constant:1.5",
                      text));
  if (has_value) side.value = parse_number(parts[1], "--boundary");
  return side;
}

/// The ends of dimensions that are already named.
using Named = std::array<std::array<bool, 2>, 3>;

/// Parses "x=mirror", "y-=clamp", "z+=constant:2" into sides that are not named yet.
void set_sides(Sides& sides, Named& named, const std::string& text, int dims) {
  const auto equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const int d = 2 - static_cast<int>(std::string("xyz").find(name.empty() ? '?' : name[0]));
  const bool known = !name.empty() && std::string("xyz").find(name[0]) != std::string::npos &&
                     (name.size() == 1 || (name.size() == 2 && (name[1] == '-' || name[1] == '+')));
  require(known && d >= 3 - dims, ExitCode::usage,
          fmt::format("--boundary '{}': the sides of a field of {} dimension(s) are {}, each with "
                      "- or + for one end",
                      text, dims,
                      dims == 1   ? "x"
                      : dims == 2 ? "x and y"
                                  : "x, y and z"));
  const Side side = parse_side(text.substr(equals + 1));
  for (std::size_t end = 0; end < 2; ++end) {
    if (name.size() == 2 && name[1] != "-+"[end]) continue;
    bool& before = named[static_cast<std::size_t>(d)][end];
    require(!before, ExitCode::usage,
            fmt::format("--boundary '{}' names a side twice; name each side once", text));
    before = true;
    sides[static_cast<std::size_t>(d)][end] = side;
  }
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (c != ' ' && c != ',' && c != '\t' && c != '\n') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

}  // namespace

Sides parse_sides(const std::string& text, int dims) {
  Sides sides = tessera::stencil::all_sides({});
  Named named{};
  const auto parts = split(text, ',');
  for (const std::string& part : parts) {
    const std::string word(trim(part));
    if (word.find('=') != std::string::npos) {
      set_sides(sides, named, word, dims);
    } else {
      require(&part == &parts.front(), ExitCode::usage,
              fmt::format(
                  "--boundary '{}': the boundary of all sides must be first; write {},x=periodic",
                  text, word));
      const Side side = parse_side(word);
      for (int d = 3 - dims; d < 3; ++d) sides[static_cast<std::size_t>(d)] = {side, side};
    }
  }
  return sides;
}

Weights parse_weights(const std::string& text) {
  Weights weights;
  const auto planes = split(text, '/');
  index_t rows = -1, cols = -1;
  for (const std::string& plane : planes) {
    index_t row_count = 0;
    for (const std::string& row : split(plane, ';')) {
      const auto words = words_of(row);
      if (words.empty()) continue;
      ++row_count;
      require(cols < 0 || cols == static_cast<index_t>(words.size()), ExitCode::usage,
              fmt::format("--weights '{}': rows have {} and {} weights; give rows of equal length",
                          text, cols, words.size()));
      cols = static_cast<index_t>(words.size());
      for (const std::string& word : words)
        weights.values.push_back(parse_number(word, "--weights"));
    }
    require(row_count > 0 && (rows < 0 || rows == row_count), ExitCode::usage,
            fmt::format("--weights '{}': planes are empty or of different size", text));
    rows = row_count;
  }
  weights.shape = {cols};
  if (rows > 1 || planes.size() > 1) weights.shape.insert(weights.shape.begin(), rows);
  if (planes.size() > 1)
    weights.shape.insert(weights.shape.begin(), static_cast<index_t>(planes.size()));
  return weights;
}

Interval parse_interval(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool in_steps = end == text.data() + text.size();
  const bool known = in_steps ? value == std::floor(value) : std::string(end) == "s";
  require(error == std::errc() && value > 0 && value < 1e15 && known, ExitCode::usage,
          fmt::format("--checkpoint-every '{}' is neither seconds (600s) nor whole steps (1000)",
                      text));
  return in_steps ? Interval{0, static_cast<index_t>(value)} : Interval{value, 0};
}

Weights read_weights(const io::DatasetName& name, const io::DatasetInfo& info) {
  require(!info.shape.empty() && info.shape.size() <= 3 && info.reads_as_number(),
          ExitCode::bad_data,
          fmt::format("{} ({}, {}) is not a box of weights; give 1 to 3 dimensions of numbers",
                      name.text(), info.shape_text(), info.type_text()));
  index_t count = 1;
  std::vector<layout::Range> slab;
  for (const index_t extent : info.shape) {
    require(extent >= 1 && extent <= 1024, ExitCode::bad_data,
            fmt::format("{} is {}: a box of weights has 1 to 1024 points in each dimension",
                        name.text(), info.shape_text()));
    slab.push_back({0, extent});
    count *= extent;
  }
  Weights weights{info.shape, std::vector<double>(static_cast<std::size_t>(count))};
  if (name.packing)
    io::read_values<double>(name, slab, weights.values);
  else
    io::read_slab(name, slab,
                  {io::native_type(Element::f64), weights.values.data(), 8, info.shape.back()});
  return weights;
}

}  // namespace tessera::inline v1::workloads::stencil
