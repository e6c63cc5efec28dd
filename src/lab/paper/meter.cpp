#include "lab/paper/meter.hpp"

#include <algorithm>
#include <bit>

#include "lab/paper/gpu.hpp"

namespace tessera::inline v1::paper {
namespace {

/// A set of numbers, one or a few per lane.
class Few {
 public:
  void add(index_t value) {
    if (count_ == 0 || values_[count_ - 1] != value) values_[count_++] = value;
  }
  void add_always(index_t value) { values_[count_++] = value; }
  /// Sorts the values; returns them without repetitions.
  [[nodiscard]] std::span<const index_t> different() {
    const auto all = sorted();
    return all.first(static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin()));
  }
  [[nodiscard]] std::span<index_t> sorted() {
    const std::span<index_t> all(values_.data(), count_);
    if (!std::is_sorted(all.begin(), all.end())) std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::array<index_t, static_cast<std::size_t>(4 * lanes)> values_;
  std::size_t count_ = 0;
};

template <class F>
void each_active(Mask active, const F& f) {
  for (Mask left = active; left != 0; left &= left - 1)
    f(static_cast<std::size_t>(std::countr_zero(left)));
}

/// Returns the longest queue at a bank.
index_t longest_queue(std::span<const index_t> words) {
  std::array<index_t, static_cast<std::size_t>(banks)> queue{};
  index_t longest = 0;
  for (const index_t word : words)
    longest = std::max(longest, ++queue[static_cast<std::size_t>(word % banks)]);
  return longest;
}

Few segments_of(const Addresses& at, Mask active, index_t piece) {
  Few pieces;
  each_active(active, [&](std::size_t lane) { pieces.add(at[lane] / piece); });
  return pieces;
}

}  // namespace

index_t pieces_of(const Addresses& at, Mask active, index_t piece) {
  Few pieces = segments_of(at, active, piece);
  return static_cast<index_t>(pieces.different().size());
}

index_t passes_of(const Addresses& at, Mask active, index_t element_bytes, Kind kind) {
  const index_t words = std::max<index_t>(1, element_bytes / bank_bytes);
  const auto together = static_cast<int>(lanes / words);  // lanes served at a time
  const Mask first = together == 32 ? ~Mask{0} : (Mask{1} << together) - 1;
  index_t passes = 0;
  for (int from = 0; from < static_cast<int>(lanes); from += together) {
    Few asked;
    each_active(active & first << from, [&](std::size_t lane) {
      for (index_t word = 0; word < words; ++word) asked.add_always(at[lane] / bank_bytes + word);
    });
    passes += longest_queue(kind == Kind::atomic ? asked.sorted() : asked.different());
  }
  return passes;
}

Traffic& operator+=(Traffic& to, const Traffic& from) {
  to.requests += from.requests;
  to.lanes += from.lanes;
  to.segments += from.segments;
  to.lines += from.lines;
  to.passes += from.passes;
  return to;
}

std::size_t Meter::declare(const Declared& array) {
  for (std::size_t i = 0; i < arrays_.size(); ++i)
    if (arrays_[i].name == array.name) return i;
  if (witness != nullptr) witness->declared(arrays_.size(), array);
  arrays_.push_back(
      {.name = array.name, .space = array.space, .element_bytes = array.element_bytes});
  Touched touched;
  if (array.space == Space::global) {
    const auto segments = static_cast<std::size_t>(ceil_div(array.bytes, segment_));
    touched.loaded_by.assign(segments, -1);
    touched.stored.assign(segments, false);
  }
  touched_.push_back(std::move(touched));
  return arrays_.size() - 1;
}

void Meter::touch(std::size_t array, Kind kind, index_t block, index_t segment) {
  ArrayTraffic& to = arrays_[array];
  Touched& touched = touched_[array];
  const auto at = static_cast<std::size_t>(segment);
  if (kind != Kind::load) {
    to.stored += touched.stored[at] ? 0 : 1;
    touched.stored[at] = true;
    return;
  }
  index_t& by = touched.loaded_by[at];
  to.loaded += by < 0 ? 1 : 0;
  to.loaded_by_blocks += by != block ? 1 : 0;
  by = block;
}

void Meter::access(const Instruction& request) {
  const auto& [array, kind, block, first, at, active, bytes] = request;
  ArrayTraffic& to = arrays_[array];
  Traffic& traffic = to.by_kind[static_cast<std::size_t>(kind)];
  ++traffic.requests;
  traffic.lanes += std::popcount(active);
  ++instructions_;
  active_ += std::popcount(active);
  if (witness != nullptr) witness->executed(request);
  if (to.space == Space::shared) {
    traffic.passes += passes_of(at, active, bytes, kind);
    return;
  }
  Few segments = segments_of(at, active, segment_);
  const auto different = segments.different();
  for (const index_t segment : different) touch(array, kind, block, segment);
  traffic.segments += static_cast<index_t>(different.size());
  traffic.lines += pieces_of(at, active, line_bytes);
}

void Meter::in_flight(index_t bytes) {
  ++flights_;
  flight_bytes_ += bytes;
}

void Meter::operations(index_t count, Mask active) {
  operations_ += count * std::popcount(active);
  slots_ += count * lanes;
  instructions_ += count;
  active_ += count * std::popcount(active);
}

void Meter::end_warp(index_t ways) {
  ++warps_;
  ways_ += ways;
  most_ways_ = std::max(most_ways_, ways);
  divergent_ += ways > 1 ? 1 : 0;
}

Traffic Meter::all(Space space, Kind kind) const {
  Traffic sum;
  for (const ArrayTraffic& array : arrays_)
    if (array.space == space) sum += array.of(kind);
  return sum;
}

}  // namespace tessera::inline v1::paper
