// Quantiles of one column: provides its keys to the selection in pieces, from memory if they fit,
// otherwise from the file in every pass.

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/lines.hpp"
#include "base/note.hpp"
#include "base/text.hpp"
#include "dist/sort/key_words.hpp"
#include "dist/sort/select.hpp"
#include "machine/buffer.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "run/outputs.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

using dist::sort::BitsPiece;
using dist::sort::KeyColumn;
using dist::sort::QuantilePlace;
using dist::sort::Selected;

constexpr index_t piece_rows = index_t{1} << 20;  // per piece

/// A rank's memory for its keys.
struct KeyMemory {
  bool held = true;  ///< otherwise they are read again in every pass
  index_t bytes = 0;
};

KeyMemory key_memory(const SortColumn& column, index_t rows, index_t allowance) {
  const index_t piece = std::min(rows, piece_rows), bits = piece * index_t{sizeof(std::uint64_t)};
  const index_t all = rows * column.form.bytes + bits;
  if (all <= allowance) return {true, all};
  return {false, piece * column.form.bytes + bits};
}

class QuantileKeys {
 public:
  QuantileKeys(const mpi::Communicator& comm, const Inputs& inputs, const Problem& problem,
               index_t allowance)
      : inputs_(inputs),
        problem_(problem),
        column_(problem.by.front()),
        mine_(layout::BlockMap(problem.n, comm.size()).range(comm.rank())) {
    held_ = key_memory(column_, mine_.size(), allowance).held;
    raw_ = machine::Buffer<std::byte>((held_ ? mine_.size() : std::min(mine_.size(), piece_rows)) *
                                      column_.form.bytes);
    bits_ = machine::Buffer<std::uint64_t>(std::min(mine_.size(), piece_rows));
    if (held_) load(inputs, problem, column_, mine_, raw_.data());
  }

  void visit(const BitsPiece& piece) const {
    for (index_t at = mine_.begin; at < mine_.end; at += piece_rows) {
      const layout::Range rows{at, std::min(at + piece_rows, mine_.end)};
      std::byte* from = raw_.data();
      if (held_)
        from += (at - mine_.begin) * column_.form.bytes;
      else
        load(inputs_, problem_, column_, rows, from);
      dist::sort::key_word({column_.form.by_number(), from, column_.order}, 0, rows.size(),
                           bits_.data(), problem_.method.threads);
      piece(std::as_const(bits_).span().first(static_cast<std::size_t>(rows.size())));
      mpi::heartbeat();
    }
  }

 private:
  const Inputs& inputs_;
  const Problem& problem_;
  const SortColumn& column_;
  layout::Range mine_;
  bool held_;
  mutable machine::Buffer<std::byte> raw_;
  mutable machine::Buffer<std::uint64_t> bits_;
};

/// Returns the linear interpolation at t between two numbers. If one is infinite, avoids std::lerp,
/// which jumps from -inf to a negative number.
double between(double below, double above, double t) {
  return std::isfinite(below) ? std::lerp(below, above, t) : (1 - t) * below + t * above;
}

double value_of(const SortColumn& column, std::uint64_t bits) {
  return dispatch_element(*column.form.number, [&]<class T>(Type<T>) {
    using B = tessera::sort::Bits<T>;
    const auto map = tessera::sort::key_map<T>(column.order);
    return static_cast<double>(std::bit_cast<T>(map.to_raw(static_cast<B>(bits))));
  });
}

/// Reports NaN among the keys, which are last in either order. largest: the last key. Collective.
void note_nan(const mpi::Communicator& comm, const QuantileKeys& keys, const Problem& problem,
              std::uint64_t largest) {
  const SortColumn& column = problem.by.front();
  if (!std::isnan(value_of(column, largest))) return;
  index_t found = 0;
  mpi::together(comm, "read", [&] {
    keys.visit([&](std::span<const std::uint64_t> piece) {
      found += std::count_if(piece.begin(), piece.end(), [&](std::uint64_t bits) {
        return std::isnan(value_of(column, bits));
      });
    });
  });
  found = comm.sum(found);
  if (comm.is_root())
    print_note(
        fmt::format("note: {} of {} keys are NaN and count as the largest; remove them from "
                    "the file to leave them out",
                    found, problem.n));
}

/// Returns the positions of the wanted keys: two per quantile.
std::vector<index_t> positions_of(const Problem& problem) {
  std::vector<index_t> positions;
  for (const double q : problem.quantiles) {
    const QuantilePlace place = dist::sort::quantile_place(q, problem.n);
    positions.insert(positions.end(), {place.below, place.above});
  }
  return positions;
}

/// Returns the number of positions whose key differs from the one found: counts again in one pass,
/// without histograms.
index_t faults(const mpi::Communicator& comm, const QuantileKeys& keys,
               std::span<const index_t> positions, std::span<const Selected> found) {
  std::vector<index_t> counts(2 * found.size());  // keys below each, and not above
  keys.visit([&](std::span<const std::uint64_t> piece) {
    for (std::size_t f = 0; f < found.size(); ++f) {
      index_t below = 0, not_above = 0;
      for (const std::uint64_t key : piece) {
        below += key < found[f].bits ? 1 : 0;
        not_above += key <= found[f].bits ? 1 : 0;
      }
      counts[2 * f] += below;
      counts[2 * f + 1] += not_above;
    }
  });
  comm.sum(std::span(counts));
  index_t wrong = 0;
  for (std::size_t f = 0; f < found.size(); ++f)
    wrong += counts[2 * f] <= positions[f] && positions[f] < counts[2 * f + 1] ? 0 : 1;
  return wrong;
}

}  // namespace

index_t quantiles_memory(const Problem& problem, index_t allowance) {
  return key_memory(problem.by.front(), ceil_div(problem.n, problem.ranks), allowance).bytes;
}

void print_quantiles_plan(const Asked& asked) {
  const Problem& problem = asked.problem;
  const index_t allowance = problem.allowance.net_of_program();
  const auto [held, bytes] =
      key_memory(problem.by.front(), ceil_div(problem.n, problem.ranks), allowance);
  const index_t program = problem.allowance.program;
  if (!asked.comm.is_root()) return;
  print_filled(
      "plan: {} of {} on {}, by counting in usually three passes; holds {} a rank{}, keys {}",
      counted(ssize(problem.quantiles), "quantile"), counted(problem.n, "row"),
      counted(problem.ranks, "rank"), human_bytes(bytes + program), run::of_program_text(program),
      held ? "in memory" : "read again in each pass");
}

bool run_quantiles(const Point& point) {
  const auto& comm = point.comm;
  const auto& values = point.values;
  const auto& problem = point.problem;
  const auto count = static_cast<index_t>(problem.quantiles.size());
  run::Outputs outputs;
  if (!problem.out.empty())
    outputs.add(io::parse_dataset_name(problem.out, "out"), {count}, Element::f64);
  outputs.open(comm, values);
  mpi::Phases once;
  const index_t allowance = problem.allowance.net_of_program();
  point.session.plan_memory(quantiles_memory(problem, allowance) + problem.allowance.program);
  std::optional<QuantileKeys> keys;
  mpi::together(comm, "read", [&] {
    const mpi::PhaseScope scope(once, "read");
    keys.emplace(comm, point.inputs, problem, allowance);
  });
  const dist::sort::BitsPass pass = [&](const BitsPiece& piece) {
    mpi::together(comm, "read", [&] { keys->visit(piece); });
  };
  std::vector<index_t> positions = positions_of(problem);
  positions.push_back(problem.n - 1);  // whether any key is NaN
  std::vector<Selected> found;
  run::Measured measured = run::measure(
      comm, values, [] {},
      [&](mpi::Phases& phases) {
        const mpi::PhaseScope scope(phases, "select");
        found = dist::sort::select(comm, pass, positions);
      });
  if (problem.verify) {
    const mpi::PhaseScope scope(once, "verify");
    measured.verdict =
        run::Verdict{"counts", static_cast<double>(faults(comm, *keys, positions, found)), 0};
  }
  std::vector<double> quantiles;
  for (std::size_t q = 0; q < problem.quantiles.size(); ++q) {
    const double below = value_of(problem.by.front(), found[2 * q].bits);
    const double above = value_of(problem.by.front(), found[2 * q + 1].bits);
    const double t = dist::sort::quantile_place(problem.quantiles[q], problem.n).fraction;
    quantiles.push_back(t == 0 || below == above ? below : between(below, above, t));
    if (comm.is_root()) fmt::print("quantile {}: {}\n", problem.quantiles[q], quantiles.back());
  }
  note_nan(comm, *keys, problem, found.back().bits);
  describe(problem, measured);
  measured.once = once;
  return outputs.conclude(comm, values, point.session, measured, [&] {
    if (comm.is_root() && !outputs.empty())
      outputs.write(0, 0, std::as_bytes(std::span(quantiles)));
  });
}

}  // namespace tessera::inline v1::workloads::sort
