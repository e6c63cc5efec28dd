// Connects sorts to the frame: in memory, in rounds or out of core, by the memory of the ranks.

#include "workloads/sort/workload.hpp"
#include "base/lines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "run/device.hpp"
#include "workloads/sort/external/content.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

using run::Values;

/// Returns whether the problem can be computed out of core: from file to file through runs, or
/// block by block.
bool may_go_out_of_core(const Problem& problem) {
  const bool rows =
      problem.task == Task::keys || (problem.task == Task::permutation && !problem.generated());
  if (problem.task == Task::apply) return !problem.out.empty();
  return rows && (!problem.out.empty() || !problem.argsort.empty());
}

/// A column whose elements are held in memory: strings of variable length that are keys, or
/// references.
struct HeldColumn {
  const io::Column* column = nullptr;  // nullptr: there is none
  bool is_key = false;
  bool may_be_dropped = false;

  [[nodiscard]] std::string text() const {
    return fmt::format("column {} (elements of {}), which is {} in memory", column->name,
                       column->info.type_text(), is_key ? "compared" : "carried");
  }
  [[nodiscard]] std::string remedy() const {
    return is_key           ? "sort by another column"
           : may_be_dropped ? fmt::format("leave it out with --drop {}", column->name)
                            : "store its elements with a fixed size";
  }
};

HeldColumn held_column(const Problem& problem) {
  for (const SortColumn& key : problem.by)
    if (key.column.holds_texts()) return {&key.column, true, false};
  for (const io::Column& column : problem.carried)
    if (!column.info.self_contained && !is_carried_in_rounds(problem, column))
      return {&column, false, problem.is_group};
  return {};
}

/// Returns whether it is computed out of core: requested, or larger than the ranks' memory, the
/// same on all ranks.
bool runs_out_of_core(const Values& point, const Problem& problem) {
  const std::string& wanted = point.text("out-of-core");
  const HeldColumn held = held_column(problem);
  if (held.column != nullptr) {
    if (wanted == "never") return false;
    const index_t most = most_memory(problem, problem.ranks);
    const index_t allowed = problem.allowance.net_of_program();
    mpi::alike("plan", [&] {
      require(wanted != "always", ExitCode::usage,
              fmt::format("--out-of-core always conflicts with {}; {}, or drop --out-of-core",
                          held.text(), held.remedy()));
      require(most <= allowed, ExitCode::memory,
              fmt::format("the table needs {} on a rank, of which {} are free: it has {}; {}, or "
                          "raise --memory",
                          human_bytes(most), human_bytes(allowed), held.text(), held.remedy()));
    });
    return false;
  }
  const bool can = may_go_out_of_core(problem);
  mpi::alike("plan", [&] {
    require(wanted != "always" || can, ExitCode::usage,
            "--out-of-core always requires --out, or --argsort of the rows of a file");
  });
  if (wanted == "never" || !can) return false;
  return wanted == "always" ||
         most_memory(problem, problem.ranks) > problem.allowance.net_of_program();
}

/// Returns the resolved point; uses the algorithm rounds if memory is insufficient for a full copy.
/// Collective.
Problem resolve_to_fit(const mpi::Communicator& comm, const Values& point, const Inputs& inputs) {
  Problem problem = resolve(comm, point, inputs);
  const bool may = can_take_rounds(problem) &&
                   (!point.has("ranks") || problem.allowance.limit > 0);  // others': by --memory
  if (!may) return problem;
  const index_t allowance = problem.allowance.net_of_program();
  if (most_memory(problem, problem.ranks) <= allowance) return problem;
  Problem frugal = in_rounds(problem);
  return most_memory(frugal, problem.ranks) <= allowance ? frugal : problem;
}

/// Opens the file of the columns: information about one of its names is reused for the next while
/// it is open.
io::Handle hold_open(const mpi::Communicator& comm, const Inputs& inputs) {
  io::Handle file;
  if (inputs.data)
    mpi::together(comm, "open input", [&] { file = io::open_file(inputs.data->name().file); });
  return file;
}

class Planned final : public PlannedOf<Problem, Inputs> {
 public:
  Planned(const mpi::Communicator& comm, const Values& values, const Inputs& inputs,
          const run::Ceilings&)
      : PlannedOf(comm, values, inputs, resolve_to_fit(comm, values, inputs)),
        // Quantiles keep no rows: they are read again if they do not fit.
        out_of_core_(problem_.task == Task::quantiles ||
                     (!values.has("ranks") && runs_out_of_core(values, problem_))) {}

  [[nodiscard]] Mode mode() const override {
    return out_of_core_ ? Mode::out_of_core : Mode::in_memory;
  }
  [[nodiscard]] bool may_go_out_of_core() const override {
    return sort::may_go_out_of_core(problem_);
  }
  [[nodiscard]] const VariantInfo* kernel() const override {
    return problem_.task == Task::quantiles
               ? nullptr
               : find_variant(tessera::sort::variants(), problem_.method.kernel);
  }
  [[nodiscard]] run::Held held() const override {
    return {problem_.forecasts[static_cast<std::size_t>(comm_.rank())].memory()};
  }
  /// The memory of GPU libraries is not known in advance.
  [[nodiscard]] bool known_to_fit() const override {
    const VariantInfo* const row = kernel();
    const bool on_host =
        problem_.kernels == problem_.method.kernel && (row == nullptr || row->space == Space::host);
    return on_host && problem_.allowance.holds({most_memory(comm_.size())});
  }
  [[nodiscard]] index_t most_memory(index_t ranks) const override {
    return sort::most_memory(problem_, ranks);
  }
  [[nodiscard]] index_t idle_ranks() const override {
    return std::max<index_t>(0, problem_.ranks - problem_.n);
  }
  [[nodiscard]] Need need(const run::Ceilings& ceilings, index_t ranks_per_node) const override {
    Need most = need_of(problem_, ceilings, ranks_per_node);
    const index_t limit = values_.bytes("memory");
    if (problem_.task == Task::quantiles)
      most.memory = quantiles_memory(problem_, limit > 0 ? limit : most.memory);
    return most;
  }
  [[nodiscard]] Volumes volumes() const override { return volumes_of(problem_, mode()); }
  void print(const run::Ceilings& ceilings, index_t ranks_per_node) const override {
    if (problem_.task == Task::quantiles) return print_quantiles_plan(asked());
    if (out_of_core_) return print_out_of_core(asked());
    if (comm_.is_root()) print_plan(problem_, ceilings, ranks_per_node);
  }
  [[nodiscard]] bool run(run::Session& session) const override {
    const Point point = in(session);
    const io::Handle held = hold_open(comm_, inputs_);
    if (problem_.task == Task::quantiles) return run_quantiles(point);
    if (out_of_core_) return run_out_of_core(point);
    if (values_.has("scratch") && comm_.is_root())
      print_filled("--scratch without effect: the sort fits in memory; try --out-of-core always");
    return problem_.task == Task::keys ? run_keys(point) : run_table(point);
  }

 private:
  bool out_of_core_;
};

}  // namespace

Resolve resolve_with(std::shared_ptr<const Inputs> inputs) {
  return resolve_by<Planned>(std::move(inputs));
}

Workload workload(const run::OptionSet& options) {
  const auto leaves = [](const run::Parsed& parsed) {
    const bool keeps_runs =
        parsed.lists.at("out-of-core").front() != "never" &&
        (names(parsed, "out") || (names(parsed, "argsort") && names(parsed, "in"))) &&
        !names(parsed, "apply") && !names(parsed, "quantiles");
    return keeps_runs ? Leftovers::always : Leftovers::nothing;
  };
  return {.options = &options,
          .outputs = {{"out", OutputOption::Names::table}, {"argsort"}},
          .leaves = leaves,
          .discarded = {"the sorted rows are", {"quantiles"}}};
}

}  // namespace tessera::inline v1::workloads::sort
