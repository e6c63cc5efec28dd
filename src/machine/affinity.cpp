#include "machine/affinity.hpp"

#include <sched.h>

#include <algorithm>
#include <memory>

namespace tessera::inline v1::machine {
namespace {

using Mask = std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)>;

/// Allocates a mask of `count` units; cpu_set_t itself ends at 1024.
Mask mask_of(std::size_t count) {
  return {CPU_ALLOC(count), [](cpu_set_t* mask) { CPU_FREE(mask); }};
}

}  // namespace

std::vector<int> units_of(int process) {
  constexpr std::size_t most = std::size_t{1} << 20;
  std::vector<int> units;
  for (std::size_t count = CPU_SETSIZE; count <= most;
       count *= 2) {  // the kernel rejects a mask that is too small
    const Mask mask = mask_of(count);
    const std::size_t size = CPU_ALLOC_SIZE(count);
    if (sched_getaffinity(process, size, mask.get()) != 0) continue;
    for (std::size_t unit = 0; unit < count; ++unit) {
      if (CPU_ISSET_S(unit, size, mask.get())) units.push_back(static_cast<int>(unit));
    }
    break;
  }
  return units;
}

void run_on(const std::vector<int>& units) {
  if (units.empty()) return;
  const auto count = static_cast<std::size_t>(*std::max_element(units.begin(), units.end())) + 1;
  const Mask mask = mask_of(count);
  const std::size_t size = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(size, mask.get());
  for (const int unit : units) CPU_SET_S(static_cast<std::size_t>(unit), size, mask.get());
  sched_setaffinity(0, size, mask.get());
}

}  // namespace tessera::inline v1::machine
