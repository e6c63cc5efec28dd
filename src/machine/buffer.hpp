#pragma once
// Owning buffers: aligned, uninitialised, backed by huge pages if large.

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// Allocates bytes aligned to 64, from 2 MiB on aligned to 2 MiB with transparent huge pages
/// requested; from the workspace of this thread (workspace.hpp) if it has one with free memory.
/// Returns nullptr for 0 bytes. Throws Error(memory).
[[nodiscard]] void* allocate(index_t bytes);
void release(void* data) noexcept;

/// Scope guard: buffers that this thread makes, and destroys before the end, have a size but no
/// memory: those of objects that are made only to be asked for their sizes.
class WithoutMemory {
 public:
  WithoutMemory();
  ~WithoutMemory();
  WithoutMemory(const WithoutMemory&) = delete;
  WithoutMemory& operator=(const WithoutMemory&) = delete;
};

/// The allocator of a Buffer's elements; specialised for some element types.
template <class T>
struct Storage {
  static_assert(std::is_trivially_copyable_v<T>);
  static void* allocate(index_t bytes) { return machine::allocate(bytes); }
  static void release(void* data) noexcept { machine::release(data); }
};

/// An array of `count` uninitialised elements of T in host memory; move only.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(index_t count)
      : data_(static_cast<T*>(
            Storage<T>::allocate(checked_mul(count, static_cast<index_t>(sizeof(T)), "a buffer")))),
        size_(count) {}
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { Storage<T>::release(data_); }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] index_t size() const { return size_; }
  T& operator[](index_t i) { return data_[i]; }
  const T& operator[](index_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  [[nodiscard]] std::span<T> span() { return {data_, static_cast<std::size_t>(size_)}; }
  [[nodiscard]] std::span<const T> span() const { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  T* data_ = nullptr;
  index_t size_ = 0;
};

}  // namespace tessera::inline v1::machine
