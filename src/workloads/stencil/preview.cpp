#include "workloads/stencil/preview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

namespace tessera::workloads::stencil {
namespace {

constexpr index_t longest_edge = 800;   // points shown along an edge; every k-th of more
constexpr index_t shortest_edge = 360;  // pixels: smaller fields are magnified
constexpr index_t margin = 12, bar_width = 20, label_width = 90, letter_width = 6, letter_height = 7;

/// The two dimensions of a slice: vertical, horizontal.
std::array<int, 2> axes_of(const Slice& slice) {
  if (slice.across == 0) return {1, 2};
  if (slice.across == 1) return {0, 2};
  return {0, 1};
}

struct Color {
  std::uint8_t red, green, blue;
};

/// Ten points of the map viridis (van der Walt and Smith 2015), linear between them.
Color color_of(double share) {
  constexpr std::array<std::array<double, 3>, 10> map{{{68, 1, 84},
                                                       {72, 40, 120},
                                                       {62, 74, 137},
                                                       {49, 104, 142},
                                                       {38, 130, 142},
                                                       {31, 158, 137},
                                                       {53, 183, 121},
                                                       {109, 205, 89},
                                                       {180, 222, 44},
                                                       {253, 231, 37}}};
  if (!std::isfinite(share)) return {128, 128, 128};
  const double place = std::clamp(share, 0.0, 1.0) * (map.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), map.size() - 2);
  const double part = place - static_cast<double>(below);
  const auto mix = [&](std::size_t k) {
    return static_cast<std::uint8_t>(std::lround(std::lerp(map[below][k], map[below + 1][k], part)));
  };
  return {mix(0), mix(1), mix(2)};
}

/// Letters of 5 x 7 dots, a byte a row, the leftmost dot highest.
struct Glyph {
  char letter;
  std::array<std::uint8_t, 7> rows;
};
constexpr std::array<Glyph, 24> font{{
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 2, 4, 8, 31}},     {'3', {31, 2, 4, 2, 1, 17, 14}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 8, 8, 8}},
    {'8', {14, 17, 17, 14, 17, 17, 14}}, {'9', {14, 17, 17, 15, 1, 2, 12}},
    {'.', {0, 0, 0, 0, 0, 12, 12}},      {'-', {0, 0, 0, 31, 0, 0, 0}},
    {'+', {0, 4, 4, 31, 4, 4, 0}},       {'e', {0, 0, 14, 17, 31, 16, 14}},
    {'s', {0, 0, 15, 16, 14, 1, 30}},    {'t', {8, 8, 28, 8, 8, 9, 6}},
    {'p', {0, 0, 30, 17, 30, 16, 16}},   {'n', {0, 0, 22, 25, 17, 17, 17}},
    {'a', {0, 0, 14, 1, 15, 17, 15}},    {'i', {4, 0, 12, 4, 4, 4, 14}},
    {'x', {0, 0, 17, 10, 4, 10, 17}},    {'y', {0, 17, 17, 10, 4, 8, 16}},
    {'z', {0, 0, 31, 2, 4, 8, 31}},      {'=', {0, 0, 31, 0, 31, 0, 0}},
}};

class Canvas {
 public:
  Canvas(index_t width, index_t height) {
    picture_.width = width;
    picture_.height = height;
    picture_.rgb.assign(static_cast<std::size_t>(3 * width * height), 255);
  }
  void dot(index_t x, index_t y, Color color) {
    if (x < 0 || x >= picture_.width || y < 0 || y >= picture_.height) return;
    const auto at = static_cast<std::size_t>(3 * (y * picture_.width + x));
    picture_.rgb[at] = color.red;
    picture_.rgb[at + 1] = color.green;
    picture_.rgb[at + 2] = color.blue;
  }
  void fill(index_t x0, index_t y0, index_t width, index_t height, Color color) {
    for (index_t y = y0; y < y0 + height; ++y) {
      for (index_t x = x0; x < x0 + width; ++x) dot(x, y, color);
    }
  }
  void write(index_t x, index_t y, const std::string& text) {
    for (const char letter : text) {
      const auto glyph =
          std::find_if(font.begin(), font.end(), [&](const Glyph& g) { return g.letter == letter; });
      for (std::size_t row = 0; glyph != font.end() && row < glyph->rows.size(); ++row) {
        for (int bit = 0; bit < 5; ++bit) {
          if ((glyph->rows[row] >> (4 - bit) & 1) != 0)
            dot(x + bit, y + static_cast<index_t>(row), {0, 0, 0});
        }
      }
      x += letter_width;
    }
  }
  [[nodiscard]] Picture take() { return std::move(picture_); }

 private:
  Picture picture_;
};

index_t zoom_of(const std::vector<Panel>& panels) {
  index_t longest = 1;
  for (const Panel& panel : panels) longest = std::max({longest, panel.width, panel.height});
  return std::max<index_t>(1, shortest_edge / longest);
}

}  // namespace

std::vector<Slice> slices_of(const dist::stencil::Problem& problem) {
  if (problem.stencil.dims < 3) return {{0, 0}};
  const Index3 n = problem.global;
  return {{0, n[0] / 2}, {1, n[1] / 2}, {2, n[2] / 2}};
}

template <class T>
std::vector<Panel> panels_of(const mpi::Communicator& comm, const dist::stencil::DistributedField<T>& u,
                             index_t field) {
  std::vector<Panel> panels;
  const Index3 n = u.problem().global;
  const Box3& box = u.box();
  u.bring();
  const auto now = u.now(field);
  for (const Slice& slice : slices_of(u.problem())) {
    const auto [v, h] = axes_of(slice);
    const index_t stride = std::max<index_t>(1, ceil_div(std::max(n[v], n[h]), longest_edge));
    Panel panel{ceil_div(n[h], stride), ceil_div(n[v], stride), {}};
    if (u.problem().stencil.dims == 3) panel.label = fmt::format("{} = {}", "zyx"[slice.across], slice.at);
    panel.values.assign(static_cast<std::size_t>(panel.width * panel.height), 0);
    const bool mine = !box.empty() && slice.at >= box.low[slice.across] && slice.at < box.high[slice.across];
    for (index_t i = 0; mine && i < panel.height; ++i) {
      for (index_t j = 0; j < panel.width; ++j) {
        const index_t y = i * stride, x = j * stride;
        if (y < box.low[v] || y >= box.high[v] || x < box.low[h] || x >= box.high[h]) continue;
        Index3 local;
        local[slice.across] = slice.at - box.low[slice.across];
        local[v] = y - box.low[v];
        local[h] = x - box.low[h];
        panel.values[static_cast<std::size_t>(i * panel.width + j)] = static_cast<double>(now(local));
      }
    }
    comm.sum(std::span(panel.values));
    panels.push_back(std::move(panel));
  }
  return panels;
}

Range range_of(const std::vector<Panel>& panels) {
  Range range{INFINITY, -INFINITY};
  for (const Panel& panel : panels) {
    for (const double value : panel.values) {
      if (!std::isfinite(value)) continue;
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
    }
  }
  return range.low <= range.high ? range : Range{0, 0};
}

Picture draw(const std::vector<Panel>& panels, Range range, const std::string& caption) {
  const index_t zoom = zoom_of(panels);
  constexpr index_t shortest_panel = 60;  // pixels: a line of points is a strip
  const auto height_of = [&](const Panel& panel) { return std::max(panel.height * zoom, shortest_panel); };
  const auto width_of = [&](const Panel& panel) { return std::max(panel.width * zoom, shortest_panel); };
  index_t width = margin, height = 0;
  for (const Panel& panel : panels) {
    width += width_of(panel) + margin;
    height = std::max(height, height_of(panel));
  }
  Canvas canvas(width + bar_width + label_width, height + 3 * margin + letter_height);
  const double span = range.high > range.low ? range.high - range.low : 1;
  index_t left = margin;
  for (const Panel& panel : panels) {
    const index_t tall = height_of(panel) / std::max<index_t>(panel.height, 1);
    const index_t wide = width_of(panel) / std::max<index_t>(panel.width, 1);
    for (index_t i = 0; i < panel.height; ++i) {
      for (index_t j = 0; j < panel.width; ++j) {
        const double value = panel.values[static_cast<std::size_t>(i * panel.width + j)];
        canvas.fill(left + j * wide, margin + i * tall, wide, tall, color_of((value - range.low) / span));
      }
    }
    canvas.write(left, margin + height_of(panel) + 2, panel.label);
    left += width_of(panel) + margin;
  }
  for (index_t i = 0; i < height; ++i)
    canvas.fill(left, margin + i, bar_width, 1,
                color_of(1 - static_cast<double>(i) / static_cast<double>(std::max<index_t>(height - 1, 1))));
  const index_t label = left + bar_width + 6;
  canvas.write(label, margin, fmt::format("{:.4g}", range.high));
  canvas.write(label, margin + (height - letter_height) / 2,
               fmt::format("{:.4g}", (range.low + range.high) / 2));
  canvas.write(label, margin + height - letter_height, fmt::format("{:.4g}", range.low));
  canvas.write(margin, height + 2 * margin + 4, caption);
  return canvas.take();
}

std::string named_file(const std::string& file, const std::string& what) {
  const std::filesystem::path path(file);
  return (path.parent_path() / fmt::format("{}_{}{}", path.stem().string(), what, path.extension().string()))
      .string();
}

template std::vector<Panel> panels_of(const mpi::Communicator&, const dist::stencil::DistributedField<Half>&,
                                      index_t);
template std::vector<Panel> panels_of(const mpi::Communicator&, const dist::stencil::DistributedField<float>&,
                                      index_t);
template std::vector<Panel> panels_of(const mpi::Communicator&,
                                      const dist::stencil::DistributedField<double>&, index_t);

}  // namespace tessera::workloads::stencil
