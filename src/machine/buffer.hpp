#pragma once
// Owned memory: aligned, uninitialised, huge pages where they help.

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "base/index.hpp"

namespace tessera::machine {

/// Bytes aligned to 64, or to 2 MiB with transparent huge pages asked for when at least 2 MiB.
/// Throws Error(memory) when they cannot be had. nullptr for 0 bytes.
[[nodiscard]] void* allocate(index_t bytes);
void release(void* data) noexcept;

/// Where the elements of a Buffer lie; some element type may have a place of its own.
template <class T>
struct Storage {
  static_assert(std::is_trivially_copyable_v<T>);
  static void* allocate(index_t bytes) { return machine::allocate(bytes); }
  static void release(void* data) noexcept { machine::release(data); }
};

/// count uninitialised elements of T in host memory; move only.
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

}  // namespace tessera::machine
