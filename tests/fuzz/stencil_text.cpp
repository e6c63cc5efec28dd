#include "stencil_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "promises.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::fuzz {
namespace {

using dist::stencil::Sides;
using workloads::stencil::Weights;

/// Returns the extents as (z, y, x).
Index3 box_of(const Weights& weights) {
  Index3 box{{1, 1, 1}};
  const int dims = static_cast<int>(weights.shape.size());
  for (int d = 0; d < dims; ++d) box[3 - dims + d] = weights.shape[static_cast<std::size_t>(d)];
  return box;
}

std::string text_of(const Weights& weights) {
  const Index3 box = box_of(weights);
  std::string text;
  for (std::size_t i = 0; i < weights.values.size(); ++i) {
    const auto at = static_cast<index_t>(i);
    const bool new_row = at % box[2] == 0, new_plane = at % (box[1] * box[2]) == 0;
    text += at == 0 ? "" : new_plane ? " / " : new_row ? "; " : " ";
    text += fmt::format("{}", weights.values[i]);
  }
  return text;
}

void check_weights(const std::string& text) {
  const Weights weights = workloads::stencil::parse_weights(text);
  if (weights.shape.empty() || weights.shape.size() > 3) broken("weights of no dimension");
  if (box_of(weights).volume() != static_cast<index_t>(weights.values.size()))
    broken("weights that do not fill their box");
  if (!std::all_of(weights.values.begin(), weights.values.end(),
                   [](double w) { return std::isfinite(w); }))
    broken("a weight that is not finite");
  const Weights again = workloads::stencil::parse_weights(text_of(weights));
  if (again.shape != weights.shape || again.values != weights.values)
    broken("weights that read otherwise again");
  for (int dims = static_cast<int>(weights.shape.size()); dims <= 3; ++dims) {
    const auto stencil = stencil::make_stencil("weights", dims, box_of(weights), weights.values);
    for (int d = 0; d < 3; ++d)
      if (2 * stencil.radius[d] > box_of(weights)[d]) broken("a tap outside of its box");
  }
}

std::string text_of(const Sides& sides, int dims) {
  std::string text;
  for (int d = 3 - dims; d < 3; ++d) {
    for (std::size_t end = 0; end < 2; ++end) {
      const stencil::Side& side = sides[static_cast<std::size_t>(d)][end];
      text +=
          fmt::format("{}{}{}={}", text.empty() ? "" : ",", "zyx"[d], "-+"[end], name(side.kind));
      if (side.kind == stencil::Boundary::constant) text += fmt::format(":{}", side.value);
    }
  }
  return text;
}

void check_sides(const std::string& text, int dims) {
  const Sides sides = workloads::stencil::parse_sides(text, dims);
  const std::string written = text_of(sides, dims);
  if (text_of(workloads::stencil::parse_sides(written, dims), dims) != written)
    broken("sides that read otherwise again: " + written);
}

void check_probes(const std::string& text, int dims) {
  dist::stencil::Scheme scheme;
  scheme.stencil = stencil::named_stencil("heat", dims);
  scheme.global = {{dims > 2 ? 5 : 1, dims > 1 ? 6 : 1, 7}};
  for (const Index3& point : workloads::stencil::parse_probes(text, scheme)) {
    for (int d = 0; d < 3; ++d)
      if (point[d] < 0 || point[d] >= scheme.global[d]) broken("a probe outside of the field");
  }
}

void check_interval(const std::string& text) {
  const auto interval = workloads::stencil::parse_interval(text);
  const bool in_steps = interval.steps > 0, in_seconds = interval.seconds > 0;
  if (in_steps == in_seconds || !std::isfinite(interval.seconds))
    broken("an interval of neither steps nor seconds");
}

}  // namespace

void check_stencil_text(const std::string& text) {
  attempt([&] { check_weights(text); });
  attempt([&] { check_interval(text); });
  for (int dims = 1; dims <= 3; ++dims) {
    attempt([&] { check_sides(text, dims); });
    attempt([&] { check_probes(text, dims); });
  }
}

}  // namespace tessera::fuzz
