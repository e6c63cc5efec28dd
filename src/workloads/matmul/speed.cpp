// Measures the product throughput of this rank, for shares by speed.

#include <algorithm>

#include "base/timer.hpp"
#include "workloads/matmul/problem.hpp"

namespace tessera::inline v1::workloads::matmul {
namespace {

constexpr double long_enough = 0.05;  // seconds

struct Timing {
  double seconds = 0, kernels = 0, to_device = 0, from_device = 0;
};

/// One product of square matrices by the rank's kernel.
template <class T>
class SquareProduct {
 public:
  SquareProduct(const dist::matmul::Method& method, index_t n) : method_(method) {
    const auto self = mpi::Communicator::self();
    for (auto* x : {&a_, &b_, &c_})
      *x = dist::DistributedMatrix<T>(self, layout::row_blocks(n, n, 1));
    fill_random(a_, 1, 1);
    fill_random(b_, 1, 2);
    method_.weights.clear();
    method_.algorithm = dist::matmul::Algorithm::recursive;
  }
  Timing run() {
    mpi::Phases phases;
    const Timer timer;
    multiply(mpi::Communicator::self(), dist::matmul::Product<T>{T{1}, a_, {}, b_, {}, T{0}, c_},
             method_, phases);
    return {timer.seconds(), phases.of("device kernels"), phases.of("to device"),
            phases.of("from device")};
  }

 private:
  dist::matmul::Method method_;
  dist::DistributedMatrix<T> a_, b_, c_;
};

template <class T>
double speed(const Problem& problem) {
  const auto& q = problem.shape;
  const auto flops = [&](auto m, auto n, auto k) {
    return q.flops_each * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  };
  index_t n = 256;
  const index_t most = std::min<index_t>(4096, std::max({n, q.m, q.n, q.k}));
  Timing best;
  for (;; n *= 2) {
    SquareProduct<T> probe(problem.method, n);
    best = probe.run();
    const Timing again = probe.run();  // the first one starts libraries and devices
    if (again.seconds < best.seconds) best = again;
    if (best.seconds > long_enough || 2 * n > most) break;
  }
  if (best.kernels == 0) return flops(n, n, n) / best.seconds;
  // A device overlaps arithmetic with the transfer of a larger product's operands: the longest part
  // counts.
  const double square = static_cast<double>(n) * static_cast<double>(n);
  const double there = static_cast<double>(q.m + q.n) * static_cast<double>(q.k) / (2 * square) *
                       best.to_device,
               back =
                   static_cast<double>(q.m) * static_cast<double>(q.n) / square * best.from_device;
  const double kernels = flops(q.m, q.n, q.k) / flops(n, n, n) * best.kernels;
  return flops(q.m, q.n, q.k) / std::max({kernels, there, back});
}

}  // namespace

double speed_of(const Problem& problem) {
  const auto& q = problem.shape;
  if (q.m == 0 || q.n == 0 || q.k == 0) return 1;
  return dispatch_field(problem.element, [&]<class T>(Type<T>) { return speed<T>(problem); });
}

}  // namespace tessera::inline v1::workloads::matmul
