#include <fmt/format.h>

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

namespace tessera::workloads::sort {

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
            fmt::format("--quantiles '{}' is no number from 0 to 1", digits));
    result.push_back(q);
  }
  return result;
}

namespace {

/// The key columns of --in. Throws Error(usage, bad_data).
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
        fmt::format("{} is a dataset; --by sorts the columns of a group or compound dataset, or "
                    "here by bytes "
                    "of the rows (--by 0:10)",
                    name.text()));
  return columns_named(point.text("by"), table, name.file);
}

/// Of one column of numbers. Throws Error(usage, bad_data).
void check_quantiles(const Values& point, const Inputs& inputs, const Request& request) {
  require(request.by.size() == 1 && request.by.front().form.number, ExitCode::usage,
          "--quantiles takes one column of numbers; name it with --by");
  require(request.n > 0, ExitCode::bad_data,
          inputs.data->name().text() + " has no rows, so no quantiles");
  const io::Column& column = request.by.front().column;
  if (!point.flag("raw") && column.member.empty())
    run::require_plain_numbers(inputs.data->name(column), "--quantiles");
}

/// What --in holds.
void resolve_file(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                  Request& request) {
  const io::TableInfo table = inputs.data->share(comm);
  const io::DatasetName& name = inputs.data->name();
  request.n = table.rows();
  request.is_group = table.is_group;
  const auto is_plain = [&] {
    return !table.is_group && request.by.size() == 1 && request.by.front().form.number &&
           table.columns.front().info.is_number();
  };
  if (request.task != Task::apply)
    mpi::together(comm, "open input", [&] {
      request.by = keys_of(point, table, name);
      if (point.text("fill") == "last") request.by = missing_last(std::move(request.by), name.file);
      if (request.task == Task::quantiles) check_quantiles(point, inputs, request);
      if (request.task == Task::keys && is_plain() && point.text("type") == "auto") {
        const SortColumn& key = request.by.front();
        request.form = io::NumberForm::of(inputs.data->name(key.column), *key.form.number);
      }
    });
  if (request.task == Task::quantiles) return;
  const bool plain = is_plain();
  const bool in_form =
      request.form || point.text("type") != "auto";  // else rows are moved as they are stored
  if (request.task == Task::keys && !(plain && in_form)) request.task = Task::permutation;
  if (request.task != Task::keys && point.has("out")) request.carried = table.columns;
}

/// Whether a second copy of the keys is more than a rank should hold beside them. Rows are permuted
/// by pairs, which rounds do not serve, and kernels of a device want their keys together.
bool copy_is_large(const Request& request) {
  constexpr index_t always = index_t{128} << 20;
  const auto* const row = find_variant(kernels::variants(), request.method.kernel);
  if (request.task != Task::keys || request.takes_first() || request.unique ||
      request.gpus != nullptr || (row != nullptr && row->space != Space::host) ||
      request.kernels != request.method.kernel)
    return false;  // all ranks say the same, also where some drive a GPU
  const index_t share = ceil_div(request.n, request.ranks) * request.by.front().form.bytes;
  return share - share / 100 * 15 > always;
}

/// Whether plain keys stay on the GPUs, and how they go from one to another.
void choose_exchange(const mpi::Communicator& comm, const run::Values& point, const Inputs& inputs,
                     Request& request) {
  const auto* const there = kernels::resident_kernels(std::uint64_t{});
  run::Residence residence{.ranks = request.ranks, .limit = point.bytes("device-memory")};
  residence.possible = there != nullptr && request.kernels == "cuda_hybrid" &&  // on every rank
                       request.task == Task::keys && !request.takes_first() && !request.unique &&
                       comm.size() <= kernels::most_parts;
  if (residence.possible)  // keys of 8 bytes take no less than those of 4
    residence.device_bytes =
        dist::sort::DeviceSort<std::uint64_t>::device_bytes(request.n, comm.size(), *there);
  request.gpus = inputs.gpus->at(comm, point, residence);
  if (request.gpus != nullptr)
    request.algorithm = fmt::format("gpu_{}", mpi::name(request.gpus->way()));
}

/// What this rank runs, on how many threads; whether it drives a GPU.
bool choose_kernel(const mpi::Communicator& comm, const Values& point, Request& request) {
  request.method.kernel = point.text("kernel");
  const auto needed =
      [&] {  // what a device does not hold goes through it in runs: it needs room for some
        constexpr index_t enough = index_t{256} << 20;
        const index_t whole =
            checked_mul(4 * ceil_div(request.n, index_t{comm.size()}), 8, "the keys");
        const index_t asked = point.bytes("device-memory");
        return std::min(whole, asked > 0 ? asked : enough);
      };
  bool on_gpu = false;
  const auto* const row =
      run::asked_device_kernel(comm, point, kernels::variants(), kernels::best_device(), needed);
  const bool asked = row != nullptr;  // on every rank or on none
  if (asked) {
    request.method.kernel = row->name;
    request.method.tuning.device_memory = run::device_room(comm, point);
    on_gpu = run::drives_gpu(comm, point);
  }
  request.kernels = request.method.kernel;
  if (asked) {
    if (const index_t there = comm.sum(index_t{on_gpu ? 1 : 0}); there > 0 && there < comm.size()) {
      request.kernels += "+auto";
      if (!on_gpu) request.method.kernel = "auto";
    }
  }
  request.method.threads = run::threads_of(point);
  return on_gpu;
}

/// What --apply names.
void resolve_permutation(const mpi::Communicator& comm, const Inputs& inputs, Request& request) {
  const io::TableInfo permutation = inputs.permutation->share(comm);
  request.permutation = permutation.columns.front();
  mpi::alike("open input", [&] {
    const io::DatasetInfo& info = permutation.columns.front().info;
    require(
        !permutation.is_group && info.kind == io::DatasetInfo::Kind::integer &&
            info.shape.size() == 1,
        ExitCode::bad_data,
        fmt::format("{} is no permutation (a 1-D dataset of integers); give what --argsort wrote",
                    inputs.permutation->name().text()));
    require(info.shape[0] == request.n, ExitCode::bad_data,
            fmt::format("{} has {} elements and {} has {} rows; give the permutation of this table",
                        inputs.permutation->name().text(), info.shape[0],
                        inputs.data->name().text(), request.n));
  });
}

/// The root of a file takes the columns of a group only.
void require_name(const Values& point, const Request& request) {
  if (!point.has("out") || (request.is_group && !request.carried.empty())) return;
  require(io::parse_table_name(point.text("out"), "out").path != "/", ExitCode::usage,
          fmt::format(
              "--out '{}' is the root of a file, where only the columns of a group can lie; name a "
              "dataset in it",
              point.text("out")));
}

}  // namespace

Request resolve(const mpi::Communicator& comm, const Values& point, const Inputs& inputs) {
  Request request;
  request.task = point.has("apply")                        ? Task::apply
                 : point.has("quantiles")                  ? Task::quantiles
                 : point.has("by") || point.has("argsort") ? Task::permutation
                                                           : Task::keys;
  request.seed = static_cast<std::uint64_t>(point.integer("seed"));
  if (point.has("top")) request.top = point.integer("top");
  request.unique = point.flag("unique");
  if (point.has("quantiles")) request.quantiles = parse_quantiles(point.text("quantiles"));
  request.ranks = point.flag("plan") && point.has("ranks") ? point.integer("ranks") : comm.size();
  if (inputs.data) {
    resolve_file(comm, point, inputs, request);
    request.keeps_input = point.integer("repetitions") + point.integer("warmups") > 1;
  } else {
    request.n = point.integer("n");
    request.input = point.text("input");
    request.by = {{{},
                   KeyForm::of(Element::u64),
                   {},
                   point.flag("descending") ? Order::descending : Order::ascending}};
  }
  for (const ElementInfo& row : elements) {
    if (row.name == point.text("type") && !request.by.empty())
      request.by.front().form = KeyForm::of(row.element);
  }
  request.algorithm = point.text("algorithm");
  for (const auto& row : dist::sort::algorithms()) {
    if (row.name == request.algorithm) request.method.algorithm = row.algorithm;
  }
  const bool on_gpu = choose_kernel(comm, point, request);
  choose_exchange(comm, point, inputs, request);
  if (request.algorithm == "auto") {
    const bool rounds = copy_is_large(request);
    request.algorithm = rounds ? "rounds" : "exact";
    request.method.algorithm = rounds ? Algorithm::rounds : Algorithm::exact;
  }
  if (request.task == Task::keys && request.gpus == nullptr && !request.takes_first())
    request.weights = run::weights_of(comm, point, on_gpu, [&] { return speed_of(request); });
  if (request.task == Task::apply) resolve_permutation(comm, inputs, request);
  mpi::alike("create output", [&] { require_name(point, request); });
  request.allowance = run::Allowance(comm, point);
  return request;
}

std::vector<io::Cell> cells_of(const Request& request, Mode mode) {
  std::string types;
  for (const SortColumn& column : request.by) types += (types.empty() ? "" : ",") + text_of(column);
  return {{"task", std::string(request.task == Task::keys          ? "keys"
                               : request.task == Task::permutation ? "argsort"
                               : request.task == Task::quantiles   ? "quantiles"
                                                                   : "apply") +
                       (request.unique          ? " unique"
                        : request.takes_first() ? " top"
                                                : "")},
          {"kernel", request.kernels},
          {"algorithm", mode == Mode::out_of_core ? std::string("out_of_core") : request.algorithm},
          {"type", types},
          {"input", request.generated() ? request.input : std::string("file")},
          {"n", request.n}};
}

run::Counted stand_in(const Request& request) {
  const std::string& kernel = request.method.kernel;
  const bool keys = request.task == Task::keys, sorts = keys || request.task == Task::permutation;
  if (!sorts || request.unique || request.takes_first())
    return run::not_simulated("only sorts of all rows are traced");
  return run::simulated(
      {.workload = "sort",
       .kernel = kernel == "auto" ? "radix" : kernel,
       .element_bytes = keys ? request.by.front().form.bytes : 16,
       .n = request.n,
       .range = kernel.starts_with("counting") ? std::clamp<index_t>(request.n, 1, 1 << 28) : 0});
}

}  // namespace tessera::workloads::sort
