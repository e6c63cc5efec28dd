#pragma once
// Memory that the caller lends to the calls of a thread.

#include "c/status.hpp"
#include "machine/workspace.hpp"

namespace tessera::inline v1::c {

/// Scope guard: buffers of this call are in the memory that this thread has lent, if any.
class Lent {
 public:
  Lent();

 private:
  machine::Workspace::Scope scope_;
};

/// Sets *bytes to what f() returns.
template <class F>
[[nodiscard]] int answer(int64_t* bytes, const F& f) noexcept {
  return guarded([&] {
    expect(bytes != nullptr, "bytes", "is a null pointer");
    *bytes = f();
  });
}

}  // namespace tessera::inline v1::c
