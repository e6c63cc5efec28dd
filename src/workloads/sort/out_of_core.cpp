// Out-of-core sort: forms runs in files, then gathers, sorts and writes parts of all runs in the
// sorted order. Divides runs by value if a sample allows it (and all rows are wanted), otherwise
// sorts them. Two reads and two writes; a third of each for --unique, which must count the distinct
// rows first. Reuses runs and parts of an earlier attempt.

#include <fmt/core.h>

#include <filesystem>
#include <numeric>

#include "base/lines.hpp"
#include "base/note.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "io/checksum.hpp"
#include "io/notes.hpp"
#include "machine/buffer.hpp"
#include "mpi/agreement.hpp"
#include "run/file_traffic.hpp"
#include "run/outputs.hpp"
#include "workloads/sort/external/content.hpp"
#include "workloads/sort/external/parts.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

namespace fs = std::filesystem;
using dist::sort::EqualRows;
using dist::sort::RunPlan;
using dist::sort::RunSamples;

class External {
 public:
  explicit External(const Asked& asked)
      : comm_(asked.comm),
        values_(asked.values),
        inputs_(asked.inputs),
        problem_(asked.problem),
        verify_(problem_.verify),
        content_(inputs_, problem_),
        pieces_(make_pieces(inputs_, problem_, verify_, !problem_.argsort.empty() || content_.any(),
                            queue_)),
        order_(problem_.unique ? OrderOfParts::RepeatedRows::wrong
                               : OrderOfParts::RepeatedRows::allowed) {
    constexpr index_t small = 32;  // with fewer rows, buffers are smaller, too
    const index_t allowance = problem_.allowance.net_of_program();
    content_bytes_ = content_.memory(allowance);
    buffers_ = std::min(pieces_->buffer_bytes(), allowance / small);
    mpi::alike("plan", [&] {
      plan_ = dist::sort::plan_runs(problem_.n, pieces_->row_bytes(), allowance - buffers_,
                                    comm_.size());
    });
    folder_ = folder_of_runs(values_);
  }
  ~External() { queue_.finish(); }  // before the members that its work uses

  bool run(run::Session& session) {
    session.plan_memory(held() + problem_.allowance.program);
    open(outputs_, problem_.unique ? 0 : problem_.rows_out());
    run::Measured measured =
        run::measure_once(comm_, values_, [&](mpi::Phases& phases) { sort(phases); });
    run::note_traffic(comm_, pieces_->take_traffic() + queue_.take_traffic(), 0, measured);
    const auto faults = static_cast<double>(all_faults());
    if (verify_) measured.verdict = run::Verdict{"order_and_hash", faults, 0};
    describe(problem_, measured, Mode::out_of_core);
    const bool right = outputs_.conclude(comm_, values_, session, measured, [] {});
    mpi::on_root(comm_, "remove runs",
                 [&] { files_->remove_folder(); });  // runs of a wrong result are not reused
    return right;
  }

  /// Cleans up after an error: keeps finished runs and parts for another attempt, removes an empty
  /// folder. Collective.
  void leave_runs() {
    queue_.cancel();
    if (files_) files_->drop_unfinished();
    comm_.barrier();
    if (files_ && comm_.is_root()) files_->remove_empty_folder();
    if (!files_ && comm_.is_root() && fs::exists(folder_))
      print_note(fmt::format(
          "'{}' holds runs of an earlier attempt; rerun with --overwrite to reuse them", folder_));
  }

  /// Prints the plan. Collective.
  void print() const {
    if (!comm_.is_root()) return;
    index_t stored = 0, program = problem_.allowance.program;
    for (const PieceColumn& one : pieces_->columns()) stored += one.column.row_bytes();
    print_filled(
        "plan: out of core, {} in {} of {} in '{}', holds {} a rank{}; reads and writes {} "
        "twice{}",
        counted(plan_.rows, "row"), counted(plan_.runs, "run"), ceil_div(plan_.rows, plan_.runs),
        folder_, human_bytes(held() + program), run::of_program_text(program),
        human_bytes(stored * plan_.rows),
        problem_.unique ? " at most, and distinct rows once more" : "");
  }

  [[nodiscard]] index_t held() const {
    const index_t rows = std::min(plan_.at_once, plan_.rows) * pieces_->row_bytes() + buffers_;
    return std::max(rows, comm_.is_root() ? content_bytes_ : 0);  // one after the other
  }

 private:
  /// Sorts from the input to unpublished outputs. Collective.
  void sort(mpi::Phases& phases) {
    mpi::together(comm_, "allocate",
                  [&] { pieces_->prepare(std::min(plan_.at_once, plan_.rows)); });
    name_files(division_of(comm_, *pieces_, plan_, phases));
    make_runs(phases);
    std::optional<RunParts> parts = cut_runs();
    if (!parts) {
      if (comm_.is_root())
        print_filled("the sample does not represent the input: runs are sorted and written again");
      name_files(std::nullopt);
      make_runs(phases);
      parts = cut_runs();
    }
    content_.begin(comm_, files_->order());
    merge(*parts, phases);
    if (problem_.unique) copy_parts(phases);
    const mpi::PhaseScope scope(phases, "write");
    content_.carry(comm_, *pieces_, outputs_, content_bytes_);
  }

  /// Creates the output with the given number of rows. Collective.
  void open(run::Outputs& outputs, index_t rows) {
    places_.clear();
    mpi::together(comm_, "create output", [&] {
      const auto add = [&](const PieceColumn& one) {
        const io::DatasetName name = one.is_index
                                         ? io::parse_table_name(problem_.argsort, "argsort")
                                         : io::parse_table_name(problem_.out, "out");
        if (one.is_index) return outputs.add(name, {rows}, Element::i64);
        return problem_.task == Task::keys
                   ? add_keys(outputs, name, inputs_, problem_, rows)
                   : add_column(outputs, name, inputs_, problem_, one.column, rows);
      };
      for (const PieceColumn& one : pieces_->columns()) {
        const bool written =
            one.is_index ? !problem_.argsort.empty() : !problem_.out.empty() && !one.only_compared;
        places_.push_back(written ? std::optional(add(one)) : std::nullopt);
      }
      content_.add_to(outputs, rows);
    });
    outputs.open(comm_, values_);
  }

  /// Names the scratch files by the identity of the sort. Collective.
  void name_files(std::optional<std::uint64_t> division) {
    divided_ = division.has_value();
    std::string identity;
    mpi::together(comm_, "plan",
                  [&] { identity = identity_of(inputs_, problem_, plan_, *pieces_); });
    if (divided_) identity += fmt::format("; divided {:016x}", *division);
    files_.emplace(
        folder_, identity, *pieces_, queue_,
        values_.has("resume") ? SortedFiles::OnSignal::keep : SortedFiles::OnSignal::remove);
    mpi::on_root(comm_, "create runs", [&] { files_->make_folder(); });
  }

  void make_runs(mpi::Phases& phases) {
    const layout::Range mine = layout::BlockMap(plan_.runs, comm_.size()).range(comm_.rank());
    Progress progress("runs", static_cast<double>(mine.size()));
    index_t found = 0;
    mpi::together(comm_, "runs", [&] {
      std::vector<index_t> missing;
      for (index_t run = mine.begin; run < mine.end; ++run) {
        if (!files_->has(files_->run(run))) missing.push_back(run);
      }
      found = mine.size() - static_cast<index_t>(missing.size());
      for (std::size_t m = 0; m < missing.size(); ++m) {
        if (m == 0) expect_input(missing[0]);
        if (m + 1 < missing.size()) expect_input(missing[m + 1]);
        make_run(missing[m], phases);
        progress.update(static_cast<double>(found) + static_cast<double>(m + 1));
      }
      const mpi::PhaseScope scope(phases, "write");
      files_->finish();
    });
    print_found(found, plan_.runs, "runs");
  }
  void expect_input(index_t run) {
    const Slice input{"", plan_.run(run), {}};
    pieces_->expect({&input, 1});
  }
  void make_run(index_t run, mpi::Phases& phases) {
    const Slice input{"", plan_.run(run), {}};
    faults_ += files_->make(files_->run(run), [&](const RowPieces::Sink& sink) {
      if (divided_) return pieces_->divide(input, sink, phases);
      const index_t most = std::min(plan_.run(run).size(), problem_.rows_out());
      return pieces_->sort({&input, 1}, most, plan_.step, sink, phases);
    });
  }

  /// Reports the reused files. Collective.
  void print_found(index_t found, index_t all, const char* what) const {
    found = comm_.sum(found);
    if (found > 0 && comm_.is_root()) print_filled("resumed: {} of {} {} exist", found, all, what);
  }

  /// Returns the parts of the existing runs; empty if these are divided too unevenly. Collective.
  [[nodiscard]] std::optional<RunParts> cut_runs() {
    std::vector<RunSamples> runs;
    std::uint64_t hash = 0;
    mpi::together(comm_, "read runs", [&] {
      for (index_t r = 0; r < plan_.runs; ++r) {
        SortedFile run = files_->load(files_->run(r));
        hash += comm_.is_root() ? run.hash_after : 0;
        runs.push_back(std::move(run.samples));
      }
    });
    hash_ = hash;
    if (divided_) return RunParts::of_buckets(plan_, std::move(runs));
    const EqualRows equal = problem_.unique ? EqualRows::stay_together : EqualRows::may_part;
    return RunParts(plan_, std::move(runs), equal, *pieces_, *files_);
  }

  void merge(const RunParts& parts, mpi::Phases& phases) {
    parts_ = layout::BlockMap(parts.count(), comm_.size()).range(comm_.rank());
    Progress progress("parts", static_cast<double>(parts_.size()));
    index_t found = 0;
    mpi::together(comm_, "merge", [&] {
      struct PartSlices {
        index_t number = 0, first = 0;  // row of the result
        std::vector<Slice> slices;
      };
      std::vector<index_t> cut =
          parts_.empty() ? std::vector<index_t>() : parts.before(parts_.begin);
      index_t next = parts_.begin;
      const auto expected = [&]() -> std::optional<PartSlices> {  // the next missing part
        const mpi::PhaseScope scope(phases, "split");
        while (next < parts_.end) {
          std::vector<index_t> to = parts.before(++next);
          PartSlices part{next - 1, std::accumulate(cut.begin(), cut.end(), index_t{0}),
                          parts.slices(next - 1, cut, to, *files_)};
          cut = std::move(to);
          if (problem_.unique && files_->has(files_->part(part.number))) {
            ++found;
            continue;
          }
          pieces_->expect(part.slices);
          return part;
        }
        return std::nullopt;
      };
      for (std::optional<PartSlices> part = expected(), after; part; part = std::move(after)) {
        after = expected();
        if (problem_.unique)
          make_part(part->number, part->slices, phases);
        else
          write_part(part->slices, part->first, phases);
        progress.update(static_cast<double>(part->number - parts_.begin + 1));
      }
      const mpi::PhaseScope scope(phases, "write");
      queue_.wait(written_);
      files_->finish();
    });
    print_found(found, parts.count(), "parts");
  }

  void make_part(index_t part, const std::vector<Slice>& slices, mpi::Phases& phases) {
    faults_ += files_->make(files_->part(part), [&](const RowPieces::Sink& sink) {
      return pieces_->sort(slices, plan_.rows, std::max<index_t>(1, plan_.rows), sink, phases);
    });
  }

  /// Writes a part to the result, from row `first` on.
  void write_part(const std::vector<Slice>& slices, index_t first, mpi::Phases& phases) {
    const Sorted sorted = pieces_->sort(
        slices, plan_.rows, std::max<index_t>(1, plan_.rows),
        [&](const Sorted&, std::size_t column, std::span<const std::byte> data,
            const std::shared_ptr<const void>& memory) {
          const auto& [one, is_index, only_compared] = pieces_->columns()[column];
          const index_t wanted =
              std::max<index_t>(0, problem_.rows_out() - first) * one.row_bytes();
          data = data.first(std::min(data.size(), static_cast<std::size_t>(wanted)));
          if (column == 0) queue_.wait(written_);
          if (is_index) content_.keep(first, data);
          if (!places_[column]) return;
          write_rows(column, first, data, memory);
        },
        phases);
    faults_ += sorted.faults;
    hash_ -= sorted.hash_before;
    if (sorted.rows > 0) order_.follow(sorted.first, sorted.last);
  }

  /// Writes rows of a column of the result, from row `first` on.
  void write_rows(std::size_t column, index_t first, std::span<const std::byte> data,
                  const std::shared_ptr<const void>& memory) {
    const io::Column& one = pieces_->columns()[column].column;
    const index_t at = first * (one.row_bytes() / one.info.element_bytes);
    written_ = queue_.ask([this, place = *places_[column], at, data, memory] {
      write_keys(problem_, outputs_, place, at, data);
      queue_.count_written(ssize(data));
    });
  }

  /// Copies the parts, each key once, to the result. Collective.
  void copy_parts(mpi::Phases& phases) {
    std::vector<index_t> rows;
    mpi::together(comm_, "read parts", [&] {
      for (index_t part = parts_.begin; part < parts_.end; ++part) {
        const std::string file = files_->part(part);
        const SortedFile loaded = files_->load(file);
        rows.push_back(loaded.samples.rows);
        hash_ -= loaded.hash_before;
        if (rows.back() > 0)
          order_.follow(loaded.samples.words,
                        pieces_->words_of({file, {rows.back() - 1, rows.back()}}));
      }
    });
    const index_t mine = std::accumulate(rows.begin(), rows.end(), index_t{0});
    index_t first = mine;
    comm_.sum_before(std::span(&first, 1));
    outputs_ = {};
    open(outputs_, comm_.sum(mine));
    mpi::together(comm_, "copy", [&] {
      for (std::size_t p = 0; p < rows.size(); ++p) {
        copy_part(files_->part(parts_.begin + static_cast<index_t>(p)), rows[p], first, phases);
        first += rows[p];
      }
      const mpi::PhaseScope scope(phases, "write");
      queue_.wait(written_);
    });
  }

  void copy_part(const std::string& file, index_t rows, index_t first, mpi::Phases& phases) {
    for (std::size_t c = 0; c < places_.size(); ++c) {
      const auto& [one, is_index, only_compared] = pieces_->columns()[c];
      if (!places_[c] && !(is_index && content_.any())) continue;
      const auto data = std::make_shared<machine::Buffer<std::byte>>(
          checked_mul(rows, one.row_bytes(), "a column"));
      const std::span<const std::byte> bytes = std::as_const(*data).span();
      {
        const mpi::PhaseScope scope(phases, "read");
        io::read_stored(file, one, {0, rows}, data->data());
      }
      if (verify_) {
        const mpi::PhaseScope scope(phases, "verify");
        const std::string sum = io::checksum_text(io::checksum(bytes, one.info.element_bytes, 0));
        faults_ += sum == io::Notes(file).checksum(one.path) ? 0 : 1;
      }
      const mpi::PhaseScope scope(phases, "write");
      if (is_index) content_.keep(first, bytes);
      if (!places_[c]) continue;
      queue_.wait(written_);
      write_rows(c, first, bytes, data);
    }
  }

  /// Returns the faults of runs and parts, of the borders between them, and of rows that are not
  /// the input's. Collective.
  [[nodiscard]] index_t all_faults() const {
    return comm_.sum(faults_) + order_.faults(comm_) + (comm_.sum(hash_) == 0 ? 0 : 1);
  }

  mpi::Communicator comm_;
  const run::Values& values_;
  const Inputs& inputs_;
  const Problem& problem_;
  bool verify_;
  RowContent content_;
  io::FileQueue queue_;
  std::unique_ptr<RowPieces> pieces_;
  index_t content_bytes_ = 0, buffers_ = 0;  // of carrying content; of the kernels
  RunPlan plan_;
  std::string folder_;
  bool divided_ = false;  // runs are divided, otherwise sorted
  std::optional<SortedFiles> files_;
  layout::Range parts_;  // of this rank
  run::Outputs outputs_;
  std::vector<std::optional<std::size_t>> places_;  // of the columns in the output
  index_t faults_ = 0;
  std::uint64_t hash_ = 0;         // of the runs minus that of the parts
  OrderOfParts order_;             // of this rank
  io::FileQueue::Ticket written_;  // last write of the result
};

}  // namespace

bool run_out_of_core(const Point& point) {
  if (point.problem.task == Task::apply) return run_apply_in_blocks(point);
  External external(point.asked());
  try {
    return external.run(point.session);
  } catch (const mpi::AgreedError&) {
    external.leave_runs();
    throw;
  }
}

void print_out_of_core(const Asked& asked) {
  if (asked.problem.task == Task::apply) return print_apply_in_blocks(asked);
  External(asked).print();
}

}  // namespace tessera::inline v1::workloads::sort
