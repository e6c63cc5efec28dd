#include "allocations.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> bytes{0};
}  // namespace

void* operator new(std::size_t size) {
  bytes += size;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

// In place of the library's, also for aligned operator new. Sanitizers know posix_memalign.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  bytes += size;
  void* memory = nullptr;
  return posix_memalign(&memory, std::max(alignment, sizeof(void*)), size) == 0 ? memory : nullptr;
}

std::size_t tessera::allocated_bytes() { return bytes; }
