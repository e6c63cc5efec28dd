#pragma once
// Handles: numbers that are never used twice, so that a freed one is recognised.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "c/status.hpp"

namespace tessera::inline v1::c {

/// The objects of one kind of handle, a pointer type that is never dereferenced.
template <class Handle, class Object>
class Handles {
 public:
  /// Returns the objects of the process. Never destroyed: destructors of the program may use them.
  [[nodiscard]] static Handles& all() {
    static Handles& one = *std::make_unique<Handles>().release();
    return one;
  }

  [[nodiscard]] Handle add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    objects_.emplace(++last_, std::move(object));
    return reinterpret_cast<Handle>(last_);  // NOLINT: a number in the type of the C API
  }

  /// Returns the object of a handle; throws Error(usage) naming `argument` for 0 and freed ones.
  [[nodiscard]] std::shared_ptr<Object> get(Handle handle, std::string_view argument) {
    expect(handle != nullptr, argument, "is 0: must be a handle");
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    expect(found != objects_.end(), argument, "is not a handle, or was freed");
    return found->second;
  }

  /// Forgets a handle and sets it to 0; throws as get(), but accepts 0.
  void free(Handle* handle, std::string_view argument) {
    expect(handle != nullptr, argument, "is a null pointer");
    if (*handle == nullptr) return;
    const std::shared_ptr<Object> last = get(*handle, argument);  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    objects_.erase(reinterpret_cast<std::uintptr_t>(*handle));
    *handle = nullptr;
  }

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, std::shared_ptr<Object>> objects_;
  std::uintptr_t last_ = 0;
};

/// Makes an object by `make` and sets the handle to it; to 0 if make throws.
template <class Handle, class Make>
[[nodiscard]] int create(Handle* handle, const char* argument, const Make& make) {
  return guarded([&] {
    expect(handle != nullptr, argument, "is a null pointer");
    *handle = nullptr;
    auto object = make();
    *handle =
        Handles<Handle, typename decltype(object)::element_type>::all().add(std::move(object));
  });
}

}  // namespace tessera::inline v1::c
