// The out-of-core product: search of tile shapes by estimated time, then the stream of tiles and
// panels with double buffering.

#include "dist/matmul/out_of_core.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <limits>
#include <optional>

#include "base/option_names.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "dist/matmul/forecast_parts.hpp"
#include "dist/matmul/leaf_stack.hpp"
#include "dist/matmul/product_parts.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::Box;
using layout::Range;

// Rates that weigh tiles against each other: the arithmetic of a core and the throughput of a file
// system's cache. A faster device or a slower core needs no larger tiles.
constexpr double flop_rate = 5e10, read_rate = 1e9;  // of a thread and of a rank, per second
constexpr double device_flop_rate = 2e13, bus_rate = 1e10;
constexpr index_t longest_panel = 4096;              // along k; devices use longer ones
constexpr index_t packed_bytes = index_t{64} << 20;  // maximum that the kernels pack of an operand
constexpr index_t edge_unit = 48;                    // rows and columns of whole micro-tiles

double real(index_t x) { return static_cast<double>(x); }

constexpr index_t unit = tessera::matmul::chunk_length<double>;  // of panels, for all types

/// Returns at least one panel of k, each at most `width` wide and within one leaf.
std::vector<Range> panels_of(const Leaves& leaves, index_t width) {
  std::vector<Range> panels;
  for (index_t leaf = 0; leaf < leaves.count(); ++leaf) {
    for (index_t p = leaves.begin(leaf); p < leaves.begin(leaf + 1); p += width)
      panels.push_back({p, std::min(leaves.begin(leaf + 1), p + width)});
  }
  if (panels.empty()) panels.push_back({0, 0});  // k == 0: c = beta * c is still computed
  return panels;
}

/// Returns the bytes that the kernel packs of a panel of each operand; whole tiles pack most.
index_t packing_bytes(const OutOfCoreRequest& request, const OutOfCorePlan& s) {
  const ForecastRequest& q = s.shape;
  if (request.knows_packing) {
    const Local panel{s.m, s.n, s.k, s.maps_a ? q.k : s.k, s.maps_b ? q.n : s.n};
    return kernel_bytes(q, {}, panel, 1);
  }
  const auto packed = [&](index_t rows) {
    return std::min(packed_bytes, (rows + edge_unit) * std::min(s.k, unit) * q.element_bytes);
  };
  return packed(s.m) + packed(s.n);
}

/// Returns the bytes of a rank: tiles of C (one computed, one written), pending sums, panels of the
/// operands that are not mapped, in pairs unless it has a single one; kernels' packing buffers.
index_t rank_bytes(const OutOfCoreRequest& request, const OutOfCorePlan& s) {
  const index_t element = s.shape.element_bytes;
  const Leaves leaves = s.leaves();
  const index_t tiles = ceil_div(s.tiles(), s.shape.ranks);
  const bool one_step = tiles * leaves.count() <= 1 && s.k >= s.shape.k;
  const index_t panels = (s.maps_a ? 0 : s.m * s.k) + (s.maps_b ? 0 : s.k * s.n);
  return (std::min<index_t>(2, tiles) + most_waiting(leaves)) * s.m * s.n * element +
         (one_step ? 1 : 2) * panels * element + packing_bytes(request, s) + request.other_bytes;
}

/// Returns a tile's edge: a multiple of the operand's chunk length, or of micro-tiles if that is
/// less than half as long.
index_t edge(index_t length, index_t parts, index_t chunk) {
  const index_t even = round_up(ceil_div(length, parts), edge_unit);
  const index_t whole = chunk > 1 ? round_up(ceil_div(length, parts), chunk) : even;
  return std::min(length, whole < 2 * even ? whole : even);
}

struct Chunks {
  index_t m = 1, n = 1, k = 1;
};

Chunks chunks_of(const OutOfCoreRequest& request) {
  const auto of = [](const std::vector<index_t>& chunk, bool first) {
    return chunk.size() == 2 ? chunk[first ? 0 : 1] : 1;
  };
  const bool a_turns = turns(request.shape.op_a), b_turns = turns(request.shape.op_b);
  return {of(request.a_chunk, !a_turns), of(request.b_chunk, b_turns),
          std::max(of(request.a_chunk, a_turns), of(request.b_chunk, !b_turns))};
}

/// Returns the seconds of multiplying all tiles.
double multiply_seconds(const OutOfCoreRequest& request, const OutOfCorePlan& s) {
  const ForecastRequest& q = request.shape;
  const double flops = q.flops_each * real(q.m) * real(q.n) * real(q.k);
  if (!request.on_device) return flops / (flop_rate * request.threads);
  const index_t panels = ceil_div(q.k, std::max<index_t>(1, s.k));
  const double moved =
      real(s.tiles()) * (real((s.m + s.n) * q.k) + real(s.m * s.n * (2 * panels - 1)));
  return flops / device_flop_rate + moved * real(q.element_bytes) / bus_rate;
}

/// Returns the seconds of reading by all ranks: from the disk every time; for a GPU, which does not
/// overlap it, rereads are ten times as fast if the file cache can hold the operands.
double reading_seconds(const OutOfCoreRequest& request, const OutOfCorePlan& s) {
  const ForecastRequest& q = request.shape;
  const index_t once = (q.m + q.n) * q.k * q.element_bytes;
  const bool stays = s.maps_a && s.maps_b && s.rank_bytes + once <= request.cache_bytes;
  const double again = real(s.read_bytes - once);
  return (real(once) + (request.on_device && stays ? 0.1 : 1.0) * again) / read_rate;
}

/// Returns the plan with this many rows and columns of tiles.
OutOfCorePlan try_plan(const OutOfCoreRequest& request, index_t rows, index_t cols, index_t k) {
  const ForecastRequest& q = request.shape;
  const Chunks chunks = chunks_of(request);
  OutOfCorePlan s{
      .shape = q, .m = edge(q.m, rows, chunks.m), .n = edge(q.n, cols, chunks.n), .k = k};
  s.maps_a = request.maps_a;
  s.maps_b = request.maps_b;
  s.one_leaf = request.on_device;
  s.rank_bytes = rank_bytes(request, s);
  s.read_bytes = (s.tiles_n() * q.m * q.k + s.tiles_m() * q.k * q.n + (q.reads_c ? q.m * q.n : 0)) *
                 q.element_bytes;
  const double share =
      real(ceil_div(s.tiles(), q.ranks)) / real(s.tiles());  // of the rank with the most tiles
  const double all = multiply_seconds(request, s);
  const double reading = reading_seconds(request, s);
  // The first panels are not overlapped; short ones take more calls and a pass over C each.
  const double start = real((s.m + s.n) * k * q.element_bytes) / read_rate;
  s.seconds =
      share * (request.on_device ? all + reading : std::max(all, reading) + 0.1 * (all + reading)) +
      start;
  s.seconds *= 1 + 0.02 * real(unit) / real(std::max<index_t>(1, k));
  return s;
}

/// Returns the numbers of parts to try for a length: all small ones, then in steps of a quarter.
std::vector<index_t> parts_of(index_t length) {
  std::vector<index_t> all;
  for (index_t p = 1; p == 1 || ceil_div(length, p) > edge_unit / 2;
       p += std::max<index_t>(1, p / 64 * 16))
    all.push_back(p);
  return all;
}

/// The best plan within `bytes`, and the minimal bytes of any plan.
struct Search {
  index_t bytes;
  std::optional<OutOfCorePlan> best = {};
  index_t least = std::numeric_limits<index_t>::max();

  void try_all(const OutOfCoreRequest& request) {
    const ForecastRequest& q = request.shape;
    const index_t longest = request.on_device ? q.k : longest_panel;
    const auto cuts_n = parts_of(q.n);
    for (const index_t rows : parts_of(q.m)) {
      for (const index_t cols : cuts_n) {
        for (index_t k = unit; k == unit || (k / 2 < q.k && k / 2 < longest); k *= 2) {
          const OutOfCorePlan s = try_plan(request, rows, cols, std::min(k, q.k));
          least = std::min(least, s.rank_bytes);
          const index_t two_panels = 2 * (s.m + s.n) * s.k * q.element_bytes;
          if (s.k > longest_panel && s.rank_bytes + two_panels > request.cache_bytes) break;
          if (s.rank_bytes <= bytes && (!best || s.seconds < best->seconds)) best = s;
        }
      }
    }
  }
};

}  // namespace

Box OutOfCorePlan::tile(index_t number) const {
  const index_t row = number / tiles_n(), within = number % tiles_n();
  const index_t col = row % 2 == 0 ? within : tiles_n() - 1 - within;
  return {{row * m, std::min(shape.m, (row + 1) * m)}, {col * n, std::min(shape.n, (col + 1) * n)}};
}

OutOfCorePlan plan_out_of_core(const OutOfCoreRequest& request, index_t bytes) {
  Search search{bytes};
  search.try_all(request);
  if (!search.best) {  // retries without chunk alignment, which rereads chunks
    OutOfCoreRequest free = request;
    free.a_chunk = free.b_chunk = {};
    search.try_all(free);
  }
  require(search.best.has_value(), ExitCode::memory,
          "memory is insufficient for the product out of core: a rank needs at least " +
              human_bytes(real(search.least)) + ", " + human_bytes(real(bytes)) +
              " are allowed or free; " + std::string(option_or("raise --memory", "allow more")));
  return *search.best;
}

namespace {

/// One step: a panel of each operand for a tile of C.
struct PanelStep {
  index_t tile;
  std::size_t panel;
};

/// A step's concurrent reads and writes; the destructor waits for them, also during an exception.
template <class T>
class Begun {
 public:
  Begun(OutOfCoreFiles<T>& files, std::function<void()> step) : files_(files) {
    files.begin(std::move(step));
  }
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;
  ~Begun() {
    if (ended_) return;
    try {
      files_.end();
    } catch (...) {  // the propagating error takes precedence
    }
  }
  void end() {
    ended_ = true;
    files_.end();
  }

 private:
  OutOfCoreFiles<T>& files_;
  bool ended_ = false;
};

template <class T>
class Streaming {
 public:
  Streaming(const OutOfCoreProduct<T>& product, OutOfCoreFiles<T>& files, mpi::Phases& phases)
      : stream_(product.plan),
        share_(product.share),
        factors_(product.factors),
        method_(product.method),
        files_(files),
        phases_(phases),
        leaves_(stream_.leaves()),
        panels_(panels_of(leaves_, stream_.k)),
        sums_(leaves_, stream_.m * stream_.n) {
    const auto tiles = static_cast<std::size_t>(share_.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(2, tiles * panels_.size()); ++i) {
      a_[i] = machine::Buffer<T>(stream_.maps_a ? 0 : stream_.m * stream_.k);
      b_[i] = machine::Buffer<T>(stream_.maps_b ? 0 : stream_.k * stream_.n);
      if (i < tiles) c_[i] = machine::Buffer<T>(stream_.m * stream_.n);
    }
  }

  index_t run(const std::function<bool()>& stops) {
    timed("read", [&] {
      const PanelStep first{share_.begin, 0};
      will_read(first);
      read(first);
      will_read(after(first));
    });
    index_t tile = share_.begin;
    Progress progress("tiles", static_cast<double>(share_.size()));
    for (; tile < share_.end && !stops(); ++tile) {
      progress.update(static_cast<double>(tile - share_.begin));
      sums_.start(c_of(tile));
      MatrixView<T> sum;
      index_t leaf = -1;
      for (std::size_t p = 0; p < panels_.size(); ++p) {
        const bool begins = leaf < 0 || leaves_.begin(leaf + 1) == panels_[p].begin;
        if (begins) sum = sums_.begin(++leaf);
        multiply({tile, p}, sum,
                 !begins     ? T{1}
                 : leaf == 0 ? factors_.beta
                             : T{0},
                 [&] {
                   if (p == 0 && tile > share_.begin)
                     write(tile - 1);  // before its buffer is reused
                   const PanelStep next = after({tile, p});
                   will_read(after(next));  // the device has a step's time for it
                   read(next);
                 });
        if (leaves_.begin(leaf + 1) == panels_[p].end)
          timed("compute", [&] { machine::parallel(method_.threads, [&] { sums_.end(); }); });
      }
    }
    if (tile > share_.begin) timed("write", [&] { write(tile - 1); });
    return tile - share_.begin;
  }

 private:
  using Pair = std::array<machine::Buffer<T>, 2>;

  template <class Body>
  void timed(const char* phase, const Body& body) {
    const mpi::PhaseScope scope(phases_, phase);
    body();
  }

  [[nodiscard]] MatrixView<T> c_of(index_t tile) {
    const Box box = stream_.tile(tile);
    return matrix_view(c_[static_cast<std::size_t>((tile - share_.begin) % 2)].data(),
                       box.rows.size(), box.cols.size());
  }
  [[nodiscard]] std::size_t place(const PanelStep& step) const {
    return (static_cast<std::size_t>(step.tile - share_.begin) * panels_.size() + step.panel) % 2;
  }
  [[nodiscard]] Box a_box(const PanelStep& step) const {
    const Box box{stream_.tile(step.tile).rows, panels_[step.panel]};
    return turns(stream_.shape.op_a) ? transposed(box) : box;
  }
  [[nodiscard]] Box b_box(const PanelStep& step) const {
    const Box box{panels_[step.panel], stream_.tile(step.tile).cols};
    return turns(stream_.shape.op_b) ? transposed(box) : box;
  }
  static MatrixView<T> view(Pair& pair, std::size_t place, const Box& box) {
    return matrix_view(pair[place].data(), box.rows.size(), box.cols.size());
  }

  [[nodiscard]] PanelStep after(const PanelStep& step) const {
    return step.panel + 1 < panels_.size() ? PanelStep{step.tile, step.panel + 1}
                                           : PanelStep{step.tile + 1, 0};
  }
  void will_read(const PanelStep& step) {
    if (step.tile < share_.end) files_.will_read(a_box(step), b_box(step));
  }
  /// Reads the operands of a step; nothing after the last one.
  void read(const PanelStep& step) {
    if (step.tile >= share_.end) return;
    const Box a = a_box(step), b = b_box(step);
    a_panels_[place(step)] =
        files_.read_a(a, stream_.maps_a ? MatrixView<T>{} : view(a_, place(step), a));
    b_panels_[place(step)] =
        files_.read_b(b, stream_.maps_b ? MatrixView<T>{} : view(b_, place(step), b));
    if (step.panel == 0 && factors_.beta != T{0})
      files_.read_c(stream_.tile(step.tile), c_of(step.tile));
  }

  void write(index_t tile) { files_.write(stream_.tile(tile), c_of(tile)); }

  /// Multiplies a step and concurrently runs beside(), which occupies a thread of the team until it
  /// is done: one thread more than there are cores would delay the thread whose core it takes. If
  /// the product has no team, the files have a separate thread.
  template <class Concurrent>
  void multiply(const PanelStep& step, MatrixView<T> sum, T beta, const Concurrent& concurrent) {
    const tessera::matmul::Gemm<T> gemm{factors_.alpha,
                                        a_panels_[place(step)],
                                        stream_.shape.op_a,
                                        b_panels_[place(step)],
                                        stream_.shape.op_b,
                                        beta,
                                        sum};
    std::future<void> of_team;
    Timer waited;
    const auto product = [&](const auto& run) {
      timed("compute", run);
      waited.restart();
    };
    if (method_.threads > 1 && method_.kernel->name == "cache_oblivious") {
      std::packaged_task<void()> other(concurrent);
      of_team = other.get_future();
      compute(gemm, method_, phases_,
              [&] { machine::fork_join(other, [&] { product([&] { chain(gemm); }); }); });
    } else {
      Begun<T> other(files_, std::cref(concurrent));
      product([&] { compute(gemm, method_, phases_, [&] { chain(gemm); }); });
      other.end();
    }
    phases_.add("read", waited.seconds());
    if (of_team.valid()) of_team.get();
  }

  const OutOfCorePlan& stream_;
  Range share_;
  Factors<T> factors_;
  Method method_;
  OutOfCoreFiles<T>& files_;
  mpi::Phases& phases_;
  Leaves leaves_;
  std::vector<Range> panels_;
  LeafStack<T> sums_;
  Pair a_, b_, c_;
  std::array<MatrixView<const T>, 2> a_panels_, b_panels_;
};

}  // namespace

template <class T>
index_t multiply_out_of_core(const OutOfCoreProduct<T>& product, OutOfCoreFiles<T>& files,
                             const std::function<bool()>& stops, mpi::Phases& phases) {
  if (product.share.empty()) return 0;
  return Streaming<T>(product, files, phases).run(stops);
}

#define TESSERA_INSTANTIATE(T)                                                             \
  template index_t multiply_out_of_core<T>(const OutOfCoreProduct<T>&, OutOfCoreFiles<T>&, \
                                           const std::function<bool()>&, mpi::Phases&)
TESSERA_INSTANTIATE(float);
TESSERA_INSTANTIATE(double);
TESSERA_INSTANTIATE(Complex<float>);
TESSERA_INSTANTIATE(Complex<double>);
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::dist::matmul
