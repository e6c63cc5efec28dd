#include "lab/locality/tracer.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/text.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::locality {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t line = 64;  // alignment of machine::allocate
constexpr std::size_t buffered = std::size_t{1}
                                 << 14;  // accesses: 128 KiB, fits a second-level cache
constexpr const char* workspace_name = "workspace";

Tracer* current = nullptr;
std::uint64_t affordable = 0;  // available memory; the reserved address space is larger

/// Reserves address space that is backed by memory on first touch.
std::byte* reserve(std::uint64_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

constinit AccessRecorder recorder;

void flush_recorder() { current->flush(); }

Tracer::Tracer(index_t alignment, Reuse reuse)
    : alignment_(static_cast<std::uint64_t>(alignment)), reuse_(reuse), buffer_(buffered) {
  require(alignment > 0 && alignment % 8 == 0, ExitCode::usage,
          "alignment of traced arrays must be a positive multiple of 8 bytes");
  const std::uint64_t least = reuse_ == Reuse::yes ? page : line;
  unit_bits_ = static_cast<unsigned>(std::countr_zero(alignment_ | least));
  require(current == nullptr, ExitCode::internal,
          "tracer exists already: only one at a time is supported");
  affordable = static_cast<std::uint64_t>(0.9 * static_cast<double>(machine::available_memory()));
  for (mapped_ = std::uint64_t{1} << 38; mapping_ == nullptr && mapped_ > page; mapped_ /= 2)
    mapping_ = reserve(mapped_);
  mapped_ *= 2;
  require(mapping_ != nullptr, ExitCode::memory,
          "address space is insufficient for traced arrays; raise ulimit -v");
  const std::uint64_t skip =
      (alignment_ - reinterpret_cast<std::uintptr_t>(mapping_) % alignment_) % alignment_;
  memory_ = mapping_ + skip;
  reserved_ = mapped_ - skip;
  current = this;
  recorder = {.base = reinterpret_cast<std::uintptr_t>(memory_)};
}

Tracer::~Tracer() {
  recorder = {};
  current = nullptr;
  munmap(mapping_, mapped_);
}

std::uint64_t Tracer::place(index_t bytes, unsigned array, std::uint64_t alignment) {
  const std::uint64_t begin = (used_ + alignment - 1) / alignment * alignment;
  const std::uint64_t end = begin + static_cast<std::uint64_t>(bytes);
  require(
      end <= affordable, ExitCode::memory,
      fmt::format("arrays to trace need {}: 90 % of the free memory is {}; choose smaller sizes",
                  human_bytes(end), human_bytes(affordable)));
  require(end <= reserved_, ExitCode::memory,
          "arrays to trace do not fit the address space; choose smaller sizes");
  used_ = end;
  const std::uint64_t unit = std::uint64_t{1} << unit_bits_;
  array_of_unit_.resize((end + unit - 1) / unit, 0);
  std::fill(array_of_unit_.begin() + static_cast<index_t>(begin / unit), array_of_unit_.end(),
            static_cast<std::uint8_t>(array));
  return begin;
}

void* Tracer::allocate(const std::string& name, index_t bytes) {
  require(names_.size() + 1 < most_arrays, ExitCode::internal,
          "number of traced arrays exceeds the limit");
  const std::uint64_t begin = place(bytes, static_cast<unsigned>(names_.size()), alignment_);
  names_.push_back(name);
  begins_.push_back(begin);
  bytes_.push_back(static_cast<std::uint64_t>(bytes));
  return memory_ + begin;
}

void* Tracer::allocate_workspace(index_t bytes) {
  require(current != nullptr, ExitCode::internal,
          "tracer is missing: elements are traced while one exists");
  if (bytes == 0) return nullptr;
  Tracer& t = *current;
  const auto known = std::find(t.names_.begin(), t.names_.end(), workspace_name);
  const auto array = static_cast<unsigned>(known - t.names_.begin());
  const std::uint64_t begin =
      t.place(bytes, array, t.reuse_ == Reuse::yes ? std::lcm(t.alignment_, line) : line);
  if (known == t.names_.end()) {
    t.names_.emplace_back(workspace_name);
    t.begins_.push_back(begin);
    t.bytes_.push_back(0);
  }
  t.bytes_[array] =
      std::max(t.bytes_[array], begin + static_cast<std::uint64_t>(bytes) - t.begins_[array]);
  if (t.reuse_ == Reuse::yes) t.workspace_.push_back({begin, t.used_, true});
  return t.memory_ + begin;
}

/// Releases a workspace; trailing unused pieces are reused, as by an allocator.
void Tracer::release_workspace(void* data) noexcept {
  if (data == nullptr || current == nullptr || current->reuse_ == Reuse::no) return;
  Tracer& t = *current;
  const auto begin = static_cast<std::uint64_t>(static_cast<std::byte*>(data) - t.memory_);
  for (TracedRange& piece : t.workspace_) {
    if (piece.begin == begin) piece.used = false;
  }
  while (!t.workspace_.empty() && !t.workspace_.back().used) {
    t.used_ = t.workspace_.back().begin;
    t.workspace_.pop_back();
  }
}

void Tracer::enter_stage(const char* name) {
  if (current == nullptr || recorder.bytes == 0) return;
  Tracer& t = *current;
  t.flush();
  const auto known = std::find(t.stages_.begin(), t.stages_.end(), name);
  t.stage_ = static_cast<unsigned>(known - t.stages_.begin());
  if (known == t.stages_.end()) t.stages_.emplace_back(name);
}

void Tracer::start() {
  recorder.bytes = reserved_;
  recorder.next = buffer_.data();
  recorder.end = buffer_.data() + buffer_.size();
}

void Tracer::stop() {
  flush();
  recorder.bytes = 0;
}

void Tracer::flush() {
  const std::span<Access> accesses(buffer_.data(), recorder.next);
  for (Access& access : accesses) {
    if (access.is_touch()) access = access.in_array(array_of_unit_[access.address() >> unit_bits_]);
  }
  for (Sink* sink : sinks_) sink->take(accesses);
  recorder.next = buffer_.data();
}

}  // namespace tessera::inline v1::locality
