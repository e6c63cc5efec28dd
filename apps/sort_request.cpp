#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "run/common_options.hpp"
#include "sort.hpp"

namespace tessera::apps::sort {

using dist::sort::Order;
using run::Kind;
using run::Values;

namespace kernels = tessera::sort;

namespace {

std::vector<std::string> type_names() {
  std::vector<std::string> names{"auto"};
  for (const ElementInfo& row : elements) names.emplace_back(row.name);
  return names;
}

void add_data_options(run::OptionSet& set) {
  const double huge = 4e18;
  std::vector<std::string> inputs;
  for (const auto& row : kernels::inputs()) inputs.emplace_back(row.name);
  set.add({.name = "in",
           .help = "keys, or with --by a group of columns: file.h5:/path (else generated)",
           .group = "Data"});
  set.add({.name = "out",
           .help = "where the sorted keys or columns go, file.h5:/path (else they are dropped)",
           .group = "Data",
           .identity = false});
  set.add({.name = "by",
           .help = "columns to sort a table by, the first weighs most, -name descending: time,-energy",
           .group = "Data"});
  set.add({.name = "argsort",
           .help = "where the stable permutation goes (i64), file.h5:/path",
           .group = "Data",
           .identity = false});
  set.add({.name = "apply", .help = "a permutation to put the rows of --in in order by", .group = "Data"});
  set.add({.name = "n",
           .kind = Kind::integer,
           .fallback = "1048576",
           .help = "generated keys",
           .group = "Data",
           .axis = true,
           .low = 0,
           .high = huge});
  set.add({.name = "type",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "of the keys (auto: that of the file, u64 when generated)",
           .group = "Data",
           .choices = type_names(),
           .axis = true});
  set.add({.name = "input",
           .kind = Kind::choice,
           .fallback = "uniform",
           .help = "generated keys",
           .group = "Data",
           .choices = inputs,
           .axis = true});
  run::add_seed(set, "of generated keys and of the check");
  set.add(
      {.name = "descending", .kind = Kind::flag, .help = "largest first; NaN stays last", .group = "Data"});
}

void require_together(const run::OptionSet& set, const run::Parsed& parsed) {
  const auto given = [&](const char* option) { return !parsed.lists.at(option).front().empty(); };
  const auto usage = [](bool holds, const char* message) { require(holds, ExitCode::usage, message); };
  usage(!given("by") || given("in"),
        "--by names columns of a table; give the table with --in file.h5:/group");
  usage(!given("apply") || given("in"), "--apply puts the rows of --in in order; give --in too");
  usage(!given("apply") || given("out"), "--apply without --out has no effect; say where the rows go");
  usage(!given("apply") || (!given("by") && !given("argsort") && !given("descending")),
        "--apply takes the order from its file; drop --by, --argsort and --descending");
  usage(!given("by") || !given("descending"),
        "--by says the order of every column; write --by=-name instead of --descending");
  usage(!given("by") || parsed.lists.at("type").front() == "auto",
        "--type is that of plain keys; columns have the types they are stored in");
  usage((!given("out") && !given("argsort")) || set.points(parsed).size() == 1,
        "--out and --argsort take the result of one sort and this is a sweep of several; drop them or the "
        "lists");
}

SortColumn column_named(const std::string& word, const io::TableInfo& table, const std::string& file) {
  SortColumn result;
  const bool descending = word.starts_with('-');
  result.order = descending ? Order::descending : Order::ascending;
  const std::string name(trim(descending || word.starts_with('+') ? word.substr(1) : word));
  std::vector<std::string> names;
  for (const io::Column& column : table.columns) {
    names.push_back(column.name);
    if (column.name != name) continue;
    result.path = column.path;
    result.element = io::element_of_numbers(column, file);
    return result;
  }
  throw Error(ExitCode::usage,
              fmt::format("--by: the table has no column '{}'{}", name, suggestion(name, names)));
}

/// What --in holds.
void resolve_file(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                  Request& request) {
  const io::TableInfo table = inputs.data->share(comm);
  const io::DatasetName& name = inputs.data->name();
  request.n = table.rows();
  request.is_group = table.is_group;
  mpi::on_root(comm, "open input", [&] {
    require(!table.is_group || point.has("by") || point.has("apply"), ExitCode::usage,
            fmt::format("{} is a group; name the columns to sort by, e.g. --by {}", name.text(),
                        table.columns.front().name));
    require(table.is_group || !point.has("by"), ExitCode::usage,
            fmt::format("{} is a dataset; --by sorts the columns of a group", name.text()));
  });
  if (request.task != Task::keys && point.has("out")) request.carried = table.columns;
  if (request.task == Task::apply) return;
  mpi::together(comm, "open input", [&] {
    if (table.is_group) {
      for (const std::string& word : split(point.text("by"), ','))
        request.by.push_back(column_named(std::string(trim(word)), table, name.file));
      return;
    }
    const Element element = io::element_of_numbers(table.columns.front(), name.file);
    request.by.push_back(
        {name.path, element, point.flag("descending") ? Order::descending : Order::ascending});
  });
}

}  // namespace

run::OptionSet declare() {
  run::OptionSet set(
      "sort", "keys, or the rows of a table by several columns, from HDF5 to HDF5, exactly balanced",
      {"mpirun -n 4 tessera sort --in t.h5:/keys --out s.h5:/keys",
       "tessera sort --in t.h5:/events --by time,-energy --out s.h5:/events     # every column carried along",
       "tessera sort --in t.h5:/keys --argsort p.h5:/perm                       # numpy's stable argsort",
       "tessera sort --in other.h5:/table --apply p.h5:/perm --out o.h5:/table",
       "tessera sort --n 1e6,1e7 --type u32,f64 --input uniform,zipf --kernel auto,radix,samplesort",
       "mpirun -n 7 tessera sort --n 1e9 --plan                                 # what would happen",
       "tessera sort --config configs/sort/variants.toml --results r.h5"});
  add_data_options(set);
  run::add_kernel(set, run::names_of(kernels::variants()));
  set.add({.name = "algorithm",
           .kind = Kind::choice,
           .fallback = "exact",
           .help = "how the ranks share the work",
           .group = "Method",
           .choices = run::names_of(dist::sort::algorithms()),
           .axis = true});
  run::add_plan_ranks(set);
  run::add_common_options(set);
  return set;
}

std::shared_ptr<Inputs> look_at_inputs(const run::OptionSet& set, const run::Parsed& parsed) {
  require_together(set, parsed);
  auto inputs = std::make_shared<Inputs>();
  const auto look = [&](const char* option) -> std::unique_ptr<run::TableInput> {
    const std::string& text = parsed.lists.at(option).front();
    if (text.empty()) return nullptr;
    auto input = std::make_unique<run::TableInput>(text, option);
    for (const char* output : {"out", "argsort"}) {
      const std::string& written = parsed.lists.at(output).front();
      if (!written.empty())
        run::require_distinct_files(io::parse_dataset_name(written, output).file, input->name(), option);
    }
    return input;
  };
  inputs->data = look("in");
  inputs->permutation = look("apply");
  return inputs;
}

Request resolve(const mpi::Communicator& comm, const Values& point, const Inputs& inputs) {
  Request request;
  request.task = point.has("apply")                        ? Task::apply
                 : point.has("by") || point.has("argsort") ? Task::permutation
                                                           : Task::keys;
  request.seed = static_cast<std::uint64_t>(point.integer("seed"));
  request.ranks = point.flag("plan") && point.has("ranks") ? point.integer("ranks") : comm.size();
  if (inputs.data) {
    resolve_file(comm, point, inputs, request);
    request.keeps_input = point.integer("repetitions") + point.integer("warmups") > 1;
  } else {
    request.n = point.integer("n");
    request.input = point.text("input");
    request.by = {{"", Element::u64, point.flag("descending") ? Order::descending : Order::ascending}};
  }
  for (const ElementInfo& row : elements) {
    if (row.name == point.text("type")) request.by.front().element = row.element;
  }
  request.algorithm = point.text("algorithm");
  for (const auto& row : dist::sort::algorithms()) {
    if (row.name == request.algorithm) request.method.algorithm = row.algorithm;
  }
  request.method.kernel = point.text("kernel");
  request.method.threads = run::threads_of(point);
  if (request.task == Task::apply) {
    const io::TableInfo permutation = inputs.permutation->share(comm);
    mpi::on_root(comm, "open input", [&] {
      const io::DatasetInfo& info = permutation.columns.front().info;
      require(!permutation.is_group && info.kind == io::DatasetInfo::Kind::integer, ExitCode::bad_data,
              fmt::format("{} is no permutation (a 1-D dataset of integers); give what --argsort wrote",
                          inputs.permutation->name().text()));
      require(info.shape[0] == request.n, ExitCode::bad_data,
              fmt::format("{} has {} elements and {} has {} rows; give the permutation of this table",
                          inputs.permutation->name().text(), info.shape[0], inputs.data->name().text(),
                          request.n));
    });
  }
  return request;
}

std::vector<io::Cell> cells_of(const Request& request) {
  std::string types;
  for (const SortColumn& column : request.by) {
    types += fmt::format("{}{}{}", types.empty() ? "" : ",", column.order == Order::descending ? "-" : "",
                         name(column.element));
  }
  return {{"task", std::string(request.task == Task::keys          ? "keys"
                               : request.task == Task::permutation ? "argsort"
                                                                   : "apply")},
          {"kernel", request.method.kernel},
          {"algorithm", request.algorithm},
          {"type", types},
          {"input", request.generated() ? request.input : std::string("file")},
          {"n", request.n}};
}

run::Counted stand_in(const Request& request) {
  if (request.task == Task::apply) return run::not_simulated("nothing is sorted");
  const std::string& kernel = request.method.kernel;
  const bool keys = request.task == Task::keys;
  return run::simulated(
      {.workload = "sort",
       .kernel = kernel == "auto" ? "radix" : kernel,
       .element_bytes = keys ? static_cast<index_t>(bytes(request.by.front().element)) : 16,
       .n = request.n,
       .range = kernel.starts_with("counting") ? std::clamp<index_t>(request.n, 1, 1 << 28) : 0});
}

void load(const mpi::Communicator& comm, const Inputs& inputs, const Request& request,
          const SortColumn& column, std::byte* to) {
  const layout::Range mine = layout::BlockMap(request.n, comm.size()).range(comm.rank());
  if (!request.generated()) {
    io::read_range({inputs.data->name().file, column.path}, mine, column.element, to);
    return;
  }
  dispatch_element(column.element, [&]<class T>(Type<T>) {
    const std::span<T> keys(reinterpret_cast<T*>(to), static_cast<std::size_t>(mine.size()));
    machine::parallel(request.method.threads, [&] {
      kernels::generate<T>(kernels::input(request.input), request.seed, mine.begin, request.n, keys);
    });
  });
}

}  // namespace tessera::apps::sort
