#include "machine/buffer.hpp"

#include <sys/mman.h>

#include <cstdlib>

#include "base/text.hpp"

namespace tessera::machine {

void* allocate(index_t bytes) {
  if (bytes == 0) return nullptr;
  constexpr index_t huge_page = index_t{2} << 20;
  const index_t alignment = bytes >= huge_page ? huge_page : 64;
  void* data = std::aligned_alloc(static_cast<std::size_t>(alignment),
                                  static_cast<std::size_t>(round_up(bytes, alignment)));
  require(data != nullptr, ExitCode::memory,
          human_bytes(bytes) + " cannot be allocated; use more ranks or smaller sizes");
  if (alignment == huge_page) {
    madvise(data, static_cast<std::size_t>(bytes),
            MADV_HUGEPAGE);  // advisory: a refusal only costs speed
  }
  return data;
}

void release(void* data) noexcept { std::free(data); }

}  // namespace tessera::machine
