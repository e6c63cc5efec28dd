// First fit in a list of free parts, by address; neighbours are joined.

#include "machine/workspace.hpp"

#include <algorithm>
#include <cstdint>
#include <new>

namespace tessera::inline v1::machine {
namespace {

constexpr index_t line = 64;

}  // namespace

struct alignas(line) Workspace::Part {
  index_t bytes;  // of the part, with this header
  Part* next;     // of the free ones

  [[nodiscard]] std::byte* first() { return reinterpret_cast<std::byte*>(this); }
  [[nodiscard]] std::byte* end() { return first() + bytes; }
};

Workspace::Workspace(void* data, index_t bytes) : begin_(static_cast<std::byte*>(data)) {
  end_ = begin_ + bytes;
  begin_ += std::min(bytes, -reinterpret_cast<std::intptr_t>(data) & (line - 1));
  used_ = begin_;
  const index_t whole = (end_ - begin_) / line * line;
  if (whole >= 2 * line) free_ = new (begin_) Part{whole, nullptr};
}

void* Workspace::take(index_t bytes) noexcept {
  if (bytes > end_ - begin_) return nullptr;
  const index_t wanted = round_up(bytes, line) + line;
  const std::lock_guard lock(mutex_);
  Part** at = &free_;
  while (*at != nullptr && (*at)->bytes < wanted) at = &(*at)->next;
  Part* const part = *at;
  if (part == nullptr) return nullptr;
  if (part->bytes >= wanted + 2 * line) {
    *at = new (part->first() + wanted) Part{part->bytes - wanted, part->next};
    part->bytes = wanted;
  } else {
    *at = part->next;
  }
  used_ = std::max(used_, part->end());
  return part->first() + line;
}

bool Workspace::give(void* data) noexcept {
  auto* const first = static_cast<std::byte*>(data);
  if (first < begin_ || first >= end_) return false;
  auto* const part = reinterpret_cast<Part*>(first - line);
  const std::lock_guard lock(mutex_);
  Part *before = nullptr, *after = free_;
  while (after != nullptr && after < part) before = std::exchange(after, after->next);
  if (after != nullptr && part->end() == after->first()) {
    part->bytes += after->bytes;
    after = after->next;
  }
  part->next = after;
  if (before != nullptr && before->end() == part->first()) {
    before->bytes += part->bytes;
    before->next = part->next;
  } else {
    (before == nullptr ? free_ : before->next) = part;
  }
  return true;
}

index_t Workspace::used() const noexcept {
  const std::lock_guard lock(mutex_);
  return used_ - begin_;
}

}  // namespace tessera::inline v1::machine
