// tessera info: the datasets of a file, and the commands that take them.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/text.hpp"
#include "commands/command.hpp"
#include "io/probe.hpp"
#include "io/raw_file.hpp"
#include "kernels/transpose/permute.hpp"
#include "run/answer.hpp"

namespace tessera::apps {
namespace {

using run::Json;

run::OptionSet declare() {
  run::OptionSet set("info", "List the datasets of a file and what they can be used for",
                     {"tessera info era.nc", "tessera info run.h5:/step_10     # a group",
                      "tessera info era.nc:/t2m         # one dataset, all that is known of it"});
  set.add({.name = "file",
           .help = "List this file, a group or a dataset of it. FILE or FILE:/PATH.",
           .group = "Data",
           .value = "DATASET",
           .positional = true});
  return set;
}

std::vector<std::string> words_of(const Json& list) { return list.get<std::vector<std::string>>(); }

/// Returns "1000 x 20"; "scalar" for no dimension.
std::string shape_text(const Json& shape) {
  if (shape.empty()) return "scalar";
  return fmt::format("{}", fmt::join(shape.get<std::vector<index_t>>(), " x "));
}

bool is_fixed_text(const Json& dataset) {
  return dataset["type"].get<std::string>().starts_with("string of ") &&
         dataset["self_contained"] == true;
}

/// Returns the type without what a table has no room for: members, the kind of a string.
std::string short_type_of(const Json& dataset) {
  const std::string type = dataset["type"];
  if (is_fixed_text(dataset))
    return fmt::format("string {}", dataset["element_bytes"].get<index_t>());
  return type.substr(0, std::min(type.find(" {"), type.find(" of variable")));
}

/// Returns the workloads that take the dataset: matmul multiplies vectors, matrices and batches of
/// numbers, transpose permutes axes of numbers and small records, stencil advances fields of real
/// numbers, sort orders columns and compound rows.
std::vector<std::string> uses_of(const Json& dataset) {
  if (!dataset["problem"].is_null()) return {};
  const std::size_t dimensions = dataset["shape"].size();
  const std::string kind = dataset["kind"];
  const auto bytes = dataset["element_bytes"].get<index_t>();
  const bool real = kind == "real" || kind == "integer" || kind == "boolean";
  const bool fixed = dataset["self_contained"] == true;
  const std::string type = dataset["type"];
  const bool compound = type.starts_with("compound ");
  std::vector<std::string> uses;
  const bool in_space = dimensions >= 1 && dimensions <= 3;
  if (in_space && (real || kind == "complex")) uses.emplace_back("matmul");
  if (dimensions >= 2 && dimensions <= tessera::transpose::max_rank && fixed &&
      bytes <= tessera::transpose::max_record_bytes)
    uses.emplace_back("transpose");
  if (in_space && real) uses.emplace_back("stencil");
  if (dimensions == 1 && ((real && bytes <= 8) || type.starts_with("string ") || compound))
    uses.emplace_back("sort");
  return uses;
}

/// Returns "shuffle, gzip"; with details "chunks 64 x 64, shuffle, gzip 4, 12 MiB of 40 MiB".
std::string storage_of(const Json& dataset, bool details) {
  std::vector<std::string> words;
  if (!dataset["external"].empty())
    words.push_back(details ? "external " + join(words_of(dataset["external"]), ", ") : "external");
  else if (details && !dataset["chunk"].empty())
    words.push_back("chunks " + shape_text(dataset["chunk"]));
  else if (details || dataset["filters"].empty())  // filters are those of chunks
    words.push_back(dataset["layout"]);
  for (const std::string& filter : words_of(dataset["filters"]))
    words.push_back(details ? filter : filter.substr(0, filter.find(' ')));
  if (details) words.push_back(human_bytes(dataset["stored_bytes"].get<index_t>()) + " stored");
  return join(words, ", ");
}

/// A group whose datasets are columns of equally many rows.
struct TableGroup {
  std::string path;
  std::size_t columns = 0;
  index_t rows = 0;
};

std::vector<TableGroup> tables_in(const Json& datasets) {
  std::map<std::string, TableGroup> groups;
  std::map<std::string, bool> even;
  for (const Json& dataset : datasets) {
    const std::string path = dataset["path"];
    const std::string parent = path.substr(0, std::max<std::size_t>(1, path.rfind('/')));
    const bool is_column = !dataset["shape"].empty();
    const index_t rows = is_column ? dataset["shape"][0].get<index_t>() : -1;
    const auto [group, is_new] = groups.try_emplace(parent, TableGroup{parent, 0, rows});
    ++group->second.columns;
    even[parent] = (is_new || even[parent]) && is_column && rows == group->second.rows;
  }
  std::vector<TableGroup> tables;
  for (const auto& [path, group] : groups)
    if (group.columns > 1 && even[path]) tables.push_back(group);
  return tables;
}

/// Prints the table, or where it is too wide each path above the rest of its row.
void print_table(const Json& datasets) {
  std::size_t longest = 0;
  Table table({"shape", "type", "storage", "for"});
  for (const Json& dataset : datasets) {
    const auto uses = words_of(dataset["uses"]);
    longest = std::max(longest, printable(dataset["path"].get<std::string>()).size());
    table.add({shape_text(dataset["shape"]), short_type_of(dataset), storage_of(dataset, false),
               uses.empty() ? "-" : join(uses, ", ")});
  }
  std::vector<std::string> lines = split(table.text(), '\n');
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, line.size());
  const std::string head = "dataset";
  longest = std::max(longest, head.size());
  const bool fits = longest + 2 + width <= terminal_columns();
  fmt::print("{:<{}}  {}\n", head, fits ? longest : 0, lines[0]);
  for (std::size_t d = 0; d < datasets.size(); ++d)
    fmt::print("{:<{}}{}{}\n", printable(datasets[d]["path"].get<std::string>()),
               fits ? longest : 0, fits ? "  " : "\n    ", lines[d + 2]);
}

/// Prints all that is known of a dataset, a line each.
void print_dataset(const Json& dataset) {
  const auto line = [](const std::string& name, const std::string& text) {
    fmt::print("{:<12}  {}\n", name, printable(text));
  };
  line("dataset", dataset["path"]);
  line("shape", shape_text(dataset["shape"]));
  line("type", dataset["type"]);
  line("storage", storage_of(dataset, true));
  for (const auto& [name, value] : dataset["attributes"].items())
    line(name, value.is_string() ? value.get<std::string>() : value.dump());
  for (std::size_t d = 0; d < dataset["scales"].size(); ++d)
    line(fmt::format("axis {}", d), join(words_of(dataset["scales"][d]), ", "));
  const auto uses = words_of(dataset["uses"]);
  line("for", uses.empty() ? "-" : join(uses, ", "));
}

Body info(const run::Parsed& parsed, const Arguments&, ExitCode&) {
  const std::string& text = parsed.lists.at("file").front();
  require(!text.empty(), ExitCode::usage, "a file is required; run tessera info FILE");
  const bool is_file = io::file_exists(text) || text.find(":/") == std::string::npos;
  const io::DatasetName name =
      is_file ? io::DatasetName{text, "/"} : io::parse_table_name(text, "file");
  Json contents = Json::parse(io::probe_contents(name));
  for (Json& dataset : contents["datasets"]) {
    dataset["uses"] = uses_of(dataset);
    run::answer().append("contents", dataset);
  }
  const Json& datasets = contents["datasets"];
  if (datasets.size() == 1 && datasets[0]["path"] == name.path)
    print_dataset(datasets[0]);
  else if (!datasets.empty())
    print_table(datasets);
  else
    fmt::print("{} has no dataset\n", name.text());
  for (const TableGroup& table : tables_in(datasets))
    fmt::print("{}: a table of {} columns and {}, for sort --by\n", printable(table.path),
               table.columns, counted(table.rows, "row"));
  for (const Json& link : contents["links"])
    fmt::print("{}: a link to {}\n", printable(link["path"].get<std::string>()),
               printable(link["to"].get<std::string>()));
  for (const Json& dataset : datasets)
    if (!dataset["problem"].is_null())
      fmt::print("cannot be read: {}\n", printable(dataset["problem"].get<std::string>()));
  return {};
}

}  // namespace

Command info_command() { return {declare(), info, RankScope::on_one}; }

}  // namespace tessera::apps
