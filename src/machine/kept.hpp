#pragma once
// Lists that a thread keeps for its next loop, so that repeated calls allocate nothing.

#include <utility>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// A vector from this thread's store, with the elements of its last use; a new one if all are in
/// use. The end of the scope, on the same thread, returns it to the store, unless it has more than
/// 1 MiB. Scopes may nest and interleave on a thread as tasks do.
template <class T>
class Kept {
 public:
  Kept() {
    store().reserve(most_kept);  // here, because the end of a scope must not throw
    if (store().empty()) return;
    all_ = std::move(store().back());
    store().pop_back();
  }
  ~Kept() {
    constexpr std::size_t most = (std::size_t{1} << 20) / sizeof(T);
    if (all_.capacity() <= most && store().size() < most_kept) store().push_back(std::move(all_));
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  [[nodiscard]] std::vector<T>& all() { return all_; }

 private:
  static constexpr std::size_t most_kept = 8;
  static std::vector<std::vector<T>>& store() {
    thread_local std::vector<std::vector<T>> kept;
    return kept;
  }
  std::vector<T> all_;
};

}  // namespace tessera::inline v1::machine
