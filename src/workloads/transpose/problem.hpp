#pragma once
// A resolved point of a transpose, and the declarations shared by the files of the workload.

#include <memory>
#include <optional>
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

namespace tessera::inline v1::workloads::transpose {

/// Input files.
struct Inputs {
  std::unique_ptr<run::Input> in, c;
  std::unique_ptr<run::GpuExchanges> gpus =
      std::make_unique<run::GpuExchanges>();  ///< cached as they are found
};

/// One resolved point of the sweep over options.
struct Problem {
  dist::transpose::ForecastRequest shape;
  dist::transpose::Method method;
  std::string algorithm;
  std::string kernel;
  io::DatasetInfo element;       ///< type of the elements
  bool as_stored = false;        ///< in the type of the input's file, unconverted
  std::vector<index_t> extents;  ///< of the input
  std::vector<index_t> chunk;    ///< of the input's file; empty if contiguous or generated
  std::vector<int> axes;         ///< a permutation of more axes than a matrix has; otherwise empty
  std::string out;               ///< destination of the result; empty: none
  std::uint64_t seed = 1;
  bool verify = true;
  const mpi::DeviceExchange* gpus = nullptr;  ///< transport of matrices on GPUs, if they stay
  run::Allowance allowance;
  std::vector<dist::transpose::Forecast> forecasts;  ///< by rank
  [[nodiscard]] bool permutes() const { return !axes.empty(); }
  [[nodiscard]] std::vector<index_t> result_extents() const;
  [[nodiscard]] std::vector<int> order() const;  ///< the input's axes in the result's order
  [[nodiscard]] double moved_bytes() const;  ///< the input read once and the result written once
};

using Asked = AskedOf<Problem, Inputs>;

/// Returns the throughput of this rank's transpose, in bytes read and written per second, without
/// communication: for shares by speed.
[[nodiscard]] double speed_of(const Problem& problem);

/// Returns the names of the input's dimensions if --axes uses them, otherwise none. Collective.
[[nodiscard]] std::vector<std::string> names_for_axes(const mpi::Communicator& comm,
                                                      const run::Values& point,
                                                      const Inputs& inputs);
/// The input of a file.
struct FileInput {
  const io::DatasetInfo* info;  ///< nullptr: generated
  std::string name;
  std::vector<std::string> dimensions = {};
};
/// Sets the problem's extents and order of axes. Throws Error(usage, bad_data).
void resolve_extents(const run::Values& point, const FileInput& input, Problem& problem);

/// Resolves a point: shape and element type from the input files, if any, otherwise from the
/// options. Collective.
[[nodiscard]] Problem resolve(const mpi::Communicator& comm, const run::Values& point,
                              const Inputs& inputs);

/// Sets the forecasts of the problem: memory, messages and time of the ranks.
void plan(Problem& problem);
/// Returns the planned memory of a rank, in total.
[[nodiscard]] run::Held held_by(const Problem& problem, index_t rank);
/// Returns whether every rank's part fits its memory.
[[nodiscard]] bool fits(const Problem& problem);
/// Returns the largest memory of any rank for that number of ranks.
[[nodiscard]] index_t most_memory(const Problem& problem, index_t ranks);
/// Returns the memory of the worst rank, and the time of the slowest.
[[nodiscard]] Need need_of(const Problem& problem, const run::Ceilings& ceilings);
/// Returns the work of all ranks besides the transposes, out of core by `tiles` if not null.
[[nodiscard]] Volumes volumes_of(const Asked& asked, const dist::transpose::Tiles* tiles);
/// Prints every rank's memory, messages and traffic, and the predicted time on the measured
/// machine.
void print_plan(const Problem& problem, const run::Ceilings& ceilings);

/// The source of an array: a file, or a stream of random numbers.
struct Origin {
  const run::Input* input;  ///< nullptr: generated
  std::uint64_t stream;
};
/// Loads the elements of a slab of an array of those extents, contiguous: reads them or generates
/// them from the global position.
void load(const Problem& problem, const Origin& origin, const std::vector<index_t>& extents,
          const std::vector<layout::Range>& slab, std::byte* to);
/// Returns the HDF5 type of the elements.
[[nodiscard]] io::Handle type_of(const Problem& problem, const run::Input* input);

using Point = PointOf<Problem, Inputs>;

/// Creates the output before any computation; with an identity resumes from what a stopped run of
/// it left. Collective.
[[nodiscard]] run::Outputs open_output(const Point& point, const std::string& identity = "");

/// Run a relayout or transpose of a matrix, and a permutation of an array's axes. Return whether
/// the check passed. Collective.
bool run_matrix(const Point& point);
bool run_axes(const Point& point);
/// Describes the results and their rate.
void describe(const Problem& problem, run::Measured& measured);

/// Return, for the out-of-core transpose, whether a problem can use it, and its tiles within a
/// rank's memory; run and print it.
[[nodiscard]] bool may_go_out_of_core(const Problem& problem);
[[nodiscard]] dist::transpose::Tiles tiles_of(const Problem& problem);
/// Returns tiles of a few MiB for a transpose from file to file that fits in memory: reading,
/// permuting and writing overlap in reused buffers. Returns none if it is small, if runs in a file
/// would be shorter than a page, or if chunks would be read more than once.
[[nodiscard]] std::optional<dist::transpose::Tiles> streamed_tiles_of(const Problem& problem);
bool run_out_of_core(const Point& point, const dist::transpose::Tiles& tiles);
void print_out_of_core(const Problem& problem, const dist::transpose::Tiles& tiles);
/// Returns the bytes of tiles that one of `ranks` ranks holds.
[[nodiscard]] index_t held_of(const dist::transpose::Tiles& tiles, index_t ranks);

}  // namespace tessera::inline v1::workloads::transpose
