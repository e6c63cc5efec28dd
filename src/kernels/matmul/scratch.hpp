#pragma once
// Working memory that a thread keeps between calls, so products of small matrices do not pay for
// allocations.

#include "base/instrument.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::matmul {

/// A block of at least `bytes` bytes from this thread's store, otherwise a new one. The end of the
/// scope returns it to the store, which keeps blocks of up to 64 MiB. Scopes may nest and
/// interleave on a thread as tasks do.
class ScratchBytes {
 public:
  explicit ScratchBytes(index_t bytes);
  ~ScratchBytes();
  ScratchBytes(const ScratchBytes&) = delete;
  ScratchBytes& operator=(const ScratchBytes&) = delete;
  [[nodiscard]] void* data() { return buffer_.data(); }

 private:
  machine::Buffer<unsigned char> buffer_;
};

template <class T>
class Scratch {
 public:
  explicit Scratch(index_t count)
      : bytes_(checked_mul(count, static_cast<index_t>(sizeof(T)),
                           "the working memory of a product")) {}
  [[nodiscard]] T* data() { return static_cast<T*>(bytes_.data()); }

 private:
  ScratchBytes bytes_;
};

/// Elements that report their loads and stores have a separate buffer.
template <class T>
requires is_traced<T>
class Scratch<T> {
 public:
  explicit Scratch(index_t count) : elements_(count) {}
  [[nodiscard]] T* data() { return elements_.data(); }

 private:
  machine::Buffer<T> elements_;
};

}  // namespace tessera::inline v1::matmul
