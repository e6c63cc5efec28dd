#include "points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

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

namespace tessera::apps {
namespace {

/// Every N-th point from the I-th on, of --part I/N.
std::vector<run::Values> part_of(const run::Parsed& parsed, std::vector<run::Values> all) {
  const auto text = parsed.lists.find("part");
  if (text == parsed.lists.end() || text->second.front().empty()) return all;
  const run::Part part = run::parse_part(text->second.front());
  std::vector<run::Values> mine;
  for (auto p = static_cast<std::size_t>(part.number - 1); p < all.size();
       p += static_cast<std::size_t>(part.count))
    mine.push_back(std::move(all[p]));
  return mine;
}

bool names(const run::Parsed& parsed, const char* option) { return !parsed.lists.at(option).front().empty(); }

/// A sort from file to file keeps its runs, however it ends.
bool keeps_runs(const run::OptionSet& set, const run::Parsed& parsed) {
  return set.command() == "sort" && parsed.lists.at("out-of-core").front() != "never" &&
         (names(parsed, "out") || (names(parsed, "argsort") && names(parsed, "in"))) &&
         !names(parsed, "apply") && !names(parsed, "quantiles");
}

/// Of the point that it is at, a run that is asked to stop keeps what it has, because that was asked for.
bool keeps_the_point(const run::OptionSet& set, const run::Parsed& parsed) {
  return (names(parsed, "resume") && !keeps_runs(set, parsed)) ||
         (parsed.lists.contains("checkpoint") && names(parsed, "checkpoint"));
}

/// A run that is asked to stop keeps something on its way that a later one can go on from. Not runs: a sort
/// looks for signals between points only, and ends at once without loss where these are all that it keeps.
bool keeps_on_the_way(const run::OptionSet& set, const run::Parsed& parsed) {
  return names(parsed, "results") || keeps_the_point(set, parsed);
}

/// There may be something to go on from.
bool can_go_on(const run::OptionSet& set, const run::Parsed& parsed) {
  const bool in_tiles = set.command() == "transpose" && parsed.lists.at("out-of-core").front() != "never";
  return names(parsed, "results") || (parsed.lists.contains("checkpoint") && names(parsed, "checkpoint")) ||
         (in_tiles && names(parsed, "out")) || keeps_runs(set, parsed);
}

constexpr std::array outputs = {"out", "argsort", "snapshots"};

/// The columns of a sort may lie in the root of a file.
io::DatasetName name_of(const run::OptionSet& set, const std::string& text, const std::string& output) {
  return set.command() == "sort" && output == "out" ? io::parse_table_name(text, output)
                                                    : io::parse_dataset_name(text, output);
}

/// Whether what an output names can be read, one dataset or several fields of a file. Local.
bool is_there(const run::OptionSet& set, const std::string& text, const char* output) {
  const bool several = set.command() == "stencil";
  for (const std::string& one : several ? io::split_names(text) : std::vector<std::string>{text}) {
    try {
      (void)io::probe_table(name_of(set, one, output));
    } catch (const Error&) {
      return false;
    }
  }
  return true;
}

/// Whether everything that the request is to leave is there, and not to be made anew. Local.
bool leaves_what_is_there(const run::OptionSet& set, const run::Parsed& parsed) {
  const auto there = [&](const char* output) {
    if (!parsed.lists.contains(output) || !names(parsed, output)) return true;
    const bool made_anew = parsed.lists.at("overwrite").front() == "true" && !names(parsed, "resume");
    return !made_anew && is_there(set, parsed.lists.at(output).front(), output);
  };
  return std::all_of(outputs.begin(), outputs.end(), there);
}

/// The results file holds the point, and what it was to write is there too. Collective.
bool is_done(const Sweep& sweep, const run::Values& point, const run::Session& session) {
  if (!session.has(point)) return false;
  const bool lacks = sweep.comm.is_root() && !leaves_what_is_there(sweep.set, sweep.parsed);
  return sweep.comm.max(index_t{lacks ? 1 : 0}) == 0;
}

bool run_or_skip(const Sweep& sweep, const run::Values& point, run::Session& session,
                 const PointActions& actions) {
  if (is_done(sweep, point, session)) {
    session.skip(point);
    return true;
  }
  mpi::on_root(sweep.comm, "open results", [&] {
    if (names(sweep.parsed, "results"))
      io::require_place_for_results(sweep.parsed.lists.at("results").front());
  });
  const mpi::AccountScope account("plan");
  return actions.run(point, session);
}

/// Each point once: not what an axis names twice, nor --threads 0 where another says as many. Collective.
std::vector<run::Values> each_once(const Sweep& sweep, const run::Session& session,
                                   const std::vector<run::Values>& points) {
  std::string first;
  std::set<std::string> seen;
  for (const run::Values& point : points) first += seen.insert(session.identity(point)).second ? '1' : '0';
  first = sweep.comm.broadcast(first, 0);
  std::vector<run::Values> kept;
  for (std::size_t p = 0; p < points.size(); ++p)
    if (first[p] == '1') kept.push_back(points[p]);
  return kept;
}

/// The outputs that the command knows: "--out or --argsort".
std::string known_outputs(const run::Parsed& parsed) {
  std::vector<std::string> known;
  for (const char* output : outputs)
    if (parsed.lists.contains(output)) known.push_back(fmt::format("--{}", output));
  return fmt::format("{}", fmt::join(known, " or "));
}

/// An output is a dataset of its own, never a part of one.
void check_outputs(const run::OptionSet& set, const run::Parsed& parsed) {
  for (const char* output : outputs) {
    if (!parsed.lists.contains(output) || !names(parsed, output)) continue;
    const std::string& text = parsed.lists.at(output).front();
    (void)name_of(set, text, output);
    require(!text.ends_with(']'), ExitCode::usage,
            fmt::format("--{} '{}' names a part of a dataset and an output is a whole one; drop the brackets",
                        output, text));
  }
  const std::string& amount = parsed.lists.at("verify-output").front();
  const bool writes = std::any_of(outputs.begin(), outputs.end(), [&](const char* output) {
    return parsed.lists.contains(output) && names(parsed, output);
  });
  require(writes || (amount != "all" && amount != "sample"), ExitCode::usage,
          fmt::format("--verify-output {} reads back what was written and nothing is; name a file with {}",
                      amount, known_outputs(parsed)));
}

void check_job_options(const run::OptionSet& set, const run::Parsed& parsed) {
  (void)part_of(parsed, set.points(parsed));
  check_outputs(set, parsed);
  require(!names(parsed, "ranks") || parsed.lists.at("plan").front() == "true", ExitCode::usage,
          "--ranks goes with --plan, which plans for so many; start them with mpirun -n RANKS");
  const std::string resume = parsed.lists.at("resume").front();
  if (resume.empty()) return;
  const bool from_file = parsed.lists.contains("checkpoint");
  require(resume == "auto" || from_file, ExitCode::usage,
          fmt::format("--resume '{}' is not known to {}; write --resume auto", resume, set.command()));
  require(resume != "auto" || can_go_on(set, parsed), ExitCode::usage,
          fmt::format("--resume auto finds nothing to go on from; name the file of --results{}",
                      from_file ? " or --checkpoint"
                      : set.command() == "sort" || set.command() == "transpose"
                          ? ", or what goes from file to file (--out)"
                          : ""));
  require(!names(parsed, "again"), ExitCode::usage,
          "--resume goes on and --again measures everything once more; give one of them");
}

/// That there is a place for what a request would leave, as the run itself finds out. Collective.
void require_places(const Sweep& sweep) {
  const auto value = [&](const char* option) { return sweep.parsed.lists.at(option).front(); };
  mpi::on_root(sweep.comm, "plan", [&] {
    if (names(sweep.parsed, "results")) io::require_place_for_results(value("results"));
    for (const char* output : outputs) {
      if (!sweep.parsed.lists.contains(output) || !names(sweep.parsed, output)) continue;
      const bool several = sweep.set.command() == "stencil";
      for (const std::string& one :
           several ? io::split_names(value(output)) : std::vector<std::string>{value(output)})
        io::require_place_for_output(name_of(sweep.set, one, output), value("overwrite") == "true"
                                                                          ? io::OutputFile::Existing::replace
                                                                          : io::OutputFile::Existing::refuse);
    }
  });
}

/// Prints the plans of all points, and ends as the first one would that cannot run. Collective.
void plan_points(const Sweep& sweep, const std::vector<run::Values>& points, run::Session& session,
                 const PointActions& actions) {
  std::optional<mpi::AgreedError> first;
  const bool elsewhere = sweep.parsed.lists.contains("ranks") && names(sweep.parsed, "ranks");
  for (const run::Values& point : points) {
    try {
      actions.plan(point, session);
      if (!elsewhere) require_places(sweep);
    } catch (const mpi::AgreedError& error) {
      if (sweep.comm.is_root()) fmt::print("it would not run: {}\n", error.what());
      if (!first) first = error;
    }
  }
  session.finish();
  if (first) throw mpi::AgreedError(*first);
}

}  // namespace

ExitCode run_points(const Sweep& sweep, const PointActions& actions) {
  mpi::account().enter("open results");
  run::Session session(sweep.comm, sweep.set, sweep.parsed, sweep.arguments);
  mpi::account().enter("plan");
  if (sweep.comm.is_root()) {
    if (const std::string idle = run::idle_gpu_flags(sweep.set, sweep.parsed); !idle.empty())
      fmt::print(stderr, "{} without effect: no kernel for a GPU is taken (--device gpu asks for one)\n",
                 idle);
    for (const std::string& line : sweep.set.idle_flags(sweep.parsed)) fmt::print(stderr, "{}\n", line);
  }
  bool right = true;
  const auto points = part_of(sweep.parsed, each_once(sweep, session, sweep.set.points(sweep.parsed)));
  if (sweep.parsed.lists.at("plan").front() == "true") {
    plan_points(sweep, points, session, actions);
    return ExitCode::ok;
  }
  Progress progress("points", static_cast<double>(points.size()),
                    sweep.comm.is_root() ? Progress::Shown::yes : Progress::Shown::no);
  std::size_t done = 0;
  try {
    for (; done < points.size(); ++done) {
      if (run::stop_asked(sweep.comm)) throw run::Stopped();
      right = run_or_skip(sweep, points[done], session, actions) && right;
      progress.update(static_cast<double>(done + 1));
    }
  } catch (const run::Stopped&) {
    session.finish();
    throw mpi::AgreedError(ExitCode::stopped_early,
                           fmt::format("stopped by a signal after {} of {} points; go on with --resume auto",
                                       done, points.size()));
  }
  session.finish();
  if (!right && sweep.comm.is_root()) {
    mpi::print_error(
        "the check found the result wrong; nothing was written. Please report this with the command line");
  }
  return right ? ExitCode::ok : ExitCode::verification;
}

Command workload_command(const run::OptionSet& set, std::function<Actions(run::Parsed&)> look) {
  const auto prepare = [&set, look](run::Parsed parsed, const Arguments& arguments, ExitCode&) -> Body {
    check_job_options(set, parsed);
    require(
        parsed.lists.at("timeline").front() != "true" || names(parsed, "results"), ExitCode::usage,
        "--timeline goes to the results file; name it with --results");  // a batch script names one itself
    const Actions actions = look(parsed);
    if (keeps_on_the_way(set, parsed))
      run::take_stop_signals(keeps_the_point(set, parsed) ? run::CtrlC::asks : run::CtrlC::ends);
    return [&set, parsed, arguments, actions](const mpi::Communicator& comm) {
      return run_points({comm, set, parsed, arguments}, actions(comm));
    };
  };
  const auto needs = [&set, look](run::Parsed parsed, index_t ranks_per_node) -> Planner {
    check_job_options(set, parsed);
    const Actions actions = look(parsed);
    return [&set, parsed, actions, ranks_per_node](const mpi::Communicator& comm) {
      const run::Ceilings ceilings = run::load_ceilings(run::ceilings_file());
      const PointActions act = actions(comm);
      std::vector<Need> result;
      for (const run::Values& point : part_of(parsed, set.points(parsed))) {
        result.push_back(act.need(point, ceilings, ranks_per_node));
        result.back().repetitions = point.integer("warmups") + point.integer("repetitions");
      }
      return result;
    };
  };
  return {set, prepare, Runs::on_all, needs};
}

}  // namespace tessera::apps
