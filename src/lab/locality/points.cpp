#include "lab/locality/points.hpp"

#include <fmt/core.h>

#include <map>
#include <optional>
#include <set>

#include "base/progress.hpp"
#include "base/text.hpp"
#include "io/probe.hpp"
#include "io/raw_file.hpp"
#include "io/run_writer.hpp"
#include "io/schema.hpp"
#include "mpi/agreement.hpp"
#include "run/answer.hpp"
#include "run/inputs.hpp"
#include "run/provenance.hpp"

namespace tessera::inline v1::locality {
namespace {

/// Results file of a run, if requested.
class Notebook {
 public:
  Notebook(const mpi::Communicator& comm, const run::OptionSet& set, const run::Parsed& parsed,
           const std::vector<std::string>& arguments)
      : provenance_(run::provenance(comm, set, parsed, arguments, utc_now())),
        file_(parsed.lists.at("results").front()) {
    if (file_.empty() || !comm.is_root()) return;
    run::require_own_file(file_, set, parsed);
    command_ = set.command();
    if (io::file_exists(io::behind_links(file_))) io::probe_results(file_);
    if (parsed.lists.at("again").front() == "true") return;
    for (const char* table :
         {io::schema::points, io::schema::gpu, io::schema::paper, io::schema::forkjoin}) {
      for (std::string& key : io::text_column(file_, table, "point")) known_.insert(std::move(key));
    }
  }

  [[nodiscard]] bool has(const std::string& key) const { return known_.contains(key); }
  void skip() { ++skipped_; }
  /// Throws before a point is traced if its results could not be written.
  void expect() const {
    if (!file_.empty()) io::require_place_for_results(file_);
  }
  void add(const std::vector<io::TableRows>& tables) {
    if (file_.empty()) return;
    if (!writer_) writer_.emplace(file_, command_);
    writer_->add(provenance_, tables);
  }
  void finish() {
    if (writer_) writer_->store();
    if (skipped_ > 0)
      fmt::print("{} already in {}: skipped (--again traces them once more)\n",
                 counted(skipped_, "point"), file_);
    if (writer_)
      fmt::print("results: {} (group {}); run tessera report {} to plot them\n", file_,
                 writer_->run(), file_);
  }

 private:
  std::map<std::string, io::Value> provenance_;
  std::string file_, command_;
  std::optional<io::RunWriter> writer_;
  std::set<std::string> known_;
  int skipped_ = 0;
};

}  // namespace

ExitCode trace_points(const TraceSweep& sweep, const std::string& first,
                      const std::function<std::vector<io::TableRows>(const std::string& key,
                                                                     const run::Values&)>& trace) {
  const run::OptionSet& set = sweep.set;
  Notebook notebook(sweep.comm, set, sweep.parsed, sweep.arguments);
  mpi::on_root(sweep.comm, set.command().c_str(), [&] {
    fmt::print("{}", first);
    const auto points = set.points(sweep.parsed);
    std::set<std::string> seen;
    Progress progress("points", static_cast<double>(points.size()));
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::string key = set.key(points[i]);
      if (!seen.insert(key).second) continue;  // repeated values of an axis
      if (notebook.has(key)) {
        notebook.skip();
        continue;
      }
      notebook.expect();
      std::vector<io::TableRows> tables = trace(key, points[i]);
      run::answer_tables(tables);
      notebook.add(std::move(tables));
      progress.update(static_cast<double>(i + 1));
    }
    sweep.last();
    notebook.finish();
  });
  return ExitCode::ok;
}

}  // namespace tessera::inline v1::locality
