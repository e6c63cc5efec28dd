#include "commands/command.hpp"

#include <fmt/core.h>
#include <memory>

#include "base/text.hpp"
#include "sort/options.hpp"
#include "workloads/sort/workload.hpp"

namespace tessera::apps {
namespace sort {
namespace {

/// What was typed.
struct Asked {
  const run::Parsed& parsed;
  [[nodiscard]] const std::string& value(const char* option) const {
    return parsed.lists.at(option).front();
  }
  [[nodiscard]] bool given(const char* option) const { return !value(option).empty(); }
  [[nodiscard]] bool flagged(const char* option) const { return value(option) == "true"; }
  [[nodiscard]] bool unsaid(const char* option) const {
    return parsed.sources.at(option) == "default";
  }
};

void usage(bool holds, const char* message) { require(holds, ExitCode::usage, message); }

// The following throw Error(usage) for options that conflict.

void require_files(const Asked& asked) {
  const std::string& wanted = asked.value("out-of-core");
  usage(wanted != "always" || !asked.given("quantiles"),
        "--out-of-core always conflicts with --quantiles, which does not sort; drop one of them");
  if (!asked.given("scratch")) return;
  usage(wanted != "never",
        "--scratch conflicts with --out-of-core never: no runs are written; drop one of them");
  usage(asked.given("out") || asked.given("argsort"),
        "--scratch requires an output: only a sort from file to file writes runs; add --out or "
        "--argsort");
  usage(!asked.given("apply") && !asked.given("quantiles"),
        "--scratch conflicts with --apply and --quantiles: they write no runs; drop it");
  usage(asked.given("in") || !asked.given("argsort"),
        "--scratch conflicts with --argsort of generated keys: no runs are written; drop it");
}

void require_order(const Asked& asked) {
  usage(!asked.given("by") || asked.given("in"),
        "--by requires a table; give it with --in file.h5:/group");
  const bool applied = asked.given("apply");
  usage(!applied || asked.given("in"),
        "--apply requires --in, whose rows it reorders; give --in too");
  usage(!applied || asked.given("out"),
        "--apply without --out has no effect; add --out FILE:/PATH");
  usage(!applied || (!asked.given("by") && !asked.given("argsort") && !asked.given("descending")),
        "--apply conflicts with --by, --argsort and --descending: its file gives the order; drop "
        "them");
  usage(!applied || (!asked.flagged("counters") && !asked.flagged("timeline")),
        "--counters and --timeline conflict with --apply, which does not sort; drop them");
}

void require_outputs(const Asked& asked) {
  if (asked.given("out") && asked.given("argsort")) {
    const io::DatasetName rows = io::parse_table_name(asked.value("out"), "out");
    const io::DatasetName order = io::parse_dataset_name(asked.value("argsort"), "argsort");
    usage(rows.file != order.file || rows.path != order.path,
          "--out and --argsort name the same dataset; name another one for the permutation");
  }
  for (const char* option : {"columns", "drop"})
    require(!asked.given(option) || (asked.given("in") && asked.given("out")), ExitCode::usage,
            fmt::format("--{} chooses the columns of a table that are written; give --in and --out "
                        "too",
                        option));
  usage(!asked.given("by") || !asked.given("descending"),
        "--by sets the order of every column; write --by=-name instead of --descending");
  const bool typed = asked.value("type") != "auto";
  usage((!asked.given("by") && !asked.given("apply")) || !typed,
        "--type conflicts with --by and --apply: their rows keep the stored types; drop --type");
  usage(!asked.given("in") || !asked.given("out") || !asked.given("argsort") || !typed,
        "--type conflicts with --out and --argsort together: keys keep the stored type; drop "
        "--type or sort twice");
}

void require_part(const Asked& asked) {
  const int parts =
      int{asked.given("top")} + int{asked.flagged("unique")} + int{asked.given("quantiles")};
  usage(parts == 0 || !asked.given("apply"),
        "--top, --unique and --quantiles conflict with --apply, which does not sort; drop them");
  usage(parts <= 1,
        "--top, --unique and --quantiles conflict: each selects a part of the order; give one of "
        "them");
  usage(asked.value("fill") == "raw" ||
            (asked.given("in") && !asked.given("apply") && !asked.given("quantiles")),
        "--fill last requires a sort of --in; drop it");
  usage(!asked.given("quantiles") || !asked.given("argsort"),
        "--argsort conflicts with --quantiles, which does not sort; drop --argsort");
}

void require_together(const run::OptionSet& set, const run::Parsed& parsed) {
  const Asked asked{parsed};
  require_order(asked);
  require_outputs(asked);
  require_part(asked);
  require_files(asked);
  if (asked.given("quantiles")) (void)workloads::sort::parse_quantiles(asked.value("quantiles"));
  usage(!asked.given("in") || (asked.unsaid("n") && asked.unsaid("input")),
        "--n and --input describe generated keys and conflict with --in; drop them or --in");
  for (const char* option : {"kernel", "algorithm"}) {
    for (const char* task : {"apply", "quantiles"})
      require(!asked.given(task) || asked.unsaid(option), ExitCode::usage,
              fmt::format("--{} conflicts with --{}, which does not sort; drop it", option, task));
  }
  usage((!asked.given("out") && !asked.given("argsort")) || set.points(parsed).size() == 1,
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
