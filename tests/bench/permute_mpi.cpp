// The transposes of a distributed FFT of three axes, f64: a slab along the first axis becomes a
// slab along the second, (0, 1, 2) to (1, 0, 2), by Tessera's plan and by FFTW's MPI transpose of
// rows of n2 elements with a measured plan; and slabs and pencils change axes without a change of
// their order, by Tessera's plan and by MPI_Alltoallw with types of subarrays, the method of
// mpi4py-fft (Dalcin, Mortensen and Keyes 2019). Bytes count one read plus one write for all.

#include <fftw3-mpi.h>
#include <fmt/core.h>

#include <array>

#include "base/random.hpp"
#include "base/table.hpp"
#include "bench/bench.hpp"
#include "bench/options.hpp"
#include "dist/transpose/permute_plan.hpp"
#include "machine/fork_join.hpp"
#include "mpi/runtime.hpp"

namespace tessera::bench {
namespace {

using Extents = std::array<index_t, 3>;

/// The array in even parts along its axes, as many as `parts` has for each.
layout::ArrayGrid in_parts(const Extents& extents, const Extents& parts) {
  layout::ArrayGrid grid;
  for (std::size_t axis = 0; axis < 3; ++axis)
    grid.axes.push_back(layout::in_shares(layout::BlockMap(extents[axis], parts[axis])));
  return grid;
}

struct Share {
  Extents first, size;

  Share(const layout::ArrayGrid& grid, index_t rank) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const layout::Segments mine = layout::segments(grid, axis, rank);
      size[axis] = layout::count(mine);
      first[axis] = mine.empty() ? 0 : mine.front().global.begin;
    }
  }
  [[nodiscard]] index_t elements() const { return size[0] * size[1] * size[2]; }
};

double value_at(const Extents& extents, index_t i, index_t j, index_t k) {
  return random_symmetric<double>(1, 1, (i * extents[1] + j) * extents[2] + k);
}

/// Calls body(position in the share, value) for each element; `swapped`: the share's first two axes
/// are the array's second and first.
template <class Body>
void each_element(const Extents& extents, const Share& share, bool swapped, Body body) {
  index_t at = 0;
  for (index_t i = 0; i < share.size[0]; ++i)
    for (index_t j = 0; j < share.size[1]; ++j)
      for (index_t k = 0; k < share.size[2]; ++k) {
        const index_t x = share.first[0] + i, y = share.first[1] + j, z = share.first[2] + k;
        body(at++, swapped ? value_at(extents, y, x, z) : value_at(extents, x, y, z));
      }
}

/// Throws if a share of the result is wrong.
void check(const Extents& extents, const Share& share, bool swapped, const double* values,
           const char* whose) {
  bool right = true;
  each_element(extents, share, swapped,
               [&](index_t at, double value) { right &= values[at] == value; });
  require(right, ExitCode::verification, fmt::format("{}'s result is wrong", whose));
}

/// MPI_Alltoallw between two grids whose parts differ along two axes, planned once.
class Subarrays {
 public:
  Subarrays(const mpi::Communicator& comm, const layout::ArrayGrid& a, const layout::ArrayGrid& b)
      : comm_(comm.handle()),
        counts_(static_cast<std::size_t>(comm.size()), 0),
        displacements_(counts_.size(), 0) {
    const Share mine_a(a, comm.rank()), mine_b(b, comm.rank());
    for (index_t other = 0; other < comm.size(); ++other) {
      send_.push_back(type(mine_a, Share(b, other), static_cast<std::size_t>(other)));
      receive_.push_back(type(mine_b, Share(a, other), static_cast<std::size_t>(other)));
    }
  }
  ~Subarrays() {
    for (auto* types : {&send_, &receive_})
      for (MPI_Datatype& one : *types)
        if (one != MPI_BYTE) MPI_Type_free(&one);
  }
  Subarrays(const Subarrays&) = delete;
  Subarrays& operator=(const Subarrays&) = delete;

  void execute(const double* a, double* b) {
    MPI_Alltoallw(a, counts_.data(), displacements_.data(), send_.data(), b, counts_.data(),
                  displacements_.data(), receive_.data(), comm_);
  }

 private:
  /// The elements of `whole` that `part` holds, too.
  MPI_Datatype type(const Share& whole, const Share& part, std::size_t other) {
    std::array<int, 3> sizes{}, counts{}, starts{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const index_t begin = std::max(whole.first[axis], part.first[axis]);
      const index_t end =
          std::min(whole.first[axis] + whole.size[axis], part.first[axis] + part.size[axis]);
      if (end <= begin) return MPI_BYTE;  // with a count of 0
      sizes[axis] = static_cast<int>(whole.size[axis]);
      counts[axis] = static_cast<int>(end - begin);
      starts[axis] = static_cast<int>(begin - whole.first[axis]);
    }
    counts_[other] = 1;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(3, sizes.data(), counts.data(), starts.data(), MPI_ORDER_C, MPI_DOUBLE,
                             &made);
    MPI_Type_commit(&made);
    return made;
  }

  MPI_Comm comm_;
  std::vector<int> counts_, displacements_;
  std::vector<MPI_Datatype> send_, receive_;
};

struct Row {
  std::string what;
  Extents extents;
  double ours, peer;
  std::string whose;
};

double rate(const Extents& extents, const Summary& seconds) {
  return 16e-9 * static_cast<double>(extents[0] * extents[1] * extents[2]) / seconds.median;
}

std::vector<double> filled(const Extents& extents, const Share& share) {
  std::vector<double> values(static_cast<std::size_t>(share.elements()));
  each_element(extents, share, false,
               [&](index_t at, double value) { values[static_cast<std::size_t>(at)] = value; });
  return values;
}

/// From a slab to a slab with the first two axes exchanged, as FFTW's MPI transforms do.
Row exchanged(const mpi::Communicator& comm, const Extents& e, double budget) {
  const layout::ArrayGrid a = in_parts(e, {comm.size(), 1, 1});
  const layout::ArrayGrid b = in_parts({e[1], e[0], e[2]}, {comm.size(), 1, 1});
  const Share from(a, comm.rank()), to(b, comm.rank());
  const std::vector<double> in = filled(e, from);
  std::vector<double> out(static_cast<std::size_t>(to.elements()));
  const std::array axes{1, 0, 2};
  dist::transpose::PermutePlan plan(comm, {.a = a, .axes = axes, .b = b, .bytes = 8});
  plan.execute(in.data(), out.data());
  check(e, to, true, out.data(), "tessera");

  const std::ptrdiff_t shape[] = {e[0], e[1]};
  std::ptrdiff_t rows = 0, first = 0, cols = 0, first_col = 0;
  const auto size = fftw_mpi_local_size_many_transposed(2, shape, e[2], FFTW_MPI_DEFAULT_BLOCK,
                                                        FFTW_MPI_DEFAULT_BLOCK, MPI_COMM_WORLD,
                                                        &rows, &first, &cols, &first_col);
  double* const fftw_in = fftw_alloc_real(static_cast<std::size_t>(size));
  double* const fftw_out = fftw_alloc_real(static_cast<std::size_t>(size));
  const fftw_plan fftw =
      fftw_mpi_plan_many_transpose(e[0], e[1], e[2], FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK,
                                   fftw_in, fftw_out, MPI_COMM_WORLD, FFTW_MEASURE);
  for (std::ptrdiff_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < e[1] * e[2]; ++j)
      fftw_in[i * e[1] * e[2] + j] = value_at(e, first + i, j / e[2], j % e[2]);
  const auto seconds = interleaved(
      {{"tessera", [&] { plan.execute(in.data(), out.data()); }, [&] { comm.barrier(); }},
       {"FFTW", [&] { fftw_execute(fftw); }, [&] { comm.barrier(); }}},
      21, budget, [&](double mine) { return comm.max(mine); });
  bool right = true;
  for (std::ptrdiff_t j = 0; j < cols; ++j)
    for (index_t i = 0; i < e[0]; ++i)
      right &= fftw_out[(j * e[0] + i) * e[2]] == value_at(e, i, first_col + j, 0);
  require(right, ExitCode::verification, "FFTW's result is wrong");
  fftw_destroy_plan(fftw);
  fftw_free(fftw_in);
  fftw_free(fftw_out);
  return {"slab, axes exchanged", e, rate(e, seconds[0]), rate(e, seconds[1]), "FFTW-MPI"};
}

/// From parts to other parts of the same array.
Row redistributed(const mpi::Communicator& comm, const char* what, const Extents& e,
                  const Extents& parts_a, const Extents& parts_b, double budget) {
  const layout::ArrayGrid a = in_parts(e, parts_a), b = in_parts(e, parts_b);
  const Share from(a, comm.rank()), to(b, comm.rank());
  const std::vector<double> in = filled(e, from);
  std::vector<double> out(static_cast<std::size_t>(to.elements())), theirs(out.size());
  const std::array axes{0, 1, 2};
  dist::transpose::PermutePlan plan(comm, {.a = a, .axes = axes, .b = b, .bytes = 8});
  Subarrays subarrays(comm, a, b);
  const auto seconds = interleaved(
      {{"tessera", [&] { plan.execute(in.data(), out.data()); }, [&] { comm.barrier(); }},
       {"Alltoallw", [&] { subarrays.execute(in.data(), theirs.data()); },
        [&] { comm.barrier(); }}},
      21, budget, [&](double mine) { return comm.max(mine); });
  check(e, to, false, out.data(), "tessera");
  check(e, to, false, theirs.data(), "MPI_Alltoallw");
  return {what, e, rate(e, seconds[0]), rate(e, seconds[1]), "Alltoallw"};
}

ExitCode run(const mpi::Communicator& comm, int argc, char** argv) {
  bool quick = false;
  CLI::App app("ours against FFTW's transpose and MPI_Alltoallw, arrays of three axes");
  app.add_flag("--quick", quick, "less time a row, one shape");
  if (const auto code = leave_after(app, argc, argv, comm.is_root() ? Rank::root : Rank::other))
    return *code;
  machine::set_default_threads(1);
  fftw_mpi_init();
  const double budget = quick ? 2 : 6;
  std::vector<Extents> shapes{{256, 256, 256}, {512, 128, 96}, {100, 1000, 50}, {512, 512, 2}};
  if (quick) shapes.resize(2);
  const layout::ProcessGrid grid = layout::nearest_square(comm.size(), comm.size(), comm.size());
  const index_t p = grid.rows, q = grid.cols;
  Table table({"from, to", "shape", "ranks", "tessera", "peer", "", "ratio"});
  for (const Extents& e : shapes) {
    for (const Row& row :
         {exchanged(comm, e, budget),
          redistributed(comm, "slab 0, slab 1", e, {p * q, 1, 1}, {1, p * q, 1}, budget),
          redistributed(comm, "pencil 2, pencil 1", e, {p, q, 1}, {p, 1, q}, budget),
          redistributed(comm, "pencil 1, pencil 0", e, {p, 1, q}, {1, p, q}, budget)}) {
      table.add({row.what, fmt::format("{} x {} x {}", e[0], e[1], e[2]),
                 std::to_string(comm.size()), fmt::format("{:.2f}", row.ours),
                 fmt::format("{:.2f}", row.peer), row.whose,
                 fmt::format("{:.2f}", row.ours / row.peer)});
    }
  }
  if (comm.is_root())
    fmt::print("Axes between ranks, f64, medians in GB/s, one thread a rank\n{}", table.text());
  return ExitCode::ok;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::mpi::run_main(&argc, &argv, [&](const tessera::mpi::Communicator& comm) {
    return tessera::bench::run(comm, argc, argv);
  });
}
