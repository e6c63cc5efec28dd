#include "machine/pages.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "machine/blocks.hpp"

namespace tessera::inline v1::machine {
namespace {

constexpr index_t huge_page = index_t{2} << 20;

/// Addresses of a mapping.
struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
};
/// Returns the addresses in a line "7f01-7f05 rw-p ..." of smaps; empty for other lines.
AddressRange mapping_of(const std::string& line) {
  const auto dash = line.find('-');
  if (dash == std::string::npos || dash > line.find(' ')) return {};
  return {std::strtoull(line.c_str(), nullptr, 16),
          std::strtoull(line.c_str() + dash + 1, nullptr, 16)};
}

}  // namespace

index_t page_bytes() noexcept { return sysconf(_SC_PAGESIZE); }

PagedMemory::PagedMemory(index_t bytes, Pages pages) : size_(round_up(bytes, huge_page)) {
  mapped_ = size_ + huge_page;
  mapping_ = mmap(nullptr, static_cast<std::size_t>(mapped_), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(mapping_ != MAP_FAILED, ExitCode::memory, "a walk over memory cannot be allocated");
  const auto misaligned = reinterpret_cast<std::uintptr_t>(mapping_) % huge_page;
  data_ = static_cast<std::byte*>(mapping_) + (misaligned == 0 ? 0 : huge_page - misaligned);
  madvise(mapping_, static_cast<std::size_t>(mapped_),
          pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

PagedMemory::~PagedMemory() { munmap(mapping_, static_cast<std::size_t>(mapped_)); }

index_t PagedMemory::huge_bytes() const {
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping_);
  const auto end = begin + static_cast<std::uintptr_t>(mapped_);
  std::ifstream maps("/proc/self/smaps");
  index_t bytes = 0;
  bool mine = false;
  for (std::string line; std::getline(maps, line);) {
    if (const AddressRange range = mapping_of(line); range.end != 0)
      mine = range.begin < end && range.end > begin;  // neighbours may belong to the same mapping
    else if (mine && line.starts_with("AnonHugePages:"))
      bytes += 1024 * std::strtoll(line.c_str() + line.find(':') + 1, nullptr, 10);
  }
  return std::min(bytes, size_);
}

void give_back(void* data, index_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(page_bytes());
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

}  // namespace tessera::inline v1::machine
