#pragma once
// Traced memory: arrays whose elements report every load and store. Addresses in the stream are
// offsets in this memory, so a trace is the same in every run. One tracer lives at a time, used by
// one thread.

#include <memory>
#include <string>
#include <vector>

#include "base/instrument.hpp"
#include "lab/locality/access.hpp"
#include "machine/buffer.hpp"

namespace tessera::locality {

template <class T>
class Traced;

/// The part of the tracer that every element touches.
struct Recorder {
  std::uintptr_t base = 0;
  std::uintptr_t bytes = 0;  ///< 0: nothing is recorded
  Access* next = nullptr;
  Access* end = nullptr;
};
extern constinit Recorder recorder;
/// Hands what is recorded to the sinks.
void flush_recorder();

inline void record(Access access) {
  *recorder.next++ = access;
  if (recorder.next == recorder.end) [[unlikely]]
    flush_recorder();
}
/// A touch, if it is in traced memory: locals are not, they stand for registers.
inline void report(Access::Kind kind, const void* at, unsigned bytes) {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(at) - recorder.base;
  if (offset < recorder.bytes) record({kind, offset, bytes});
}

class Tracer {
 public:
  /// Arrays begin at multiples of `alignment` bytes, a multiple of 4096.
  explicit Tracer(index_t alignment = 4096);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// `count` elements of a named array, uninitialised; they stay as long as the tracer.
  template <class T>
  [[nodiscard]] Traced<T>* array(const std::string& name, index_t count) {
    return static_cast<Traced<T>*>(
        allocate(name, checked_mul(count, static_cast<index_t>(sizeof(T)), "a traced array")));
  }
  void attach(Sink& sink) { sinks_.push_back(&sink); }

  /// Everything that f touches goes to the sinks.
  template <class F>
  void run(F&& f) {
    start();
    f();
    stop();
  }

  /// Names by number in the stream; the last is what kernels allocate themselves.
  [[nodiscard]] const std::vector<std::string>& arrays() const { return names_; }
  [[nodiscard]] std::uint64_t begin_of(std::size_t array) const { return begins_[array]; }
  [[nodiscard]] std::uint64_t bytes_of(std::size_t array) const { return bytes_[array]; }

  // For Buffers of traced elements.
  [[nodiscard]] static void* allocate_workspace(index_t bytes);
  static void release_workspace(void* data) noexcept;

 private:
  friend void flush_recorder();
  struct TracedRange {
    std::uint64_t begin, end;
    bool used;
  };
  [[nodiscard]] void* allocate(const std::string& name, index_t bytes);
  [[nodiscard]] std::uint64_t place(index_t bytes, unsigned array);
  void start();
  void stop();
  void flush();

  std::uint64_t alignment_;
  std::byte* mapping_ = nullptr;
  std::uint64_t mapped_ = 0;
  std::byte* memory_ = nullptr;  ///< the first aligned byte of the mapping
  std::uint64_t reserved_ = 0;
  std::uint64_t used_ = 0;
  std::vector<std::uint8_t> array_of_page_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> begins_, bytes_;
  std::vector<TracedRange> workspace_;
  std::vector<Sink*> sinks_;
  std::vector<Access> buffer_;
};

}  // namespace tessera::locality
