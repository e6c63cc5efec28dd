// The driver is asked by name, because the process that has GPU memory may have it from another
// library than this one, and a build without CUDA meets it, too.

#include "machine/reach.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

namespace tessera::inline v1::machine {
namespace {

/// cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address).
using Query = int(void*, int, std::uintptr_t);
// The driver's attributes, results and kinds of memory, of which programs keep the numbers.
constexpr int kind_of_memory = 2, is_managed = 8;
constexpr int found = 0, not_of_cuda = 1;
constexpr unsigned of_host = 1, of_device = 2;

/// Returns the driver's function, if a library of this process has loaded it.
Query* driver_query() {
  static std::atomic<Query*> known{nullptr};
  if (Query* const query = known) return query;
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return nullptr;
  known = reinterpret_cast<Query*>(dlsym(driver, "cuPointerGetAttribute"));
  return known;
}

}  // namespace

Reach reach_of(const void* address) {
  Query* const query = address == nullptr ? nullptr : driver_query();
  if (query == nullptr) return Reach::unknown;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  unsigned kind = 0, managed = 0;
  const int result = query(&kind, kind_of_memory, at);
  if (result == not_of_cuda) return Reach::host;
  if (result != found) return Reach::unknown;
  if (kind == of_host || (query(&managed, is_managed, at) == found && managed != 0))
    return Reach::both;
  return kind == of_device ? Reach::gpu : Reach::unknown;
}

}  // namespace tessera::inline v1::machine
