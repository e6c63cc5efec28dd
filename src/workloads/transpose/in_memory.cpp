// In-memory transpose of a matrix, in place or between two, and permutation of more axes, each with
// a checksum by index.

#include "workloads/transpose/problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "dist/transpose/axes.hpp"
#include "dist/transpose/checksum.hpp"
#include "dist/transpose/on_devices.hpp"
#include "kernels/transpose/permute.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::workloads::transpose {
namespace {

using dist::DistributedRecords;
using dist::transpose::Algorithm;
using dist::transpose::matrix_checksum;
using dist::transpose::Op;
using dist::transpose::slab_checksum;
using tessera::transpose::Indices;

constexpr std::byte poison{0xa5};  // exposes elements that are not written

std::vector<io::Cell> columns_of(const Problem& problem) {
  const bool conjugates = problem.shape.scale.conjugate == tessera::transpose::Conjugate::yes;
  std::string op = problem.shape.op != Op::transpose ? "N" : conjugates ? "H" : "T";
  if (problem.permutes()) op = fmt::format("{}", fmt::join(problem.axes, ","));
  return {{"kernel", problem.kernel},
          {"algorithm", problem.algorithm},
          {"type", problem.element.kind == io::DatasetInfo::Kind::other
                       ? fmt::format("{}B", problem.element.element_bytes)
                       : problem.element.type_text()},
          {"op", op},
          {"shape", fmt::format("{}", fmt::join(problem.extents, "x"))}};
}

std::vector<layout::Range> slab_of(const layout::Box& box) { return {box.rows, box.cols}; }

std::span<const std::byte> bytes_of(const DistributedRecords& matrix) {
  return {matrix.view().data, static_cast<std::size_t>(matrix.box().area() * matrix.bytes())};
}

/// Loads this rank's block of a matrix. Local.
DistributedRecords load_matrix(const Point& point, const Origin& origin, index_t rows, index_t cols,
                               mpi::Phases& phases) {
  const mpi::PhaseScope scope(phases, "read");
  DistributedRecords matrix(point.comm, point.problem.shape.home(rows, cols),
                            point.problem.shape.element_bytes);
  load(point.problem, origin, {rows, cols}, slab_of(matrix.box()), matrix.view().data);
  return matrix;
}

/// B = op(A), or alpha * op(A) + beta * B.
struct Matrices {
  DistributedRecords a, b, old_b;
};

/// Reads A and, if beta != 0, the old B; fills B's home with a poison value, in shared memory if
/// the algorithm writes there. Collective.
Matrices make_matrices(const Point& point, mpi::Phases& phases) {
  const auto& comm = point.comm;
  const auto& q = point.problem.shape;
  const auto extents = point.problem.result_extents();
  const auto home = q.home(extents[0], extents[1]);
  const bool shared = point.problem.method.algorithm == Algorithm::shared && comm.size() > 1;
  Matrices all;
  if (shared) all.b = DistributedRecords(comm, home, q.element_bytes, comm.node());
  mpi::together(comm, "read", [&] {
    all.a = load_matrix(point, {point.inputs.in.get(), 1}, q.rows, q.cols, phases);
    if (!shared) all.b = DistributedRecords(comm, home, q.element_bytes);
    if (q.scale.beta != 0)
      all.old_b = load_matrix(point, {point.inputs.c.get(), 2}, extents[0], extents[1], phases);
    machine::parallel_fill(point.problem.method.tuning.threads,
                           std::span(all.b.view().data, bytes_of(all.b).size()), poison);
  });
  return all;
}

/// Returns 0 if the checksums of source and result are equal, otherwise 1.
run::Verdict verdict_of(bool right) { return {"hash", right ? 0.0 : 1.0, 0}; }

bool run_in_place(const Point& point) {
  const auto& comm = point.comm;
  const auto& values = point.values;
  const auto& problem = point.problem;
  const auto& inputs = point.inputs;
  run::Outputs outputs = open_output(point);
  mpi::Phases once;
  DistributedRecords matrix;
  mpi::together(comm, "read", [&] {
    matrix = load_matrix(point, {inputs.in.get(), 1}, problem.shape.rows, problem.shape.cols, once);
  });
  const bool verify = problem.verify;
  const int threads = problem.method.tuning.threads;
  const auto checksum = [&](Indices indices) {
    const mpi::PhaseScope scope(once, "verify");
    return matrix_checksum(comm, matrix, indices, problem.seed, threads);
  };
  const std::uint64_t before = verify ? checksum(Indices::as_stored) : 0;
  bool turned = false;
  const auto turn = [&](mpi::Phases& phases) {
    transpose_in_place(comm, matrix, problem.method, phases);
    turned = !turned;
  };
  const auto turn_back = [&] {
    mpi::Phases untimed;
    if (turned) turn(untimed);
  };
  run::Measured measured = run::measure(comm, values, turn_back, turn);
  describe(problem, measured);
  if (verify) measured.verdict = verdict_of(checksum(Indices::swapped) == before);
  measured.once = once;
  return outputs.conclude(comm, values, point.session, measured, [&] {
    outputs.write(0, matrix.box().rows.begin * matrix.cols(), bytes_of(matrix));
  });
}

/// Returns counts by simulation, without hardware counters.
run::Counted simulated_counts(const Problem& problem) {
  const auto& q = problem.shape;
  if (problem.permutes() || !q.scale.plain())
    return run::not_simulated("only plain transposes are traced");
  const auto& tuning = problem.method.tuning;
  return run::simulated({.workload = "transpose",
                         .kernel = problem.kernel,
                         .element_bytes = q.element_bytes,
                         .m = q.rows,
                         .n = q.cols,
                         .tile = tuning.tile,
                         .column_width = tuning.column_width});
}

}  // namespace

void describe(const Problem& problem, run::Measured& measured) {
  measured.columns = columns_of(problem);
  measured.simulated_counts = [&problem] { return simulated_counts(problem); };
  measured.work = problem.moved_bytes();
  measured.rate_units = "GB/s";
  measured.ceiling = "copy";
}

bool run_matrix(const Point& point) {
  const auto& comm = point.comm;
  const auto& values = point.values;
  const auto& problem = point.problem;
  const auto& q = problem.shape;
  if (q.in_place) return run_in_place(point);
  run::Outputs outputs = open_output(point);
  mpi::Phases once;
  Matrices matrices = make_matrices(point, once);
  const DistributedRecords& a = matrices.a;
  DistributedRecords &b = matrices.b, &old_b = matrices.old_b;
  const auto restore = [&] {
    if (q.scale.beta != 0 && b.box().area() > 0)
      std::memcpy(b.view().data, old_b.view().data, bytes_of(b).size());
  };
  const dist::transpose::Task task{a, q.op, b, q.scale};
  std::optional<dist::transpose::DeviceTranspose> there;
  if (problem.gpus != nullptr) {
    there.emplace(*problem.gpus,
                  dist::transpose::DeviceTask{a.layout(), q.op, b.layout(), a.bytes()},
                  problem.method);
    mpi::together(comm, "to device", [&] {
      const mpi::PhaseScope scope(once, "to device");
      there->put(a.view());
    });
  }
  run::Measured measured = run::measure(comm, values, restore, [&](mpi::Phases& phases) {
    if (there)
      there->run(phases);
    else
      transpose_matrix(comm, task, problem.method, phases);
  });
  if (there) {
    mpi::together(comm, "from device", [&] {
      const mpi::PhaseScope scope(once, "from device");
      there->get(b.view());
    });
    there.reset();
  }
  describe(problem, measured);
  measured.once = once;
  if (problem.verify) {
    const mpi::PhaseScope scope(measured.once, "verify");
    const int threads = problem.method.tuning.threads;
    if (q.scale.plain()) {
      const auto indices = q.op == Op::transpose ? Indices::swapped : Indices::as_stored;
      measured.verdict =
          verdict_of(matrix_checksum(comm, b, indices, problem.seed, threads) ==
                     matrix_checksum(comm, a, Indices::as_stored, problem.seed, threads));
    } else {
      measured.verdict = verdict_of(is_update(comm, task, old_b, problem.seed, threads));
    }
  }
  return outputs.conclude(comm, values, point.session, measured,
                          [&] { outputs.write(0, b.box().rows.begin * b.cols(), bytes_of(b)); });
}

bool run_axes(const Point& point) {
  const auto& comm = point.comm;
  const auto& values = point.values;
  const auto& problem = point.problem;
  const auto& inputs = point.inputs;
  run::Outputs outputs = open_output(point);
  const auto part =
      dist::transpose::axes_part(problem.extents, problem.axes, comm.rank(), comm.size());
  const index_t bytes = problem.shape.element_bytes;
  machine::Buffer<std::byte> from, to;
  mpi::Phases once;
  mpi::together(comm, "read", [&] {
    const mpi::PhaseScope scope(once, "read");
    from = machine::Buffer<std::byte>(part.elements * bytes);
    to = machine::Buffer<std::byte>(part.elements * bytes);
    load(problem, {inputs.in.get(), 1}, problem.extents, part.from, from.data());
    machine::parallel_fill(problem.method.tuning.threads, to.span(), poison);
  });
  run::Measured measured = run::measure(
      comm, values, [] {},
      [&](mpi::Phases& phases) {
        const mpi::PhaseScope scope(phases, "compute");
        tessera::transpose::permute(part.shape, problem.axes, bytes, from.data(), to.data(),
                                    problem.method.tuning);
      });
  describe(problem, measured);
  measured.once = once;
  if (problem.verify) {
    const mpi::PhaseScope scope(measured.once, "verify");
    std::vector<int> own_names;
    std::vector<layout::Range> to_ranges;
    for (const int axis : problem.axes) {
      own_names.push_back(static_cast<int>(own_names.size()));
      to_ranges.push_back(part.from[static_cast<std::size_t>(axis)]);
    }
    const int threads = problem.method.tuning.threads;
    const auto before =
        slab_checksum({from.data(), part.from, own_names, bytes}, problem.seed, threads);
    const auto after =
        slab_checksum({to.data(), to_ranges, problem.axes, bytes}, problem.seed, threads);
    measured.verdict = verdict_of(comm.sum(before) == comm.sum(after));
  }
  return outputs.conclude(comm, values, point.session, measured,
                          [&] { outputs.write(0, part.first_element, to.span()); });
}

}  // namespace tessera::inline v1::workloads::transpose
