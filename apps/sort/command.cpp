#include "commands/command.hpp"

#include <fmt/format.h>
#include <memory>

#include "base/text.hpp"
#include "sort/options.hpp"
#include "workloads/sort/workload.hpp"

namespace tessera::apps {
namespace sort {
namespace {

/// Throws Error(usage) for --scratch or --out-of-core always, unless the sort can use files.
void require_files(const run::Parsed& parsed) {
  const auto given = [&](const char* option) { return !parsed.lists.at(option).front().empty(); };
  const std::string& wanted = parsed.lists.at("out-of-core").front();
  const auto usage = [](bool holds, const char* message) {
    require(holds, ExitCode::usage, message);
  };
  usage(wanted != "always" || !given("quantiles"),
        "--out-of-core always conflicts with --quantiles, which does not sort; drop one of them");
  if (!given("scratch")) return;
  usage(wanted != "never",
        "--scratch conflicts with --out-of-core never: no runs are written; drop one of them");
  usage(given("out") || given("argsort"),
        "--scratch requires an output: only a sort from file to file writes runs; add --out or "
        "--argsort");
  usage(!given("apply") && !given("quantiles"),
        "--scratch conflicts with --apply and --quantiles: they write no runs; drop it");
  usage(given("in") || !given("argsort"),
        "--scratch conflicts with --argsort of generated keys: no runs are written; drop it");
}

void require_together(const run::OptionSet& set, const run::Parsed& parsed) {
  const auto given = [&](const char* option) { return !parsed.lists.at(option).front().empty(); };
  const auto usage = [](bool holds, const char* message) {
    require(holds, ExitCode::usage, message);
  };
  usage(!given("by") || given("in"), "--by requires a table; give it with --in file.h5:/group");
  usage(!given("apply") || given("in"),
        "--apply requires --in, whose rows it reorders; give --in too");
  usage(!given("apply") || given("out"),
        "--apply without --out has no effect; add --out FILE:/PATH");
  usage(!given("apply") || (!given("by") && !given("argsort") && !given("descending")),
        "--apply conflicts with --by, --argsort and --descending: its file gives the order; drop "
        "them");
  const auto flagged = [&](const char* option) {
    return parsed.lists.at(option).front() == "true";
  };
  usage(!given("apply") || (!flagged("counters") && !flagged("timeline")),
        "--counters and --timeline conflict with --apply, which does not sort; drop them");
  if (given("out") && given("argsort")) {
    const io::DatasetName rows = io::parse_table_name(parsed.lists.at("out").front(), "out");
    const io::DatasetName order =
        io::parse_dataset_name(parsed.lists.at("argsort").front(), "argsort");
    usage(rows.file != order.file || rows.path != order.path,
          "--out and --argsort name the same dataset; name another one for the permutation");
  }
  for (const char* option : {"columns", "drop"})
    require(!given(option) || (given("in") && given("out")), ExitCode::usage,
            fmt::format("--{} chooses the columns of a table that are written; give --in and --out "
                        "too",
                        option));
  usage(!given("by") || !given("descending"),
        "--by sets the order of every column; write --by=-name instead of --descending");
  usage((!given("by") && !given("apply")) || parsed.lists.at("type").front() == "auto",
        "--type conflicts with --by and --apply: their rows keep the stored types; drop --type");
  usage(!given("in") || !given("out") || !given("argsort") ||
            parsed.lists.at("type").front() == "auto",
        "--type conflicts with --out and --argsort together: keys keep the stored type; drop "
        "--type or sort twice");
  const int parts = int{given("top")} + int{flagged("unique")} + int{given("quantiles")};
  usage(parts == 0 || !given("apply"),
        "--top, --unique and --quantiles conflict with --apply, which does not sort; drop them");
  usage(parts <= 1,
        "--top, --unique and --quantiles conflict: each selects a part of the order; give one of "
        "them");
  usage(parsed.lists.at("fill").front() == "raw" ||
            (given("in") && !given("apply") && !given("quantiles")),
        "--fill last requires a sort of --in; drop it");
  usage(!given("quantiles") || !given("argsort"),
        "--argsort conflicts with --quantiles, which does not sort; drop --argsort");
  require_files(parsed);
  if (given("quantiles"))
    (void)workloads::sort::parse_quantiles(parsed.lists.at("quantiles").front());
  const auto unsaid = [&](const char* option) { return parsed.sources.at(option) == "default"; };
  usage(!given("in") || (unsaid("n") && unsaid("input")),
        "--n and --input describe generated keys and conflict with --in; drop them or --in");
  for (const char* option : {"kernel", "algorithm"}) {
    for (const char* task : {"apply", "quantiles"})
      require(!given(task) || unsaid(option), ExitCode::usage,
              fmt::format("--{} conflicts with --{}, which does not sort; drop it", option, task));
  }
  usage((!given("out") && !given("argsort")) || set.points(parsed).size() == 1,
        "--out and --argsort conflict with a sweep: each holds the result of one sort; drop them "
        "or the lists");
}

/// Returns the columns to carry, by --columns, --drop and --by.
io::TableChoice choice_of(const run::Parsed& parsed) {
  const auto words = [&](const char* option) {
    std::vector<std::string> names;
    const std::string& text = parsed.lists.at(option).front();
    if (text.empty()) return names;
    for (const std::string& word : split(text, ',')) names.emplace_back(trim(word));
    return names;
  };
  return {words("columns"), words("drop"), parsed.lists.at("by").front()};
}

std::shared_ptr<workloads::sort::Inputs> look_at_inputs(const run::OptionSet& set,
                                                        const run::Parsed& parsed) {
  require_together(set, parsed);
  auto inputs = std::make_shared<workloads::sort::Inputs>();
  const auto look = [&](const char* option) -> std::unique_ptr<run::TableInput> {
    const std::string& text = parsed.lists.at(option).front();
    if (text.empty()) return nullptr;
    const bool data = option == std::string_view("in");
    auto input = std::make_unique<run::TableInput>(text, option,
                                                   data ? choice_of(parsed) : io::TableChoice{});
    for (const char* output : {"out", "argsort"}) {
      const std::string& written = parsed.lists.at(output).front();
      if (!written.empty())
        run::require_distinct_files(io::parse_table_name(written, output).file, input->name(),
                                    option, output);
    }
    return input;
  };
  inputs->data = look("in");
  inputs->permutation = look("apply");
  return inputs;
}

/// Sets one repetition without warm-up if a file is sorted, unless the user chose them.
void sort_files_once(run::Parsed& parsed) {
  if (parsed.lists.at("in").front().empty()) return;
  for (const auto& [option, value] : {std::pair{"repetitions", "1"}, {"warmups", "0"}}) {
    if (parsed.sources.at(option) == "default") parsed.lists.at(option) = {value};
  }
}

workloads::Resolve look(const run::OptionSet& set, run::Parsed& parsed) {
  sort_files_once(parsed);
  const auto inputs = look_at_inputs(set, parsed);
  return workloads::sort::resolve_with(inputs);
}

}  // namespace
}  // namespace sort

Command sort_command() {
  static const run::OptionSet set = sort::declare();
  return workload_command(workloads::sort::workload(set),
                          [](run::Parsed& parsed) { return sort::look(set, parsed); });
}

}  // namespace tessera::apps
