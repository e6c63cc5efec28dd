// Connects stencils to the frame; they are computed in memory only.

#include "workloads/stencil/workload.hpp"

#include <utility>

namespace tessera::workloads::stencil {
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
  void print(const run::Ceilings&, index_t) const override {
    if (comm_.is_root()) print_plan(problem_);
  }
  [[nodiscard]] bool run(run::Session& session) const override { return run_steps(in(session)); }
};

}  // namespace

Resolve resolve_with(std::shared_ptr<const Inputs> inputs) {
  return resolve_by<Planned>(std::move(inputs));
}

Workload workload(const run::OptionSet& options) {
  using Names = OutputOption::Names;
  return {.options = &options,
          .outputs = {{"out", Names::datasets}, {"snapshots", Names::datasets}}};
}

}  // namespace tessera::workloads::stencil
