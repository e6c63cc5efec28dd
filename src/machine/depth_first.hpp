#pragma once
// Work that is divided while it is done. Tasks of OpenMP go to idle threads in the order in which
// they were made, the largest first, also where the idle one has just made smaller ones that its
// caches know.

#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "machine/fork_join.hpp"

namespace tessera::machine {

/// What a thread has put off: it goes on with the newest, others take the oldest.
template <class Item>
class alignas(64) PutOff {
 public:
  static constexpr int room =
      128;  ///< a recursion that halves two numbers of 63 bits puts off no more

  void put(const Item& item) {
    const Lock lock(busy_);
    items_[static_cast<std::size_t>((oldest_ + count_) % room)] = item;
    count_.store(count_ + 1, std::memory_order_relaxed);
  }

  /// Stays where it is; somebody else may take it at any time.
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
    if (count_ == 0) return {};  // who waits looks often, and must not be in the way
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
      while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
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

/// step(item, rest) for `root` and for all that is put off by rest.put(part of item), on the team;
/// returns when all is done. A thread takes what it put off last, which rest.next() shows, and one
/// without work what another put off first: depth first on each thread, and few steals (Blumofe and
/// Leiserson 1999). step must not throw; item by value.
template <class Item, class Step>
void depth_first(const Item& root, const Step& step) {
  std::vector<PutOff<Item>> put_off(static_cast<std::size_t>(team()));
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
    while (open.load(std::memory_order_acquire) > 0) {
      std::optional<Item> item = put_off[me].take_newest();
      for (std::size_t other = 1; !item && other < put_off.size(); ++other)
        item = put_off[(me + other) % put_off.size()].take_oldest();
      if (!item) {
        std::this_thread::yield();
        continue;
      }
      step(*item, rest);
      open.fetch_sub(1, std::memory_order_release);
    }
  };
  if (Crew* const crew = detail::free_crew(); crew != nullptr)
    return crew->run([&](int thread) { work(static_cast<std::size_t>(thread)); });
  gather([&] {
    for (std::size_t me = 1; me < put_off.size(); ++me) leave([&work, me] { work(me); }, [] {});
    work(0);
  });
}

}  // namespace tessera::machine
