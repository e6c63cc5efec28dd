#include "machine/buffer.hpp"

#include <sys/mman.h>

#include <cstdlib>

#include "base/text.hpp"
#include "machine/blocks.hpp"
#include "machine/workspace.hpp"

namespace tessera::inline v1::machine {
namespace {

constexpr index_t line = 64;
alignas(line) std::byte nothing[line];
thread_local int without_memory = 0;  // nested scopes

}  // namespace

WithoutMemory::WithoutMemory() { ++without_memory; }
WithoutMemory::~WithoutMemory() { --without_memory; }

void* allocate(index_t bytes) {
  if (bytes == 0) return nullptr;
  if (without_memory > 0) return nothing;
  if (Workspace* const own = Workspace::of_this_thread(); own != nullptr) {
    if (void* const data = own->take(bytes); data != nullptr) return data;
  }
  constexpr index_t huge_page = index_t{2} << 20;
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
  if (data == nullptr || data == nothing) return;
  Workspace* const own = Workspace::of_this_thread();
  if ((own == nullptr || !own->give(data)) && !give_block(data)) std::free(data);
}

}  // namespace tessera::inline v1::machine
