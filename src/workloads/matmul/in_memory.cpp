// In-memory product: loads operands strip by strip while their check vectors are computed, times
// the repetitions, verifies by Freivalds' check and writes C.

#include "base/progress.hpp"
#include "workloads/matmul/problem.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "dist/matmul/freivalds.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/transfer.hpp"

namespace tessera::inline v1::workloads::matmul {

using dist::DistributedMatrix;
using dist::matmul::Op;
using run::Values;

namespace kernels = tessera::matmul;

run::Outputs open_output(const Point& point) {
  const Problem& problem = point.problem;
  run::Outputs outputs;
  if (!problem.out.empty()) {
    const std::size_t place =
        outputs.add(io::parse_dataset_name(problem.out, "out"), problem.operands.result,
                    problem.element, problem.operands.names);
    if (point.inputs.a) outputs.store_as(place, {point.inputs.a->name()});
  }
  outputs.open(point.comm, point.values);
  return outputs;
}

namespace {

std::vector<io::Cell> columns_of(const Problem& problem) {
  const auto& q = problem.shape;
  std::vector<io::Cell> columns = {{"kernel", problem.kernels},
                                   {"algorithm", problem.algorithm},
                                   {"type", problem.type},
                                   {"op", problem.ops},
                                   {"m", q.m},
                                   {"n", q.n},
                                   {"k", q.k}};
  if (problem.operands.is_batch()) columns.push_back({"batch", problem.operands.products});
  return columns;
}

/// Returns counts by simulation, without hardware counters.
run::Counted simulated_counts(const Problem& problem) {
  const auto& q = problem.shape;
  if (problem.operands.is_batch()) return run::not_simulated("batches are not traced");
  if (q.op_a != Op::none || q.op_b != Op::none)
    return run::not_simulated("transposed operands are not traced");
  if (is_complex_element(problem.element))
    return run::not_simulated("complex elements are not traced");
  const auto& tuning = problem.method.tuning;
  return run::simulated({.workload = "matmul",
                         .kernel = std::string(problem.method.kernel->name),
                         .element_bytes = static_cast<index_t>(bytes(problem.element)),
                         .m = q.m,
                         .n = q.n,
                         .k = q.k,
                         .tile = tuning.tile,
                         .column_width = tuning.column_width});
}

}  // namespace

void describe(const Problem& problem, run::Measured& measured) {
  const auto& q = problem.shape;
  measured.columns = columns_of(problem);
  if (problem.alpha != Complex<double>{0})  // otherwise nothing is multiplied
    measured.work = q.flops_each * static_cast<double>(q.m) * static_cast<double>(q.n) *
                    static_cast<double>(q.k) * static_cast<double>(problem.operands.products);
  measured.rate_units = "GFLOP/s";
  if (problem.kernels == problem.method.kernel->name)
    measured.ceiling = ceiling_of(problem);  // of all ranks
}

template <class T>
run::Verdict verdict_of(const Problem& problem, const dist::matmul::Freivalds<T>& check) {
  const auto precision = problem.method.tuning.precision;
  const auto outcome = check.outcome(kernels::rounding_error(precision));
  run::Verdict verdict{"freivalds", outcome.ratio, dist::matmul::Freivalds<T>::tolerance};
  if (precision != kernels::Precision::full) verdict.error = outcome.error;
  return verdict;
}

template run::Verdict verdict_of(const Problem&, const dist::matmul::Freivalds<float>&);
template run::Verdict verdict_of(const Problem&, const dist::matmul::Freivalds<double>&);
template run::Verdict verdict_of(const Problem&, const dist::matmul::Freivalds<Complex<float>>&);
template run::Verdict verdict_of(const Problem&, const dist::matmul::Freivalds<Complex<double>>&);

namespace {

/// Operands, result, and the initial C if beta reads it.
template <class T>
struct Matrices {
  DistributedMatrix<T> a, b, c, old_c;
};

/// Allocates in the ranks' private memory or in shared memory. Collective.
template <class T>
Matrices<T> allocate(const mpi::Communicator& comm, const Problem& problem) {
  const dist::matmul::Homes& homes = problem.planned.homes;
  const auto& seen = problem.shape.seen;
  const auto bytes = [](bool shared, const layout::MatrixLayout& home) {
    return shared ? home.rows * home.cols * static_cast<index_t>(sizeof(T)) : 0;
  };
  std::shared_ptr<dist::SharedRoom> room;
  if (seen.any())
    room = std::make_shared<dist::SharedRoom>(
        comm.node(), dist::SharedRoom::bytes_for(
                         {bytes(seen.a, homes.a), bytes(seen.b, homes.b), bytes(seen.c, homes.c)}));
  Matrices<T> all;
  const auto make = [&](const layout::MatrixLayout& home, bool shared) {
    return shared ? DistributedMatrix<T>(comm, home, room) : DistributedMatrix<T>(comm, home);
  };
  const auto make_all = [&] {
    all.a = make(homes.a, seen.a);
    all.b = make(homes.b, seen.b);
    all.c = make(homes.c, seen.c);
    if (problem.shape.reads_c) all.old_c = make(homes.c, false);
  };
  if (seen.all() && !problem.shape.reads_c)
    make_all();  // already allocated
  else
    mpi::together(comm, "allocate", make_all);
  return all;
}

/// A matrix that is loaded while it is streamed: from a file, or with random values in all threads.
template <class T>
class Loading : public dist::matmul::MatrixStrips<T> {
 public:
  struct Source {
    const io::DatasetName* input;
    bool in_chunks;  ///< as stored
    std::uint64_t seed, stream;
    int threads;
  };
  Loading(const mpi::Communicator& comm, const Source& source, DistributedMatrix<T>& matrix,
          mpi::Phases& phases)
      : comm_(comm), source_(source), matrix_(matrix), phases_(phases) {}

  void each(const typename dist::matmul::MatrixStrips<T>::Body& body) const override {
    const index_t count = ceil_div(matrix_.box().rows.size(), strip_rows());
    phases_.add("read", 0);
    const auto load_all = [&] {
      const auto load = [&](int part, int parts) {
        for (index_t s = count * part / parts; s < count * (part + 1) / parts; ++s)
          strip(s * strip_rows(), body, part == 0);
      };
      if (source_.input != nullptr) return load(0, 1);
      machine::parallel_parts(static_cast<int>(std::clamp<index_t>(count, 1, source_.threads)),
                              load);
    };
    const bool generates = source_.input == nullptr;
    const auto bytes = static_cast<double>(matrix_.box().area() * index_t{sizeof(T)});
    const Progress progress(generates ? "generate" : "read", bytes, Progress::Counts::bytes_read);
    if (generates) return load_all();  // which cannot fail
    mpi::together(comm_, "read", load_all);
  }
  void all() const { each({}); }

 private:
  /// Returns the rows of a strip that fits a cache: the second level, or the last one if a read has
  /// a high fixed cost. A single strip for chunked files, so that no chunk is read twice.
  [[nodiscard]] index_t strip_rows() const {
    if (source_.input != nullptr && source_.in_chunks)
      return std::max<index_t>(1, matrix_.box().rows.size());
    const index_t bytes = source_.input == nullptr ? index_t{1} << 19 : index_t{8} << 20;
    const index_t row = matrix_.box().cols.size() * static_cast<index_t>(sizeof(T));
    return std::max<index_t>(1, bytes / std::max<index_t>(1, row));
  }
  /// Loads the strip that begins with row i of the box. The phases are those of one thread.
  void strip(index_t i, const typename dist::matmul::MatrixStrips<T>::Body& body,
             bool timed) const {
    const layout::Box& box = matrix_.box();
    const index_t count = std::min(strip_rows(), box.rows.size() - i);
    const layout::Box rows{{box.rows.begin + i, box.rows.begin + i + count}, box.cols};
    const MatrixView<T> to = matrix_.view().rows_range(i, count);
    std::optional<mpi::PhaseScope> scope;
    if (timed) scope.emplace(phases_, "read");
    read(rows, to);
    scope.reset();
    if (!body) return;
    if (timed) scope.emplace(phases_, "verify");
    body(rows, to);
  }
  void read(const layout::Box& rows, MatrixView<T> to) const {
    if (source_.input != nullptr) return io::read_box<T>(*source_.input, rows, to);
    dist::fill_random<T>(to, rows, matrix_.cols(), source_.seed, source_.stream);
    work_done().bytes_read += rows.area() * index_t{sizeof(T)};
  }

  const mpi::Communicator& comm_;
  Source source_;
  DistributedMatrix<T>& matrix_;
  mpi::Phases& phases_;
};

/// Times the product in the memory of the ranks, or of their GPUs, from which it copies C back.
template <class T>
run::Measured measure_product(const Point& point, const dist::matmul::Product<T>& product,
                              const DistributedMatrix<T>& old_c, mpi::Phases& once) {
  const auto& comm = point.comm;
  const auto& problem = point.problem;
  std::unique_ptr<OnGpus<T>> there;
  if (problem.gpus != nullptr) {
    there = on_gpus(problem, product);
    mpi::together(comm, "to device", [&] {
      const mpi::PhaseScope scope(once, "to device");
      there->put_operands(product.a.view(), product.b.view());
    });
  }
  const auto restore = [&] {
    if (!problem.shape.reads_c) return;
    if (there) there->put_c(old_c.view());
    mpi::copy_block<T>(old_c.view(), product.c.view());
  };
  run::Measured measured = run::measure(comm, point.values, restore, [&](mpi::Phases& phases) {
    if (there)
      there->run(phases);
    else
      multiply(comm, product, problem.method, phases);
  });
  if (there) {
    mpi::together(comm, "from device", [&] {
      const mpi::PhaseScope scope(once, "from device");
      there->get_c(product.c.view());
    });
  }
  return measured;
}

/// The result of one product, with its timings and verdict.
template <class T>
struct Computed {
  Matrices<T> matrices;
  run::Measured measured;
};

/// Loads the operands of a product, multiplies and verifies. Collective.
template <class T>
Computed<T> compute(const Point& point, index_t which) {
  const auto& comm = point.comm;
  const auto& problem = point.problem;
  const auto& operands = problem.operands;
  const auto& q = problem.shape;
  const std::uint64_t seed = problem.seed;
  const int threads = problem.method.threads;
  mpi::Phases once;
  Computed<T> result{allocate<T>(comm, problem), {}};
  auto& [a, b, c, old_c] = result.matrices;
  const auto source = [&](const std::vector<io::DatasetName>& names, bool in_chunks,
                          std::uint64_t stream) {
    return
        typename Loading<T>::Source{Operands::of(names, which), in_chunks, seed, stream, threads};
  };
  const Loading<T> loading_a(comm, source(operands.a, !problem.a_chunk.empty(), 1), a, once),
      loading_b(comm, source(operands.b, !problem.b_chunk.empty(), 2), b, once);
  if (q.reads_c) Loading<T>(comm, source(operands.c, true, 3), old_c, once).all();
  machine::parallel_fill(
      threads, std::span(c.view().data, static_cast<std::size_t>(c.box().area())),
      T(std::numeric_limits<Real<T>>::quiet_NaN()));  // exposes elements that are not written
  if (q.reads_c) mpi::copy_block<T>(old_c.view(), c.view());
  const dist::matmul::Product<T> product{factor<T>(problem.alpha), a, q.op_a, b, q.op_b,
                                         factor<T>(problem.beta),  c};
  std::optional<dist::matmul::Freivalds<T>> check;
  if (problem.verify) {
    check.emplace(comm, product, seed, threads, loading_a, loading_b);
  } else {
    loading_a.all();
    loading_b.all();
  }
  result.measured = measure_product(point, product, old_c, once);
  result.measured.once = once;
  if (problem.verify) {
    const mpi::PhaseScope scope(result.measured.once, "verify");
    result.measured.verdict = verdict_of<T>(problem, *check);
  }
  return result;
}

/// Writes this rank's box of a product. Local.
template <class T>
void write_box(const Problem& problem, const DistributedMatrix<T>& c, index_t which,
               run::Outputs& outputs) {
  const auto& q = problem.shape;
  const layout::Box& box = c.box();
  if (box.empty()) return;
  const std::span<const T> mine(c.view().data, static_cast<std::size_t>(box.area()));
  if (box.cols.size() == q.n)
    return outputs.write(0, (which * q.m + box.rows.begin) * q.n, std::as_bytes(mine));
  std::vector<layout::Range> slab{box.rows, box.cols};  // columns of several ranks: a matrix
  if (problem.operands.is_batch()) slab.insert(slab.begin(), {which, which + 1});
  outputs.write_slab(0, slab, std::as_bytes(mine));
}

/// Adds the timings of another product; the worst verdict remains.
void merge(run::Measured& all, const run::Measured& next) {
  for (std::size_t r = 0; r < all.seconds.size(); ++r) all.seconds[r] += next.seconds[r];
  for (std::size_t r = 0; r < all.kernels.size(); ++r) all.kernels[r] += next.kernels[r];
  const auto add = [](mpi::Phases& to, const mpi::Phases& from) {
    for (const auto& [name, seconds] : from.seconds()) to.add(name, seconds);
  };
  for (std::size_t r = 0; r < all.phases.size(); ++r) add(all.phases[r], next.phases[r]);
  add(all.once, next.once);
  if (all.verdict && !(next.verdict->ratio <= all.verdict->ratio)) all.verdict = next.verdict;
}

/// Computes the products of a batch one after the other, and writes each. Collective.
template <class T>
run::Measured run_batch(const Point& point, run::Outputs& outputs) {
  run::Measured all;
  for (index_t i = 0; i < point.problem.operands.products; ++i) {
    Computed<T> one = compute<T>(point, i);
    if (!outputs.empty())
      mpi::together(point.comm, "write", [&] {
        const mpi::PhaseScope scope(one.measured.once, "write");
        write_box(point.problem, one.matrices.c, i, outputs);
      });
    if (i == 0)
      all = std::move(one.measured);
    else
      merge(all, one.measured);
  }
  return all;
}

template <class T>
bool run_point(const Point& point) {
  const auto& problem = point.problem;
  run::Outputs outputs = open_output(point);
  const bool batch = problem.operands.is_batch();
  Computed<T> one;
  if (batch)
    one.measured = run_batch<T>(point, outputs);
  else
    one = compute<T>(point, 0);
  describe(problem, one.measured);
  one.measured.simulated_counts = [&] { return simulated_counts(problem); };
  return outputs.conclude(point.comm, point.values, point.session, one.measured, [&] {
    if (!batch) write_box(problem, one.matrices.c, 0, outputs);
  });
}

}  // namespace

bool run_in_memory(const Point& point) {
  return dispatch_field(point.problem.element,
                        [&]<class T>(Type<T>) { return run_point<T>(point); });
}

}  // namespace tessera::inline v1::workloads::matmul
