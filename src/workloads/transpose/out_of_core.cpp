// Out-of-core transpose: from file to file in tiles, each read, permuted and written once. A rank
// processes its share of the tiles without communication.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/lines.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "dist/transpose/axes.hpp"
#include "dist/transpose/blocks.hpp"
#include "io/async_file.hpp"
#include "kernels/transpose/permute.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "run/file_traffic.hpp"
#include "run/stop.hpp"
#include "workloads/transpose/problem.hpp"

namespace tessera::inline v1::workloads::transpose {
namespace {

using dist::transpose::Method;
using dist::transpose::Op;
using dist::transpose::Permutation;
using dist::transpose::Tiles;
using Slab = std::vector<layout::Range>;

constexpr index_t tiles_held =
    4;  // double buffering: one is read, one permuted into another, one written
constexpr index_t largest_tile = index_t{512}
                                 << 20;  // larger ones have no significantly longer runs
constexpr index_t streamed_tile = index_t{16}
                                  << 20;  // buffers are reused, and runs of squares have 11 KiB
constexpr index_t shortest_streamed_run = 4096;  // a page of a file

/// Returns the number of tiles that a rank holds: a single one is not read ahead.
index_t tiles_at_once(const Tiles& tiles, index_t ranks) {
  return ceil_div(tiles.total(), ranks) > 1 ? tiles_held : tiles_held / 2;
}

std::vector<int> axes_of(const Problem& problem) {
  if (problem.permutes()) return problem.axes;
  return problem.shape.op == Op::transpose ? std::vector{1, 0} : std::vector{0, 1};
}

Slab permuted(const Slab& slab, const std::vector<int>& axes) {
  Slab result;
  for (const int axis : axes) result.push_back(slab[static_cast<std::size_t>(axis)]);
  return result;
}

/// The result of a pass: the tiles, and the checksums of the data read and written.
struct Done {
  std::vector<layout::Range> tiles;
  std::uint64_t before = 0, after = 0;

  [[nodiscard]] std::string text() const {
    std::string words = fmt::format("{:x},{:x}", before, after);
    for (const layout::Range& range : tiles)
      words += fmt::format(",{:x},{:x}", range.begin, range.end);
    return words;
  }
};

Done parse_done(const std::string& text) {
  Done done;
  if (text.empty()) return done;
  std::vector<std::uint64_t> numbers;
  for (const std::string& word : split(text, ','))
    numbers.push_back(std::stoull(word, nullptr, 16));
  done.before = numbers.at(0);
  done.after = numbers.at(1);
  for (std::size_t n = 2; n + 1 < numbers.size(); n += 2)
    done.tiles.push_back({static_cast<index_t>(numbers[n]), static_cast<index_t>(numbers[n + 1])});
  return done;
}

/// Returns the remaining tiles.
std::vector<index_t> without(index_t total, const std::vector<layout::Range>& tiles) {
  std::vector<bool> there(static_cast<std::size_t>(total), false);
  for (const layout::Range& range : tiles)
    for (index_t t = range.begin; t < range.end; ++t) there[static_cast<std::size_t>(t)] = true;
  std::vector<index_t> left;
  for (index_t t = 0; t < total; ++t)
    if (!there[static_cast<std::size_t>(t)]) left.push_back(t);
  return left;
}

/// Returns a text of everything that a tile depends on: the present input, the permutation, the
/// tiling.
std::string problem_text(const Point& point, const Tiles& tiles) {
  const Problem& problem = point.problem;
  std::string input = fmt::format("seed {}", problem.seed);
  if (point.inputs.in) {
    const std::string& file = point.inputs.in->name().file;
    mpi::on_root(point.comm, "read", [&] {
      input = fmt::format("{} of {} bytes, changed at {}",
                          point.values.text("in"),  // including the selected part
                          std::filesystem::file_size(file),
                          std::filesystem::last_write_time(file).time_since_epoch().count());
    });
  }
  return fmt::format("{} {} x {} B, {}, axes {}, tiles {}, {}", input,
                     fmt::join(problem.extents, " x "), problem.shape.element_bytes,
                     problem.as_stored ? "as stored" : problem.element.type_text(),
                     fmt::join(axes_of(problem), ","), fmt::join(tiles.tile, " x "),
                     problem.verify ? "checked" : "unchecked");
}

/// Returns the method with two threads fewer, for the reading and the writing thread: a team as
/// wide as the cores spins while it waits for the member whose core they take (6144 x 6144 f64 from
/// file to file on two cores of Emerald Rapids with a quarter of it as memory, cold, alternating:
/// 1.00 -> 0.70 s).
Method less_io_threads(Method method) {
  method.tuning.threads = std::max(1, method.tuning.threads - 2);
  return method;
}

/// The pass over this rank's tiles.
class TilePass {
 public:
  TilePass(const Point& point, const Tiles& tiles, run::Outputs& outputs)
      : point_(point),
        tiles_(tiles),
        outputs_(outputs),
        method_(less_io_threads(point.problem.method)),
        axes_(axes_of(point.problem)),
        verify_(point.problem.verify) {
    for (std::size_t a = 0; a < axes_.size(); ++a) own_axes_.push_back(static_cast<int>(a));
    mpi::together(point.comm, "allocate", [&] {
      const index_t held = tiles_at_once(tiles, point.comm.size());
      for (Pair* pair : {&in_, &out_})
        for (index_t b = 0; b < held / 2; ++b)
          (*pair)[static_cast<std::size_t>(b)] = machine::Buffer<std::byte>(tiles.bytes);
    });
  }

  /// Processes these tiles, until a stop is requested. Returns the number of finished tiles.
  index_t run(std::span<const index_t> mine, mpi::Phases& phases) {
    io::FileQueue::Ticket writing;
    begin_to_read(mine, 0);
    Progress progress("tiles", static_cast<double>(mine.size()));
    std::size_t t = 0;
    for (; t < mine.size() && !run::stop_requested_here(); ++t) {
      progress.update(static_cast<double>(t));
      const Slab from = tiles_.of(mine[t], point_.problem.extents), to = permuted(from, axes_);
      const std::byte* const in = buffer(in_, t).data();
      auto& out = buffer(out_, t);
      finish_reading(mine, t, phases);
      begin_to_read(mine, t + 1);
      {
        const mpi::PhaseScope scope(phases, "compute");
        const mpi::Computing computing;
        move(from, in, out.data());
      }
      mpi::add_device_phases(phases);
      if (verify_) {
        const mpi::PhaseScope scope(phases, "verify");
        before_ += checksum(in, from, own_axes_);
        after_ += checksum(out.data(), to, axes_);
      }
      finish_writing(writing, phases);
      writing = writes_.ask([this, to, &out] {
        const auto data = std::as_const(out).span().first(bytes_of(to));
        outputs_.write_slab(0, to, data);
        writes_.count_written(ssize(data));
      });
    }
    finish_writing(writing, phases);
    {
      const mpi::PhaseScope scope(phases, "read");
      reads_.cancel();  // the read in flight, if any, is left to a later attempt
    }
    return static_cast<index_t>(t);
  }

  [[nodiscard]] std::uint64_t before() const { return point_.comm.sum(before_); }
  [[nodiscard]] std::uint64_t after() const { return point_.comm.sum(after_); }
  [[nodiscard]] bool verifies() const { return verify_; }
  [[nodiscard]] io::FileTraffic take_traffic() {
    return reads_.take_traffic() + writes_.take_traffic();
  }

 private:
  using Pair = std::array<machine::Buffer<std::byte>, 2>;
  static machine::Buffer<std::byte>& buffer(Pair& pair, std::size_t t) { return pair[t % 2]; }

  void finish_writing(const io::FileQueue::Ticket& writing, mpi::Phases& phases) {
    const mpi::PhaseScope scope(phases, "write");
    writes_.wait(writing);
  }

  /// Starts to read the t-th of them, unless it is past the end, while the previous one is permuted
  /// and the one before that is written. Only this function reads through HDF5, which allows one
  /// thread. Generated tiles need the cores and are not started early.
  void begin_to_read(std::span<const index_t> mine, std::size_t t) {
    if (t >= mine.size() || point_.inputs.in == nullptr) return;
    reading_ = reads_.ask([this, mine, t] {
      read_ahead(*point_.inputs.in, mine, t);
      bring(mine, t);
      reads_.count_read(static_cast<index_t>(bytes_of(tiles_.of(mine[t], point_.problem.extents))));
    });
  }
  void finish_reading(std::span<const index_t> mine, std::size_t t, mpi::Phases& phases) {
    const mpi::PhaseScope scope(phases, "read");
    if (point_.inputs.in == nullptr) return bring(mine, t);
    reads_.wait(reading_);
  }
  void bring(std::span<const index_t> mine, std::size_t t) {
    const Problem& problem = point_.problem;
    const Slab slab = tiles_.of(mine[t], problem.extents);
    load(problem, {point_.inputs.in.get(), 1}, problem.extents, slab, buffer(in_, t).data());
  }

  /// Prefetches the tiles up to the next few after the t-th; adjacent tiles as one slab, whose runs
  /// are longer (1.0 instead of 1.5 s a GB with runs of 22 KiB).
  void read_ahead(const run::Input& input, std::span<const index_t> mine, std::size_t t) {
    const index_t tiles_at_once = tiles_.count.back();
    const auto at_once = static_cast<std::size_t>(std::min(tiles_at_once, tiles_held));
    while (asked_ < mine.size() && asked_ <= t + at_once) {
      const std::size_t end = std::min(mine.size(), asked_ + at_once);
      Slab slab = tiles_.of(mine[asked_], point_.problem.extents);
      while (++asked_ < end && mine[asked_] == mine[asked_ - 1] + 1 &&
             mine[asked_] % tiles_at_once != 0)
        slab.back().end = tiles_.of(mine[asked_], point_.problem.extents).back().end;
      io::will_read(input.name(), slab);
    }
  }

  [[nodiscard]] std::size_t bytes_of(const Slab& slab) const {
    index_t bytes = point_.problem.shape.element_bytes;
    for (const layout::Range& range : slab) bytes *= range.size();
    return static_cast<std::size_t>(bytes);
  }

  void move(const Slab& from, const std::byte* in, std::byte* out) const {
    const auto& problem = point_.problem;
    const index_t bytes = problem.shape.element_bytes;
    if (!problem.permutes()) {
      const index_t rows = from[0].size(), cols = from[1].size();
      const bool turns = problem.shape.op == Op::transpose;
      move_block(method_, problem.shape.op, {in, rows, cols, cols, bytes},
                 {out, turns ? cols : rows, turns ? rows : cols, turns ? rows : cols, bytes});
      return;
    }
    std::vector<index_t> shape;
    for (const layout::Range& range : from) shape.push_back(range.size());
    tessera::transpose::permute(shape, axes_, bytes, in, out, method_.tuning);
  }

  [[nodiscard]] std::uint64_t checksum(const std::byte* data, const Slab& slab,
                                       const std::vector<int>& names) const {
    const auto& problem = point_.problem;
    return dist::transpose::slab_checksum({data, slab, names, problem.shape.element_bytes},
                                          problem.seed, method_.tuning.threads);
  }

  const Point& point_;
  const Tiles& tiles_;
  run::Outputs& outputs_;
  Method method_;
  std::vector<int> axes_, own_axes_;
  bool verify_;
  Pair in_, out_;
  std::size_t asked_ = 0;  ///< of the tiles: read, or in flight
  std::uint64_t before_ = 0, after_ = 0;
  io::FileQueue::Ticket reading_;
  io::FileQueue reads_,
      writes_;  ///< declared last, so that they end before the members that they use
};

}  // namespace

bool may_go_out_of_core(const Problem& problem) {
  return !problem.out.empty() && problem.shape.scale.plain() && !problem.shape.in_place;
}

Tiles tiles_of(const Problem& problem) {
  return plan_tiles(
      Permutation{problem.extents, axes_of(problem), problem.shape.element_bytes, problem.chunk},
      std::min(largest_tile, problem.allowance.net_of_program() / tiles_held));
}

std::optional<Tiles> streamed_tiles_of(const Problem& problem) {
  double bytes = static_cast<double>(problem.shape.element_bytes);
  for (const index_t extent : problem.extents) bytes *= static_cast<double>(extent);
  if (bytes < static_cast<double>(tiles_held * streamed_tile) ||
      problem.allowance.net_of_program() < tiles_held * streamed_tile)
    return std::nullopt;
  Tiles tiles = plan_tiles(
      Permutation{problem.extents, axes_of(problem), problem.shape.element_bytes, problem.chunk},
      streamed_tile);
  bool has_whole_chunks = true;
  for (std::size_t a = 0; a < problem.chunk.size(); ++a)
    has_whole_chunks &=
        tiles.tile[a] == problem.extents[a] || tiles.tile[a] % problem.chunk[a] == 0;
  if (!has_whole_chunks || std::min(tiles.read_run, tiles.write_run) < shortest_streamed_run)
    return std::nullopt;
  return tiles;
}

namespace {

/// Adds the tiles that every rank has finished: `done` tiles of its share of the remaining ones.
/// Collective.
void add_done(const mpi::Communicator& comm, const std::vector<index_t>& left, index_t done,
              Done& all) {
  const layout::BlockMap shares(static_cast<index_t>(left.size()), comm.size());
  const std::vector<index_t> counts = comm.all_gather(done);
  for (int rank = 0; rank < comm.size(); ++rank) {
    const index_t first = shares.range(rank).begin;
    for (index_t t = first; t < first + counts[static_cast<std::size_t>(rank)]; ++t) {
      const index_t tile = left[static_cast<std::size_t>(t)];
      if (!all.tiles.empty() && all.tiles.back().end == tile)
        all.tiles.back().end = tile + 1;
      else
        all.tiles.push_back({tile, tile + 1});
    }
  }
}

}  // namespace

bool run_out_of_core(const Point& point, const Tiles& tiles) {
  const auto& comm = point.comm;
  point.session.plan_memory(held_of(tiles, comm.size()) + point.problem.allowance.program);
  const std::string identity = problem_text(point, tiles);
  run::Outputs outputs = open_output(point, point.values.has("resume") ? identity : "");
  Done all = parse_done(outputs.kept());
  const std::vector<index_t> left = without(tiles.total(), all.tiles);
  if (comm.is_root() && !outputs.kept().empty())
    print_filled("resumed: {} of {} tiles exist", tiles.total() - static_cast<index_t>(left.size()),
                 tiles.total());
  const layout::Range share =
      layout::BlockMap(static_cast<index_t>(left.size()), comm.size()).range(comm.rank());
  const auto mine = std::span(left).subspan(static_cast<std::size_t>(share.begin),
                                            static_cast<std::size_t>(share.size()));
  TilePass pass(point, tiles, outputs);
  index_t done = 0;
  run::Measured measured = run::measure_once(comm, point.values, [&](mpi::Phases& phases) {
    mpi::together(comm, "stream", [&] { done = pass.run(mine, phases); });
  });
  run::note_traffic(comm, pass.take_traffic(), 0, measured);
  all.before += pass.before();
  all.after += pass.after();
  if (comm.sum(done) < static_cast<index_t>(left.size())) {
    add_done(comm, left, done, all);
    outputs.keep(comm, point.values, identity, all.text());
    throw run::Stopped();
  }
  Problem described = point.problem;
  described.algorithm = "out_of_core";
  describe(described, measured);
  measured.work *=
      static_cast<double>(left.size()) / static_cast<double>(std::max<index_t>(1, tiles.total()));
  measured.ceiling.clear();  // bound by the file, not by memory
  // 0 if the data read and written hold the same elements at the right places, otherwise 1.
  if (pass.verifies())
    measured.verdict = run::Verdict{"hash", all.before == all.after ? 0.0 : 1.0, 0};
  return outputs.conclude(comm, point.values, point.session, measured, [] {});
}

index_t held_of(const Tiles& tiles, index_t ranks) {
  return tiles_at_once(tiles, ranks) * tiles.bytes;
}

void print_out_of_core(const Problem& problem, const Tiles& tiles) {
  const index_t program = problem.allowance.program;
  print_filled(
      "plan: out of core, {} {} to {} in {} of {} on {}; reads in runs of {}, writes in runs of "
      "{}, "
      "holds {} a rank{}",
      problem.element.type_text(), fmt::join(problem.extents, " x "),
      fmt::join(problem.result_extents(), " x "), counted(tiles.total(), "tile"),
      fmt::join(tiles.tile, " x "), counted(problem.shape.ranks, "rank"),
      human_bytes(tiles.read_run), human_bytes(tiles.write_run),
      human_bytes(held_of(tiles, problem.shape.ranks) + program), run::of_program_text(program));
}

}  // namespace tessera::inline v1::workloads::transpose
