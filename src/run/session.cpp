#include "run/session.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/lines.hpp"
#include "base/note.hpp"
#include "base/text.hpp"
#include "io/probe.hpp"
#include "io/raw_file.hpp"
#include "io/schema.hpp"
#include "machine/fork_join.hpp"
#include "machine/topology.hpp"
#include "mpi/account.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/runtime.hpp"
#include "run/answer.hpp"
#include "run/inputs.hpp"
#include "run/limiter.hpp"
#include "run/measured_text.hpp"
#include "run/provenance.hpp"
#include "run/uses.hpp"

namespace tessera::inline v1::run {
namespace {

double rate_of(const Measured& measured, double seconds) {
  const double unit = measured.rate_units.starts_with('M') ? 1e6 : 1e9;
  return seconds > 0 ? measured.work / seconds / unit : 0;
}

InputFrom input_of(const Parsed& parsed) {
  for (const char* option : {"in", "a"}) {
    const auto list = parsed.lists.find(option);
    if (list != parsed.lists.end() && !list->second.front().empty()) return InputFrom::files;
  }
  return InputFrom::generator;
}

/// Returns the maximum over ranks of seconds in device kernels, per repetition; empty if none ran.
/// Collective.
std::vector<double> kernel_seconds(const mpi::Communicator& comm, const Measured& measured) {
  std::vector<double> result;
  for (const mpi::Phases& phases : measured.phases)
    result.push_back(comm.max(phases.of("device kernels")));
  const bool any =
      std::any_of(result.begin(), result.end(), [](double seconds) { return seconds > 0; });
  return any ? result : std::vector<double>{};
}

/// Removes the first `threads=`, those asked for (may be 0), from a key; it ends with those that
/// ran.
std::string without_asked_threads(std::string key) {
  constexpr std::string_view word = " threads=";
  const auto first = key.find(word);
  if (first != key.rfind(word)) key.erase(first, key.find(' ', first + 1) - first);
  return key;
}

}  // namespace

int threads_of(const Values& point) {
  const auto threads = static_cast<int>(point.integer("threads"));
  return threads > 0 ? threads : machine::default_threads();
}

bool keeps_timeline(const Values& point) {
  return point.all().contains("timeline") && point.flag("timeline");
}

Session::Session(const mpi::Communicator& comm, const OptionSet& options, const Parsed& parsed,
                 const std::vector<std::string>& arguments)
    : comm_(comm),
      options_(options),
      parsed_(parsed),
      arguments_(arguments),
      start_time_(utc_now()),
      results_(parsed.lists.at("results").front()) {
  gpus_ = concerned_gpus(parsed);
  asks_repetitions_ = parsed.sources.at("repetitions") == "flag";
  const std::set<std::string> shown = {"m", "n", "k", "threads"};  // columns of every table
  for (const Option& option : options.options()) {
    const bool in_a_column = option.kind == Kind::integer || option.kind == Kind::real ||
                             option.kind == Kind::bytes || option.kind == Kind::choice ||
                             option.name == "in";  // of several files
    const auto list = parsed.lists.find(option.name);
    if (in_a_column && option.identity && list != parsed.lists.end() && list->second.size() > 1 &&
        !shown.contains(option.name))
      swept_.push_back(option);
  }
  if (comm_.is_root()) ceilings_ = load_ceilings(ceilings_file());
  if (!results_.empty()) open_results();
}

void Session::open_results() {
  mpi::on_root(comm_, "open results", [&] {
    require_own_file(results_, options_, parsed_);
    if (io::file_exists(io::behind_links(results_))) io::probe_results(results_);
    if (parsed_.lists.at("again").front() == "true") return;
    const bool counts = parsed_.lists.at("counters").front() == "true";
    const char* table = counts ? io::schema::counters : io::schema::summary;
    for (const std::string& point : io::text_column(results_, table, "point"))
      known_.insert(without_asked_threads(point));
  });
}

/// Gathers the provenance once; only a run that writes pays its messages. Collective.
void Session::find_provenance() {
  if (provenance_.empty())
    provenance_ = provenance(comm_, options_, parsed_, arguments_, start_time_);
}

std::string Session::key(const Values& point) const {
  return options_.key(point) + fmt::format(" ranks={} threads={}", comm_.size(), threads_of(point));
}

std::string Session::identity(const Values& point) const {
  return without_asked_threads(key(point));
}

bool Session::has(const Values& point) const {
  return !results_.empty() && comm_.max(index_t{known_.contains(identity(point)) ? 1 : 0}) != 0;
}

void Session::skip(const Values&) { ++skipped_; }

std::optional<double> Session::ceiling(const std::string& name, int threads) const {
  const mpi::Communicator node = comm_.node();
  const auto value =
      comm_.is_root() ? ceilings_.at(name, index_t{threads} * node.size()) : std::nullopt;
  const double nodes = comm_.sum(node.is_root() ? 1.0 : 0.0);
  const double total = comm_.max(value.value_or(0.0)) * nodes;
  return total > 0 ? std::optional(total) : std::nullopt;
}

std::map<std::string, io::Value> Session::attributes(const Measured& measured) {
  find_provenance();
  auto result = provenance_;
  if (measured.verdict) {
    result["verification_method"] = measured.verdict->method;
    result["verification_ratio"] = measured.verdict->ratio;
    result["verification_tolerance"] = measured.verdict->tolerance;
    if (measured.verdict->error) result["relative_error"] = *measured.verdict->error;
    result["verified"] = index_t{measured.verdict->passed()};
  } else {
    result["verified"] = index_t{-1};  // not verified
  }
  return result;
}

std::vector<io::TableRows> Session::rows(const Values& point, const Measured& measured,
                                         const Summary& summary, double share) const {
  const std::string identity = key(point);
  io::Row common{{"point", identity, ""}};
  common.insert(common.end(), measured.columns.begin(), measured.columns.end());
  common.push_back({"ranks", static_cast<index_t>(comm_.size()), ""});
  common.push_back({"threads", static_cast<index_t>(threads_of(point)), ""});
  io::TableRows samples{io::schema::samples, {}};
  for (std::size_t r = 0; r < measured.seconds.size(); ++r) {
    io::Row row = common;
    row.push_back({"repetition", static_cast<index_t>(r), ""});
    row.push_back({"seconds", measured.seconds[r], "s"});
    row.push_back({"rate", rate_of(measured, measured.seconds[r]), measured.rate_units});
    samples.rows.push_back(std::move(row));
  }
  io::Row row = common;
  const auto real = [&](const char* name, double value, const std::string& units) {
    row.push_back({name, value, units});
  };
  row.push_back({"repetitions", static_cast<index_t>(summary.count), ""});
  real("median", summary.median, "s");
  real("ci_low", summary.ci_low, "s");
  real("ci_high", summary.ci_high, "s");
  real("min", summary.min, "s");
  real("max", summary.max, "s");
  real("mean", summary.mean, "s");
  real("work", measured.work, measured.rate_units.substr(1, measured.rate_units.find('/') - 1));
  real("rate", rate_of(measured, summary.median), measured.rate_units);
  const Summary kernels = summarize(measured.kernels);
  real("kernels", kernels.median, "s");
  real("kernels_low", kernels.ci_low, "s");
  real("kernels_high", kernels.ci_high, "s");
  real("ceiling_share", share, "");
  row.push_back({"verification_method",
                 measured.verdict ? measured.verdict->method : std::string("none"), ""});
  real("verification_ratio", measured.verdict ? measured.verdict->ratio : NAN, "");
  real("verification_tolerance", measured.verdict ? measured.verdict->tolerance : NAN, "");
  real("relative_error", measured.verdict ? measured.verdict->error.value_or(NAN) : NAN, "");
  row.push_back(
      {"verified", measured.verdict ? index_t{measured.verdict->passed()} : index_t{-1}, ""});
  return {std::move(samples), {io::schema::summary, {std::move(row)}}};
}

/// Adds the counts to the results tables and to the terminal's. Local, on rank 0.
void Session::count(const Values& point, const Measured& measured,
                    std::vector<io::TableRows>& tables) {
  if (!measured.counted) return;
  Counted counted = *measured.counted;
  const bool real = !counted.repetitions.empty();
  if (!real) {
    no_counters_ = counted.reason;
    if (!measured.simulated_counts) return;
    const mpi::Computing computing;
    counted = measured.simulated_counts();
  }
  io::TableRows table{io::schema::counters, {}};
  for (std::size_t r = 0; r < counted.repetitions.size(); ++r) {
    io::Row row{{"point", key(point), ""},
                {"repetition", real ? static_cast<index_t>(r) : index_t{-1}, ""}};
    for (io::Cell& cell : counter_cells(counted, counted.repetitions[r]))
      row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  tables.push_back(std::move(table));
  const io::Row middle = shown_cells(counted);
  if (!counters_) {
    std::vector<std::string> headings;
    for (const io::Cell& cell : measured.columns) headings.push_back(cell.column);
    if (real) headings.emplace_back("threads");
    counter_settings_ = headings.size();
    for (const io::Cell& cell : middle) headings.push_back(cell.column);
    counters_.emplace(std::move(headings));
  }
  std::vector<std::string> cells = setting_texts(measured);
  if (real) cells.push_back(std::to_string(threads_of(point)));
  for (const io::Cell& cell : middle) cells.push_back(cell_text(cell.value));
  counters_->add(std::move(cells));
}

/// Returns the swept options that are not among the columns.
std::vector<io::Cell> Session::swept_cells(const Values& point, const Measured& measured) const {
  std::vector<io::Cell> result;
  for (const Option& option : swept_) {
    std::string name = option.name;
    std::replace(name.begin(), name.end(), '-', '_');
    const bool there = std::any_of(measured.columns.begin(), measured.columns.end(),
                                   [&](const io::Cell& cell) { return cell.column == name; });
    if (!there) result.push_back({std::move(name), swept_value(point, option), ""});
  }
  return result;
}

/// Adds a row to the table on the terminal. Local, on rank 0.
void Session::show(const Values& point, const Measured& measured, const Summary& summary,
                   double share) {
  const bool device = gpus_ != nullptr && !gpus_->devices.empty();
  if (!table_) {
    std::vector<std::string> headings;
    for (const io::Cell& cell : measured.columns) headings.push_back(cell.column);
    headings.insert(headings.end(), {"ranks", "threads"});
    settings_ = headings.size();
    headings.insert(headings.end(), {"median", interval_heading(point.integer("repetitions")),
                                     measured.rate_units, "of ceiling"});
    if (device) headings.insert(headings.end(), {"kernels", measured.rate_units + " in them"});
    shows_energy_ = device || !measured.energy.empty();
    if (shows_energy_) headings.insert(headings.end(), {"energy, J", "power, W", "idle"});
    headings.emplace_back("check");
    table_.emplace(std::move(headings));
  }
  std::vector<std::string> cells = setting_texts(measured);
  cells.push_back(std::to_string(comm_.size()));
  cells.push_back(std::to_string(threads_of(point)));
  cells.push_back(human_seconds(summary.median));
  cells.push_back(interval_cell(summary, point.integer("repetitions")));
  cells.push_back(human_number(rate_of(measured, summary.median)));
  cells.push_back(std::isnan(share) ? "-" : fmt::format("{:.0f} %", 100 * share));
  if (device) {
    const double kernels = summarize(measured.kernels).median;
    const bool ran = !measured.kernels.empty();
    cells.push_back(ran ? human_seconds(kernels) : "-");
    cells.push_back(ran ? human_number(rate_of(measured, kernels)) : "-");
  }
  if (shows_energy_) {
    for (std::string& cell : energy_cells(sum_of(measured.energy)))
      cells.push_back(std::move(cell));
  }
  cells.push_back(verdict_text(measured.verdict));
  table_->add(std::move(cells));
}

void Session::record(const Values& point, Measured measured) {
  const mpi::AccountScope account("results");
  if (!results_.empty()) find_provenance();
  std::vector<io::Cell> swept = swept_cells(point, measured);
  measured.columns.insert(measured.columns.end(), swept.begin(), swept.end());
  measured.kernels = kernel_seconds(comm_, measured);
  if (measured.kernels.empty())  // a GPU that an earlier point used
    std::erase_if(measured.energy, [](const auto& one) { return one.domain == "gpu"; });
  const Summary summary = summarize(measured.seconds);
  repeats_ = repeats_ || summary.count > 1;
  ran_once_ = ran_once_ || summary.count < static_cast<std::size_t>(point.integer("repetitions"));
  const auto top =
      measured.ceiling.empty() ? std::nullopt : ceiling(measured.ceiling, threads_of(point));
  const double share = top ? rate_of(measured, summary.median) * measured.per_ceiling / *top : NAN;
  auto tables = rows(point, measured, summary, share);
  tables.push_back({io::schema::phases, phase_rows(key(point), measured)});
  tables.push_back({io::schema::energy, energy_rows(key(point), measured.energy)});
  if (keeps_timeline(point))
    tables.push_back({io::schema::timeline, timeline_rows(key(point), measured)});
  for (io::TableRows more : measured.tables) {
    for (io::Row& row : more.rows) row.insert(row.begin(), {"point", key(point), ""});
    tables.push_back(std::move(more));
  }
  if (!wrote_ranks_) {
    for (io::TableRows& table : machine_tables()) tables.push_back(std::move(table));
    wrote_ranks_ = true;
  }
  mpi::on_root(comm_, "results", [&] {
    count(point, measured, tables);
    answer_point(tables);
    limits_.push_back(limit_sentence(
        tables[2].rows,
        std::isnan(share) ? std::nullopt : std::optional(CeilingShare{measured.ceiling, share}),
        input_of(parsed_)));
    show(point, measured, summary, share);
    append(tables);
  });
}

void Session::record_tables(const std::vector<io::TableRows>& tables) {
  if (!results_.empty()) find_provenance();
  answer_tables(tables);
  mpi::on_root(comm_, "results", [&] { append(tables); });
}

/// Adds rows to the results file, if any. Local, on rank 0.
void Session::append(const std::vector<io::TableRows>& tables) {
  if (results_.empty()) return;
  if (!writer_) writer_.emplace(results_, options_.command());
  auto attributes = provenance_;
  attributes["energy_missing"] = energy_missing();
  writer_->add(attributes, tables);
}

void Session::finish() {
  const mpi::AccountScope account("results");
  if (!results_.empty() && comm_.max(index_t{writer_ ? 1 : 0}) != 0)
    record_tables({{io::schema::wall, wall_rows()}});
  mpi::on_root(comm_, "results", [&] {
    if (writer_) writer_->store();
  });
  if (answer().is_json()) answer_memory(comm_.max(planned_), comm_.max(machine::peak_resident()));
  if (!comm_.is_root()) return;
  if (writer_) answer().set("results", {{"file", results_}, {"run", writer_->run()}});
  answer().set("skipped", skipped_);
  clear_progress_line();
  if (table_) fmt::print("{}", table_->fitted(settings_, terminal_columns()));
  if (limits_.size() == 1 && !limits_.front().empty()) {
    answer().set("limit", limits_.front());
    print_filled(limits_.front());
  }
  if (!no_counters_.empty() && counters_) {
    print_filled("\nhardware counters unavailable ({}): simulated instead, one thread on {}",
                 no_counters_, simulated_caches());
  } else if (!no_counters_.empty()) {
    print_filled("hardware counters unavailable ({}); `tessera locality` simulates misses instead",
                 no_counters_);
  } else if (counters_) {
    fmt::print("\ncounters, median of the repetitions, all ranks:\n");
  }
  if (counters_) fmt::print("{}", counters_->fitted(counter_settings_, terminal_columns()));
  if (asks_repetitions_ && ran_once_)
    print_note("--repetitions has no effect from file to file: the work is done once");
  if (skipped_ > 0) {
    fmt::print("{} already in {}: skipped (--again measures them again)\n",
               counted(skipped_, "point"), results_);
  }
  if (table_ && ceilings_.all.empty() && repeats_)
    fmt::print("share of the ceiling unknown: run `tessera machine` once\n");
  if (table_ && writer_) fmt::print("results: {} (group {})\n", results_, writer_->run());
}

}  // namespace tessera::inline v1::run
