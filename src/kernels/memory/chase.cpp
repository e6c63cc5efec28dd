#include "kernels/memory/chase.hpp"

#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "base/statistics.hpp"
#include "base/timer.hpp"
#include "kernels/memory/words.hpp"

namespace tessera::inline v1::memory {
namespace {

constexpr int runs = 9;
constexpr double run_seconds = 1.5e-3;  // less than a time slice, much more than a timer's cost

void** element(std::byte* memory, const ChaseShape& shape, index_t i) {
  const index_t shift = i * line_bytes % shape.stride;
  return reinterpret_cast<void**>(memory + i * shape.stride + shift);
}

/// Keeps the compiler from knowing a value, so that it computes chains step by step.
template <class T>
void conceal(T& x) {
  asm volatile("" : "+r"(x));
}

StepTime summary_of(std::vector<double> samples) {
  const Summary all = summarize(std::move(samples));
  return {all.min, all.median};
}

}  // namespace

void link_cycle(std::byte* memory, const ChaseShape& shape, std::uint64_t seed) {
  for (index_t i = 0; i < shape.count; ++i) *element(memory, shape, i) = element(memory, shape, i);
  for (index_t i = shape.count - 1; i > 0; --i) {
    const auto j = static_cast<index_t>(random_bits(seed, 0, i) % static_cast<std::uint64_t>(i));
    std::swap(*element(memory, shape, i), *element(memory, shape, j));
  }
}

const void* follow(const void* from, index_t steps) {
  const void* at = from;
  for (index_t i = 0; i < steps; i += chase_unroll) {
#pragma GCC unroll 16
    for (index_t u = 0; u < chase_unroll; ++u) at = *static_cast<const void* const*>(at);
  }
  return at;
}

StepTime chase(const machine::PagedMemory& memory, const ChaseShape& shape) {
  link_cycle(memory.data(), shape, 1);
  const void* at = memory.data();
  const index_t lap = round_up(shape.count, chase_unroll);
  const Timer warm_up;
  at = follow(at, lap);
  const double step = std::max(warm_up.seconds() / static_cast<double>(lap), 1e-10);
  const index_t steps =
      round_up(std::max<index_t>(512, static_cast<index_t>(run_seconds / step)), chase_unroll);
  std::vector<double> samples;
  for (int run = 0; run < runs; ++run) {
    const Timer timer;
    at = follow(at, steps);
    conceal(at);
    samples.push_back(timer.seconds() / static_cast<double>(steps));
  }
  return summary_of(std::move(samples));
}

double cycle_seconds() {
  constexpr index_t additions = index_t{1} << 20;
  double best = 1;
  index_t sum = 0, summand = 3;
  conceal(summand);
  for (int run = 0; run < 3 * runs; ++run) {
    const Timer timer;
    for (index_t i = 0; i < additions; i += chase_unroll) {
#pragma GCC unroll 16
      for (index_t u = 0; u < chase_unroll; ++u) {
        sum += summand;
        conceal(sum);
      }
    }
    best = std::min(best, timer.seconds() / static_cast<double>(additions));
  }
  return best;
}

}  // namespace tessera::inline v1::memory
