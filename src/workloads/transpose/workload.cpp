#include "workloads/transpose/workload.hpp"

#include <algorithm>

#include "mpi/agreement.hpp"

namespace tessera::workloads::transpose {
namespace {

/// The tiles where the request is to go out of core: asked for, or more than the ranks may hold. Collective.
std::optional<dist::transpose::Tiles> tiles_if_needed(const mpi::Communicator& comm,
                                                      const run::Values& values, const Request& request) {
  const std::string& wanted = values.text("out-of-core");
  if (wanted == "never" || (wanted == "auto" && !can_stream(values, request))) return std::nullopt;
  mpi::together(comm, "plan", [&] {
    require(can_stream(values, request), ExitCode::usage,
            "--out-of-core always goes with --out, and not with --in-place, --alpha, --beta, or --op H of "
            "complex numbers");
  });
  if (wanted == "auto" && fits(request, run::Allowance(comm, values))) return std::nullopt;
  return tiles_of(request, run::memory_allowance(comm, values));
}

}  // namespace

PointActions actions_of(const mpi::Communicator& comm, const std::shared_ptr<Inputs>& inputs) {
  const auto plan = [&comm, inputs](const run::Values& values, run::Session& session) {
    const Request request = resolve(comm, values, *inputs);
    const auto tiles = tiles_if_needed(comm, values, request);
    const index_t program = run::program_memory(comm, values);
    if (tiles && comm.is_root()) print_tiles(request, *tiles, program);
    if (!tiles && comm.is_root()) print_plan(request, session.ceilings(), program);
    run::require_planned_gpu(comm, values, request.method.kernel);
    if (tiles) return;
    run::require_planned_memory(comm, values,
                                values.has("ranks") ? run::Held{} : held_by(request, comm.rank()),
                            [&](index_t ranks) { return most_memory(request, ranks); });
  };
  const auto run = [&comm, inputs](const run::Values& values, run::Session& session) {
    const Request request = resolve(comm, values, *inputs);
    const Point point{comm, values, request, *inputs, session};
    if (const auto tiles = tiles_if_needed(comm, values, request)) return run_tiles(point, *tiles);
    session.plan_memory(run::require_memory(comm, values, held_by(request, comm.rank()),
                                            [&](index_t ranks) { return most_memory(request, ranks); }));
    return request.permutes() ? run_axes(point) : run_matrix(point);
  };
  const auto need = [&comm, inputs](const run::Values& values, const run::Ceilings& ceilings,
                                    index_t per_node) {
    Request request = resolve(comm, values, *inputs);
    request.shape.ranks_per_node = per_node;
    Need result = need_of(request, ceilings);
    if (const index_t limit = values.bytes("memory"); limit > 0 && can_stream(values, request))
      result.memory = std::min(result.memory, limit);  // out of core
    return result;
  };
  return {plan, run, need};
}

Workload workload(const run::OptionSet& options) {
  const auto leaves = [](const run::Parsed& parsed) {
    const bool in_tiles = parsed.lists.at("out-of-core").front() != "never";
    return in_tiles && names(parsed, "out") ? Leaves::when_asked : Leaves::nothing;
  };
  return {.options = &options, .outputs = {{"out"}}, .leaves = leaves};
}

}  // namespace tessera::workloads::transpose
