// Resolves a point of the sweep: task and key columns from files or options, kernel, algorithm and
// placement on GPUs.

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.hpp"
#include "dist/sort/on_devices.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "run/device.hpp"
#include "run/shares.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {

using dist::sort::Algorithm;
using dist::sort::KeyForm;
using dist::sort::Order;
using run::Values;

namespace kernels = tessera::sort;

std::vector<double> parse_quantiles(const std::string& text) {
  std::vector<double> result;
  for (const std::string& word : split(text, ',')) {
    const std::string digits(trim(word));
    char* end = nullptr;
    const double q = std::strtod(digits.c_str(), &end);
    require(!digits.empty() && *end == '\0' && q >= 0 && q <= 1, ExitCode::usage,
            fmt::format("--quantiles '{}' is not a number from 0 to 1", digits));
    result.push_back(q);
  }
  return result;
}

namespace {

/// Returns the key columns of --in. Throws Error(usage, bad_data).
std::vector<SortColumn> keys_of(const Values& point, const io::TableInfo& table,
                                const io::DatasetName& name) {
  const auto usage = [](bool holds, const std::string& message) {
    require(holds, ExitCode::usage, message);
  };
  const std::string first =
      table.members.empty() ? table.columns.front().name : table.members.front().name;
  const bool by = point.has("by"), compound = !table.members.empty();
  usage(by || (!table.is_group && !compound),
        fmt::format("{} is a {}; name the columns to sort by, e.g. --by {}", name.text(),
                    table.is_group ? "group" : "dataset of compounds", first));
  if (!by) {
    return {whole_column(table.columns.front(),
                         point.flag("descending") ? Order::descending : Order::ascending,
                         name.file)};
  }
  usage(table.is_group || compound || point.text("by").find(':') != std::string::npos,
        fmt::format("{} is a dataset without columns: --by names columns of a group or compound "
                    "dataset; sort by bytes of the rows, --by 0:10",
                    name.text()));
  return columns_named(point.text("by"), table, name.file);
}

/// Checks --quantiles of one column of numbers. Throws Error(usage, bad_data).
void check_quantiles(const Values& point, const Inputs& inputs, const Problem& problem) {
  require(problem.by.size() == 1 && problem.by.front().form.number, ExitCode::usage,
          "--quantiles requires one column of numbers; name it with --by");
  require(problem.n > 0, ExitCode::bad_data,
          inputs.data->name().text() + " has no rows: --quantiles requires at least one");
  const io::Column& column = problem.by.front().column;
  if (!point.flag("raw") && column.member.empty())
    run::require_plain_numbers(inputs.data->name(column), "--quantiles");
}

/// Sets the problem's properties of --in.
void resolve_file(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                  Problem& problem) {
  const io::TableInfo table = inputs.data->share(comm);
  const io::DatasetName& name = inputs.data->name();
  problem.n = table.rows();
  problem.is_group = table.is_group;
  const auto is_plain = [&] {
    return !table.is_group && problem.by.size() == 1 && problem.by.front().form.number &&
           table.columns.front().info.is_number();
  };
  if (problem.task != Task::apply)
    mpi::together(comm, "open input", [&] {
      problem.by = keys_of(point, table, name);
      for (const SortColumn& key : problem.by) io::require_rows(key.column, table, name);
      if (point.text("fill") == "last") problem.by = missing_last(std::move(problem.by), name.file);
      if (problem.task == Task::quantiles) check_quantiles(point, inputs, problem);
      if (problem.task == Task::keys && is_plain() && point.text("type") == "auto") {
        const SortColumn& key = problem.by.front();
        problem.form = io::NumberForm::of(inputs.data->name(key.column), *key.form.number);
      }
    });
  measure_texts(comm, name.file, problem.n, problem.by);
  if (problem.task == Task::quantiles) return;
  const bool plain = is_plain();
  const bool in_form =
      problem.form || point.text("type") != "auto";  // otherwise rows are moved as stored
  const bool moves_others = !table.coordinates.empty() && !problem.out.empty() &&
                            point.text("type") == "auto" && problem.task == Task::keys;
  if (problem.task == Task::keys && (moves_others || !(plain && in_form)))
    problem.task = Task::permutation;
  if (problem.task == Task::keys || problem.out.empty()) return;
  for (const io::Column& column : table.columns) {
    if (column.use == io::Column::Use::row) problem.carried.push_back(column);
    if (column.use == io::Column::Use::unchanged) problem.unchanged.push_back(column);
  }
  problem.carried.insert(problem.carried.end(), table.coordinates.begin(), table.coordinates.end());
  problem.parts = table.parts;
}

/// Chooses whether plain keys stay on the GPUs, and the transport between them.
void choose_exchange(const mpi::Communicator& comm, const run::Values& point, const Inputs& inputs,
                     Problem& problem) {
  const auto* const there = kernels::resident_kernels(std::uint64_t{});
  run::Residence residence{.ranks = problem.ranks, .limit = point.bytes("device-memory")};
  residence.possible = there != nullptr && problem.kernels == "cuda_hybrid" &&  // on every rank
                       problem.task == Task::keys && !problem.takes_first() && !problem.unique &&
                       comm.size() <= kernels::most_parts;
  if (residence.possible)  // keys of 8 bytes need at least as much as those of 4
    residence.device_bytes =
        dist::sort::DeviceSort<std::uint64_t>::device_bytes(problem.n, comm.size(), *there);
  problem.gpus = inputs.gpus->at(comm, point, residence);
  if (problem.gpus != nullptr)
    problem.algorithm = fmt::format("gpu_{}", mpi::name(problem.gpus->transport()));
}

/// Chooses this rank's kernel and number of threads. Returns whether it drives a GPU.
bool choose_kernel(const mpi::Communicator& comm, const Values& point, Problem& problem) {
  problem.method.kernel = point.text("kernel");
  const auto needed =
      [&] {  // keys beyond the device's memory are processed in runs, which need some memory
        constexpr index_t enough = index_t{256} << 20;
        const index_t whole =
            checked_mul(4 * ceil_div(problem.n, index_t{comm.size()}), 8, "the keys");
        const index_t asked = point.bytes("device-memory");
        return std::min(whole, asked > 0 ? asked : enough);
      };
  bool on_gpu = false;
  const auto* const row =
      run::asked_device_kernel(comm, point, kernels::variants(), kernels::best_device(), needed);
  const bool asked = row != nullptr;  // on every rank or on none
  if (asked) {
    problem.method.kernel = row->name;
    problem.method.tuning.device_memory = run::device_room(comm, point);
    on_gpu = run::drives_gpu(comm, point);
  }
  problem.kernels = problem.method.kernel;
  if (asked) {
    if (const index_t there = comm.sum(index_t{on_gpu ? 1 : 0}); there > 0 && there < comm.size()) {
      problem.kernels += "+auto";
      if (!on_gpu) problem.method.kernel = "auto";
    }
  }
  problem.method.threads = run::threads_of(point);
  return on_gpu;
}

/// Sets the problem's permutation from --apply.
void resolve_permutation(const mpi::Communicator& comm, const Inputs& inputs, Problem& problem) {
  const io::TableInfo permutation = inputs.permutation->share(comm);
  problem.permutation = permutation.columns.front();
  mpi::alike("open input", [&] {
    const io::DatasetInfo& info = permutation.columns.front().info;
    require(!permutation.is_group && info.kind == io::DatasetInfo::Kind::integer &&
                info.shape.size() == 1,
            ExitCode::bad_data,
            fmt::format(
                "{} is not a permutation (a 1-D dataset of integers); give an output of --argsort",
                inputs.permutation->name().text()));
    require(
        info.shape[0] == problem.n, ExitCode::bad_data,
        fmt::format("{} has {} elements, but {} has {} rows; give the permutation of this table",
                    inputs.permutation->name().text(), info.shape[0], inputs.data->name().text(),
                    problem.n));
  });
}

/// Throws Error(usage) unless the output name is valid: the root of a file takes the columns of a
/// group only.
void require_name(const Problem& problem) {
  if (problem.out.empty() || (problem.is_group && !problem.carried.empty())) return;
  require(io::parse_table_name(problem.out, "out").path != "/", ExitCode::usage,
          fmt::format("--out '{}' is the root of a file: only columns of a group are written "
                      "there; name a dataset in it",
                      problem.out));
}

}  // namespace

Problem resolve(const mpi::Communicator& comm, const Values& point, const Inputs& inputs) {
  Problem problem;
  problem.task = point.has("apply")                        ? Task::apply
                 : point.has("quantiles")                  ? Task::quantiles
                 : point.has("by") || point.has("argsort") ? Task::permutation
                                                           : Task::keys;
  problem.seed = static_cast<std::uint64_t>(point.integer("seed"));
  problem.out = point.text("out");
  problem.argsort = point.text("argsort");
  problem.verify = !point.flag("no-verify");
  if (point.has("top")) problem.top = point.integer("top");
  problem.unique = point.flag("unique");
  if (point.has("quantiles")) problem.quantiles = parse_quantiles(point.text("quantiles"));
  problem.ranks = point.flag("plan") && point.has("ranks") ? point.integer("ranks") : comm.size();
  if (inputs.data) {
    resolve_file(comm, point, inputs, problem);
    problem.keeps_input = point.integer("repetitions") + point.integer("warmups") > 1;
  } else {
    problem.n = point.integer("n");
    problem.input = point.text("input");
    problem.by = {{{},
                   KeyForm::of(Element::u64),
                   {},
                   point.flag("descending") ? Order::descending : Order::ascending}};
  }
  for (const ElementInfo& row : elements) {
    if (row.name == point.text("type") && !problem.by.empty())
      problem.by.front().form = KeyForm::of(row.element);
  }
  problem.algorithm = point.text("algorithm");
  for (const auto& row : dist::sort::algorithms()) {
    if (row.name == problem.algorithm) problem.method.algorithm = row.algorithm;
  }
  const bool on_gpu = choose_kernel(comm, point, problem);
  choose_exchange(comm, point, inputs, problem);
  if (problem.algorithm == "auto") {
    problem.algorithm = "exact";
    problem.method.algorithm = Algorithm::exact;
  }
  if (problem.task == Task::keys && problem.gpus == nullptr && !problem.takes_first())
    problem.weights = run::weights_of(comm, point, on_gpu, [&] { return speed_of(problem); });
  if (problem.task == Task::apply) resolve_permutation(comm, inputs, problem);
  mpi::alike("create output", [&] { require_name(problem); });
  problem.allowance = run::Allowance(comm, point);
  problem.content_bytes = content_bytes(comm, inputs, problem);
  plan(problem);
  return problem;
}

void describe(const Problem& problem, run::Measured& measured, Mode mode) {
  std::string types;
  for (const SortColumn& column : problem.by) types += (types.empty() ? "" : ",") + text_of(column);
  measured.columns = {
      {"task", std::string(problem.task == Task::keys          ? "keys"
                           : problem.task == Task::permutation ? "argsort"
                           : problem.task == Task::quantiles   ? "quantiles"
                                                               : "apply") +
                   (problem.unique          ? " unique"
                    : problem.takes_first() ? " top"
                                            : "")},
      {"kernel", problem.kernels},
      {"algorithm", mode == Mode::out_of_core ? std::string("out_of_core") : problem.algorithm},
      {"type", types},
      {"input", problem.generated() ? problem.input : std::string("file")},
      {"n", problem.n}};
  measured.work = static_cast<double>(problem.n);
  measured.rate_units = "Mkeys/s";
}

run::Counted simulated_counts(const Problem& problem) {
  const std::string& kernel = problem.method.kernel;
  const bool keys = problem.task == Task::keys, sorts = keys || problem.task == Task::permutation;
  if (!sorts || problem.unique || problem.takes_first())
    return run::not_simulated("only sorts of all rows are traced");
  return run::simulated(
      {.workload = "sort",
       .kernel = kernel == "auto" ? "radix" : kernel,
       .element_bytes = keys ? problem.by.front().form.bytes : 16,
       .n = problem.n,
       .range = kernel.starts_with("counting") ? std::clamp<index_t>(problem.n, 1, 1 << 28) : 0});
}

}  // namespace tessera::inline v1::workloads::sort
