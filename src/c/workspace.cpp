#include "c/workspace.hpp"

#include <optional>

#include "c/arguments.hpp"

namespace tessera::inline v1::c {
namespace {

thread_local std::optional<machine::Workspace> lent;

}  // namespace

Lent::Lent() : scope_(lent ? &*lent : nullptr) {}

}  // namespace tessera::inline v1::c

int tessera_use_workspace(void* memory, int64_t bytes) {
  using namespace tessera::c;
  return guarded([&] {
    expect_extent(bytes, "bytes");
    expect_memory(memory, bytes, "memory");
    lent.reset();
    if (bytes > 0) lent.emplace(memory, bytes);
  });
}
