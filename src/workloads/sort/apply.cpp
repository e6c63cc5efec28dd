// Out-of-core application of a permutation to rows: block by block of the result, each with one
// pass over the input. Ranks share the blocks without communication.

#include <fmt/core.h>

#include <numeric>

#include "base/hash.hpp"
#include "base/lines.hpp"
#include "base/text.hpp"
#include "dist/sort/check.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "run/outputs.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

using dist::sort::Pair;
using run::Values;

class BlockwiseApply {
 public:
  explicit BlockwiseApply(const Asked& asked)
      : comm_(asked.comm),
        values_(asked.values),
        inputs_(asked.inputs),
        problem_(asked.problem),
        verify_(problem_.verify),
        mine_(layout::BlockMap(problem_.n, comm_.size()).range(comm_.rank())) {
    index_t widest = 1;
    for (const io::Column& column : problem_.carried) widest = std::max(widest, column.row_bytes());
    // Bytes of a row of a block: its source index, two (source, place) pairs, a column's element
    // and hash. A quarter of the memory is for elements of the input, with their hashes.
    const index_t allowance = problem_.allowance.net_of_program();
    row_bytes_ = 8 + 2 * 16 + 8 + widest;
    piece_row_bytes_ = 8 + widest;
    block_rows_ = allowance / 4 * 3 / row_bytes_;
    piece_rows_ = allowance / 4 / piece_row_bytes_;
    mpi::alike("plan", [&] {
      require(block_rows_ > 0 && piece_rows_ > 0, ExitCode::memory,
              human_bytes(allowance) + " of memory are insufficient for a row; increase --memory");
    });
  }

  bool run(run::Session& session) {
    session.plan_memory(held() + problem_.allowance.program);
    open();
    mpi::Phases once;
    phases_ = &once;
    require_permutation();
    run::Measured measured = run::measure_once(comm_, values_, [&](mpi::Phases& phases) {
      phases_ = &phases;
      mpi::together(comm_, "permute", [&] {
        for (index_t at = mine_.begin; at < mine_.end; at += block_rows_)
          make_block({at, std::min(at + block_rows_, mine_.end)});
      });
    });
    phases_ = &once;
    if (verify_) {
      mpi::together(comm_, "verify", [&] { take_off_input(); });
      measured.verdict = run::Verdict{"order_and_hash", comm_.sum(difference_) == 0 ? 0.0 : 1.0, 0};
    }
    measured.once = once;
    describe(problem_, measured, Mode::out_of_core);
    return outputs_.conclude(comm_, values_, session, measured, [] {});
  }

  void print() const {
    const index_t program = problem_.allowance.program;
    print_filled(
        "plan: out of core, {} in blocks of {}; one pass over the input per block; holds {} a "
        "rank{}",
        counted(problem_.n, "row"), most_rows(), human_bytes(held() + program),
        run::of_program_text(program));
  }

  /// Returns the bytes of a rank.
  [[nodiscard]] index_t held() const {
    return most_rows() * row_bytes_ + std::min(piece_rows_, problem_.n) * piece_row_bytes_;
  }

 private:
  [[nodiscard]] index_t most_rows() const {
    return std::min(block_rows_, ceil_div(problem_.n, index_t{comm_.size()}));
  }
  void open() {
    mpi::together(comm_, "create output", [&] {
      const io::DatasetName out = io::parse_table_name(problem_.out, "out");
      for (const io::Column& column : problem_.carried)
        places_.push_back(add_column(outputs_, out, inputs_, problem_, column, column.rows()));
    });
    outputs_.open(comm_, values_);
  }

  [[nodiscard]] std::vector<std::uint64_t> sources_of(layout::Range rows) const {
    return read_indices(*inputs_.permutation, problem_, rows);
  }

  /// Throws Error(bad_data) unless the indices are a permutation. Collective.
  void require_permutation() {
    std::uint64_t difference = 0;
    mpi::together(comm_, "read", [&] {
      const mpi::PhaseScope scope(*phases_, "read");
      for (index_t at = mine_.begin; at < mine_.end; at += block_rows_) {
        const layout::Range rows{at, std::min(at + block_rows_, mine_.end)};
        for (const std::uint64_t source : sources_of(rows))
          difference += mix64(source ^ problem_.seed);
        for (index_t i = rows.begin; i < rows.end; ++i)
          difference -= mix64(static_cast<std::uint64_t>(i) ^ problem_.seed);
        mpi::heartbeat();
      }
    });
    require_whole(comm_, *inputs_.permutation, comm_.sum(difference) == 0);
  }

  void make_block(layout::Range rows) {
    std::vector<std::uint64_t> sources;
    {
      const mpi::PhaseScope scope(*phases_, "read");
      sources = sources_of(rows);
    }
    machine::Buffer<Pair> order(rows.size()), spare(rows.size());
    {
      const mpi::PhaseScope scope(*phases_, "sort");
      for (index_t j = 0; j < rows.size(); ++j)
        order[j] = {sources[static_cast<std::size_t>(j)], static_cast<std::uint64_t>(j)};
      machine::parallel(problem_.method.threads,
                        [&] { tessera::sort::sort_pairs("auto", order.span(), spare.span()); });
    }
    for (std::size_t c = 0; c < places_.size(); ++c) {
      const io::Column& column = problem_.carried[c];
      const index_t bytes = column.row_bytes();
      machine::Buffer<std::byte> out(checked_mul(rows.size(), bytes, "a column"));
      fetch(column, std::as_const(order).span(), out.data());
      if (verify_) difference_ += hash_of({out.data(), bytes}, c, sources);
      const mpi::PhaseScope scope(*phases_, "write");
      outputs_.write(places_[c], rows.begin * (bytes / column.info.element_bytes),
                     std::as_const(out).span());
    }
  }

  /// Sets to[pair.index] to element pair.key of the column, for pairs in the order of their keys.
  void fetch(const io::Column& column, std::span<const Pair> order, std::byte* to) {
    const index_t bytes = column.row_bytes();
    machine::Buffer<std::byte> piece(
        checked_mul(std::min(piece_rows_, problem_.n), bytes, "a column"));
    for (std::size_t next = 0; next < order.size();) {
      const auto first = static_cast<index_t>(order[next].key);
      std::size_t end = next;
      while (end < order.size() && static_cast<index_t>(order[end].key) < first + piece_rows_)
        ++end;
      {
        const mpi::PhaseScope scope(*phases_, "read");
        io::read_stored(inputs_.data->name().file, column,
                        {first, static_cast<index_t>(order[end - 1].key) + 1}, piece.data());
      }
      const mpi::PhaseScope scope(*phases_, "permute");
      for (; next < end; ++next)
        std::copy_n(piece.data() + (static_cast<index_t>(order[next].key) - first) * bytes, bytes,
                    to + static_cast<index_t>(order[next].index) * bytes);
      mpi::heartbeat();
    }
  }

  /// Returns the sum of a hash of every element with its column and its row of the input.
  [[nodiscard]] std::uint64_t hash_of(dist::sort::ColumnView elements, std::size_t column,
                                      std::span<const std::uint64_t> rows) const {
    const mpi::PhaseScope scope(*phases_, "verify");
    machine::Buffer<std::uint64_t> hashes(static_cast<index_t>(rows.size()));
    std::fill(hashes.begin(), hashes.end(), problem_.seed + column);
    dist::sort::hash_rows(elements, hashes.span(), problem_.method.threads);
    std::uint64_t sum = 0;
    for (std::size_t j = 0; j < rows.size(); ++j)
      sum += hash_at(hashes[static_cast<index_t>(j)], rows[j] ^ problem_.seed);
    return sum;
  }

  /// Subtracts the hashes of this rank's share of the input.
  void take_off_input() {
    machine::Buffer<std::byte> piece;
    std::vector<std::uint64_t> rows;
    for (std::size_t c = 0; c < places_.size(); ++c) {
      const io::Column& column = problem_.carried[c];
      for (index_t at = mine_.begin; at < mine_.end; at += piece_rows_) {
        const layout::Range range{at, std::min(at + piece_rows_, mine_.end)};
        piece = {};
        piece =
            machine::Buffer<std::byte>(checked_mul(range.size(), column.row_bytes(), "a column"));
        io::read_stored(inputs_.data->name().file, column, range, piece.data());
        rows.resize(static_cast<std::size_t>(range.size()));
        std::iota(rows.begin(), rows.end(), static_cast<std::uint64_t>(at));
        difference_ -= hash_of({piece.data(), column.row_bytes()}, c, rows);
        mpi::heartbeat();
      }
    }
  }

  mpi::Communicator comm_;
  const Values& values_;
  const Inputs& inputs_;
  const Problem& problem_;
  bool verify_;
  layout::Range mine_;
  index_t row_bytes_ = 0, piece_row_bytes_ = 0;  // of a block and of a piece of the input
  index_t block_rows_ = 0, piece_rows_ = 0;
  run::Outputs outputs_;
  std::vector<std::size_t> places_;  // of the columns in the output
  mpi::Phases* phases_ = nullptr;
  std::uint64_t difference_ = 0;  // between the hashes of the result and of the input
};

}  // namespace

bool run_apply_in_blocks(const Point& point) {
  return BlockwiseApply(point.asked()).run(point.session);
}

void print_apply_in_blocks(const Asked& asked) {
  const BlockwiseApply apply(asked);
  if (asked.comm.is_root()) apply.print();
}

}  // namespace tessera::inline v1::workloads::sort
