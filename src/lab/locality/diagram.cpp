#include "lab/locality/diagram.hpp"

#include <algorithm>

namespace tessera::inline v1::locality {
namespace {

constexpr std::size_t time_bins = 1024;  // upper bound for a density: a picture has no finer
                                         // resolution
constexpr index_t line_bins = 512;

}  // namespace

Diagram::Diagram(index_t lines, index_t line_bytes, index_t most_marks)
    : line_(line_bytes),
      room_(static_cast<std::size_t>(std::max<index_t>(lines, 1))),
      most_marks_(most_marks) {}

void Diagram::take(std::span<const Access> accesses) {
  for (const Access access : accesses) {
    if (!access.is_touch()) continue;
    const std::uint64_t first = line_.of(access.address());
    const std::uint64_t last = line_.of(access.address() + access.bytes() - 1);
    const bool cached =
        std::find(left_out_.begin(), left_out_.end(), access.array()) == left_out_.end();
    bool fetched = false;
    for (std::uint64_t line = first; line <= last; ++line) {
      const bool missed = cached && touch(line, access.array());
      count(line, access.array(), missed);
      fetched = fetched || missed;
    }
    if (now_ < most_marks_)
      marks_.push_back({now_, static_cast<index_t>(access.address()), access.array(),
                        access.is_store(), fetched});
    ++now_;
  }
}

/// Touches a line; returns whether it was fetched.
bool Diagram::touch(std::uint64_t line, unsigned array) {
  auto at =
      std::find_if(cache_.begin(), cache_.end(), [&](const Resident& r) { return r.line == line; });
  const bool missed = at == cache_.end();
  if (missed && cache_.size() == room_) {
    const Resident& oldest = cache_.back();
    if (now_ < most_marks_)
      evicted_.push_back({static_cast<index_t>(oldest.line), oldest.array, oldest.from, now_});
    cache_.pop_back();
  }
  if (missed) {
    cache_.insert(cache_.begin(), {line, now_, array});
  } else {
    std::rotate(cache_.begin(), at, at + 1);
  }
  return missed;
}

void Diagram::count(std::uint64_t line, unsigned array, bool fetched) {
  while (now_ / time_step_ >= static_cast<index_t>(time_bins)) coarsen_time();
  if (line >= bins_.size()) {
    bins_.resize(line + 1);
    array_of_line_.resize(line + 1);
  }
  array_of_line_[line] = array;
  std::vector<Bin>& row = bins_[line];
  const auto bin = static_cast<std::size_t>(now_ / time_step_);
  if (bin >= row.size()) row.resize(bin + 1);
  ++row[bin].touches;
  row[bin].fetched += fetched ? 1 : 0;
}

void Diagram::coarsen_time() {
  time_step_ *= 2;
  for (std::vector<Bin>& row : bins_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Bin bin = row[i];
      row[i] = {};
      row[i / 2].touches += bin.touches;
      row[i / 2].fetched += bin.fetched;
    }
    row.resize((row.size() + 1) / 2);
  }
}

std::vector<Stay> Diagram::stays() const {
  std::vector<Stay> all = evicted_;
  for (const Resident& r : cache_)
    all.push_back({static_cast<index_t>(r.line), r.array, r.from, std::min(now_, most_marks_)});
  return all;
}

Diagram::Density Diagram::density() const {
  Density result;
  result.time_step = time_step_;
  result.line_step = ceil_div(static_cast<index_t>(bins_.size()), line_bins);
  std::vector<Bin> sums(time_bins);
  for (std::size_t begin = 0; begin < bins_.size();) {
    // Merges up to line_step lines of one array.
    std::size_t end = begin;
    std::fill(sums.begin(), sums.end(), Bin{});
    for (; end < bins_.size() && static_cast<index_t>(end - begin) < result.line_step &&
           array_of_line_[end] == array_of_line_[begin];
         ++end) {
      for (std::size_t t = 0; t < bins_[end].size(); ++t) {
        sums[t].touches += bins_[end][t].touches;
        sums[t].fetched += bins_[end][t].fetched;
      }
    }
    for (std::size_t t = 0; t < time_bins; ++t) {
      if (sums[t].touches == 0) continue;
      result.cells.push_back({static_cast<index_t>(t) * time_step_, static_cast<index_t>(begin),
                              array_of_line_[begin], sums[t].touches, sums[t].fetched});
    }
    begin = end;
  }
  return result;
}

}  // namespace tessera::inline v1::locality
