// Forecast memory of every rank, and the printed plan of a stencil.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/lines.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "dist/stencil/samples.hpp"
#include "io/grid.hpp"
#include "run/shares.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

using dist::stencil::Forecast;

/// Returns the bytes of the domain mask, one per point of the box and its halo.
index_t domain_bytes(const Problem& problem, index_t rank) {
  if (problem.outside == 0) return 0;
  Index3 size = problem.plan.grid.of(rank).size();
  for (int d = 0; d < 3; ++d)
    size[d] += 2 * problem.scheme().stencil.radius[d] * problem.plan.halo_steps;
  return size.volume();
}

/// Returns the bytes of the check and the files, in addition to the field.
index_t other_bytes(const Problem& problem, index_t rank) {
  constexpr index_t samples = 16,
                    longest_sample = 200000;  // values; one step of weights may need more
  const auto& stencil = problem.scheme().stencil;
  index_t points = 1;
  for (int d = 0; d < 3; ++d)
    points *=
        2 * stencil.radius[d] * dist::stencil::sample_steps(stencil, problem.plan.halo_steps) + 1;
  const index_t field = problem.plan.grid.of(rank).volume() * problem.shape.element_bytes;
  const index_t copy = problem.snapshots ? problem.shape.fields * field : 0;
  const index_t values = (16 + 8 * problem.scheme().terms.count()) * problem.shape.fields;
  return copy + (problem.files ? std::min(io::grid_staging_bytes, field) : 0) +
         domain_bytes(problem, rank) + 2 * samples * values * std::min(points, longest_sample);
}

}  // namespace

void forecast_all(Problem& problem) {
  problem.forecasts.clear();
  for (index_t rank = 0; rank < problem.shape.ranks; ++rank)
    problem.forecasts.push_back(forecast(problem.shape, problem.plan, rank));
}

index_t memory_of(const Problem& problem, index_t rank) {
  return problem.forecasts[static_cast<std::size_t>(rank)].memory() + other_bytes(problem, rank);
}

index_t most_memory(const Problem& problem, index_t ranks) {
  Problem other = problem;
  other.shape.ranks = ranks;
  other.shape.parts = {};
  other.plan = make_plan(other.shape);
  index_t most = 0;
  for (const index_t rank : {index_t{0}, other.plan.grid.active() / 2})
    most =
        std::max(most, forecast(other.shape, other.plan, rank).memory() + other_bytes(other, rank));
  return most;
}

Need need_of(const Problem& problem) {
  Need need;
  for (index_t rank = 0; rank < problem.shape.ranks; ++rank) {
    need.memory = std::max(need.memory, memory_of(problem, rank));
    need.seconds =
        std::max(need.seconds, problem.forecasts[static_cast<std::size_t>(rank)].seconds);
  }
  return need;
}

Volumes volumes_of(const Asked& asked) {
  const Problem& problem = asked.problem;
  const auto field = static_cast<double>(problem.scheme().global.volume()) *
                     static_cast<double>(problem.shape.element_bytes * problem.shape.fields);
  Volumes v;
  (asked.inputs.in.empty() ? v.generated : v.read) = field;
  v.reloads = true;
  for (index_t rank = 0; rank < problem.shape.ranks; ++rank)
    v.touched += static_cast<double>(memory_of(problem, rank));
  if (problem.verify) v.streamed = field;
  if (asked.values.has("out")) v.written += field;
  if (asked.values.has("snapshots"))
    v.written +=
        field * static_cast<double>(1 + problem.shape.steps / std::max<index_t>(1, problem.every));
  return v;
}

namespace {

/// Prints how the first rank's fields are processed on its device, if in slabs.
void print_slabs(const Problem& problem) {
  if (!problem.slabs || problem.slabs->whole()) return;
  const auto& slabs = *problem.slabs;
  const Index3 size = problem.plan.grid.of(0).size();
  std::vector<std::string> extents;
  for (int d = 3 - problem.dims(); d < 3; ++d)
    extents.push_back(std::to_string(d == slabs.d ? ceil_div(size[d], slabs.slabs) : size[d]));
  print_filled(
      "streamed through {} of device memory in {} of {}, {} at a time; {} to the device, {} back "
      "in {}",
      human_bytes(slabs.device_bytes), counted(slabs.slabs, "slab"), fmt::join(extents, " x "),
      counted(slabs.longest(), "step"), human_bytes(slabs.sent_bytes),
      human_bytes(slabs.brought_bytes), counted(slabs.steps(), "step"));
}

/// Prints the problem and its grid.
void print_head(const Problem& problem) {
  const auto& grid = problem.plan.grid;
  const int dims = problem.dims();
  std::string with;
  for (const auto term : dist::stencil::all_terms) {
    if (problem.scheme().terms.has(term))
      with += fmt::format("{}{}", with.empty() ? " with " : ", ", name(term));
  }
  if (problem.shape.fields > 1) with += fmt::format(" on {} fields", problem.shape.fields);
  print_filled("plan: stencil {}{} on {} ({}), {}, {} x {}, kernel {}",
               problem.scheme().stencil.name, with, fmt::join(problem.extents(), " x "),
               name(problem.element), counted(problem.shape.steps, "step"),
               counted(problem.shape.ranks, "rank"), counted(problem.method.threads, "thread"),
               problem.kernel);
  if (problem.outside > 0)
    print_filled("{} of {} cells have no value and are excluded from the domain", problem.outside,
                 problem.scheme().global.volume());
  const index_t idle = problem.shape.ranks - grid.active();
  print_filled("grid {} ({} idle), a halo of {}, {}", layout::parts_text(grid.parts, dims),
               idle == 1 ? "1 rank" : fmt::format("{} ranks", idle),
               counted(problem.plan.halo_steps, "step"),
               counted(ceil_div(problem.shape.steps, problem.plan.halo_steps), "exchange"));
  if (problem.gpus != nullptr)
    print_filled("the fields stay on the GPUs; exchange: {}", problem.gpus->text());
  if (problem.shape.weighted()) {
    print_filled("boxes by measured speed, Mpoints/s a rank: {}",
                 run::text_of_weights(problem.shape.weights, 1e6));
  }
  print_slabs(problem);
}

}  // namespace

void print_plan(const Problem& problem) {
  print_head(problem);
  const auto& grid = problem.plan.grid;
  const int dims = problem.dims();
  Table table(
      {"rank", "box", "updates", "received", "messages", "field", "work space", "predicted"});
  constexpr index_t most_rows = 32;
  double slowest = 0, all = 0;
  index_t words = 0, most = 0;
  for (index_t rank = 0; rank < problem.shape.ranks; ++rank) {
    const Forecast& f = problem.forecasts[static_cast<std::size_t>(rank)];
    slowest = std::max(slowest, f.seconds);
    all += f.updates;
    words = std::max(words, f.received_bytes);
    most = std::max(most, f.memory() + other_bytes(problem, rank));
    if (rank >= most_rows) continue;
    std::vector<index_t> box;
    for (int d = 3 - dims; d < 3; ++d) box.push_back(grid.of(rank).size()[d]);
    table.add({std::to_string(rank), fmt::format("{}", fmt::join(box, " x ")),
               human_number(f.updates), human_bytes(f.received_bytes), std::to_string(f.messages),
               human_bytes(f.field_bytes), human_bytes(f.buffer_bytes + other_bytes(problem, rank)),
               human_seconds(f.seconds)});
  }
  fmt::print("{}", table.within(terminal_columns()));
  if (problem.shape.ranks > most_rows)
    print_filled("... and {} more", counted(problem.shape.ranks - most_rows, "rank"));
  const double needed = problem.updates();
  print_filled(
      "total {} updates, {} of them for halos; a rank receives at most {} and holds at most {}; "
      "predicted {}{}",
      human_number(all), human_number(all - needed), human_bytes(words),
      run::held_text(most, problem.allowance.program), human_seconds(slowest),
      problem.shape.rates.measured
          ? ""
          : " with typical rates (run `tessera machine` once to measure this machine)");
}

}  // namespace tessera::inline v1::workloads::stencil
