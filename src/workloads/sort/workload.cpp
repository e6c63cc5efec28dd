#include "workloads/sort/workload.hpp"

#include <fmt/format.h>

#include <utility>

#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "run/device.hpp"

namespace tessera::workloads::sort {
namespace {

using run::Values;

index_t most_memory(const Request& request, index_t ranks) {
  index_t most = 0;
  for (const dist::sort::Forecast& f : forecast_of(request, ranks))
    most = std::max(most, f.memory());
  return most;
}

/// From file to file through sorted runs, or block by block.
bool may_go_out_of_core(const Values& point, const Request& request) {
  const bool rows =
      request.task == Task::keys || (request.task == Task::permutation && !request.generated());
  if (request.task == Task::apply) return point.has("out");
  return rows && (point.has("out") || point.has("argsort"));
}

/// Asked for, or more than the ranks may hold, as all of them know.
bool goes_out_of_core(const Values& point, const Request& request) {
  const std::string& wanted = point.text("out-of-core");
  const bool can = may_go_out_of_core(point, request);
  mpi::alike("plan", [&] {
    require(wanted != "always" || can, ExitCode::usage,
            "--out-of-core always goes with --out or --argsort of a file's rows");
  });
  if (wanted == "never" || !can) return false;
  return wanted == "always" ||
         most_memory(request, request.ranks) > request.allowance.beside_program();
}

/// The point with everything looked up; in rounds where there is no memory for all at once.
/// Collective.
Request resolve_to_fit(const mpi::Communicator& comm, const Values& point, const Inputs& inputs) {
  Request request = resolve(comm, point, inputs);
  const bool may =
      request.task == Task::keys && request.algorithm == "exact" && !point.has("ranks");
  if (!may) return request;
  const index_t allowance = request.allowance.beside_program();
  if (most_memory(request, request.ranks) <= allowance) return request;
  Request frugal = request;
  frugal.algorithm = "rounds";
  frugal.method.algorithm = dist::sort::Algorithm::rounds;
  return most_memory(frugal, request.ranks) <= allowance ? frugal : request;
}

/// The file of the columns: what is known of one of its names is known of the next while it stays
/// open.
io::Handle hold_open(const mpi::Communicator& comm, const Inputs& inputs) {
  io::Handle file;
  if (inputs.data)
    mpi::together(comm, "open input", [&] { file = io::open_file(inputs.data->name().file); });
  return file;
}

class Planned final : public PlannedOf<Request, Inputs> {
 public:
  Planned(const mpi::Communicator& comm, const Values& values, const Inputs& inputs,
          const run::Ceilings&)
      : PlannedOf(comm, values, inputs, resolve_to_fit(comm, values, inputs)),
        // Quantiles keep no rows: they read them anew where they do not fit.
        out_of_core_(request_.task == Task::quantiles ||
                     (!values.has("ranks") && goes_out_of_core(values, request_))) {}

  [[nodiscard]] Mode mode() const override {
    return out_of_core_ ? Mode::out_of_core : Mode::in_memory;
  }
  [[nodiscard]] bool may_go_out_of_core() const override {
    return sort::may_go_out_of_core(values_, request_);
  }
  [[nodiscard]] const VariantInfo* kernel() const override {
    return request_.task == Task::quantiles
               ? nullptr
               : find_variant(tessera::sort::variants(), request_.method.kernel);
  }
  [[nodiscard]] run::Held held() const override {
    return {forecast_of(request_, comm_.size())[static_cast<std::size_t>(comm_.rank())].memory()};
  }
  /// Of what libraries for GPUs take nobody knows before.
  [[nodiscard]] bool known_to_fit() const override {
    const VariantInfo* const row = kernel();
    const bool on_host =
        request_.kernels == request_.method.kernel && (row == nullptr || row->space == Space::host);
    return on_host && request_.allowance.holds({most_memory(comm_.size())});
  }
  [[nodiscard]] index_t most_memory(index_t ranks) const override {
    return sort::most_memory(request_, ranks);
  }
  [[nodiscard]] Need need(const run::Ceilings& ceilings, index_t ranks_per_node) const override {
    Need most = need_of(request_, ceilings, ranks_per_node);
    const index_t limit = values_.bytes("memory");
    if (request_.task == Task::quantiles)
      most.memory = quantiles_memory(request_, limit > 0 ? limit : most.memory);
    return most;
  }
  void print(const run::Ceilings& ceilings, index_t ranks_per_node) const override {
    if (request_.task == Task::quantiles) return print_quantiles_plan(asked());
    if (out_of_core_) return print_out_of_core(asked());
    if (comm_.is_root()) print_plan(request_, ceilings, ranks_per_node);
  }
  [[nodiscard]] bool run(run::Session& session) const override {
    const Point point = in(session);
    const io::Handle held = hold_open(comm_, inputs_);
    if (request_.task == Task::quantiles) return run_quantiles(point);
    if (out_of_core_) return run_out_of_core(point);
    if (values_.has("scratch") && comm_.is_root())
      fmt::print(
          "--scratch was not needed: all is in memory (--out-of-core always goes through files)\n");
    return request_.task == Task::keys ? run_keys(point) : run_table(point);
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
    return keeps_runs ? Leaves::always : Leaves::nothing;
  };
  return {.options = &options,
          .outputs = {{"out", OutputOption::Names::table}, {"argsort"}},
          .leaves = leaves};
}

}  // namespace tessera::workloads::sort
