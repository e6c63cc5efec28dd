#include "machine/buffer.hpp"

#include <sys/mman.h>

#include <cstdlib>

#include "base/text.hpp"
#include "machine/blocks.hpp"

namespace tessera::inline v1::machine {

void* allocate(index_t bytes) {
  if (bytes == 0) return nullptr;
  constexpr index_t huge_page = index_t{2} << 20;
  constexpr index_t line = 64;
  const bool large = bytes >= huge_page;
  void* const data = large ? take_block(bytes)
                           : std::aligned_alloc(static_cast<std::size_t>(line),
                                                static_cast<std::size_t>(round_up(bytes, line)));
  require(data != nullptr, ExitCode::memory,
          human_bytes(bytes) + " cannot be allocated; use more ranks or smaller sizes");
  if (large) {
    madvise(data, static_cast<std::size_t>(bytes),
            MADV_HUGEPAGE);  // advisory: a refusal only costs speed
  }
  return data;
}

void release(void* data) noexcept {
  if (data != nullptr && !give_block(data)) std::free(data);
}

}  // namespace tessera::inline v1::machine
