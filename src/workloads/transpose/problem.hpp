#pragma once
// A point of a transpose with everything looked up, and what the files of the workload share.

#include <memory>
#include <string>
#include <vector>

#include "dist/transpose/tiles.hpp"
#include "dist/transpose/transpose.hpp"
#include "run/ceilings.hpp"
#include "run/gpu_exchange.hpp"
#include "run/inputs.hpp"
#include "run/memory_plan.hpp"
#include "run/options.hpp"
#include "run/outputs.hpp"
#include "workloads/frame/workload.hpp"

namespace tessera::workloads::transpose {

/// The inputs that files hold.
struct Inputs {
  std::unique_ptr<run::Input> in, c;
  std::unique_ptr<run::GpuExchanges> gpus =
      std::make_unique<run::GpuExchanges>();  ///< as they are found out
};

/// One point of the sweep with everything looked up.
struct Problem {
  dist::transpose::ForecastRequest shape;
  dist::transpose::Method method;
  std::string algorithm;
  std::string kernel;
  io::DatasetInfo element;       ///< what is moved
  bool as_stored = false;        ///< in the type of the input's file, unconverted
  std::vector<index_t> extents;  ///< of the input
  std::vector<index_t> chunk;    ///< of the input's file; empty where it is contiguous or generated
  std::vector<int> axes;         ///< a permutation of more than a matrix; else empty
  std::string out;               ///< where the result goes; empty: nowhere
  std::uint64_t seed = 1;
  bool verify = true;
  const mpi::DeviceExchange* gpus = nullptr;  ///< the matrices stay there, and travel so
  run::Allowance allowance;
  std::vector<dist::transpose::Forecast> forecasts;  ///< by rank
  [[nodiscard]] bool permutes() const { return !axes.empty(); }
  [[nodiscard]] std::vector<index_t> result_extents() const;
  [[nodiscard]] double moved_bytes() const;  ///< what is read once, and the result written once
};

/// How fast this rank transposes on its own memory, bytes read and written a second: for shares by
/// speed.
[[nodiscard]] double speed_of(const Problem& problem);

/// Collective: shape and element type from the files where they are given, else from the options.
[[nodiscard]] Problem resolve(const mpi::Communicator& comm, const run::Values& point,
                              const Inputs& inputs);

/// Plans what the ranks will hold, send and take: the forecasts of the problem.
void plan(Problem& problem);
/// What a rank plans to hold, of everything.
[[nodiscard]] run::Held held_by(const Problem& problem, index_t rank);
/// Whether every rank may hold its part.
[[nodiscard]] bool fits(const Problem& problem);
/// The largest memory of any rank if there were so many.
[[nodiscard]] index_t most_memory(const Problem& problem, index_t ranks);
/// What the worst rank will hold, and the slowest take.
[[nodiscard]] Need need_of(const Problem& problem, const run::Ceilings& ceilings);
/// Prints what every rank will hold, send and take, and how long that should last on the measured
/// machine.
void print_plan(const Problem& problem, const run::Ceilings& ceilings);

/// Where an array comes from: a file, or a stream of random numbers.
struct Origin {
  const run::Input* input;  ///< nullptr: generated
  std::uint64_t stream;
};
/// The elements of a slab of an array of those extents, read or generated from the global position;
/// contiguous.
void load(const Problem& problem, const Origin& origin, const std::vector<index_t>& extents,
          const std::vector<layout::Range>& slab, std::byte* to);
/// The type of the elements in files.
[[nodiscard]] io::Handle type_of(const Problem& problem, const run::Input* input);

using Point = PointOf<Problem, Inputs>;

/// Where --out goes, made before anything is computed; with an identity what a stopped run of it
/// left. Collective.
[[nodiscard]] run::Outputs open_output(const Point& point, const std::string& identity = "");

/// A matrix between two layouts, or in place; an array whose axes are permuted. Whether the check
/// passed.
bool run_matrix(const Point& point);
bool run_axes(const Point& point);
/// What was computed, and how it is rated.
void describe(const Problem& problem, run::Measured& measured);

/// Out of core: whether a problem can be, its tiles within so many bytes a rank, and the pass over
/// them.
[[nodiscard]] bool may_go_out_of_core(const Problem& problem);
[[nodiscard]] dist::transpose::Tiles tiles_of(const Problem& problem);
bool run_out_of_core(const Point& point, const dist::transpose::Tiles& tiles);
void print_out_of_core(const Problem& problem, const dist::transpose::Tiles& tiles);
/// Bytes that a rank holds of them.
[[nodiscard]] index_t held_of(const dist::transpose::Tiles& tiles);

}  // namespace tessera::workloads::transpose
