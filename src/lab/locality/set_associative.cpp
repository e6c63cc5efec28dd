#include "lab/locality/set_associative.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::locality {

Geometry parse_geometry(std::string_view text, index_t line_bytes) {
  const std::vector<std::string> parts = split(text, ':');
  Geometry geometry;
  geometry.line_bytes = line_bytes;
  geometry.bytes = parse_bytes(parts[0]);
  const auto wrong = [&](const char* why) {
    return Error(
        ExitCode::usage,
        fmt::format(
            "'{}' is not a cache description: {}; use bytes:ways:line:replacement, e.g. 32KiB:8 "
            "or 1MiB:16:64:random",
            text, why));
  };
  if (parts.size() > 4) throw wrong("more than four parts");
  if (parts.size() > 1) geometry.ways = parts[1] == "full" ? 0 : parse_bytes(parts[1]);
  if (parts.size() > 2 && !parts[2].empty()) geometry.line_bytes = parse_bytes(parts[2]);
  if (parts.size() > 3 && parts[3] != "lru" && parts[3] != "random")
    throw wrong("replacement must be lru or random");
  if (parts.size() > 3 && parts[3] == "random") geometry.replacement = Replacement::random;
  (void)LineSize(geometry.line_bytes);
  if (geometry.bytes < 1 || geometry.bytes % geometry.line_bytes != 0)
    throw wrong("bytes must be a positive multiple of the line");
  if (geometry.ways < 0 || geometry.lines() % geometry.ways_of_set() != 0)
    throw wrong("lines do not fill whole sets");
  return geometry;
}

std::string name(const Geometry& g) {
  std::string text = human_bytes(g.bytes);
  text += g.ways == 0 ? " full" : fmt::format(" {}-way", g.ways);
  return g.replacement == Replacement::random ? text + " random" : text;
}

void require_memory(const std::vector<Geometry>& caches, index_t copies) {
  double bytes = 0;
  for (const Geometry& g : caches)
    bytes += static_cast<double>(copies) * static_cast<double>(g.lines()) * sizeof(std::uint64_t);
  const double room = 0.9 * static_cast<double>(machine::available_memory());
  require(bytes <= room, ExitCode::memory,
          fmt::format("caches to simulate need {:.3g} GiB: 90 % of the free memory is {}; choose "
                      "smaller caches",
                      bytes / (1 << 30), human_bytes(static_cast<index_t>(room))));
}

Cache::Cache(const Geometry& geometry)
    : geometry_(geometry),
      sets_(static_cast<std::uint64_t>(geometry.sets())),
      ways_(static_cast<std::size_t>(geometry.ways_of_set())),
      tags_(sets_ * ways_, none) {}

std::uint64_t* Cache::set_of(std::uint64_t line) {
  const std::uint64_t set_number = std::has_single_bit(sets_) ? line & (sets_ - 1) : line % sets_;
  return tags_.data() + set_number * ways_;
}

bool Cache::touch(std::uint64_t line) {
  std::uint64_t* const set = set_of(line);
  if (set[0] == line) return true;
  if (geometry_.replacement == Replacement::random) return touch_random(set, line);
  std::size_t way = 1;
  while (way < ways_ && set[way] != line) ++way;
  const bool found = way < ways_;
  if (!found) evicted_ = set[ways_ - 1];
  for (std::size_t k = found ? way : ways_ - 1; k > 0; --k) set[k] = set[k - 1];
  set[0] = line;
  return found;
}

bool Cache::touch_random(std::uint64_t* set, std::uint64_t line) {
  std::uint64_t* const end = set + ways_;
  if (std::find(set, end, line) != end) return true;
  std::uint64_t* victim = std::find(set, end, none);
  if (victim == end) victim = set + mix64(random_++) % ways_;
  evicted_ = *victim;
  *victim = line;
  return false;
}

void Cache::drop(std::uint64_t line) {
  std::uint64_t* const set = set_of(line);
  std::uint64_t* const end = set + ways_;
  std::uint64_t* const place = std::find(set, end, line);
  if (place != end) *std::copy(place + 1, end, place) = none;
}

Hierarchy::Hierarchy(const std::vector<Geometry>& levels)
    : caches_(levels.begin(), levels.end()),
      line_(levels.empty() ? 64 : levels.front().line_bytes),
      counts_(levels.size()) {
  for (const Geometry& level : levels) {
    require(level.line_bytes == line_.bytes(), ExitCode::usage,
            "levels of a hierarchy have different line sizes: must be equal");
  }
}

void Hierarchy::take(std::span<const Access> accesses) {
  for (const Access access : accesses) {
    if (access.is_touch())
      touch(access.address(), access.bytes(), access.array(), access.is_store());
  }
}

void Hierarchy::touch(std::uint64_t address, unsigned bytes, unsigned array, bool is_store) {
  ++(is_store ? stores_ : loads_);
  const std::uint64_t first = line_.of(address), last = line_.of(address + bytes - 1);
  for (std::size_t level = 0; level < caches_.size(); ++level) {
    bool hit = true;
    for (std::uint64_t line = first; line <= last; ++line) hit = caches_[level].touch(line) && hit;
    if (hit) return;
    ++(is_store ? counts_[level][array].store_misses : counts_[level][array].load_misses);
  }
}

LevelCounts Hierarchy::counts(std::size_t level) const {
  LevelCounts sum;
  for (const LevelCounts& part : counts_[level]) sum += part;
  return sum;
}

}  // namespace tessera::inline v1::locality
