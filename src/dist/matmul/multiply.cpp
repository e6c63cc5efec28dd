// Checks of a product and dispatch to its algorithm.

#include "dist/matmul/multiply.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "dist/matmul/product_parts.hpp"
#include "kernels/matmul/rounded.hpp"

namespace tessera::inline v1::dist::matmul {

const std::vector<AlgorithmInfo>& algorithms() {
  static const std::vector<AlgorithmInfo> table = [] {
    std::vector<AlgorithmInfo> rows;
    for (const Algorithm algorithm : every_algorithm) rows.push_back(info(algorithm));
    return rows;
  }();
  return table;
}

std::vector<std::string> algorithms_with(bool Uses::*member) {
  std::vector<std::string> names;
  for (const AlgorithmInfo& row : algorithms()) {
    if (row.uses.*member) names.emplace_back(row.name);
  }
  return names;
}

void require_runnable(const Method& method, index_t ranks) {
  const AlgorithmInfo& row = info(method.algorithm);
  const std::string unmet = row.unmet == nullptr ? "" : row.unmet(method, ranks);
  require(unmet.empty(), ExitCode::usage,
          fmt::format("the algorithm {} {}; take that, or another algorithm", row.name, unmet));
}

template <class T, class S>
void check(const mpi::Communicator& comm, const Product<T, S>& product) {
  const auto shape = [](const auto& x) { return fmt::format("{} x {}", x.rows(), x.cols()); };
  const Extents a = stored(product.op_a, product.a.rows(), product.a.cols());
  const Extents b = stored(product.op_b, product.b.rows(), product.b.cols());
  require_argument(b.rows == a.cols, "b", [&] {
    return fmt::format(
        "does not match a: op(b) has {} rows, op(a) has {} columns (a is {}, b is {})", b.rows,
        a.cols, shape(product.a), shape(product.b));
  });
  require_argument(product.c.rows() == a.rows && product.c.cols() == b.cols, "c", [&] {
    return fmt::format(
        "does not match op(a) op(b): the product is {} x {}, c is {} (a is {}, b is {})", a.rows,
        b.cols, shape(product.c), shape(product.a), shape(product.b));
  });
  for (const auto& operand : {std::pair("a", &product.a), std::pair("b", &product.b)}) {
    const index_t ranks = operand.second->layout().ranks();
    require_argument(ranks == comm.size(), operand.first, [&] {
      return fmt::format("is distributed over {} ranks: comm has {}", ranks, comm.size());
    });
    require_argument(static_cast<const void*>(operand.second) != &product.c, "c", [&] {
      return fmt::format(
          "is the same matrix as {}, which is read while c is written; pass another matrix",
          operand.first);
    });
  }
  require_argument(product.c.layout().ranks() == comm.size(), "c", [&] {
    return fmt::format("is distributed over {} ranks: comm has {}", product.c.layout().ranks(),
                       comm.size());
  });
}

void require_method(const mpi::Communicator& comm, const Method& method) {
  const auto at_least_one = [](const char* name, index_t value) {
    require_argument(value >= 1, name,
                     [&] { return fmt::format("is {}: must be at least 1", value); });
  };
  at_least_one("threads", method.threads);
  at_least_one("panel", method.panel);
  at_least_one("slices", method.slices);
  at_least_one("rounds", method.rounds);
  require_argument(method.held_price > 0, "held_price",
                   [&] { return fmt::format("is {}: must be above 0", method.held_price); });
  require_argument(method.grid.rows == 0 || (method.grid.rows > 0 && method.grid.cols > 0 &&
                                             method.grid.size() == comm.size()),
                   "grid", [&] {
                     return fmt::format("is {} x {}: must have the {} ranks of comm",
                                        method.grid.rows, method.grid.cols, comm.size());
                   });
  require_argument(method.weights.empty() || static_cast<int>(method.weights.size()) == comm.size(),
                   "weights", [&] {
                     return fmt::format(
                         "has {} elements: comm has {} ranks; pass one weight per rank, or an "
                         "empty vector",
                         method.weights.size(), comm.size());
                   });
  require_runnable(method, comm.size());
}

namespace {

/// Multiplies halves: sums in float in the layout of c, rounded at the end.
template <class S>
void multiply_halves(const mpi::Communicator& comm, const Product<S>& product, const Method& method,
                     mpi::Phases& phases) {
  DistributedMatrix<float> sum(comm, product.c.layout());
  const auto convert = [&](const auto& body) {
    const mpi::PhaseScope scope(phases, "compute");
    machine::parallel(method.threads, body);
  };
  if (product.beta != 0) convert([&] { tessera::matmul::widen<S>(product.c.view(), sum.view()); });
  multiply(comm,
           Product<float, S>{product.alpha, product.a, product.op_a, product.b, product.op_b,
                             product.beta, sum},
           method, phases);
  convert([&] { tessera::matmul::narrow<S>(sum.view(), product.c.view()); });
}

}  // namespace

template <class T, class S>
void multiply(const mpi::Communicator& comm, const Product<T, S>& product, const Method& method,
              mpi::Phases& phases) {
  check(comm, product);
  require_method(comm, method);
  require_multiplies<T, S>(method);
  if constexpr (is_stored_half<T>) {
    multiply_halves(comm, product, method, phases);
  } else {
    Method resolved = method;
    if (resolved.kernel == nullptr) resolved.kernel = &tessera::matmul::best();
    std::get<MultiplyFunction<T, S>>(info(resolved.algorithm).multiply)(comm, product, resolved,
                                                                        phases);
  }
}

#define TESSERA_INSTANTIATE(T, S)                                                       \
  template void check(const mpi::Communicator&, const Product<T, S>&);                  \
  template void multiply(const mpi::Communicator&, const Product<T, S>&, const Method&, \
                         mpi::Phases&)
TESSERA_INSTANTIATE(float, float);
TESSERA_INSTANTIATE(double, double);
TESSERA_INSTANTIATE(Complex<float>, Complex<float>);
TESSERA_INSTANTIATE(Complex<double>, Complex<double>);
TESSERA_INSTANTIATE(Half, Half);
TESSERA_INSTANTIATE(float, Half);
TESSERA_INSTANTIATE(BFloat16, BFloat16);
TESSERA_INSTANTIATE(float, BFloat16);
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::dist::matmul
