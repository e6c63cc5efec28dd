// Permutations: makes them from columns or reads them from a file, verifies, writes, and applies
// them to every column.

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/progress.hpp"
#include "dist/sort/check.hpp"
#include "machine/buffer.hpp"
#include "machine/pages.hpp"
#include "mpi/agreement.hpp"
#include "run/outputs.hpp"
#include "workloads/sort/carry.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

using dist::sort::KeyColumn;
using run::Values;

class TableSort {
 public:
  TableSort(const mpi::Communicator& comm, const Inputs& inputs, const Problem& problem)
      : comm_(comm),
        inputs_(inputs),
        problem_(problem),
        map_(problem.n, comm.size()),
        mine_(map_.range(comm.rank())) {}

  bool run(const Values& point, run::Session& session) {
    const bool verify = problem_.verify;
    run::Outputs outputs;
    open(point, outputs, problem_.unique ? 0 : problem_.rows_out());
    run::Measured measured =
        problem_.task == Task::apply ? read_permutation() : make_permutation(point);
    index_t faults = 0;
    if (verify && problem_.task == Task::permutation) {
      if (!problem_.out.empty() && !problem_.unique && !problem_.takes_first())
        mpi::together(comm_, "verify", [&] { sequence_ = keys_first(); });
      const mpi::PhaseScope scope(once_, "verify");
      faults = faults_of_permutation();
    }
    if (problem_.unique) {
      const mpi::PhaseScope scope(once_, "distinct");
      permutation_ =
          sorted_.there && problem_.by.back().form.sorts_by_number()
              ? dist::sort::first_of_each(comm_, sorted_.pairs.span())
              : first_of_each(comm_, map_, key_columns(), permutation_, problem_.method.threads);
    }
    sorted_ = {};
    first_ = rows_here();
    comm_.sum_before(std::span(&first_, 1));
    if (problem_.unique) {
      outputs = {};
      open(point, outputs, comm_.sum(rows_here()));
    }
    key_data_.clear();
    machine::give_back_released();  // columns have other sizes than keys
    CarriedFaults carried = carry_columns(outputs, verify, faults == 0);
    carry_content(comm_, inputs_, problem_, {permutation_, column_places_}, outputs);
    if (order_) {
      const mpi::PhaseScope scope(once_, "verify");
      carried.faults += order_->faults();
    }
    if (problem_.task == Task::apply) measured.seconds = {carried.seconds};
    if (verify)
      measured.verdict =
          run::Verdict{"order_and_hash", static_cast<double>(faults + carried.faults), 0};
    describe(problem_, measured);
    measured.simulated_counts = [this] { return simulated_counts(problem_); };
    measured.once = once_;
    return outputs.conclude(comm_, point, session, measured, [&] {
      if (permutation_place_)
        outputs.write(*permutation_place_, first_, std::as_bytes(std::span(permutation_)));
    });
  }

 private:
  struct CarriedFaults {
    index_t faults = 0;
    double seconds = 0;  // of permuting, on the slowest rank
  };

  [[nodiscard]] index_t rows_here() const { return static_cast<index_t>(permutation_.size()); }

  [[nodiscard]] std::vector<KeyColumn> key_columns() const {
    std::vector<KeyColumn> columns;
    for (std::size_t c = 0; c < problem_.by.size(); ++c)
      columns.push_back({problem_.by[c].form, key_data_[c].data(), problem_.by[c].order});
    return columns;
  }

  /// Creates the outputs, with zero rows if their number is not known yet, so that errors of
  /// creation occur before any computation.
  void open(const Values& point, run::Outputs& outputs, index_t rows) {
    column_places_.clear();
    mpi::together(comm_, "create output", [&] {
      if (!problem_.out.empty()) {
        const io::DatasetName out = io::parse_table_name(problem_.out, "out");
        for (const io::Column& column : problem_.carried)
          column_places_.push_back(add_column(outputs, out, inputs_, problem_, column, rows));
        if (problem_.generated())
          column_places_.push_back(add_keys(outputs, out, inputs_, problem_, rows));
      }
      if (!problem_.argsort.empty())
        permutation_place_ =
            outputs.add(io::parse_dataset_name(problem_.argsort, "argsort"), {rows}, Element::i64);
    });
    outputs.open(comm_, point);
  }

  /// Returns the column of the result that holds each key.
  [[nodiscard]] std::vector<std::size_t> holders() const {
    std::vector<std::size_t> holders;
    for (const SortColumn& key : problem_.by) {
      std::size_t c = 0;
      while (c < problem_.carried.size() && problem_.carried[c].path != key.column.path) ++c;
      holders.push_back(c);
    }
    return holders;
  }

  /// Returns the columns of the result, those of keys first and in the order of the keys, so that
  /// the order of rows can be verified as they arrive. Empty if a key is not in a column of the
  /// result in its compared form, or one column holds keys before and after another's.
  [[nodiscard]] std::vector<std::size_t> keys_first() {
    std::vector<std::size_t> sequence;
    std::vector<bool> holds_key(column_places_.size(), false);
    const std::vector<std::size_t> columns = holders();
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const std::size_t c = columns[k];
      if (c == column_places_.size() || !key_in_row(inputs_, problem_, problem_.by[k])) return {};
      if (!sequence.empty() && sequence.back() == c) continue;
      if (holds_key[c]) return {};
      holds_key[c] = true;
      sequence.push_back(c);
    }
    for (std::size_t c = 0; c < column_places_.size(); ++c)
      if (!holds_key[c]) sequence.push_back(c);
    return sequence;
  }

  /// Returns whether the columns are gathered on this rank: the hash of the rows with their
  /// indices, of a key's column at least, then verifies that each occurs once. Permuting in place
  /// relies on it.
  [[nodiscard]] bool hashes_suffice() const {
    const auto in_place = [&](index_t bytes) {
      return dist::sort::permuted_in_place(comm_.size(), bytes);
    };
    return comm_.size() == 1 &&
           std::none_of(problem_.carried.begin(), problem_.carried.end(),
                        [&](const io::Column& column) { return in_place(column.row_bytes()); });
  }

  /// Returns the faults of the permutation, and of the order of its rows unless that is verified
  /// later.
  [[nodiscard]] index_t faults_of_permutation() {
    const dist::sort::Hashing hashing{problem_.seed, problem_.method.threads};
    if (!sequence_.empty()) {
      mpi::together(comm_, "verify", [&] {
        order_.emplace(comm_, permutation_, problem_.by.size(), problem_.method.threads);
      });
      if (hashes_suffice()) return 0;
      return dist::sort::is_permutation(comm_, map_, permutation_, hashing) ? 0 : 1;
    }
    if (sorted_.there)
      return dist::sort::faults(comm_, map_, key_columns(), {sorted_, permutation_}, hashing);
    return problem_.takes_first()
               ? faults_of_first(comm_, map_, key_columns(), permutation_, hashing.threads)
               : dist::sort::faults(comm_, map_, key_columns(), permutation_, hashing);
  }

  /// Returns whether the sort must keep the digits, since carried columns do not verify the order.
  [[nodiscard]] bool keeps_digits() const { return problem_.out.empty() || problem_.unique; }

  run::Measured make_permutation(const Values& point) {
    mpi::together(comm_, "read", [&] {
      const mpi::PhaseScope scope(once_, "read");
      double bytes = 0;
      for (const SortColumn& column : problem_.by)
        bytes += static_cast<double>(mine_.size() * column.form.bytes);
      const Progress progress(problem_.generated() ? "generate" : "read", bytes,
                              Progress::Counts::bytes_read);
      for (const SortColumn& column : problem_.by) {
        key_data_.emplace_back(checked_mul(mine_.size(), column.form.bytes, "a key column"));
        load(inputs_, problem_, column, mine_, key_data_.back().data());
      }
    });
    const std::vector<KeyColumn> columns = key_columns();
    return run::measure(
        comm_, point, [] {},
        [&](mpi::Phases& phases) {
          if (problem_.takes_first()) {
            permutation_ =
                argsort_first(comm_, map_, columns, *problem_.top, problem_.method, phases);
            return;
          }
          permutation_.resize(static_cast<std::size_t>(mine_.size()));
          argsort(comm_, map_, columns, problem_.method, permutation_.data(), phases,
                  keeps_digits() ? &sorted_ : nullptr);
        });
  }

  run::Measured read_permutation() {
    mpi::together(comm_, "read", [&] {
      const mpi::PhaseScope scope(once_, "read");
      permutation_ = read_indices(*inputs_.permutation, problem_, mine_);
    });
    require_whole(comm_, *inputs_.permutation,
                  dist::sort::is_permutation(comm_, map_, permutation_, {problem_.seed, 1}));
    run::Measured measured;
    measured.phases.resize(1);
    return measured;
  }

  /// Carries the columns of elements of a fixed size; frees their buffers. Returns the number of
  /// faults and the seconds of permuting.
  CarriedFaults carry_columns(run::Outputs& outputs, bool verify, bool is_permutation) {
    if (sequence_.empty()) {
      sequence_.resize(column_places_.size());
      std::iota(sequence_.begin(), sequence_.end(), std::size_t{0});
    }
    Carrier carrier(comm_,
                    {.inputs = inputs_,
                     .problem = problem_,
                     .map = map_,
                     .permutation = permutation_,
                     .first = first_,
                     .verify = verify,
                     .may_permute_in_place = is_permutation,
                     .order = order_ ? &*order_ : nullptr},
                    once_);
    const std::vector<std::size_t> columns = holders();
    for (const std::size_t c : sequence_) {
      if (c < problem_.carried.size() && !problem_.carried[c].info.self_contained) continue;
      std::vector<const SortColumn*> keys;
      for (std::size_t k = 0; order_ && k < problem_.by.size(); ++k)
        if (columns[k] == c) keys.push_back(&problem_.by[k]);
      carrier.carry(c, keys, outputs, column_places_[c]);
    }
    return {carrier.faults(), carrier.seconds()};
  }

  mpi::Communicator comm_;
  const Inputs& inputs_;
  const Problem& problem_;
  layout::BlockMap map_;
  layout::Range mine_;
  mpi::Phases once_;
  std::vector<machine::Buffer<std::byte>> key_data_;
  std::vector<std::uint64_t> permutation_;  // rows of the input in the order of the result
  dist::sort::SortedDigits sorted_;
  index_t first_ = 0;  // first row of the result in permutation_
  std::vector<std::size_t> column_places_;
  std::optional<std::size_t> permutation_place_;
  std::vector<std::size_t> sequence_;             // in which the columns of the result are made
  std::optional<dist::sort::OrderOfRows> order_;  // of the rows, as they are made
};

}  // namespace

std::vector<std::uint64_t> read_indices(const run::TableInput& permutation, const Problem& problem,
                                        layout::Range range) {
  const io::DatasetName& name = permutation.name();
  std::vector<std::uint64_t> indices(static_cast<std::size_t>(range.size()));
  io::read_numbers(name.file, problem.permutation, range, Element::i64,
                   reinterpret_cast<std::byte*>(indices.data()));
  const auto outside = std::find_if(indices.begin(), indices.end(), [&](std::uint64_t index) {
    return index >= static_cast<std::uint64_t>(problem.n);
  });
  if (outside != indices.end()) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} is not a permutation: element {} is {}, outside 0 to {}; give an "
                            "output of --argsort",
                            name.text(), range.begin + (outside - indices.begin()),
                            static_cast<index_t>(*outside), problem.n - 1));
  }
  return indices;
}

void require_whole(const mpi::Communicator& comm, const run::TableInput& permutation, bool whole) {
  mpi::on_root(comm, "read", [&] {
    require(whole, ExitCode::bad_data,
            fmt::format("{} is not a permutation: a row occurs twice; give an output of --argsort",
                        permutation.name().text()));
  });
}

bool run_table(const Point& point) {
  return TableSort(point.comm, point.inputs, point.problem).run(point.values, point.session);
}

}  // namespace tessera::inline v1::workloads::sort
