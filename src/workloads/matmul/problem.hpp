#pragma once
// A point of a product with everything looked up, and what the files of the workload share.

#include <memory>
#include <optional>

#include "base/element.hpp"
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

namespace tessera::workloads::matmul {

/// One point of the sweep with everything looked up.
struct Problem {
  dist::matmul::ForecastRequest shape;
  Element element = Element::f64;
  Complex<double> alpha = 1;
  Complex<double> beta = 0;
  dist::matmul::Method method;
  std::string algorithm;
  std::string type;  ///< of the results: the element's, or the precision of the tensor units
  std::string ops;   ///< as asked for: "NT"
  std::string out;   ///< where C goes; empty: nowhere
  std::uint64_t seed = 1;
  bool verify = true;
  std::vector<index_t> a_chunk, b_chunk;      ///< as stored; empty where it is contiguous
  const mpi::DeviceExchange* gpus = nullptr;  ///< operands and result stay there, and travel so
  std::string kernels;  ///< of all ranks: "cuda_tensor+cache_oblivious" where they differ
  dist::matmul::ProductPlan planned;
  run::Allowance allowance;
  bool fits = false;  ///< every rank may hold its part, as all ranks know
};

/// The inputs that files hold, and what the first look found.
struct Inputs {
  std::unique_ptr<run::Input> a, b, c;
  std::unique_ptr<run::GpuExchanges> gpus =
      std::make_unique<run::GpuExchanges>();  ///< as they are found out
};

using dist::matmul::Extents;

/// ROWSxCOLS; 0 x 0 of no text. Throws Error(usage).
[[nodiscard]] layout::ProcessGrid parse_grid(const std::string& text);

/// Collective.
[[nodiscard]] Problem resolve(const mpi::Communicator& comm, const run::Values& point,
                              const Inputs& inputs);

/// alpha or beta among the elements.
template <class T>
[[nodiscard]] T factor(Complex<double> x) {
  if constexpr (is_complex<T>) {
    return {static_cast<Real<T>>(x.re), static_cast<Real<T>>(x.im)};
  } else {
    return static_cast<T>(x.re);
  }
}

/// Makes the file of C, where there is one. Collective.
[[nodiscard]] run::Outputs open_output(const mpi::Communicator& comm, const run::Values& point,
                                       const Problem& problem);
/// Columns, work and ceiling of a measurement.
void describe(const Problem& problem, run::Measured& measured);
/// In units of T's roundoff: what operands rounded to fewer bits explain comes on top.
template <class T>
[[nodiscard]] double tolerance_of(const Problem& problem);

using Point = PointOf<Problem, Inputs>;

/// Whether the result is right. Collective.
[[nodiscard]] bool run_in_memory(const Point& point);

/// Whether the result has a file to go to, tile by tile.
[[nodiscard]] bool may_go_out_of_core(const Problem& problem);
/// How the product goes through memory where it is to go out of core: asked for, or more than the
/// ranks may hold. Collective.
[[nodiscard]] std::optional<dist::matmul::OutOfCorePlan> out_of_core_if_needed(
    const mpi::Communicator& comm, const run::Values& values, const Problem& problem,
    const Inputs& inputs);
/// Whether the result is right. Collective.
[[nodiscard]] bool run_out_of_core(const Point& point, const dist::matmul::OutOfCorePlan& stream);
void print_out_of_core(const Problem& problem, const dist::matmul::OutOfCorePlan& stream);

/// A product whose matrices stay on the ranks' GPUs.
template <class T>
class OnGpus {
 public:
  virtual ~OnGpus() = default;
  virtual void put_operands(const MatrixView<const T>& a, const MatrixView<const T>& b) = 0;
  virtual void put_c(const MatrixView<const T>& c) = 0;
  virtual void get_c(const MatrixView<T>& c) = 0;
  /// Collective.
  virtual void run(mpi::Phases& phases) = 0;
};
/// Takes the memory there, where the problem has it so. Collective.
template <class T>
[[nodiscard]] std::unique_ptr<OnGpus<T>> on_gpus(const Problem& problem,
                                                 const dist::matmul::Product<T>& product);

/// What of the machine bounds the arithmetic: the CPU's fma, or the device's, in f64 by its tensor
/// units.
[[nodiscard]] std::string ceiling_of(const Problem& problem);

/// FLOP a second of this rank's kernel, by a short product like the one that is asked for.
[[nodiscard]] double speed_of(const Problem& problem);

/// What every rank holds if there were so many.
[[nodiscard]] std::vector<dist::matmul::Forecast> forecasts_on(const Problem& problem,
                                                               index_t ranks);
/// The largest memory of any of them that is resident.
[[nodiscard]] index_t most_memory(const Problem& problem, index_t ranks);

/// What the worst rank will hold, and the slowest take.
[[nodiscard]] Need need_of(const Problem& problem, const run::Ceilings& ceilings,
                           index_t ranks_per_node);

/// Prints what every rank will hold, send and take, and how long that should last on the measured
/// machine.
void print_plan(const Problem& problem, const run::Ceilings& ceilings, index_t ranks_per_node);

}  // namespace tessera::workloads::matmul
