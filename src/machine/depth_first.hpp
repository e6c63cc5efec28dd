#pragma once
// Work stealing. OpenMP gives tasks to idle threads in order of creation, the largest first, even
// if the idle thread has just created smaller ones whose data is in its caches.

#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "machine/contention.hpp"
#include "machine/fork_join.hpp"
#include "machine/kept.hpp"

namespace tessera::inline v1::machine {

/// A thread's deque of deferred items: the owner takes the newest, thieves the oldest.
template <class Item>
class alignas(64) PutOff {
 public:
  static constexpr int room =
      128;  ///< capacity: enough for a recursion that halves two 63-bit numbers

  void put(const Item& item) {
    const Lock lock(busy_);
    items_[static_cast<std::size_t>((oldest_ + count_) % room)] = item;
    count_.store(count_ + 1, std::memory_order_relaxed);
  }

  /// Returns the newest item without removing it; a thief may take it at any time.
  [[nodiscard]] std::optional<Item> next() const {
    const Lock lock(busy_);
    if (count_ == 0) return {};
    return items_[static_cast<std::size_t>((oldest_ + count_ - 1) % room)];
  }

  [[nodiscard]] std::optional<Item> take_newest() {
    const Lock lock(busy_);
    if (count_ == 0) return {};
    count_.store(count_ - 1, std::memory_order_relaxed);
    return items_[static_cast<std::size_t>((oldest_ + count_) % room)];
  }

  [[nodiscard]] std::optional<Item> take_oldest() {
    if (count_ == 0) return {};  // lock-free check, because idle threads poll often
    const Lock lock(busy_);
    if (count_ == 0) return {};
    count_.store(count_ - 1, std::memory_order_relaxed);
    const int taken = oldest_;
    oldest_ = (oldest_ + 1) % room;
    return items_[static_cast<std::size_t>(taken)];
  }

 private:
  class Lock {
   public:
    explicit Lock(std::atomic_flag& busy) : busy_(busy) {
      for (Patience patience; busy_.test_and_set(std::memory_order_acquire);) patience.wait();
    }
    ~Lock() { busy_.clear(std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    std::atomic_flag& busy_;
  };

  mutable std::atomic_flag busy_;
  std::atomic<int> count_ = 0;
  int oldest_ = 0;
  std::array<Item, room> items_;
};

/// Executes step(item, rest) on the team for `root` and for every item deferred by rest.put(item);
/// returns when all are done. A thread continues with its newest item, which rest.next() shows, and
/// an idle one steals another's oldest: depth first on each thread, few steals (Blumofe and
/// Leiserson 1999). step must not throw; it receives items by value.
template <class Item, class Step>
void depth_first(const Item& root, const Step& step) {
  const auto threads = static_cast<std::size_t>(team());
  Kept<PutOff<Item>> kept;  // all are empty at the end
  std::vector<PutOff<Item>>& put_off = kept.all();
  if (put_off.size() < threads) put_off = std::vector<PutOff<Item>>(threads);
  std::atomic<index_t> open{1};
  put_off[0].put(root);

  struct Rest {
    PutOff<Item>& mine;
    std::atomic<index_t>& open;
    void put(const Item& item) {
      open.fetch_add(1, std::memory_order_relaxed);
      mine.put(item);
    }
    [[nodiscard]] std::optional<Item> next() const { return mine.next(); }
  };
  const auto work = [&](std::size_t me) {
    Rest rest{put_off[me], open};
    Patience patience;
    while (open.load(std::memory_order_acquire) > 0) {
      std::optional<Item> item = put_off[me].take_newest();
      for (std::size_t other = 1; !item && other < threads; ++other)
        item = put_off[(me + other) % threads].take_oldest();
      if (!item) {
        patience.wait();
        continue;
      }
      patience = {};
      step(*item, rest);
      open.fetch_sub(1, std::memory_order_release);
    }
  };
  if (Crew* const crew = detail::free_crew(); crew != nullptr)
    return crew->run([&](int thread) { work(static_cast<std::size_t>(thread)); });
  gather([&] {
    for (std::size_t me = 1; me < threads; ++me) leave([&work, me] { work(me); }, [] {});
    work(0);
  });
}

}  // namespace tessera::inline v1::machine
