#pragma once
// Pages of memory: their size, and release of unused ones.

#include <cstddef>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// Releases the whole pages of data[0:bytes] to the system; their values are lost, the addresses
/// stay valid.
void give_back(void* data, index_t bytes) noexcept;

/// Releases freed blocks below 32 MiB, those of buffers and those that malloc retains. Walks over
/// all of them.
void give_back_released() noexcept;

/// Makes buffers and malloc return blocks from 2 and 1 MiB on to the system as soon as they are
/// freed; new ones then fault their pages in: minimal memory, not maximal speed.
void give_back_at_once() noexcept;

enum class Pages { small, huge };  ///< of the system's page size; of 2 MiB, if it grants them

/// Memory of zeros with one size of page, whose pages the thread that first writes to one places.
class PagedMemory {
 public:
  /// Throws Error(memory).
  PagedMemory(index_t bytes, Pages pages);
  PagedMemory(const PagedMemory&) = delete;
  PagedMemory& operator=(const PagedMemory&) = delete;
  ~PagedMemory();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] index_t size() const { return size_; }
  /// Returns the bytes that lie on huge pages now; 0 if the system does not report them.
  [[nodiscard]] index_t huge_bytes() const;

 private:
  void* mapping_;
  std::byte* data_;
  index_t mapped_, size_;
};

/// Returns the bytes of a small page.
[[nodiscard]] index_t page_bytes() noexcept;

}  // namespace tessera::inline v1::machine
