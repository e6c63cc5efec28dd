// Permutations: made from columns or read from a file, checked, written, and applied to every column.

#include <fmt/format.h>

#include "dist/sort/check.hpp"
#include "machine/buffer.hpp"
#include "mpi/agreement.hpp"
#include "run/outputs.hpp"
#include "sort.hpp"

namespace tessera::apps::sort {
namespace {

using dist::sort::ColumnView;
using dist::sort::KeyColumn;
using run::Values;

class TableSort {
 public:
  TableSort(const mpi::Communicator& comm, const Inputs& inputs, const Request& request)
      : comm_(comm),
        inputs_(inputs),
        request_(request),
        map_(request.n, comm.size()),
        mine_(map_.range(comm.rank())) {}

  bool run(const Values& point, run::Session& session) {
    run::Outputs outputs;
    plan_outputs(point, outputs);
    outputs.open(comm_, point);
    run::Measured measured = request_.task == Task::apply ? read_permutation() : make_permutation(point);
    const bool verify = !point.flag("no-verify");
    index_t faults = 0;
    if (verify && request_.task == Task::permutation) {
      const mpi::PhaseScope scope(once_, "verify");
      faults =
          dist::sort::faults(comm_, map_, key_columns(), indices(), request_.seed, request_.method.threads);
    }
    key_data_.clear();
    const Carried carried = carry_columns(outputs, verify);
    if (request_.task == Task::apply) measured.seconds = {carried.seconds};
    if (verify)
      measured.verdict = run::Verdict{"order_and_hash", static_cast<double>(faults + carried.faults), 0};
    measured.columns = cells_of(request_);
    measured.stand_in = [this] { return stand_in(request_); };
    measured.work = static_cast<double>(request_.n);
    measured.rate_units = "Mkeys/s";
    measured.once = once_;
    return outputs.conclude(comm_, point, session, measured, [&] {
      if (permutation_place_) outputs.write(*permutation_place_, mine_.begin, std::as_bytes(indices()));
    });
  }

 private:
  struct Carried {
    index_t faults = 0;
    double seconds = 0;  // of permuting, the slowest rank's
  };

  [[nodiscard]] std::span<const std::uint64_t> indices() const { return permutation_.span(); }

  [[nodiscard]] std::vector<KeyColumn> key_columns() const {
    std::vector<KeyColumn> columns;
    for (std::size_t c = 0; c < request_.by.size(); ++c)
      columns.push_back({request_.by[c].element, key_data_[c].data(), request_.by[c].order});
    return columns;
  }

  void plan_outputs(const Values& point, run::Outputs& outputs) {
    mpi::together(comm_, "create output", [&] {
      if (point.has("out")) {
        const io::DatasetName out = io::parse_dataset_name(point.text("out"), "out");
        for (const io::Column& column : request_.carried) {
          const std::string path = request_.is_group ? out.path + "/" + column.name : out.path;
          column_places_.push_back(
              outputs.add({out.file, path}, {request_.n}, io::stored_type(inputs_.data->name(column))));
        }
        if (request_.generated())
          column_places_.push_back(outputs.add(out, {request_.n}, request_.by.front().element));
      }
      if (point.has("argsort"))
        permutation_place_ =
            outputs.add(io::parse_dataset_name(point.text("argsort"), "argsort"), {request_.n}, Element::i64);
    });
  }

  run::Measured make_permutation(const Values& point) {
    mpi::together(comm_, "read", [&] {
      const mpi::PhaseScope scope(once_, "read");
      permutation_ = machine::Buffer<std::uint64_t>(mine_.size());
      for (const SortColumn& column : request_.by) {
        const auto bytes = static_cast<index_t>(tessera::bytes(column.element));
        key_data_.emplace_back(mine_.size() * bytes);
        load(comm_, inputs_, request_, column, key_data_.back().data());
      }
    });
    const std::vector<KeyColumn> columns = key_columns();
    return run::measure(
        comm_, point, [] {},
        [&](mpi::Phases& phases) {
          argsort(comm_, map_, columns, request_.method, permutation_.data(), phases);
        });
  }

  run::Measured read_permutation() {
    const io::DatasetName& name = inputs_.permutation->name();
    mpi::together(comm_, "read", [&] {
      const mpi::PhaseScope scope(once_, "read");
      permutation_ = machine::Buffer<std::uint64_t>(mine_.size());
      io::read_range(name, mine_, Element::i64, reinterpret_cast<std::byte*>(permutation_.data()));
      for (index_t j = 0; j < mine_.size(); ++j) {
        const auto index = static_cast<index_t>(permutation_[j]);
        require(
            index >= 0 && index < request_.n, ExitCode::bad_data,
            fmt::format("{} is no permutation: element {} is {}, outside 0 to {}; give what --argsort wrote",
                        name.text(), mine_.begin + j, index, request_.n - 1));
      }
    });
    const bool whole = dist::sort::is_permutation(comm_, map_, indices(), request_.seed);
    mpi::on_root(comm_, "read", [&] {
      require(
          whole, ExitCode::bad_data,
          fmt::format("{} is no permutation: some row comes twice; give what --argsort wrote", name.text()));
    });
    run::Measured measured;
    measured.phases.resize(1);
    return measured;
  }

  /// Reads every column as it is stored, brings its elements in order and writes them, one column at a time.
  Carried carry_columns(run::Outputs& outputs, bool verify) {
    Carried result;
    for (std::size_t c = 0; c < column_places_.size(); ++c) {
      const bool stored = c < request_.carried.size();
      const auto bytes = stored ? request_.carried[c].info.element_bytes
                                : static_cast<index_t>(tessera::bytes(request_.by.front().element));
      machine::Buffer<std::byte> before, after;
      mpi::together(comm_, "read", [&] {
        const mpi::PhaseScope scope(once_, "read");
        before = machine::Buffer<std::byte>(checked_mul(mine_.size(), bytes, "a column"));
        after = machine::Buffer<std::byte>(before.size());
        if (stored)
          io::read_stored(inputs_.data->name(request_.carried[c]), mine_, before.data());
        else
          load(comm_, inputs_, request_, request_.by.front(), before.data());
      });
      comm_.barrier();
      const Timer timer;
      {
        const mpi::PhaseScope scope(once_, "permute");
        dist::sort::gather(comm_, map_, {before.data(), bytes}, indices(), after.data(),
                           request_.method.threads);
      }
      result.seconds += comm_.max(timer.seconds());
      if (verify) result.faults += differs({before.data(), bytes}, {after.data(), bytes}) ? 1 : 0;
      mpi::together(comm_, "write", [&] {
        const mpi::PhaseScope scope(once_, "write");
        outputs.write(column_places_[c], mine_.begin, std::as_const(after).span());
      });
    }
    return result;
  }

  bool differs(ColumnView before, ColumnView after) {
    const mpi::PhaseScope scope(once_, "verify");
    const int threads = request_.method.threads;
    const std::uint64_t difference =
        dist::sort::hash_elements(before, mine_.size(), mine_.begin, request_.seed, threads) -
        dist::sort::hash_elements(after, indices(), request_.seed, threads);
    return comm_.sum(difference) != 0;
  }

  mpi::Communicator comm_;
  const Inputs& inputs_;
  const Request& request_;
  layout::BlockMap map_;
  layout::Range mine_;
  mpi::Phases once_;
  std::vector<machine::Buffer<std::byte>> key_data_;
  machine::Buffer<std::uint64_t> permutation_;
  std::vector<std::size_t> column_places_;
  std::optional<std::size_t> permutation_place_;
};

}  // namespace

bool run_table(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
               const Request& request, run::Session& session) {
  return TableSort(comm, inputs, request).run(point, session);
}

}  // namespace tessera::apps::sort
