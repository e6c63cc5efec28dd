// Out of core: from file to file in tiles, each read, permuted and written once. A rank takes its share of
// the tiles and needs no other rank.

#include <fmt/format.h>

#include <future>

#include "base/text.hpp"
#include "dist/transpose/axes.hpp"
#include "dist/transpose/blocks.hpp"
#include "kernels/transpose/permute.hpp"
#include "mpi/agreement.hpp"
#include "mpi/watchdog.hpp"
#include "run/memory_plan.hpp"
#include "transpose.hpp"

namespace tessera::apps::transpose {
namespace {

using dist::transpose::Op;
using dist::transpose::Permutation;
using dist::transpose::Tiles;
using Slab = std::vector<layout::Range>;

constexpr index_t tiles_held = 4;  // one that is read, one permuted into another, one that is written
constexpr index_t largest_tile = index_t{512} << 20;  // larger ones have no longer runs worth having

std::vector<int> axes_of(const Request& request) {
  if (request.permutes()) return request.axes;
  return request.shape.op == Op::transpose ? std::vector{1, 0} : std::vector{0, 1};
}

Slab permuted(const Slab& slab, const std::vector<int>& axes) {
  Slab result;
  for (const int axis : axes) result.push_back(slab[static_cast<std::size_t>(axis)]);
  return result;
}

/// The pass over this rank's tiles.
class Pass {
 public:
  Pass(const Point& point, const Tiles& tiles, run::Outputs& outputs)
      : point_(point),
        tiles_(tiles),
        outputs_(outputs),
        axes_(axes_of(point.request)),
        verify_(!point.values.flag("no-verify")) {
    for (std::size_t a = 0; a < axes_.size(); ++a) own_axes_.push_back(static_cast<int>(a));
    mpi::together(point.comm, "allocate", [&] {
      for (Pair* pair : {&in_, &out_})
        for (auto& buffer : *pair) buffer = machine::Buffer<std::byte>(tiles.bytes);
    });
  }

  void run(mpi::Phases& phases) {
    const layout::Range mine = layout::BlockMap(tiles_.total(), point_.comm.size()).range(point_.comm.rank());
    std::future<void> reading = read(mine.begin, mine.end), writing;  // their destructors wait
    for (index_t t = mine.begin; t < mine.end; ++t) {
      const Slab from = tiles_.of(t, point_.request.extents), to = permuted(from, axes_);
      const std::byte* const in = buffer(in_, t).data();
      auto& out = buffer(out_, t);
      wait(reading, "read", phases);
      reading = read(t + 1, mine.end);
      {
        const mpi::PhaseScope scope(phases, "compute");
        const mpi::Computing computing;
        move(from, in, out.data());
      }
      if (verify_) {
        const mpi::PhaseScope scope(phases, "verify");
        before_ += checksum(in, from, own_axes_);
        after_ += checksum(out.data(), to, axes_);
      }
      wait(writing, "write", phases);
      writing = std::async(std::launch::async, [this, to, &out] {
        outputs_.write_slab(0, to, std::as_const(out).span().first(bytes_of(to)));
      });
    }
    wait(writing, "write", phases);
  }

  /// 0 where what was read and what was written hold the same elements at the right places, else 1.
  [[nodiscard]] run::Verdict verdict() const {
    return {"hash", point_.comm.sum(before_) == point_.comm.sum(after_) ? 0.0 : 1.0, 0};
  }
  [[nodiscard]] bool verifies() const { return verify_; }

 private:
  using Pair = std::array<machine::Buffer<std::byte>, 2>;
  static machine::Buffer<std::byte>& buffer(Pair& pair, index_t t) {
    return pair[static_cast<std::size_t>(t % 2)];
  }

  static void wait(std::future<void>& work, const char* phase, mpi::Phases& phases) {
    const mpi::PhaseScope scope(phases, phase);
    if (work.valid()) work.get();
  }

  /// Begins with tile t, unless it is the end, while the one before is permuted and the one before that is
  /// written. Only this reads by HDF5, which allows one thread. Generating wants the cores: it waits its
  /// turn.
  std::future<void> read(index_t t, index_t end) {
    if (t >= end) return {};
    const run::Input* const input = point_.inputs.in.get();
    return std::async(input != nullptr ? std::launch::async : std::launch::deferred, [this, t, input] {
      const Request& request = point_.request;
      const Slab slab = tiles_.of(t, request.extents);
      if (input != nullptr) io::will_read(input->name(), slab);
      load(request, input, 1, request.extents, slab, buffer(in_, t).data());
    });
  }

  [[nodiscard]] std::size_t bytes_of(const Slab& slab) const {
    index_t bytes = point_.request.shape.element_bytes;
    for (const layout::Range& range : slab) bytes *= range.size();
    return static_cast<std::size_t>(bytes);
  }

  void move(const Slab& from, const std::byte* in, std::byte* out) const {
    const auto& request = point_.request;
    const index_t bytes = request.shape.element_bytes;
    if (!request.permutes()) {
      const index_t rows = from[0].size(), cols = from[1].size();
      const bool turns = request.shape.op == Op::transpose;
      move_block(request.method, request.shape.op, {in, rows, cols, cols, bytes},
                 {out, turns ? cols : rows, turns ? rows : cols, turns ? rows : cols, bytes});
      return;
    }
    std::vector<index_t> shape;
    for (const layout::Range& range : from) shape.push_back(range.size());
    tessera::transpose::permute(shape, axes_, bytes, in, out, request.method.tuning);
  }

  [[nodiscard]] std::uint64_t checksum(const std::byte* data, const Slab& slab,
                                       const std::vector<int>& names) const {
    const auto& request = point_.request;
    return dist::transpose::slab_checksum({data, slab, names, request.shape.element_bytes}, request.seed,
                                          request.method.tuning.threads);
  }

  const Point& point_;
  const Tiles& tiles_;
  run::Outputs& outputs_;
  std::vector<int> axes_, own_axes_;
  bool verify_;
  Pair in_, out_;
  std::uint64_t before_ = 0, after_ = 0;
};

}  // namespace

bool can_stream(const run::Values& values, const Request& request) {
  return values.has("out") && request.shape.scale.plain() && !request.shape.in_place;
}

Tiles tiles_of(const Request& request, index_t allowance) {
  return plan_tiles(
      Permutation{request.extents, axes_of(request), request.shape.element_bytes, request.chunk},
      std::min(largest_tile, allowance / tiles_held));
}

bool run_tiles(const Point& point, const Tiles& tiles) {
  const auto& comm = point.comm;
  run::Outputs outputs = open_output(point);
  Pass pass(point, tiles, outputs);
  run::Measured measured;
  measured.phases.resize(1);
  comm.barrier();
  const Timer timer;
  mpi::together(comm, "stream", [&] { pass.run(measured.phases.front()); });
  measured.seconds = {comm.max(timer.seconds())};
  Request done = point.request;
  done.algorithm = "tiles";  // no rank needs another
  describe(done, measured);
  measured.ceiling.clear();  // the file's rate, not the memory's
  if (pass.verifies()) measured.verdict = pass.verdict();
  return outputs.conclude(comm, point.values, point.session, measured, [] {});
}

void print_tiles(const Request& request, const Tiles& tiles) {
  const auto human = [](index_t bytes) { return human_bytes(static_cast<double>(bytes)); };
  fmt::print(
      "plan: out of core, {} {} to {} in {} tiles of {} on {} ranks; reads in runs of {}, writes in runs of "
      "{}, holds {} "
      "a rank\n",
      request.element.type_text(), fmt::join(request.extents, " x "),
      fmt::join(request.result_extents(), " x "), tiles.total(), fmt::join(tiles.tile, " x "),
      request.shape.ranks, human(tiles.read_run), human(tiles.write_run), human(tiles_held * tiles.bytes));
}

}  // namespace tessera::apps::transpose
