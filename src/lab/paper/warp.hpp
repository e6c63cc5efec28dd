#pragma once
// Kernels on paper: blocks whose warps run in lockstep. A kernel is written as in CUDA, with one
// difference: an instruction that touches memory or branches is a call on the warp, given what a
// thread computes (its index, its condition), and a barrier ends a phase of the block. The kernel
// computes its result, and the meter sees every instruction with all its lanes.

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "lab/paper/meter.hpp"

namespace tessera::inline v1::paper {

/// A thread as its kernel sees it.
struct Thread {
  index_t block = 0;
  index_t number = 0;  ///< in its block
  index_t lane = 0;
};

/// A variable of each thread of a warp.
template <class T>
class Register {
 public:
  [[nodiscard]] const T& operator[](const Thread& t) const {
    return at_[static_cast<std::size_t>(t.lane)];
  }
  [[nodiscard]] T& operator[](const Thread& t) { return at_[static_cast<std::size_t>(t.lane)]; }

 private:
  std::array<T, static_cast<std::size_t>(lanes)> at_{};
};

/// An array in global or shared memory.
template <class T>
struct Array {
  std::size_t number = 0;  ///< of the meter
  index_t base = 0;        ///< address of the first element, bytes
  std::vector<T> values;
};

/// Returns an array in global memory, aligned to a page. row: elements of its rows; 0: it has none.
template <class T>
[[nodiscard]] Array<T> global_array(Meter& meter, const std::string& name, std::vector<T> values,
                                    index_t row = 0) {
  constexpr auto size = static_cast<index_t>(sizeof(T));
  const auto bytes = static_cast<index_t>(values.size()) * size;
  return {meter.declare({name, Space::global, size, bytes, 0, row}), 0, std::move(values)};
}

class Warp {
 public:
  Warp(Meter& meter, index_t block, index_t number, index_t threads)
      : meter_(&meter), block_(block), first_(number * lanes) {
    const index_t here = std::min(lanes, threads - first_);
    active_ = here == lanes ? ~Mask{0} : (Mask{1} << here) - 1;
  }

  /// Number of the warp in its block.
  [[nodiscard]] std::size_t number() const { return static_cast<std::size_t>(first_ / lanes); }

  /// Calls f(thread) for every active lane; costs nothing.
  template <class F>
  void each(const F& f) const {
    for (Mask left = active_; left != 0; left &= left - 1) {
      const index_t lane = std::countr_zero(left);
      f(Thread{block_, first_ + lane, lane});
    }
  }

  /// Returns from[at(thread)] of every active lane.
  template <class T, class At>
  [[nodiscard]] Register<T> load(const Array<T>& from, const At& at) {
    Register<T> result;
    const Addresses addresses = addresses_of(from, at);
    each([&](const Thread& t) { result[t] = from.values.at(static_cast<std::size_t>(at(t))); });
    request(from, Kind::load, addresses);
    return result;
  }

  /// Returns `count` elements in a row from at(thread) on, by one instruction.
  template <std::size_t count, class T, class At>
  [[nodiscard]] Register<std::array<T, count>> load_vector(const Array<T>& from, const At& at) {
    Register<std::array<T, count>> result;
    each([&](const Thread& t) {
      for (std::size_t e = 0; e < count; ++e)
        result[t][e] = from.values.at(static_cast<std::size_t>(at(t)) + e);
    });
    request<count>(from, Kind::load, addresses_of(from, at));
    return result;
  }

  /// Sets `count` elements in a row from at(thread) on to value(thread), by one instruction.
  template <std::size_t count, class T, class At, class Value>
  void store_vector(Array<T>& to, const At& at, const Value& value) {
    request<count>(to, Kind::store, addresses_of(to, at));
    each([&](const Thread& t) {
      const std::array<T, count> elements = value(t);
      for (std::size_t e = 0; e < count; ++e)
        to.values.at(static_cast<std::size_t>(at(t)) + e) = elements[e];
    });
  }

  /// Sets to[at(thread)] = value(thread).
  template <class T, class At, class Value>
  void store(Array<T>& to, const At& at, const Value& value) {
    request(to, Kind::store, addresses_of(to, at));
    each([&](const Thread& t) { to.values.at(static_cast<std::size_t>(at(t))) = value(t); });
  }

  /// Adds value(thread) to to[at(thread)], atomically.
  template <class T, class At, class Value>
  void add(Array<T>& to, const At& at, const Value& value) {
    request(to, Kind::atomic, addresses_of(to, at));
    each([&](const Thread& t) { to.values.at(static_cast<std::size_t>(at(t))) += value(t); });
  }

  /// Counts arithmetic on what was loaded, operations per thread.
  void operations(index_t count) {
    arrive();
    if (active_ != 0) meter_->operations(count, active_);
  }

  /// Runs body() on the lanes for which the condition holds, if there are any.
  template <class If, class Body>
  void where(const If& condition, const Body& body) {
    run_on(mask_of(condition), body);
  }
  /// Runs one body or the other on every lane, one after the other if lanes differ.
  template <class If, class Body, class Otherwise>
  void where(const If& condition, const Body& body, const Otherwise& otherwise) {
    const Mask taken = mask_of(condition), rest = active_ & ~taken;
    branched((taken != 0 ? 1 : 0) + (rest != 0 ? 1 : 0));
    run_on(taken, body);
    run_on(rest, otherwise);
  }
  /// Runs body(key) for each key that a lane has, on the lanes that have it: a switch.
  template <class Key, class Body>
  void choose(const Key& key, const Body& body) {
    index_t paths = 0;
    for (Mask left = active_; left != 0; ++paths) {
      const index_t lane = std::countr_zero(left);
      const index_t mine = key(Thread{block_, first_ + lane, lane});
      const Mask taken = left & mask_of([&](const Thread& t) { return key(t) == mine; });
      run_on(taken, [&] { body(mine); });
      left &= ~taken;
    }
    branched(paths);
  }

  /// Ends the warp's part of a phase, or of the kernel.
  void arrive() {
    if (flight_ > 0) meter_->in_flight(flight_);
    flight_ = held_ = 0;
  }
  void end() {
    arrive();
    meter_->end_warp(ways_);
  }

 private:
  template <class T, class At>
  [[nodiscard]] Addresses addresses_of(const Array<T>& array, const At& at) const {
    Addresses result{};
    each([&](const Thread& t) {
      result[static_cast<std::size_t>(t.lane)] =
          array.base + at(t) * static_cast<index_t>(sizeof(T));
    });
    return result;
  }
  /// Loads are in flight together until something else is done, or until the registers are full.
  template <std::size_t count = 1, class T>
  void request(const Array<T>& array, Kind kind, const Addresses& addresses) {
    if (active_ == 0) return;
    constexpr auto bytes = static_cast<index_t>(count * sizeof(T));
    const bool loads = kind == Kind::load && meter_->arrays()[array.number].space == Space::global;
    if (!loads || held_ + bytes > meter_->thread_bytes) arrive();
    if (loads) {
      held_ += bytes;
      flight_ += pieces_of(addresses, active_, meter_->segment_bytes()) * meter_->segment_bytes();
    }
    meter_->access({array.number, kind, block_, first_, addresses, active_, bytes});
  }
  template <class If>
  [[nodiscard]] Mask mask_of(const If& condition) const {
    Mask result = 0;
    each([&](const Thread& t) { result |= condition(t) ? Mask{1} << t.lane : 0; });
    return result;
  }
  template <class Body>
  void run_on(Mask taken, const Body& body) {
    if (taken == 0) return;
    const Mask before = std::exchange(active_, taken);
    body();
    active_ = before;
  }
  void branched(index_t paths) { ways_ = std::max(ways_, paths); }

  Meter* meter_;
  index_t block_, first_;
  Mask active_ = 0;
  index_t ways_ = 1;
  index_t flight_ = 0, held_ = 0;  ///< bytes in flight: segments; registers of a thread
};

class Block {
 public:
  Block(Meter& meter, index_t number, index_t threads) : meter_(&meter), number_(number) {
    for (index_t warp = 0; warp < ceil_div(threads, lanes); ++warp)
      warps_.emplace_back(meter, number, warp, threads);
  }
  [[nodiscard]] index_t number() const { return number_; }

  /// Returns an array in shared memory, behind those before it. row: as of global_array.
  template <class T>
  [[nodiscard]] Array<T> shared(const std::string& name, index_t elements, index_t row = 0) {
    constexpr auto size = static_cast<index_t>(sizeof(T));
    const index_t base = round_up(shared_, 16);
    shared_ = base + elements * size;
    meter_->launch.shared_bytes = std::max(meter_->launch.shared_bytes, shared_);
    return {meter_->declare({name, Space::shared, size, elements * size, base, row}), base,
            std::vector<T>(static_cast<std::size_t>(elements))};
  }
  /// Returns variables that live through several phases: one register of each warp.
  template <class T>
  [[nodiscard]] std::vector<Register<T>> registers() const {
    return std::vector<Register<T>>(warps_.size());
  }

  /// Runs f(warp) for every warp; a barrier ends it.
  template <class F>
  void phase(const F& f) {
    for (Warp& warp : warps_) {
      f(warp);
      warp.arrive();
    }
    if (meter_->witness != nullptr) meter_->witness->barrier(number_);
  }
  void end() {
    for (Warp& warp : warps_) warp.end();
  }

 private:
  Meter* meter_;
  index_t number_, shared_ = 0;
  std::vector<Warp> warps_;
};

/// Runs kernel(block) for every block. Of several launches the meter keeps the shape of the
/// largest.
template <class Kernel>
void launch(Meter& meter, index_t blocks, index_t threads, const Kernel& kernel) {
  meter.launch.blocks = std::max(meter.launch.blocks, blocks);
  meter.launch.threads = threads;
  for (index_t number = 0; number < blocks; ++number) {
    Block block(meter, number, threads);
    kernel(block);
    block.end();
  }
}

}  // namespace tessera::inline v1::paper
