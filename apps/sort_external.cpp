// Out of core: the rows become sorted runs in files, and parts of all runs that follow each other in the
// sorted order are brought together, sorted once more and written. Two reads and two writes; runs that are
// there already from an attempt before are not made again.

#include <fmt/format.h>

#include <filesystem>
#include <future>
#include <numeric>

#include "base/progress.hpp"
#include "base/text.hpp"
#include "dist/sort/external.hpp"
#include "io/checksum.hpp"
#include "io/notes.hpp"
#include "mpi/agreement.hpp"
#include "run/memory_plan.hpp"
#include "run/outputs.hpp"
#include "sort_pieces.hpp"

namespace tessera::apps::sort {
namespace {

namespace fs = std::filesystem;
using dist::sort::Border;
using dist::sort::RunPlan;
using dist::sort::RunSamples;
using run::Values;

constexpr const char* identity_note = "sort_run";
constexpr const char* hash_note = "sort_rows_hash";

/// What a run is a part of: another attempt may use it if this is the same.
std::string identity_of(const Inputs& inputs, const Request& request, const RunPlan& plan,
                        const Pieces& pieces) {
  std::string text = request.generated() ? fmt::format("{} of {}", request.input, request.n) : std::string();
  if (inputs.data) {
    const std::string& file = inputs.data->name().file;
    text = fmt::format("{} of {} bytes, {}", inputs.data->name().text(), fs::file_size(file),
                       fs::last_write_time(file).time_since_epoch().count());
  }
  text += fmt::format("; seed {}; {} runs of {} rows, sampled every {};", request.seed, plan.runs, plan.rows,
                      plan.step);
  if (request.takes_first()) text += fmt::format(" the first {};", *request.top);
  for (const SortColumn& key : request.by) {
    text += fmt::format(" {}.{}[{}:{}] {}", key.column.path, key.column.member, key.bytes.begin,
                        key.bytes.end, text_of(key));
  }
  for (const PieceColumn& one : pieces.columns()) text += " " + one.column.path;
  return text;
}

class External {
 public:
  External(const mpi::Communicator& comm, const Values& point, const Inputs& inputs, const Request& request)
      : comm_(comm),
        point_(point),
        inputs_(inputs),
        request_(request),
        verify_(!point.flag("no-verify")),
        pieces_(make_pieces(inputs, request, verify_, point.has("argsort"))) {
    const index_t allowance = run::memory_allowance(comm, point);
    mpi::together(comm, "plan", [&] {
      plan_ = dist::sort::plan_runs(request.n, pieces_->row_bytes(), allowance, comm.size());
      identity_ = identity_of(inputs, request, plan_, *pieces_);
    });
    const std::string out =
        io::parse_dataset_name(point.text(point.has("out") ? "out" : "argsort"), "out").file;
    folder_ =
        (point.has("scratch") ? fs::path(point.text("scratch")) / fs::path(out).filename() : fs::path(out))
            .string() +
        ".runs";
  }

  bool run(run::Session& session) {
    open();
    mpi::on_root(comm_, "create runs", [&] {
      std::error_code error;
      fs::create_directories(folder_, error);
      require(!error, ExitCode::cannot_create,
              fmt::format("cannot create '{}' for the runs ({}); name another folder with --scratch", folder_,
                          error.message()));
    });
    run::Measured measured;
    measured.phases.resize(1);
    comm_.barrier();
    const Timer timer;
    make_runs(measured.phases.front());
    merge(measured.phases.front());
    measured.seconds = {comm_.max(timer.seconds())};
    if (verify_) measured.verdict = run::Verdict{"order_and_hash", static_cast<double>(all_faults()), 0};
    measured.columns = cells_of(request_);
    measured.work = static_cast<double>(request_.n);
    measured.rate_units = "Mkeys/s";
    const bool right = outputs_.conclude(comm_, point_, session, measured, [] {});
    mpi::on_root(comm_, "remove runs", [&] {
      std::error_code ignored;  // what is left is found and replaced, or used, by the next attempt
      if (right) fs::remove_all(folder_, ignored);
    });
    return right;
  }

  void print() const {
    const auto human = [](index_t bytes) { return human_bytes(static_cast<double>(bytes)); };
    index_t stored = 0;
    for (const PieceColumn& one : pieces_->columns()) stored += one.column.row_bytes();
    fmt::print(
        "plan: out of core, {} rows in {} runs of {} in '{}', {} a rank; two reads and two writes of {}\n",
        plan_.rows, plan_.runs, ceil_div(plan_.rows, plan_.runs), folder_,
        human(std::min(plan_.at_once, plan_.rows) * pieces_->row_bytes()), human(stored * plan_.rows));
  }

 private:
  struct Run {
    RunSamples samples;
    std::uint64_t hash = 0;
  };

  /// Rows that a run keeps: no others of it can be among the first ones of all.
  [[nodiscard]] index_t rows_of(index_t run) const {
    return std::min(plan_.run(run).size(), request_.rows_out());
  }
  [[nodiscard]] std::string file_of(index_t run) const { return fmt::format("{}/{:06}.h5", folder_, run); }

  [[nodiscard]] io::Handle type_of(const PieceColumn& one) const {
    if (one.is_index) return io::owned_type(Element::i64);
    if (one.column.path == keys_path) return io::owned_type(*request_.by.front().form.number);
    return io::stored_type(inputs_.data->name(one.column));
  }

  void open() {
    mpi::together(comm_, "create output", [&] {
      const auto add = [&](const char* option, const PieceColumn& one) {
        io::DatasetName name = io::parse_dataset_name(point_.text(option), option);
        if (!one.is_index && request_.is_group) name.path += "/" + one.column.name;
        std::vector<index_t> shape = one.column.info.shape;
        shape.front() = request_.rows_out();
        return outputs_.add(name, shape, type_of(one));
      };
      for (const PieceColumn& one : pieces_->columns()) {
        const bool wanted = one.is_index || point_.has("out");
        places_.push_back(wanted ? std::optional(add(one.is_index ? "argsort" : "out", one)) : std::nullopt);
      }
    });
    outputs_.open(comm_, point_);
  }

  /// A finished run of the same request is there.
  [[nodiscard]] bool is_made(index_t run) const {
    try {
      return io::Notes(file_of(run)).text(identity_note) == identity_;
    } catch (const Error&) {
      return false;
    }
  }

  void make_runs(mpi::Phases& phases) {
    const layout::Range mine = layout::BlockMap(plan_.runs, comm_.size()).range(comm_.rank());
    Progress progress("runs", static_cast<double>(mine.size()),
                      comm_.is_root() ? Progress::Shown::yes : Progress::Shown::no);
    index_t kept = 0;
    mpi::together(comm_, "runs", [&] {
      for (index_t run = mine.begin; run < mine.end; ++run) {
        if (is_made(run))
          ++kept;
        else
          make_run(run, phases);
        progress.update(static_cast<double>(run - mine.begin + 1));
      }
      const mpi::PhaseScope scope(phases, "write");
      finish_run();
    });
    kept = comm_.sum(kept);
    if (kept > 0 && comm_.is_root())
      fmt::print("resumed: {} of {} runs were there already\n", kept, plan_.runs);
  }

  void make_run(index_t run, mpi::Phases& phases) {
    const layout::Range rows = plan_.run(run);
    const auto samples = ceil_div(rows_of(run), plan_.step) * static_cast<index_t>(pieces_->words());
    std::vector<io::Handle> types;
    std::vector<io::DatasetSpec> specs;
    for (const PieceColumn& one : pieces_->columns()) {
      std::vector<index_t> shape = one.column.info.shape;
      shape.front() = rows_of(run);
      types.push_back(type_of(one));
      specs.push_back({.path = one.column.path, .shape = shape, .type = types.back(), .dimensions = {}});
    }
    types.push_back(io::owned_type(Element::u64));
    specs.push_back({.path = samples_path, .shape = {samples}, .type = types.back(), .dimensions = {}});
    auto file = std::make_unique<io::OutputFile>(mpi::Communicator::self(), file_of(run), specs,
                                                 io::OutputFile::Existing::replace);
    const Slice input{"", rows};
    const Sorted sorted = pieces_->sort(
        {&input, 1}, rows_of(run), plan_.step,
        [&](std::size_t column, std::span<const std::byte> data, const std::shared_ptr<const void>& memory) {
          if (column == 0) finish_run();
          write_later([&file = *file, column, data, memory] { file.write(column, 0, data); });
        },
        phases);
    faults_ += sorted.faults;
    const mpi::PhaseScope scope(phases, "write");
    write_later([&file = *file, samples = sorted.samples, dataset = specs.size() - 1] {
      file.write(dataset, 0, std::as_bytes(std::span(samples)));
      file.check_written(io::OutputFile::ReadBack::off);  // to the medium, under the sorting of the next one
    });
    unfinished_ = {std::move(file), sorted.hash_before};
  }

  /// Beside whatever else is done; plain writes, no HDF5 call among them.
  template <class Write>
  void write_later(Write write) {
    written();
    writing_ = std::async(std::launch::async, std::move(write));
  }
  void written() {
    if (writing_.valid()) writing_.get();
  }

  /// The run that was written last gets its name.
  void finish_run() {
    written();
    if (!unfinished_.file) return;
    unfinished_.file->publish([&](hid_t group) {
      io::write_attribute(group, identity_note, identity_);
      io::write_attribute(group, hash_note, io::checksum_text(unfinished_.hash));
    });
    unfinished_ = {};
  }

  [[nodiscard]] Run load_run(index_t run) const {
    const std::string file = file_of(run);
    Run result;
    result.samples.rows = rows_of(run);
    const index_t count = ceil_div(result.samples.rows, plan_.step) * static_cast<index_t>(pieces_->words());
    result.samples.words.resize(static_cast<std::size_t>(count));
    io::Column column{.name = {}, .path = samples_path, .info = {}};
    column.info.shape = {count};
    io::read_numbers(file, column, {0, count}, Element::u64,
                     reinterpret_cast<std::byte*>(result.samples.words.data()));
    result.hash = std::stoull(io::Notes(file).text(hash_note), nullptr, 16);
    return result;
  }

  /// Where a border cuts the runs.
  [[nodiscard]] std::vector<index_t> cuts_at(const std::vector<RunSamples>& runs,
                                             const Border& border) const {
    std::vector<index_t> cuts;
    for (index_t r = 0; r < plan_.runs; ++r) {
      const layout::Range rows = dist::sort::bracket(plan_, runs[static_cast<std::size_t>(r)], r, border);
      const auto words = pieces_->words_of({file_of(r), rows});
      cuts.push_back(rows.begin + dist::sort::rows_before(words, r, rows.begin, border));
    }
    return cuts;
  }

  void merge(mpi::Phases& phases) {
    std::vector<RunSamples> runs;
    mpi::together(comm_, "read runs", [&] {
      for (index_t r = 0; r < plan_.runs; ++r) {
        Run run = load_run(r);
        hash_ += comm_.is_root() ? run.hash : 0;
        runs.push_back(std::move(run.samples));
      }
    });
    const std::vector<Border> borders = part_borders(plan_, runs, pieces_->words());
    const auto parts = static_cast<index_t>(borders.size()) + 1;
    const layout::Range mine = layout::BlockMap(parts, comm_.size()).range(comm_.rank());
    Progress progress("parts", static_cast<double>(mine.size()),
                      comm_.is_root() ? Progress::Shown::yes : Progress::Shown::no);
    mpi::together(comm_, "merge", [&] {
      const auto cuts = [&](index_t border) {  // before part 0, between parts, after the last one
        const mpi::PhaseScope scope(phases, "split");
        if (border == 0) return std::vector<index_t>(runs.size(), 0);
        if (border < parts) return cuts_at(runs, borders[static_cast<std::size_t>(border - 1)]);
        std::vector<index_t> ends;
        for (const RunSamples& run : runs) ends.push_back(run.rows);
        return ends;
      };
      std::vector<index_t> from = mine.empty() ? std::vector<index_t>() : cuts(mine.begin);
      for (index_t part = mine.begin; part < mine.end; ++part) {
        std::vector<index_t> to = cuts(part + 1);
        merge_part(from, to, phases);
        from = std::move(to);
        progress.update(static_cast<double>(part - mine.begin + 1));
      }
      const mpi::PhaseScope scope(phases, "write");
      written();
    });
  }

  void merge_part(const std::vector<index_t>& from, const std::vector<index_t>& to, mpi::Phases& phases) {
    std::vector<Slice> slices;
    for (std::size_t r = 0; r < from.size(); ++r) {
      if (from[r] < to[r]) slices.push_back({file_of(static_cast<index_t>(r)), {from[r], to[r]}});
    }
    const index_t first = std::accumulate(from.begin(), from.end(), index_t{0});
    const Sorted sorted = pieces_->sort(
        slices, plan_.rows, std::max<index_t>(1, plan_.rows),
        [&](std::size_t column, std::span<const std::byte> data, const std::shared_ptr<const void>& memory) {
          if (!places_[column]) return;
          const io::Column& one = pieces_->columns()[column].column;
          const index_t wanted = std::max<index_t>(0, request_.rows_out() - first) * one.row_bytes();
          data = data.first(std::min(data.size(), static_cast<std::size_t>(wanted)));
          if (data.empty()) return;
          const index_t at = first * (one.row_bytes() / one.info.element_bytes);
          write_later(
              [this, place = *places_[column], at, data, memory] { outputs_.write(place, at, data); });
        },
        phases);
    faults_ += sorted.faults;
    hash_ -= sorted.hash_after;
    if (sorted.rows == 0) return;
    if (!last_.empty() && sorted.first < last_) ++faults_;
    if (last_.empty()) first_ = sorted.first;
    last_ = sorted.last;
  }

  /// Faults of runs and parts, borders between ranks, and whether the rows are those of the input.
  /// Collective.
  [[nodiscard]] index_t all_faults() const {
    const std::size_t words = pieces_->words();
    std::vector<std::uint64_t> mine(2 * words + 1, 0);
    if (!last_.empty()) {
      mine[0] = 1;
      std::copy(first_.begin(), first_.end(), mine.begin() + 1);
      std::copy(last_.begin(), last_.end(), mine.begin() + 1 + static_cast<std::ptrdiff_t>(words));
    }
    const auto all = comm_.all_gather(std::span<const std::uint64_t>(mine));
    index_t wrong = comm_.sum(faults_) + (comm_.sum(hash_) == 0 ? 0 : 1);
    const std::uint64_t* before = nullptr;  // the last row of the ranks so far
    for (std::size_t at = 0; at < all.size(); at += mine.size()) {
      if (all[at] == 0) continue;
      const std::uint64_t* first = &all[at + 1];
      wrong +=
          before != nullptr && std::lexicographical_compare(first, first + words, before, before + words);
      before = first + words;
    }
    return wrong;
  }

  mpi::Communicator comm_;
  const Values& point_;
  const Inputs& inputs_;
  const Request& request_;
  bool verify_;
  std::unique_ptr<Pieces> pieces_;
  RunPlan plan_;
  std::string identity_, folder_;
  run::Outputs outputs_;
  std::vector<std::optional<std::size_t>> places_;  // of the columns in the output
  index_t faults_ = 0;
  std::uint64_t hash_ = 0;                   // of what came less what was written
  std::vector<std::uint64_t> first_, last_;  // rows of this rank's parts, as words
  struct {
    std::unique_ptr<io::OutputFile> file;
    std::uint64_t hash = 0;
  } unfinished_;               // the run that is being written
  std::future<void> writing_;  // ends before what it writes to: its destructor waits
};

}  // namespace

bool can_go_out_of_core(const Values& point, const Request& request) {
  const bool rows = request.task == Task::keys || (request.task == Task::permutation && !request.generated());
  if (request.task == Task::apply) return point.has("out");
  return rows && !request.unique && (point.has("out") || point.has("argsort"));
}

bool run_external(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                  const Request& request, run::Session& session) {
  if (request.task == Task::apply) return run_apply_in_blocks(comm, point, inputs, request, session);
  return External(comm, point, inputs, request).run(session);
}

void print_external(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                    const Request& request) {
  if (request.task == Task::apply) {
    print_apply_in_blocks(comm, point, inputs, request);
    return;
  }
  const External external(comm, point, inputs, request);
  if (comm.is_root()) external.print();
}

}  // namespace tessera::apps::sort
