#include "machine/pages.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "machine/blocks.hpp"

namespace tessera::machine {

void give_back(void* data, index_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = (first + page - 1) / page * page;
  const std::uintptr_t end = (first + static_cast<std::uintptr_t>(bytes)) / page * page;
  if (begin < end) madvise(static_cast<char*>(data) + (begin - first), end - begin, MADV_DONTNEED);
}

void give_back_released() noexcept {
  release_kept_blocks();
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

void give_back_at_once() noexcept {
  keep_no_blocks();
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

}  // namespace tessera::machine
