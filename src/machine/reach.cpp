// The driver is asked by name, because the process that has GPU memory may have it from another
// library than this one, and a build without CUDA meets it, too.

#include "machine/reach.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "machine/gpu.hpp"

namespace tessera::inline v1::machine {
namespace {

/// cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address).
using PointerQuery = int(void*, int, std::uintptr_t);
// The driver's attributes, results and kinds of memory, of which programs keep the numbers.
constexpr int kind_of_memory = 2, is_managed = 8;
constexpr int of_cuda = 0, not_of_cuda = 1;
constexpr unsigned of_host = 1, of_device = 2;

std::atomic<PointerQuery*> pointer_query{nullptr};

}  // namespace

void find_driver() {
  if (pointer_query != nullptr) return;
  if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); driver != nullptr)
    pointer_query = reinterpret_cast<PointerQuery*>(dlsym(driver, "cuPointerGetAttribute"));
}

Reach reach_of(const void* address) {
  PointerQuery* const query = address == nullptr ? nullptr : pointer_query.load();
  if (query == nullptr) return Reach::unknown;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  unsigned kind = 0, managed = 0;
  const int result = query(&kind, kind_of_memory, at);
  if (result == not_of_cuda) return Reach::host;
  if (result != of_cuda) return Reach::unknown;
  if (kind == of_host || (query(&managed, is_managed, at) == of_cuda && managed != 0))
    return Reach::both;
  return kind == of_device ? Reach::gpu : Reach::unknown;
}

const char* out_of_reach(const void* address, bool on_gpu) {
  const Reach reach = reach_of(address);
  if (on_gpu && reach == Reach::host && !gpus().devices.empty())  // else the host emulates one
    return "is in the memory of the host: pass memory of the GPU that the plan is for";
  if (!on_gpu && reach == Reach::gpu)
    return "is in the memory of a GPU: make the plan for arrays on GPUs (gpu=N, Space::device)";
  return nullptr;
}

}  // namespace tessera::inline v1::machine
