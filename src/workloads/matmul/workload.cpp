// Connects products to the frame: in memory, or out of core if C does not fit.

#include "workloads/matmul/workload.hpp"

#include <algorithm>
#include <utility>

namespace tessera::inline v1::workloads::matmul {
namespace {

class Planned final : public PlannedOf<Problem, Inputs> {
 public:
  Planned(const mpi::Communicator& comm, const run::Values& values, const Inputs& inputs,
          const run::Ceilings&)
      : PlannedOf(comm, values, inputs, resolve(comm, values, inputs)),
        stream_(out_of_core_if_needed(comm, values, problem_)) {}

  [[nodiscard]] Mode mode() const override { return stream_ ? Mode::out_of_core : Mode::in_memory; }
  [[nodiscard]] bool may_go_out_of_core() const override {
    return matmul::may_go_out_of_core(problem_);
  }
  [[nodiscard]] const VariantInfo* kernel() const override { return problem_.method.kernel; }
  [[nodiscard]] run::Held held() const override {
    const auto& mine = problem_.planned.forecasts[static_cast<std::size_t>(comm_.rank())];
    return {mine.memory(), mine.seen_bytes};
  }
  [[nodiscard]] bool known_to_fit() const override { return problem_.fits; }
  [[nodiscard]] index_t most_memory(index_t ranks) const override {
    return matmul::most_memory(problem_, ranks);
  }
  [[nodiscard]] index_t idle_ranks() const override {
    const auto& all = problem_.planned.forecasts;
    return stream_ ? 0 : std::count_if(all.begin(), all.end(), [](const auto& one) {
      return one.home_bytes == 0;
    });
  }
  [[nodiscard]] Need need(const run::Ceilings& ceilings, index_t ranks_per_node) const override {
    return need_of(problem_, ceilings, ranks_per_node);
  }
  [[nodiscard]] Volumes volumes() const override {
    return volumes_of(problem_, stream_ ? &*stream_ : nullptr);
  }
  void print(const run::Ceilings& ceilings, index_t ranks_per_node) const override {
    if (!comm_.is_root()) return;
    if (stream_) return print_out_of_core(problem_, *stream_);
    print_plan(problem_, ceilings, ranks_per_node);
  }
  [[nodiscard]] bool run(run::Session& session) const override {
    const Point point = in(session);
    return stream_ ? run_out_of_core(point, *stream_) : run_in_memory(point);
  }

 private:
  std::optional<dist::matmul::OutOfCorePlan> stream_;
};

}  // namespace

Resolve resolve_with(std::shared_ptr<const Inputs> inputs) {
  return resolve_by<Planned>(std::move(inputs));
}

Workload workload(const run::OptionSet& options) {
  return {.options = &options,
          .outputs = {{"out"}},
          .discarded = {"the product is"},
          .auto_takes_gpus = true};
}

}  // namespace tessera::inline v1::workloads::matmul
