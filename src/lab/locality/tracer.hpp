#pragma once
// Traced memory: arrays whose elements report every load and store. Addresses in the stream are
// offsets in this memory, so that traces are reproducible. One tracer exists at a time, used by one
// thread.

#include <memory>
#include <string>
#include <vector>

#include "base/instrument.hpp"
#include "lab/locality/access.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::locality {

template <class T>
class Traced;

/// State of the tracer that every access uses.
struct AccessRecorder {
  std::uintptr_t base = 0;
  std::uintptr_t bytes = 0;  ///< 0: recording is off
  Access* next = nullptr;
  Access* end = nullptr;
  index_t arithmetic = 0;  ///< operations on elements besides loads and stores
};
extern constinit AccessRecorder recorder;
/// Passes the recorded accesses to the sinks.
void flush_recorder();

inline void record(Access access) {
  *recorder.next++ = access;
  if (recorder.next == recorder.end) [[unlikely]]
    flush_recorder();
}
/// Records an access to traced memory; locals are outside of it and count as registers.
inline void report(Access::Kind kind, const void* at, unsigned bytes) {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(at) - recorder.base;
  if (offset < recorder.bytes) record({kind, offset, bytes});
}

class Tracer {
 public:
  /// Whether the addresses of a released workspace serve the next one, as with an allocator on one
  /// thread, or no other, as if all were in use at once: then workspaces are aligned to 64 bytes.
  enum class Reuse { yes, no };
  /// Aligns arrays to `alignment` bytes, a multiple of 8; workspaces to 64 at least.
  explicit Tracer(index_t alignment = 4096, Reuse reuse = Reuse::yes);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// Allocates `count` uninitialised elements of a named array, which lives as long as the tracer.
  template <class T>
  [[nodiscard]] Traced<T>* array(const std::string& name, index_t count) {
    return static_cast<Traced<T>*>(allocate(
        name, checked_mul(count, static_cast<index_t>(sizeof(T)), "size of a traced array")));
  }
  void attach(Sink& sink) { sinks_.push_back(&sink); }

  /// Passes the accesses of f() to the sinks.
  template <class F>
  void run(F&& f) {
    start();
    f();
    stop();
  }

  /// Returns the names by number in the stream; the last one is the kernels' own allocations.
  [[nodiscard]] const std::vector<std::string>& arrays() const { return names_; }
  /// Returns the bytes of all arrays and workspaces from the first to the last.
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] std::uint64_t begin_of(std::size_t array) const { return begins_[array]; }
  [[nodiscard]] std::uint64_t bytes_of(std::size_t array) const { return bytes_[array]; }

  /// Returns the stages of the kernel in the order in which it entered them.
  [[nodiscard]] const std::vector<std::string>& stages() const { return stages_; }
  /// Returns the number of the stage to which the accesses of a sink's take() belong.
  [[nodiscard]] unsigned stage() const { return stage_; }
  /// Ends the stage before. No effect where nothing is traced.
  static void enter_stage(const char* name);

  // Allocation of Buffers of traced elements.
  [[nodiscard]] static void* allocate_workspace(index_t bytes);
  static void release_workspace(void* data) noexcept;

 private:
  friend void flush_recorder();
  struct TracedRange {
    std::uint64_t begin, end;
    bool used;
  };
  [[nodiscard]] void* allocate(const std::string& name, index_t bytes);
  [[nodiscard]] std::uint64_t place(index_t bytes, unsigned array, std::uint64_t alignment);
  void start();
  void stop();
  void flush();

  std::uint64_t alignment_;
  Reuse reuse_;
  std::byte* mapping_ = nullptr;
  std::uint64_t mapped_ = 0;
  std::byte* memory_ = nullptr;  ///< first aligned byte of the mapping
  std::uint64_t reserved_ = 0;
  std::uint64_t used_ = 0;
  unsigned unit_bits_;  ///< of the units of addresses that belong to one array
  std::vector<std::uint8_t> array_of_unit_;
  std::vector<std::string> names_, stages_;
  unsigned stage_ = 0;
  std::vector<std::uint64_t> begins_, bytes_;
  std::vector<TracedRange> workspace_;
  std::vector<Sink*> sinks_;
  std::vector<Access> buffer_;
};

}  // namespace tessera::inline v1::locality
