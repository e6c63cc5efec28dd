// Column by column: reads rows in input order, permutes them between the ranks, verifies blocks
// while they are in a cache, and writes them.

#include "workloads/sort/carry.hpp"
#include "base/progress.hpp"

#include <atomic>
#include <exception>

#include "io/plain_rows.hpp"
#include "io/stored_key.hpp"
#include "kernels/sort/permute.hpp"
#include "kernels/sort/row_moves.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "machine/team.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

using machine::Buffer;

constexpr index_t read_bytes = index_t{64} << 10;  // at once, for a second-level cache
constexpr index_t least_bytes = index_t{4} << 20;  // for another thread, which must be woken
constexpr index_t gathered_bytes = index_t{16}
                                   << 10;  // that fit, with their sources, into a first-level cache
constexpr index_t eight = 8;               // rows of a byte of flags

/// Returns the number of rows that are verified as soon as they are gathered, a multiple of eight.
index_t rows_at_once(index_t bytes) {
  return std::max<index_t>(1, gathered_bytes / std::max(eight, bytes) / eight) * eight;
}

/// Returns the rows of a block of that size, of n rows.
layout::Range rows_at_once(index_t bytes, index_t block, index_t n) {
  const index_t at_once = rows_at_once(bytes);
  return {block * at_once, std::min(n, (block + 1) * at_once)};
}

/// Returns whether all indices are below n.
bool all_inside(std::span<const std::uint64_t> rows, index_t n) {
  std::uint64_t outside = 0;
  for (const std::uint64_t row : rows) outside |= row | (static_cast<std::uint64_t>(n) - 1 - row);
  return outside >> 63 == 0;
}

/// Allocates unless the buffer of the previous column suffices: its pages are there.
void make_room(Buffer<std::byte>& buffer, index_t bytes) {
  if (buffer.size() >= bytes) return;
  buffer = {};
  buffer = Buffer<std::byte>(bytes);
}

/// Calls f(later): later(look) runs look immediately, or in another thread before this function
/// returns. Returns this thread's seconds in later() and in waiting for the others at the end.
template <class F>
double with_looks(int threads, const F& f) {
  double seconds = 0;
  std::exception_ptr failure;  // an exception must not leave the task group
  machine::parallel(threads, [&] {
    Timer end;
    machine::gather([&] {
      try {
        f([&](const auto& look) {
          const Timer timer;
          machine::leave(look, [] {});
          seconds += timer.seconds();
        });
      } catch (...) {
        failure = std::current_exception();
      }
      end = Timer();
    });
    seconds += end.seconds();
  });
  if (failure) std::rethrow_exception(failure);
  return seconds;
}

}  // namespace

/// A column being carried.
struct Carrier::Column {
  const io::Column* stored = nullptr;  // nullptr: generated
  index_t bytes = 0;                   // of a row
  int threads = 1;                     // worth using for its rows
  std::vector<dist::sort::KeyInRow> keys;
  bool in_place = false, looks_as_written = false;
  Buffer<std::byte> before, after;
  std::atomic<std::uint64_t> hash_before = 0;
  std::atomic<std::uint64_t> hash_after = 0;
};

Carrier::Carrier(const mpi::Communicator& comm, const CarriedTable& table, mpi::Phases& phases)
    : comm_(comm),
      table_(table),
      phases_(phases),
      mine_(table.map.range(comm.rank())),
      hashes_(table.verify &&
              comm.sum(static_cast<index_t>(table.permutation.size())) == table.map.extent()) {
  if (!table.verify || hashes_) return;
  const mpi::PhaseScope scope(phases_, "verify");
  named_ = dist::sort::named_here(comm, table.map, table.permutation, threads());
}

void Carrier::carry(std::size_t c, std::span<const SortColumn* const> keys, run::Outputs& outputs,
                    std::size_t place) {
  const Problem& problem = table_.problem;
  Column column;
  if (c < problem.carried.size()) column.stored = &problem.carried[c];
  column.bytes =
      column.stored != nullptr ? column.stored->row_bytes() : problem.by.front().form.bytes;
  column.threads = machine::team_for(std::max(mine_.size(), rows_here()) * column.bytes, threads());
  for (const SortColumn* key : keys)
    column.keys.push_back({key->form, key->order, *key_in_row(table_.inputs, problem, *key)});
  column.in_place = table_.may_permute_in_place && rows_here() == mine_.size() &&
                    dist::sort::permuted_in_place(comm_.size(), column.bytes);
  std::swap(column.before, before_);
  std::swap(column.after, after_);
  read(column);
  permute(column);
  if (table_.verify && !hashes_) {
    const mpi::PhaseScope scope(phases_, "verify");
    const bool whole = dist::sort::carried_whole(comm_, table_.map,
                                                 {{column.before.data(), column.bytes},
                                                  {column.after.data(), column.bytes},
                                                  table_.permutation,
                                                  named_},
                                                 {problem.seed, column.threads});
    faults_ += whole ? 0 : 1;
  }
  if (!keys.empty() && column.looks_as_written) {
    const index_t last = std::max<index_t>(0, rows_here() - 1);
    table_.order->expect(column.keys, column.bytes, column.after.data() + last * column.bytes);
  }
  mpi::together(comm_, "write", [&] {
    const mpi::PhaseScope scope(phases_, "write");
    write(column, outputs, place);
  });
  if (hashes_) faults_ += comm_.sum(column.hash_after - column.hash_before) == 0 ? 0 : 1;
  if (column.in_place) return;  // others have two buffers of their size
  std::swap(column.before, before_);
  std::swap(column.after, after_);
}

void Carrier::read(Column& column) {
  mpi::together(comm_, "read", [&] {
    const mpi::PhaseScope scope(phases_, "read");
    const Progress progress("read", static_cast<double>(mine_.size() * column.bytes),
                            Progress::Counts::bytes_read);
    if (column.in_place) column.after = {};
    make_room(column.before, checked_mul(mine_.size(), column.bytes, "a column"));
    if (!column.in_place)
      make_room(column.after, checked_mul(rows_here(), column.bytes, "a column"));
    const auto hash = [this, &column](layout::Range rows, int threads) {
      if (!hashes_) return;
      column.hash_before += dist::sort::hash_of_places(
          {column.before.data() + (rows.begin - mine_.begin) * column.bytes, column.bytes}, rows,
          {table_.problem.seed, threads});
    };
    const std::string file = column.stored != nullptr ? table_.inputs.data->name().file : "";
    std::byte* const to = column.before.data();
    const auto plain = column.stored != nullptr && column.bytes > 0
                           ? io::PlainRows::stored(file, {*column.stored})
                           : std::nullopt;
    double seconds = 0;
    if (plain) {
      seconds = with_looks(hashes_ ? column.threads : 1, [&](const auto& later) {
        layout::Range pending{mine_.begin, mine_.begin};  // and not yet hashed
        const index_t enough = column.threads > 1 ? least_bytes : 1;
        plain->read(mine_, {&to, 1}, std::max<index_t>(1, read_bytes / column.bytes),
                    [&](layout::Range rows) {
                      pending.end = rows.end;
                      if (pending.size() * column.bytes < enough && rows.end < mine_.end) return;
                      later([=] { hash(pending, 1); });
                      pending.begin = pending.end;
                    });
      });
    } else {
      if (column.stored != nullptr)
        io::read_stored(file, *column.stored, mine_, to);
      else
        load(table_.inputs, table_.problem, table_.problem.by.front(), mine_, to);
      const Timer timer;
      hash(mine_, column.threads);
      seconds = timer.seconds();
    }
    set_apart(seconds, "read");
  });
}

/// Another thread verifies the rows while this one writes them, or this one does so before writing.
void Carrier::write(Column& column, run::Outputs& outputs, std::size_t place) {
  const index_t row =
      column.stored != nullptr ? column.bytes / column.stored->info.element_bytes : 1;
  const std::byte* const rows = std::as_const(column.after).data();
  const auto look_at = [this, &column, rows](layout::Range some) {
    const std::byte* const here = rows + some.begin * column.bytes;
    look(column, here, here - (some.begin > 0 ? column.bytes : 0), some);
  };
  const bool on_threads = column.looks_as_written && column.threads > 1;
  const double seconds = with_looks(on_threads ? column.threads : 1, [&](const auto& later) {
    const index_t blocks = ceil_div(rows_here(), rows_at_once(column.bytes)),
                  parts = column.threads - 1;
    for (index_t p = 0; on_threads && p < parts; ++p) {
      later([=, this, &column] {
        for (index_t block = blocks * p / parts; block < blocks * (p + 1) / parts; ++block)
          look_at(rows_at_once(column.bytes, block, rows_here()));
      });
    }
    io::Onlooker onlooker;
    index_t begin = 0;
    if (column.looks_as_written && !on_threads) {
      onlooker = {eight * row, [&](std::span<const std::byte> some) {
                    const layout::Range here{
                        begin, begin + static_cast<index_t>(some.size()) / column.bytes};
                    later([&] { look_at(here); });
                    begin = here.end;
                  }};
    }
    const auto written = static_cast<std::size_t>(rows_here() * column.bytes);
    outputs.write(place, table_.first * row, std::as_const(column.after).span().first(written),
                  onlooker);
  });
  set_apart(seconds, "write");
}

void Carrier::permute(Column& column) {
  const bool looks = hashes_ || !column.keys.empty();
  const bool gathers_here = looks && comm_.size() == 1 && !column.in_place;
  column.looks_as_written = looks && !gathers_here;
  comm_.barrier();
  const Timer timer;
  const double apart = phases_.of("verify");
  {
    const mpi::PhaseScope scope(phases_, "permute");
    if (gathers_here) {
      gather_and_look(column);
    } else if (column.in_place) {
      machine::parallel(column.threads, [&] {
        tessera::sort::permute_in_place({column.before.data(), column.bytes, mine_.size()},
                                        table_.permutation);
      });
      std::swap(column.before, column.after);
    } else {
      if (!gather_) gather_.emplace(comm_, table_.map, table_.permutation, threads());
      (*gather_)({column.before.data(), column.bytes}, column.after.data());
    }
  }
  seconds_ += comm_.max(timer.seconds() - (phases_.of("verify") - apart));
}

/// Gathers and verifies on one rank. Skips rows that are out of range.
void Carrier::gather_and_look(Column& column) {
  const std::span<const std::uint64_t> places = table_.permutation;
  const index_t n = rows_here(), rows = mine_.size(), at_once = rows_at_once(column.bytes);
  std::atomic<index_t> outside = 0, nanoseconds = 0;
  const auto source = [&](index_t row) {
    const auto from = static_cast<index_t>(places[static_cast<std::size_t>(row)]);
    return column.before.data() + (from >= 0 && from < rows ? from * column.bytes : 0);
  };
  if (!column.keys.empty())
    table_.order->expect(column.keys, column.bytes, n > 0 ? source(n - 1) : column.before.data());
  machine::parallel(column.threads, [&] {
    machine::parallel_for(0, ceil_div(n, at_once), 1, [&](index_t block, index_t) {
      const layout::Range some = rows_at_once(column.bytes, block, n);
      const auto from = places.subspan(static_cast<std::size_t>(some.begin),
                                       static_cast<std::size_t>(some.size()));
      const auto behind = places.subspan(static_cast<std::size_t>(some.end));
      std::byte* const to = column.after.data() + some.begin * column.bytes;
      if (!all_inside(from, rows)) {
        ++outside;
        std::fill_n(to, some.size() * column.bytes, std::byte{});
        return;
      }
      tessera::sort::gather_rows(column.before.data(), column.bytes, from, to);
      tessera::sort::will_gather(column.before.data(), column.bytes, behind);
      const Timer timer;
      look(column, to, source(std::max<index_t>(0, some.begin - 1)), some);
      nanoseconds += static_cast<index_t>(timer.seconds() * 1e9);
    });
  });
  faults_ += outside;
  set_apart(static_cast<double>(nanoseconds) * 1e-9 / column.threads, "permute");
}

/// Verifies rows of the result against their predecessor.
void Carrier::look(Column& column, const std::byte* rows, const std::byte* row_before,
                   layout::Range range) {
  if (hashes_) {
    column.hash_after += dist::sort::hash_of_sources(
        {rows, column.bytes},
        table_.permutation.subspan(static_cast<std::size_t>(range.begin),
                                   static_cast<std::size_t>(range.size())),
        {table_.problem.seed, 1});
  }
  if (!column.keys.empty()) table_.order->look_at(rows, row_before, range);
}

void Carrier::set_apart(double seconds, const char* phase) {
  if (!table_.verify) return;
  phases_.add("verify", seconds);
  phases_.add(phase, -seconds);
}

std::optional<index_t> key_in_row(const Inputs& inputs, const Problem& problem,
                                  const SortColumn& key) {
  if (problem.generated()) return 0;
  return key.in_rows(inputs.data->name().file).offset();
}

}  // namespace tessera::inline v1::workloads::sort
