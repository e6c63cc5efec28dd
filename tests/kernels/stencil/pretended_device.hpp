#pragma once
// Emulated device in host memory, whose three streams progress in any order that events allow.

#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/stencil/slab_march.hpp"
#include "standing_in.hpp"

namespace tessera::stencil {

/// Schedule of the streams, and of reads and writes of host memory.
struct Temper {
  enum class Pace { at_once, as_late_as_possible, random } pace = Pace::random;
  bool straight = false;  ///< direct transfers; else the host copies: reads at once, writes when it
                          ///< synchronises
  std::uint64_t seed = 1;
};

template <class T>
class PretendedDevice {
 public:
  /// Completed work of a stream at the time of the mark.
  struct Event {
    Queue queue = Queue::send;
    std::size_t done = 0;
  };
  using Asked = std::size_t;

  PretendedDevice(const Stencil& stencil, const SlabPlan& plan, const DeviceKernel<T>& kernel,
                  Temper temper)
      : kernel_(kernel), temper_(temper) {
    for (const Tap& tap : stencil.taps) {
      weights_.push_back(static_cast<T>(tap.weight));
      places_.push_back(tap.offset);
    }
    for (index_t level = 0; level < 2 * plan.places; ++level)
      memory_.emplace_back(static_cast<std::size_t>(plan.elements),
                           std::numeric_limits<T>::quiet_NaN());
  }

  void mark(Queue queue, Event& event) { event = {queue, begun_[index(queue)]}; }
  void after(Queue queue, const Event& event) {
    const Event until = event;  // the event may be marked again
    add(
        queue, [] {}, [this, until] { return done_[index(until.queue)] >= until.done; });
  }
  [[nodiscard]] T* level(std::size_t place, int level) {
    return memory_[2 * place + static_cast<std::size_t>(level)].data();
  }
  void send(const MatrixView<const std::byte>& host, const MatrixView<std::byte>& there) {
    ++sent_strips;
    expect_inside(there);
    if (temper_.straight) return add(Queue::send, [=] { copy(host, there); });
    const auto chunk = read(host);
    add(Queue::send, [=] {
      copy(view(*chunk, host.cols), there);
      for (index_t i = 0; i < there.rows; ++i)  // as chunks do
        std::fill(&there(i, 0) + there.cols, &there(i, 0) + there.ld, std::byte{});
    });
  }
  void bring(const MatrixView<std::byte>& there, const MatrixView<std::byte>& host) {
    ++asked_;
    expect_inside(there);
    add(Queue::bring, [this, there, host] {
      const auto chunk = read(there);
      unpacked_.push_back([=] { copy(view(*chunk, there.cols), host); });
      if (temper_.straight) unpack();
    });
  }
  int compute(DeviceSweep<T> sweep) {
    sweep.tap_weight = weights_.data();
    sweep.tap_place = places_.data();
    const auto level = static_cast<int>(kernel_.passes(sweep, {}).count % 2);
    add(Queue::compute, [this, sweep, level] {
      standing_in::fill_ghosts(sweep, 0, nullptr);
      standing_in::fill_ghosts(sweep, 1, nullptr);
      if (kernel_.run(sweep, {}, nullptr) != level) throw std::logic_error("the other level");
    });
    return level;
  }
  [[nodiscard]] Asked asked() const { return asked_; }
  void arrived(Asked asked) {
    while (written_ < asked) {
      unpack();
      if (written_ < asked && !go_on()) throw std::logic_error("they wait for each other");
    }
  }
  [[nodiscard]] index_t strip_bytes() const { return 700; }

  void finish() {
    arrived(asked_);
    while (go_on()) {
    }
    for (const auto& queue : queue_)
      if (!queue.empty()) throw std::logic_error("they wait for each other");
  }

  index_t sent_strips = 0;

 private:
  struct Work {
    std::function<void()> work;
    std::function<bool()> ready;
  };
  using Chunk = std::shared_ptr<std::vector<std::byte>>;

  /// Expects a range inside the memory: chunks include the bytes between rows and after the last
  /// one.
  void expect_inside(const MatrixView<std::byte>& there) const {
    for (const auto& level : memory_) {
      const auto* const begin = reinterpret_cast<const std::byte*>(level.data());
      const auto* const end = begin + level.size() * sizeof(T);
      if (there.data >= begin && there.data < end && end - there.data >= there.rows * there.ld)
        return;
    }
    throw std::logic_error("rows that reach beyond the device's memory");
  }
  static std::size_t index(Queue queue) { return static_cast<std::size_t>(queue); }
  static Chunk read(const MatrixView<const std::byte>& x) {
    const auto chunk = std::make_shared<std::vector<std::byte>>();
    for (index_t i = 0; i < x.rows; ++i) chunk->insert(chunk->end(), &x(i, 0), &x(i, 0) + x.cols);
    return chunk;
  }
  static MatrixView<const std::byte> view(const std::vector<std::byte>& chunk, index_t cols) {
    return {chunk.data(), static_cast<index_t>(chunk.size()) / cols, cols, cols};
  }
  static void copy(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to) {
    for (index_t i = 0; i < from.rows; ++i) std::copy_n(&from(i, 0), from.cols, &to(i, 0));
  }

  void add(
      Queue queue, std::function<void()> work, std::function<bool()> ready = [] { return true; }) {
    queue_[index(queue)].push_back({std::move(work), std::move(ready)});
    ++begun_[index(queue)];
    if (temper_.pace == Temper::Pace::at_once) {
      while (go_on()) unpack();
    }
    if (temper_.pace == Temper::Pace::random) {
      for (std::uint64_t i = random() % 4; i > 0; --i) (void)go_on();
      if (random() % 3 == 0) unpack();
    }
  }
  std::uint64_t random() { return random_bits(temper_.seed, 9, static_cast<index_t>(turn_++)); }

  /// Executes one work item of a ready stream; returns whether there was one.
  bool go_on() {
    const std::size_t first = random() % 3;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t queue = (first + i) % 3;
      if (queue_[queue].empty() || !queue_[queue].front().ready()) continue;
      const Work next = std::move(queue_[queue].front());
      queue_[queue].pop_front();
      next.work();
      ++done_[queue];
      return true;
    }
    return false;
  }
  void unpack() {
    for (; !unpacked_.empty(); unpacked_.pop_front(), ++written_) unpacked_.front()();
  }

  DeviceKernel<T> kernel_;
  Temper temper_;
  std::vector<T> weights_;
  std::vector<Index3> places_;
  std::vector<std::vector<T>> memory_;
  std::deque<Work> queue_[3];
  std::size_t begun_[3] = {0, 0, 0}, done_[3] = {0, 0, 0};
  std::deque<std::function<void()>> unpacked_;
  std::size_t asked_ = 0, written_ = 0, turn_ = 0;
};

}  // namespace tessera::stencil
