// Connects transposes to the frame: in memory, or out of core in tiles.

#include "workloads/transpose/workload.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/transpose/variants.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::workloads::transpose {
namespace {

/// Returns whether the point only converts a file into another by the methods chosen here: it is
/// computed once, and nothing of it is measured.
bool only_converts(const run::Values& values, const Problem& problem) {
  const VariantInfo* const kernel = find_variant(tessera::transpose::variants(), problem.kernel);
  const bool chosen = values.text("algorithm") == "auto" && values.text("kernel") == "auto" &&
                      kernel != nullptr && kernel->space == Space::host;
  const bool measured = values.integer("repetitions") != 1 || values.integer("warmups") != 0 ||
                        values.flag("counters");
  return values.has("in") && chosen && !measured;
}

/// Returns the tiles if the problem is computed out of core: requested, larger than the ranks'
/// memory, or faster so.
std::optional<dist::transpose::Tiles> out_of_core_if_needed(const run::Values& values,
                                                            const Problem& problem) {
  const std::string& wanted = values.text("out-of-core");
  if (wanted == "never" || (wanted == "auto" && !may_go_out_of_core(problem))) return std::nullopt;
  mpi::alike("plan", [&] {
    require(may_go_out_of_core(problem), ExitCode::usage,
            "--out-of-core always requires --out and conflicts with --in-place, --alpha, --beta "
            "and --op H of complex numbers");
  });
  if (wanted == "auto" && fits(problem))
    return only_converts(values, problem) ? streamed_tiles_of(problem) : std::nullopt;
  return tiles_of(problem);
}

class Planned final : public PlannedOf<Problem, Inputs> {
 public:
  Planned(const mpi::Communicator& comm, const run::Values& values, const Inputs& inputs,
          const run::Ceilings&)
      : PlannedOf(comm, values, inputs, resolve(comm, values, inputs)),
        tiles_(out_of_core_if_needed(values, problem_)) {}

  [[nodiscard]] Mode mode() const override { return tiles_ ? Mode::out_of_core : Mode::in_memory; }
  [[nodiscard]] bool may_go_out_of_core() const override {
    return transpose::may_go_out_of_core(problem_);
  }
  [[nodiscard]] const VariantInfo* kernel() const override { return problem_.method.kernel; }
  [[nodiscard]] run::Held held() const override { return held_by(problem_, comm_.rank()); }
  /// The memory of GPU libraries is not known in advance.
  [[nodiscard]] bool known_to_fit() const override {
    const VariantInfo* const of_all = find_variant(tessera::transpose::variants(), problem_.kernel);
    return of_all != nullptr && of_all->space == Space::host && fits(problem_);
  }
  [[nodiscard]] index_t most_memory(index_t ranks) const override {
    return transpose::most_memory(problem_, ranks);
  }
  [[nodiscard]] index_t idle_ranks() const override {
    const auto& all = problem_.forecasts;
    return tiles_ ? 0 : std::count_if(all.begin(), all.end(), [](const auto& one) {
      return one.home_bytes == 0;
    });
  }
  [[nodiscard]] Need need(const run::Ceilings& ceilings, index_t ranks_per_node) const override {
    Problem problem = problem_;
    problem.shape.ranks_per_node = ranks_per_node;
    plan(problem);
    return need_of(problem, ceilings);
  }
  [[nodiscard]] Volumes volumes() const override {
    return volumes_of(asked(), tiles_ ? &*tiles_ : nullptr);
  }
  void print(const run::Ceilings& ceilings, index_t) const override {
    if (!comm_.is_root()) return;
    if (tiles_) return print_out_of_core(problem_, *tiles_);
    print_plan(problem_, ceilings);
  }
  [[nodiscard]] bool run(run::Session& session) const override {
    const Point point = in(session);
    if (tiles_) return run_out_of_core(point, *tiles_);
    return problem_.permutes() ? run_axes(point) : run_matrix(point);
  }

 private:
  std::optional<dist::transpose::Tiles> tiles_;
};

}  // namespace

Resolve resolve_with(std::shared_ptr<const Inputs> inputs) {
  return resolve_by<Planned>(std::move(inputs));
}

Workload workload(const run::OptionSet& options) {
  const auto leaves = [](const run::Parsed& parsed) {
    const bool in_tiles = parsed.lists.at("out-of-core").front() != "never";
    return in_tiles && names(parsed, "out") ? Leftovers::when_asked : Leftovers::nothing;
  };
  return {.options = &options,
          .outputs = {{"out"}},
          .leaves = leaves,
          .discarded = {"the transpose is"}};
}

}  // namespace tessera::inline v1::workloads::transpose
