#pragma once
// Shared by the files of the matmul command.

#include <optional>

#include "base/element.hpp"
#include "command.hpp"
#include "dist/matmul/multiply.hpp"
#include "mpi/communicator.hpp"
#include "run/ceilings.hpp"
#include "run/gpu_exchange.hpp"
#include "run/options.hpp"

namespace tessera::apps::matmul {

/// One point of the sweep with everything looked up.
struct Request {
  dist::matmul::ForecastRequest shape;
  Element element = Element::f64;
  double alpha = 1;
  double beta = 0;
  dist::matmul::Method method;
  std::string algorithm;
  const mpi::DeviceExchange* gpus = nullptr;  ///< operands and result stay there, and travel so
};

/// The options of the command.
[[nodiscard]] run::OptionSet declare_options();

/// What of the machine bounds the arithmetic: the CPU's fma, or the device's, in f64 by its tensor units.
[[nodiscard]] std::string ceiling_of(const Request& request);

/// The largest memory of any rank.
[[nodiscard]] index_t most_memory(const Request& request, index_t ranks);

/// What the worst rank will hold, and the slowest take.
[[nodiscard]] Need need_of(const Request& request, const run::Ceilings& ceilings, index_t ranks_per_node);

/// Prints what every rank will hold, send and take, and how long that should last on the measured machine.
void print_plan(const Request& request, const run::Ceilings& ceilings, index_t ranks_per_node);

}  // namespace tessera::apps::matmul
