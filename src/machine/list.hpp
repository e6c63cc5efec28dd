#pragma once
// Vectors and single objects in the memory of buffers, which may be the caller's (workspace.hpp).

#include <memory>
#include <utility>
#include <vector>

#include "machine/buffer.hpp"

namespace tessera::inline v1::machine {

/// Allocates as buffers do.
template <class T>
struct BufferAllocator {
  using value_type = T;
  BufferAllocator() = default;
  template <class U>
  explicit BufferAllocator(const BufferAllocator<U>&) {}

  [[nodiscard]] T* allocate(std::size_t n) {
    return static_cast<T*>(machine::allocate(
        checked_mul(static_cast<index_t>(n), static_cast<index_t>(sizeof(T)), "a list")));
  }
  void deallocate(T* data, std::size_t) noexcept { machine::release(data); }
  friend bool operator==(const BufferAllocator&, const BufferAllocator&) { return true; }
};
template <class T>
using List = std::vector<T, BufferAllocator<T>>;

/// An object in such memory.
struct ReleaseObject {
  template <class T>
  void operator()(T* object) const noexcept {
    std::destroy_at(object);
    machine::release(object);
  }
};
template <class T>
using Owned = std::unique_ptr<T, ReleaseObject>;
template <class T, class... Args>
[[nodiscard]] Owned<T> make_owned(Args&&... args) {
  static_assert(alignof(T) <= 64);
  void* const memory = machine::allocate(sizeof(T));
  try {
    return Owned<T>(new (memory) T(std::forward<Args>(args)...));
  } catch (...) {
    machine::release(memory);
    throw;
  }
}

}  // namespace tessera::inline v1::machine
