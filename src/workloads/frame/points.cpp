// Runs or plans every point of a sweep: checks the request, skips points whose results are stored,
// and stops between points on a signal.

#include "workloads/frame/points.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/note.hpp"
#include "base/progress.hpp"
#include "io/dataset.hpp"
#include "io/output_file.hpp"
#include "io/probe.hpp"
#include "io/results.hpp"
#include "mpi/account.hpp"
#include "mpi/agreement.hpp"
#include "mpi/runtime.hpp"
#include "run/common_options.hpp"
#include "run/device.hpp"
#include "run/storage.hpp"

namespace tessera::inline v1::workloads {
namespace {

/// Returns what a point of the request leaves, however it ends.
Leftovers leaves(const Workload& workload, const run::Parsed& parsed) {
  return workload.leaves ? workload.leaves(parsed) : Leftovers::nothing;
}

/// Returns whether a stopped run keeps partial results of its current point.
bool keeps_the_point(const Workload& workload, const run::Parsed& parsed) {
  return (names(parsed, "resume") && leaves(workload, parsed) != Leftovers::always) ||
         names(parsed, "checkpoint");
}

/// Returns whether a stopped run keeps partial results from which a later one can resume. Excludes
/// runs of a sort: it checks for signals between points only, and if it keeps only runs it can end
/// at once without loss.
bool keeps_partial_results(const Workload& workload, const run::Parsed& parsed) {
  return names(parsed, "results") || keeps_the_point(workload, parsed);
}

/// Returns whether there may be partial results to resume from.
bool can_resume(const Workload& workload, const run::Parsed& parsed) {
  return names(parsed, "results") || names(parsed, "checkpoint") ||
         leaves(workload, parsed) != Leftovers::nothing;
}

/// Returns the name in one value of an output option. Throws Error(usage).
io::DatasetName name_of(const OutputOption& output, const std::string& text) {
  return output.names == OutputOption::Names::table ? io::parse_table_name(text, output.option)
                                                    : io::parse_dataset_name(text, output.option);
}

/// Returns whether all outputs of an option are readable. Local.
bool is_there(const NamedOutput& named) {
  return std::all_of(named.values.begin(), named.values.end(), [&](const std::string& value) {
    try {
      (void)io::probe_table(name_of(*named.output, value));
      return true;
    } catch (const Error&) {
      return false;
    }
  });
}

/// Returns whether outputs may replace existing files.
bool overwrites(const run::Parsed& parsed) {
  const auto value = parsed.lists.find("overwrite");
  return value != parsed.lists.end() && value->second.front() == "true";
}

/// Returns whether all outputs of the request exist and are not to be made anew. Local.
bool keeps_existing_outputs(const SweepRequest& sweep) {
  const auto outputs = named_outputs(sweep.workload, sweep.parsed);
  const bool made_anew = overwrites(sweep.parsed) && !names(sweep.parsed, "resume");
  return outputs.empty() || (!made_anew && std::all_of(outputs.begin(), outputs.end(), is_there));
}

/// Returns whether the results file holds the point and its outputs exist. Collective.
bool is_done(const SweepRequest& sweep, const run::Values& point, const run::Session& session) {
  if (!session.has(point)) return false;
  const bool lacks = sweep.comm.is_root() && !keeps_existing_outputs(sweep);
  return sweep.comm.max(index_t{lacks ? 1 : 0}) == 0;
}

/// A point with the request and the actions that it belongs to.
struct Step {
  SweepRequest sweep;
  const PointActions* actions;
  run::Values point;
};

bool run_or_skip(const Step& step, run::Session& session) {
  const SweepRequest& sweep = step.sweep;
  if (is_done(sweep, step.point, session)) {
    session.skip(step.point);
    return true;
  }
  if (names(sweep.parsed, "results"))
    mpi::on_root(sweep.comm, "open results",
                 [&] { io::require_place_for_results(sweep.parsed.lists.at("results").front()); });
  const mpi::AccountScope account("plan");
  return step.actions->run(step.point, session);
}

/// Returns the points of all parts.
std::vector<Step> steps_of(const SweepRequest& sweep, const std::vector<PartRequest>& parts) {
  std::vector<Step> steps;
  for (const PartRequest& part : parts)
    for (run::Values& point : sweep.workload.options->points(*part.parsed))
      steps.push_back({{sweep.comm, sweep.workload, *part.parsed, sweep.arguments},
                       &part.actions,
                       std::move(point)});
  return steps;
}

/// Returns each distinct point once: drops values that an axis repeats, and --threads 0 if another
/// value equals its default. Collective.
std::vector<Step> each_once(const mpi::Communicator& comm, const run::Session& session,
                            std::vector<Step> steps) {
  if (steps.size() == 1) return steps;
  std::string first;
  std::set<std::string> seen;
  for (const Step& step : steps)
    first += seen.insert(session.identity(step.point)).second ? '1' : '0';
  first = comm.broadcast(first, 0);
  std::vector<Step> kept;
  for (std::size_t p = 0; p < steps.size(); ++p)
    if (first[p] == '1') kept.push_back(std::move(steps[p]));
  return kept;
}

/// Returns the outputs that the command has: "--out or --argsort".
std::string known_outputs(const Workload& workload) {
  std::vector<std::string> known;
  for (const OutputOption& output : workload.outputs)
    known.push_back(fmt::format("--{}", output.option));
  return fmt::format("{}", fmt::join(known, " or "));
}

/// Checks the outputs: an output is a whole dataset, never a part of one.
void check_outputs(const Workload& workload, const run::Parsed& parsed) {
  const auto outputs = named_outputs(workload, parsed);
  for (const NamedOutput& named : outputs) {
    const std::string& text = parsed.lists.at(named.output->option).front();
    (void)name_of(*named.output, text);
    require(
        !text.ends_with(']'), ExitCode::usage,
        fmt::format(
            "--{} '{}' names a part of a dataset: an output is a whole dataset; drop the brackets",
            named.output->option, text));
  }
  const auto first = [&](const char* option) { return parsed.lists.at(option).front(); };
  const bool stored =
      run::StorageRequest(first("compress"), first("chunks"), first("like")).given();
  require(!outputs.empty() || !stored, ExitCode::usage,
          fmt::format("--compress, --chunks and --like store an output; name a file with {}",
                      known_outputs(workload)));
  const std::string& amount = parsed.lists.at("verify-output").front();
  require(!outputs.empty() || (amount != "all" && amount != "sample"), ExitCode::usage,
          fmt::format("--verify-output {} requires an output to read back; name a file with {}",
                      amount, known_outputs(workload)));
}

void check_resume(const Workload& workload, const run::Parsed& parsed) {
  const std::string resume = parsed.lists.at("resume").front();
  if (resume.empty()) return;
  const bool has_checkpoints = parsed.lists.contains("checkpoint");
  require(resume == "auto" || has_checkpoints, ExitCode::usage,
          fmt::format("--resume '{}' is not supported by {}; write --resume auto", resume,
                      workload.options->command()));
  require(resume != "auto" || can_resume(workload, parsed), ExitCode::usage,
          fmt::format("--resume auto requires a file to resume from; name the file of --results{}",
                      has_checkpoints   ? " or --checkpoint"
                      : workload.leaves ? " or an output (--out)"
                                        : ""));
  require(!names(parsed, "again"), ExitCode::usage,
          "--resume conflicts with --again, which measures stored points again; give one of them");
}

/// Throws unless the outputs can be created, by the same checks as the run. Collective.
void require_places(const SweepRequest& sweep) {
  const auto existing = overwrites(sweep.parsed) ? io::OutputFile::Existing::replace
                                                 : io::OutputFile::Existing::refuse;
  mpi::on_root(sweep.comm, "plan", [&] {
    if (names(sweep.parsed, "results"))
      io::require_place_for_results(sweep.parsed.lists.at("results").front());
    for (const NamedOutput& named : named_outputs(sweep.workload, sweep.parsed))
      for (const std::string& value : named.values)
        io::require_place_for_output(name_of(*named.output, value), existing);
  });
}

/// Prints the plans of all points; throws the error of the first one that cannot run. Collective.
void plan_points(const std::vector<Step>& steps, run::Session& session) {
  std::optional<mpi::AgreedError> first;
  for (const Step& step : steps) {
    try {
      step.actions->plan(step.point, session);
      if (!names(step.sweep.parsed, "ranks")) require_places(step.sweep);
    } catch (const mpi::AgreedError& error) {
      if (step.sweep.comm.is_root() && steps.size() > 1)
        fmt::print("cannot run: {}\n", error.what());
      if (!first) first = error;
    }
  }
  session.finish();
  if (first) throw mpi::AgreedError(*first);
}

/// Returns every N-th point from the I-th on, for --part I/N.
template <class Point>
std::vector<Point> part_of(const run::Parsed& parsed, std::vector<Point> all) {
  if (!names(parsed, "part")) return all;
  const run::SweepPart part = run::parse_part(parsed.lists.at("part").front());
  std::vector<Point> mine;
  for (auto p = static_cast<std::size_t>(part.number - 1); p < all.size();
       p += static_cast<std::size_t>(part.count))
    mine.push_back(std::move(all[p]));
  return mine;
}

}  // namespace

std::vector<run::Values> points_of(const run::OptionSet& options, const run::Parsed& parsed) {
  return part_of(parsed, options.points(parsed));
}

void check_request(const Workload& workload, const run::Parsed& parsed) {
  (void)points_of(*workload.options, parsed);
  check_outputs(workload, parsed);
  require(!names(parsed, "ranks") || parsed.lists.at("plan").front() == "true", ExitCode::usage,
          "--ranks requires --plan, a dry run for that number of ranks; start ranks with mpirun -n "
          "RANKS");
  check_resume(workload, parsed);
}

void take_stop_signals(const Workload& workload, const run::Parsed& parsed) {
  if (!keeps_partial_results(workload, parsed)) return;
  run::take_stop_signals(keeps_the_point(workload, parsed) ? run::CtrlC::asks : run::CtrlC::ends);
}

ExitCode run_points(const SweepRequest& sweep, const std::vector<PartRequest>& parts) {
  mpi::account().enter("open results");
  const run::OptionSet& options = *sweep.workload.options;
  run::Session session(sweep.comm, options, sweep.parsed, sweep.arguments);
  mpi::account().enter("plan");
  if (sweep.comm.is_root()) {
    if (const std::string idle = run::idle_gpu_flags(sweep.parsed, sweep.workload.auto_takes_gpus);
        !idle.empty())
      print_note(
          fmt::format("{} without effect: no GPU kernel is selected; try --device gpu", idle));
    for (const std::string& line : options.idle_flags(sweep.parsed)) print_note(line);
    if (sweep.workload.notes)
      for (const std::string& line : sweep.workload.notes(sweep.parsed)) print_note(line);
  }
  bool right = true;
  const auto steps = part_of(sweep.parsed, each_once(sweep.comm, session, steps_of(sweep, parts)));
  if (sweep.parsed.lists.at("plan").front() == "true") {
    plan_points(steps, session);
    return ExitCode::ok;
  }
  Progress progress("points", static_cast<double>(steps.size()));
  std::size_t done = 0;
  try {
    for (; done < steps.size(); ++done) {
      if (run::stop_requested(sweep.comm)) throw run::Stopped();
      right = run_or_skip(steps[done], session) && right;
      progress.update(static_cast<double>(done + 1));
    }
  } catch (const run::Stopped&) {
    session.finish();
    throw mpi::AgreedError(
        ExitCode::stopped_early,
        fmt::format("a signal stopped the run after {} of {} points; rerun with --resume auto",
                    done, steps.size()));
  }
  session.finish();
  if (!sweep.comm.is_root()) return right ? ExitCode::ok : ExitCode::verification;
  if (!right)
    mpi::print_error(
        "verification failed: the result is wrong and was not written; report this with the "
        "command line");
  else if (const std::string note = discarded_note(sweep.workload, sweep.parsed); !note.empty())
    print_note(note);
  return right ? ExitCode::ok : ExitCode::verification;
}

}  // namespace tessera::inline v1::workloads
