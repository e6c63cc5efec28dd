#include "kernels/memory/inverse_root.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/timer.hpp"

namespace tessera::inline v1::memory {
namespace {

constexpr std::size_t count = 2048;  // floats: 8 KiB read + 8 KiB written
constexpr int passes = 64, runs = 9;

template <class F>
RootCost cost_of(const F& root) {
  std::vector<float> from(count), to(count);
  for (std::size_t i = 0; i < count; ++i)  // all mantissas, and exponents of -8 to 8
    from[i] = std::ldexp(1.0F + static_cast<float>(i) / count, static_cast<int>(i % 17) - 8);
  RootCost cost{std::numeric_limits<double>::infinity(), 0};
  for (int run = 0; run < runs; ++run) {
    const Timer timer;
    for (int pass = 0; pass < passes; ++pass) {
      for (std::size_t i = 0; i < count; ++i) to[i] = root(from[i]);
      asm volatile("" : : "r"(to.data()) : "memory");  // every pass is stored
    }
    cost.seconds = std::min(cost.seconds, timer.seconds() / (passes * count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double right = 1 / std::sqrt(static_cast<double>(from[i]));
    cost.error = std::max(cost.error, std::abs(static_cast<double>(to[i]) / right - 1));
  }
  return cost;
}

}  // namespace

RootCost root_cost(Root kind) {
  if (kind == Root::fast) return cost_of([](float x) { return fast_inverse_root(x); });
  return cost_of([](float x) { return 1 / std::sqrt(x); });
}

}  // namespace tessera::inline v1::memory
