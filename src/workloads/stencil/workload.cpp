// Connects stencils to the frame; they are computed in memory only.

#include "workloads/stencil/workload.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

class Planned final : public PlannedOf<Problem, Inputs> {
 public:
  Planned(const mpi::Communicator& comm, const run::Values& values, const Inputs& inputs,
          const run::Ceilings& ceilings)
      : PlannedOf(comm, values, inputs, resolve(comm, values, inputs, ceilings)) {}

  [[nodiscard]] Mode mode() const override { return Mode::in_memory; }
  [[nodiscard]] const VariantInfo* kernel() const override { return problem_.method.kernel; }
  [[nodiscard]] run::Held held() const override { return {memory_of(problem_, comm_.rank())}; }
  [[nodiscard]] bool known_to_fit() const override { return problem_.fits; }
  [[nodiscard]] index_t most_memory(index_t ranks) const override {
    return stencil::most_memory(problem_, ranks);
  }
  [[nodiscard]] Need need(const run::Ceilings&, index_t) const override {
    return need_of(problem_);
  }
  [[nodiscard]] Volumes volumes() const override { return volumes_of(asked()); }
  [[nodiscard]] index_t idle_ranks() const override {
    return problem_.shape.ranks - problem_.plan.grid.active();
  }
  void print(const run::Ceilings&, index_t) const override {
    if (comm_.is_root()) print_plan(problem_);
  }
  [[nodiscard]] bool run(run::Session& session) const override { return run_steps(in(session)); }
};

/// Returns a note for --shape 512,512, which is a sweep of 1-D fields.
std::vector<std::string> notes_of(const run::Parsed& parsed) {
  const std::vector<std::string>& shapes = parsed.lists.at("shape");
  const bool all_lines = std::all_of(shapes.begin(), shapes.end(), [](const std::string& shape) {
    return shape.find('x') == std::string::npos;
  });
  if (shapes.size() < 2 || shapes.size() > 3 || !all_lines) return {};
  return {
      fmt::format("note: --shape {} is a sweep of 1-D fields; write --shape {} for one field of "
                  "{} dimensions",
                  join(shapes, ","), join(shapes, "x"), shapes.size())};
}

}  // namespace

Resolve resolve_with(std::shared_ptr<const Inputs> inputs) {
  return resolve_by<Planned>(std::move(inputs));
}

Workload workload(const run::OptionSet& options) {
  using Names = OutputOption::Names;
  return {.options = &options,
          .outputs = {{"out", Names::datasets}, {"snapshots", Names::datasets}},
          .notes = notes_of,
          .discarded = {"the field is", {"checkpoint"}}};
}

}  // namespace tessera::inline v1::workloads::stencil
