// Out-of-core product: C in tiles, from panels of A and B that are read on demand. A rank computes
// its share of the tiles without communication.

#include <fmt/core.h>

#include "base/lines.hpp"
#include "base/text.hpp"
#include "dist/matmul/freivalds.hpp"
#include "dist/matmul/out_of_core.hpp"
#include "io/async_file.hpp"
#include "io/mapped.hpp"
#include "machine/isa.hpp"
#include "mpi/agreement.hpp"
#include "run/file_traffic.hpp"
#include "run/stop.hpp"
#include "workloads/matmul/problem.hpp"

namespace tessera::inline v1::workloads::matmul {
namespace {

using dist::matmul::OutOfCorePlan;
using dist::matmul::plan_out_of_core;
using dist::matmul::stored;
using layout::Box;

constexpr index_t longest_strip = index_t{32}
                                  << 20;  // bytes of one read of a matrix that is checked

/// A stored operand: from a file, or generated.
struct Source {
  const io::DatasetName* input;
  std::uint64_t seed, stream;
  Extents extents;
  std::unique_ptr<io::MappedMatrix> mapped = {};

  template <class T>
  void read(const Box& box, MatrixView<T> to) const {
    if (box.empty()) return;
    if (input == nullptr) return dist::fill_random<T>(to, box, extents.cols, seed, stream);
    io::read_box<T>(*input, box, to);
  }
  /// Returns the bytes of a box in a file.
  template <class T>
  [[nodiscard]] index_t file_bytes(const Box& box) const {
    return input == nullptr ? 0 : box.area() * index_t{sizeof(T)};
  }
  void will_read(const Box& box) const {
    if (box.empty() || input == nullptr) return;
    if (mapped) return mapped->will_bring(box);
    const layout::Range slab[] = {box.rows, box.cols};
    io::will_read(*input, slab);
  }
  /// Returns the box, read into `room` or as a view of the mapping.
  template <class T>
  MatrixView<const T> read_or_bring(const Box& box, MatrixView<T> room) const {
    if (!mapped) {
      read<T>(box, room);
      return room;
    }
    mapped->bring(box);
    return mapped->view<T>(box);
  }
};

struct Sources {
  Source a, b, c;
};

Sources sources_of(const Point& point, const OutOfCorePlan& stream) {
  const auto& q = point.problem.shape;
  const std::uint64_t seed = point.problem.seed;
  const auto& operands = point.problem.operands;
  const auto mapped = [&](const io::DatasetName* input, bool maps) {
    if (!maps) return std::unique_ptr<io::MappedMatrix>();
    auto matrix = io::MappedMatrix::open(*input, point.problem.element);
    require(matrix != nullptr, ExitCode::io,
            input->text() + " cannot be mapped into memory as planned");
    return matrix;
  };
  const auto *const a = Operands::of(operands.a, 0), *const b = Operands::of(operands.b, 0);
  return {{a, seed, 1, stored(q.op_a, q.m, q.k), mapped(a, stream.maps_a)},
          {b, seed, 2, stored(q.op_b, q.k, q.n), mapped(b, stream.maps_b)},
          {Operands::of(operands.c, 0), seed, 3, {q.m, q.n}}};
}

/// Returns whether all ranks can map an operand. Collective.
bool can_map(const mpi::Communicator& comm, const io::DatasetName* input, Element element) {
  bool here = false;
  mpi::together(comm, "plan", [&] {
    here = input != nullptr && io::MappedMatrix::open(*input, element) != nullptr;
  });
  return comm.max(index_t{here ? 0 : 1}) == 0;
}

template <class T>
std::span<const std::byte> bytes_of(MatrixView<const T> x) {
  return std::as_bytes(std::span(x.data, static_cast<std::size_t>(x.rows * x.cols)));
}

/// Returns a box of C as a slab of the result, in which the column of a vector is a dimension.
std::vector<layout::Range> result_slab(const Box& box, const Problem& problem) {
  if (problem.operands.result.size() == 1) return {box.rows};
  return {box.rows, box.cols};
}

template <class T>
class Files : public dist::matmul::OutOfCoreFiles<T> {
 public:
  Files(const Sources& sources, const Problem& problem, run::Outputs& outputs)
      : sources_(sources), problem_(problem), outputs_(outputs) {}
  void will_read(const Box& a, const Box& b) override {
    sources_.a.will_read(a);
    sources_.b.will_read(b);
  }
  MatrixView<const T> read_a(const Box& box, MatrixView<T> room) override {
    queue_.count_read(sources_.a.template file_bytes<T>(box));
    return sources_.a.read_or_bring(box, room);
  }
  MatrixView<const T> read_b(const Box& box, MatrixView<T> room) override {
    queue_.count_read(sources_.b.template file_bytes<T>(box));
    return sources_.b.read_or_bring(box, room);
  }
  void read_c(const Box& box, MatrixView<T> to) override {
    queue_.count_read(sources_.c.template file_bytes<T>(box));
    sources_.c.read(box, to);
  }
  void write(const Box& box, MatrixView<const T> c) override {
    outputs_.write_slab(0, result_slab(box, problem_), bytes_of(c));
    queue_.count_written(ssize(bytes_of(c)));
  }
  void begin(std::function<void()> step) override { begun_ = queue_.ask(std::move(step)); }
  void end() override { queue_.wait(begun_); }

  /// Returns the file traffic of a pass with these phases: a thread of the team may have executed
  /// the queue's work, and the first step overlaps with nothing.
  [[nodiscard]] io::FileTraffic traffic(const mpi::Phases& phases) {
    io::FileTraffic all = queue_.take_traffic();
    all.waited = phases.of("read") + phases.of("write");
    return all;
  }

 private:
  const Sources& sources_;
  const Problem& problem_;
  run::Outputs& outputs_;
  io::FileQueue::Ticket begun_;
  io::FileQueue queue_;
};

/// Strips of rows of some boxes, with double buffering: the next one is read while the current one
/// is processed.
template <class T>
class Strips : public dist::matmul::MatrixStrips<T> {
 public:
  /// Returns the bytes read from a file.
  using Read = std::function<index_t(const Box&, MatrixView<T>)>;
  Strips(const std::vector<Box>& boxes, index_t most_bytes, io::FileTraffic& traffic, Read read)
      : traffic_(traffic), read_(std::move(read)) {
    for (const Box& box : boxes) {
      const index_t row = std::max<index_t>(1, box.cols.size() * index_t{sizeof(T)});
      const index_t rows = std::max<index_t>(1, most_bytes / row);
      for (index_t i = box.rows.begin; i < box.rows.end; i += rows)
        strips_.push_back({{i, std::min(box.rows.end, i + rows)}, box.cols});
    }
  }

  void each(const typename dist::matmul::MatrixStrips<T>::Body& body) const override {
    index_t most = 0;
    for (const Box& strip : strips_) most = std::max(most, strip.area());
    machine::Buffer<T> places[2] = {machine::Buffer<T>(most), machine::Buffer<T>(most)};
    const auto view = [&](std::size_t s) {
      return matrix_view(places[s % 2].data(), strips_[s].rows.size(), strips_[s].cols.size());
    };
    io::FileQueue reads;  // ends before its buffers are freed
    const auto begin = [&](std::size_t s) -> io::FileQueue::Ticket {
      if (s >= strips_.size()) return {};
      return reads.ask([&, s] { reads.count_read(read_(strips_[s], view(s))); });
    };
    io::FileQueue::Ticket reading = begin(0);
    for (std::size_t s = 0; s < strips_.size(); ++s) {
      reads.wait(reading);
      reading = begin(s + 1);
      body(strips_[s], view(s));
    }
    traffic_ += reads.take_traffic();
  }

 private:
  io::FileTraffic& traffic_;
  Read read_;
  std::vector<Box> strips_;
};

/// Returns the tiles of this rank.
layout::Range share_of(const Point& point, const OutOfCorePlan& stream) {
  return layout::BlockMap(stream.tiles(), point.comm.size()).range(point.comm.rank());
}

/// Returns the product to check: A and B read once more, and C from its file.
template <class T>
dist::matmul::PassingProduct<T> passing(const Point& point, const OutOfCorePlan& stream,
                                        const Sources& sources, const run::Outputs& outputs,
                                        io::FileTraffic& traffic) {
  const auto& q = point.problem.shape;
  const layout::Range share = share_of(point, stream);
  const index_t most = std::min(longest_strip, stream.rank_bytes / 8);
  const auto of = [&](const Source& source) {
    const auto rows =
        layout::BlockMap(source.extents.rows, point.comm.size()).range(point.comm.rank());
    return std::make_shared<Strips<T>>(std::vector{Box{rows, {0, source.extents.cols}}}, most,
                                       traffic, [&source](const Box& box, MatrixView<T> to) {
                                         source.read<T>(box, to);
                                         return source.file_bytes<T>(box);
                                       });
  };
  std::vector<Box> tiles;
  for (index_t t = share.begin; t < share.end; ++t) tiles.push_back(stream.tile(t));
  const auto read_c = [&](const Box& box, MatrixView<T> to) {
    const std::span<T> room(to.data, static_cast<std::size_t>(to.rows * to.cols));
    outputs.read_slab(0, result_slab(box, point.problem), std::as_writable_bytes(room));
    return ssize(std::as_bytes(room));
  };
  const auto written = std::make_shared<Strips<T>>(tiles, most, traffic, read_c);
  return {q.m,    q.n,           q.k,    factor<T>(point.problem.alpha), of(sources.a),
          q.op_a, of(sources.b), q.op_b, factor<T>(point.problem.beta),  of(sources.c),
          written};
}

template <class T>
bool run(const Point& point, const OutOfCorePlan& stream) {
  const auto& comm = point.comm;
  const auto& problem = point.problem;
  point.session.plan_memory(stream.rank_bytes + problem.allowance.program);
  run::Outputs outputs = open_output(point);
  Sources sources;
  mpi::together(comm, "open input", [&] { sources = sources_of(point, stream); });
  io::FileTraffic of_check;
  std::optional<dist::matmul::Freivalds<T>> check;
  if (problem.verify)
    check.emplace(comm, passing<T>(point, stream, sources, outputs, of_check), problem.seed,
                  problem.method.threads);
  Files<T> files(sources, problem, outputs);
  index_t done = 0;
  run::Measured measured = run::measure_once(comm, point.values, [&](mpi::Phases& phases) {
    mpi::together(comm, "stream", [&] {
      done =
          multiply_out_of_core<T>({.plan = stream,
                                   .share = share_of(point, stream),
                                   .factors = {factor<T>(problem.alpha), factor<T>(problem.beta)},
                                   .method = problem.method},
                                  files, run::stop_requested_here, phases);
    });
  });
  if (comm.sum(done) < stream.tiles()) throw run::Stopped();
  Problem described = problem;
  described.algorithm = "out_of_core";
  describe(described, measured);
  if (check) {
    const mpi::PhaseScope scope(measured.once, "verify");
    measured.verdict = verdict_of<T>(problem, *check);
  }
  run::note_traffic(comm, files.traffic(measured.phases.front()), 0, measured);
  run::note_traffic(comm, of_check, -1, measured);
  return outputs.conclude(comm, point.values, point.session, measured, [] {});
}

/// Returns the bytes of the check's vectors, of both sides and their bounds.
index_t check_bytes(const Problem& problem) {
  const auto& q = problem.shape;
  const index_t lines = is_complex_element(problem.element) ? 4 : 2;
  return lines * index_t{sizeof(double)} * (2 * q.n + 12 * q.m + 4 * q.k);
}

}  // namespace

bool may_go_out_of_core(const Problem& problem) {
  return !problem.out.empty() && problem.gpus == nullptr && !problem.operands.is_batch() &&
         !problem.operands.result.empty();
}

std::optional<OutOfCorePlan> out_of_core_if_needed(const mpi::Communicator& comm,
                                                   const run::Values& values,
                                                   const Problem& problem) {
  const std::string& wanted = values.text("out-of-core");
  if (wanted == "never" || (wanted == "auto" && !may_go_out_of_core(problem))) return std::nullopt;
  mpi::alike("plan", [&] {
    require(!problem.operands.is_batch() && !problem.operands.result.empty(), ExitCode::usage,
            "--out-of-core always conflicts with batches and products of two vectors, which are "
            "computed in memory; drop it");
    require(may_go_out_of_core(problem), ExitCode::usage,
            "--out-of-core always requires --out and conflicts with matrices that stay on GPUs; "
            "try --gpu-exchange host");
  });
  if (wanted == "auto" && problem.fits) return std::nullopt;
  const index_t allowance = problem.allowance.net_of_program();
  std::optional<OutOfCorePlan> stream;
  // The kernel keeps a mapped file resident until memory is short, whereas --memory limits the
  // resident memory: so mapping is used only without --memory.
  const bool maps = problem.allowance.limit == 0;
  const auto& operands = problem.operands;
  const bool maps_a = maps && can_map(comm, Operands::of(operands.a, 0), problem.element),
             maps_b = maps && can_map(comm, Operands::of(operands.b, 0), problem.element);
  const auto& kernel = *problem.method.kernel;
  // one plan for all ranks, whatever their processors
  mpi::Agreement ranks(comm, "plan");
  const auto isa = static_cast<index_t>(machine::isa());
  const std::size_t most_isa = ranks.largest(isa), least_isa = ranks.largest(-isa),
                    host = ranks.largest(kernel.space == Space::device ? 0 : 1),
                    packs = ranks.largest(kernel.name == "cache_oblivious" ? 0 : 1);
  ranks.settle();
  const bool on_device = ranks.value(host) == 0;
  const bool knows_packing =
      ranks.value(packs) == 0 && ranks.value(most_isa) == ranks.least(least_isa);
  mpi::together(comm, "plan", [&] {
    stream = plan_out_of_core(
        {problem.shape, problem.a_chunk, problem.b_chunk, problem.method.threads, knows_packing,
         check_bytes(problem), maps_a, maps_b, on_device, problem.allowance.free},
        allowance);
  });
  return stream;
}

bool run_out_of_core(const Point& point, const OutOfCorePlan& stream) {
  return dispatch_field(point.problem.element,
                        [&]<class T>(Type<T>) { return run<T>(point, stream); });
}

void print_out_of_core(const Problem& problem, const OutOfCorePlan& stream) {
  const index_t program = problem.allowance.program;
  const auto& q = problem.shape;
  print_filled(
      "plan: out of core, {} {} x {} x {} on {} x {}, kernel {}: {} of {} x {}, panels of {} along "
      "k; "
      "reads {} (A {}, B {}){}, writes {}, holds {} a rank{}",
      name(problem.element), q.m, q.n, q.k, counted(q.ranks, "rank"),
      counted(problem.method.threads, "thread"), problem.method.kernel->name,
      counted(stream.tiles(), "tile"), stream.m, stream.n, stream.k, human_bytes(stream.read_bytes),
      counted(stream.tiles_n(), "time"), counted(stream.tiles_m(), "time"),
      stream.maps_a || stream.maps_b ? " through the page cache" : "",
      human_bytes(q.m * q.n * q.element_bytes), human_bytes(stream.rank_bytes + program),
      run::of_program_text(program));
}

}  // namespace tessera::inline v1::workloads::matmul
