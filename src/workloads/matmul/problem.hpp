#pragma once
// A resolved point of a product, and the declarations shared by the files of the workload.

#include <memory>
#include <optional>

#include "base/element.hpp"
#include "dist/matmul/freivalds.hpp"
#include "dist/matmul/multiply.hpp"
#include "dist/matmul/out_of_core.hpp"
#include "mpi/communicator.hpp"
#include "run/ceilings.hpp"
#include "run/gpu_exchange.hpp"
#include "run/inputs.hpp"
#include "run/memory_plan.hpp"
#include "run/options.hpp"
#include "run/outputs.hpp"
#include "run/session.hpp"
#include "workloads/frame/workload.hpp"

namespace tessera::inline v1::workloads::matmul {

/// The operands of the products of a point as numpy's `@` sees them: vectors are columns, a vector
/// from the left multiplies the transposed matrix, 3-D operands are batches of matrices.
struct Operands {
  std::vector<io::DatasetName> a, b, c;  ///< per product, or one for all; empty: generated
  index_t products = 1;
  std::vector<index_t> result;     ///< extents of the result
  std::vector<std::string> names;  ///< of its dimensions
  [[nodiscard]] bool is_batch() const { return !names.empty() && names.front() == "batch"; }
  /// Returns the operand of a product; nullptr if it is generated.
  [[nodiscard]] static const io::DatasetName* of(const std::vector<io::DatasetName>& names,
                                                 index_t product) {
    if (names.empty()) return nullptr;
    return names.size() == 1 ? &names.front() : &names[static_cast<std::size_t>(product)];
  }
};

/// One resolved point of the sweep over options.
struct Problem {
  dist::matmul::ForecastRequest shape;
  Operands operands;
  Element element = Element::f64;
  Complex<double> alpha = 1;
  Complex<double> beta = 0;
  dist::matmul::Method method;
  std::string algorithm;
  std::string type;  ///< of the results: the element's, or the precision of the tensor cores
  std::string ops;   ///< as requested: "NT"
  std::string out;   ///< destination of C; empty: none
  std::uint64_t seed = 1;
  bool verify = true;
  std::vector<index_t> a_chunk, b_chunk;      ///< as stored; empty if contiguous
  const mpi::DeviceExchange* gpus = nullptr;  ///< transport of matrices on GPUs, if they stay
  std::string kernels;  ///< of all ranks: "cuda_tensor+cache_oblivious" if they differ
  dist::matmul::ProductPlan planned;
  run::Allowance allowance;
  bool fits = false;  ///< every rank's part fits its memory, the same on all ranks
};

/// Input files, and the results of their first inspection.
struct Inputs {
  std::unique_ptr<run::Input> a, b, c;
  std::unique_ptr<run::GpuExchanges> gpus =
      std::make_unique<run::GpuExchanges>();  ///< cached as they are found
};

using dist::matmul::Extents;

/// Parses ROWSxCOLS; 0 x 0 for an empty text. Throws Error(usage).
[[nodiscard]] layout::ProcessGrid parse_grid(const std::string& text);

/// Resolves operands, shape and element type from the input files, if any, otherwise from the
/// options. Collective.
void resolve_data(const mpi::Communicator& comm, const run::Values& point, const Inputs& inputs,
                  Problem& problem);

/// Resolves a point. Collective.
[[nodiscard]] Problem resolve(const mpi::Communicator& comm, const run::Values& point,
                              const Inputs& inputs);

/// Returns alpha or beta as an element.
template <class T>
[[nodiscard]] T factor(Complex<double> x) {
  if constexpr (is_complex<T>) {
    return {static_cast<Real<T>>(x.re), static_cast<Real<T>>(x.im)};
  } else {
    return static_cast<T>(x.re);
  }
}

/// Sets the columns, work and ceiling of a measurement.
void describe(const Problem& problem, run::Measured& measured);
/// Returns the verdict, which includes the error of operands rounded to fewer bits. Collective.
template <class T>
[[nodiscard]] run::Verdict verdict_of(const Problem& problem,
                                      const dist::matmul::Freivalds<T>& check);

using Point = PointOf<Problem, Inputs>;

/// Creates the file of C, if any. Collective.
[[nodiscard]] run::Outputs open_output(const Point& point);

/// Runs a point in memory. Returns whether the result is right. Collective.
[[nodiscard]] bool run_in_memory(const Point& point);

/// Returns whether the problem can be computed out of core: the result has a file, written tile by
/// tile.
[[nodiscard]] bool may_go_out_of_core(const Problem& problem);
/// Returns the plan of an out-of-core product if it is requested, or if the product is larger than
/// the ranks' memory. Collective.
[[nodiscard]] std::optional<dist::matmul::OutOfCorePlan> out_of_core_if_needed(
    const mpi::Communicator& comm, const run::Values& values, const Problem& problem);
/// Runs a point out of core. Returns whether the result is right. Collective.
[[nodiscard]] bool run_out_of_core(const Point& point, const dist::matmul::OutOfCorePlan& stream);
void print_out_of_core(const Problem& problem, const dist::matmul::OutOfCorePlan& stream);

/// A product of matrices in the memory of the ranks' GPUs.
template <class T>
class OnGpus {
 public:
  virtual ~OnGpus() = default;
  virtual void put_operands(const MatrixView<const T>& a, const MatrixView<const T>& b) = 0;
  virtual void put_c(const MatrixView<const T>& c) = 0;
  virtual void get_c(const MatrixView<T>& c) = 0;
  /// Multiplies. Collective.
  virtual void run(mpi::Phases& phases) = 0;
};
/// Allocates device memory if the problem uses it. Collective.
template <class T>
[[nodiscard]] std::unique_ptr<OnGpus<T>> on_gpus(const Problem& problem,
                                                 const dist::matmul::Product<T>& product);

/// Returns the ceiling that bounds the arithmetic: the CPU's fma, or the device's, in f64 by its
/// tensor cores.
[[nodiscard]] std::string ceiling_of(const Problem& problem);

/// Returns the throughput of this rank's kernel in FLOP per second, measured by a short product
/// like the requested one.
[[nodiscard]] double speed_of(const Problem& problem);

/// Returns the forecast of every rank for that number of ranks.
[[nodiscard]] std::vector<dist::matmul::Forecast> forecasts_on(const Problem& problem,
                                                               index_t ranks);
/// Returns the largest resident memory of any of them.
[[nodiscard]] index_t most_memory(const Problem& problem, index_t ranks);

/// Returns the memory of the worst rank, and the time of the slowest.
[[nodiscard]] Need need_of(const Problem& problem, const run::Ceilings& ceilings,
                           index_t ranks_per_node);

/// Returns the work of all ranks besides the products, out of core by `stream` if it is not null.
[[nodiscard]] Volumes volumes_of(const Problem& problem, const dist::matmul::OutOfCorePlan* stream);

/// Prints every rank's memory, messages and arithmetic, and the predicted time on the measured
/// machine.
void print_plan(const Problem& problem, const run::Ceilings& ceilings, index_t ranks_per_node);

}  // namespace tessera::inline v1::workloads::matmul
