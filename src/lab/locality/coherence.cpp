#include "lab/locality/coherence.hpp"

#include <algorithm>

namespace tessera::inline v1::locality {
namespace {

/// Returns the mask of a line's bytes that an access touches; bits of lines over 64 bytes cover
/// several bytes.
std::uint64_t bytes_of(const Access& access, index_t line_bytes) {
  const auto line = static_cast<std::uint64_t>(line_bytes);
  const std::uint64_t unit = std::max<std::uint64_t>(1, line / 64);
  const std::uint64_t begin = access.address() % line;
  const std::uint64_t last = std::min(line, begin + access.bytes()) - 1;
  std::uint64_t mask = 0;
  for (std::uint64_t bit = begin / unit; bit <= last / unit; ++bit) mask |= std::uint64_t{1} << bit;
  return mask;
}

}  // namespace

const char* name(Protocol protocol) {
  constexpr std::array names{"msi", "mesi", "write_through"};
  return names[static_cast<std::size_t>(protocol)];
}
const char* name(LineState state) {
  constexpr std::array names{"I", "S", "E", "M"};
  return names[static_cast<std::size_t>(state)];
}
const char* name(Cause cause) {
  constexpr std::array names{"load", "store", "load of another", "store of another", "replacement"};
  return names[static_cast<std::size_t>(cause)];
}

CoherentCaches::CoherentCaches(const Settings& settings)
    : line_(settings.line_bytes),
      count_(static_cast<std::size_t>(std::max(1, settings.caches))),
      protocol_(settings.protocol) {
  if (!settings.geometry) return;
  require_memory({*settings.geometry}, settings.caches);
  caches_.assign(count_, Cache(*settings.geometry));
}

void CoherentCaches::set(Copy& copy, LineState to, Cause cause) {
  ++counts_.transitions[static_cast<std::size_t>(cause)][static_cast<std::size_t>(copy.state)]
                       [static_cast<std::size_t>(to)];
  copy.state = to;
}

void CoherentCaches::count_miss(const Copy& mine, std::uint64_t bytes) {
  if (mine.past == Past::never) {
    ++counts_.cold;
  } else if (mine.past == Past::replaced) {
    ++counts_.replaced;
  } else {
    ++((mine.written & bytes) != 0 ? counts_.true_sharing : counts_.false_sharing);
  }
}

/// Lets the other caches supply a line that is loaded; returns whether any holds it.
bool CoherentCaches::notify_of_load(Copies& copies, std::size_t me) {
  bool held = false;
  for (std::size_t other = 0; other < count_; ++other) {
    Copy& copy = copies[other];
    if (other == me || copy.state == LineState::invalid) continue;
    held = true;
    counts_.write_backs += copy.state == LineState::modified ? 1 : 0;
    if (copy.state != LineState::shared) set(copy, LineState::shared, Cause::other_load);
  }
  return held;
}

/// Invalidates the copies of the other caches and marks the bytes as written by another.
void CoherentCaches::notify_of_store(Copies& copies, std::size_t me, std::uint64_t line,
                                     std::uint64_t bytes) {
  for (std::size_t other = 0; other < count_; ++other) {
    Copy& copy = copies[other];
    if (other == me || copy.past == Past::never || copy.past == Past::replaced) continue;
    copy.written |= bytes;
    if (copy.state == LineState::invalid) continue;
    counts_.write_backs += copy.state == LineState::modified ? 1 : 0;
    ++counts_.invalidations;
    set(copy, LineState::invalid, Cause::other_store);
    copy.past = Past::invalidated;
    if (!caches_.empty()) caches_[other].drop(line);
  }
}

/// Takes a line into a cache, which may replace another.
void CoherentCaches::make_room(std::size_t me, std::uint64_t line) {
  if (caches_.empty() || caches_[me].touch(line)) return;
  const std::optional<std::uint64_t> evicted = caches_[me].evicted();
  if (!evicted) return;
  Copy& copy = lines_.find(*evicted)->second[me];
  const bool is_dirty = copy.state == LineState::modified;
  counts_.write_backs += is_dirty ? 1 : 0;
  ++(is_dirty ? counts_.dirty_evictions : counts_.clean_evictions);
  set(copy, LineState::invalid, Cause::replacement);
  copy.past = Past::replaced;
}

bool CoherentCaches::touch(int cache, const Access& access) {
  if (!access.is_touch()) return false;
  const auto me = static_cast<std::size_t>(cache);
  const std::uint64_t line = line_.of(access.address());
  Copies& copies = lines_.try_emplace(line, count_).first->second;
  const std::uint64_t bytes = bytes_of(access, line_.bytes());
  Copy& mine = copies[me];
  ++counts_.touches;
  const bool missed = mine.state == LineState::invalid;
  if (missed) count_miss(mine, bytes);
  make_room(me, line);
  mine.past = Past::held;
  mine.written = 0;
  if (!access.is_store()) {
    const bool is_alone = missed && !notify_of_load(copies, me);
    const bool exclusive = is_alone && protocol_ == Protocol::mesi;
    set(mine,
        !missed     ? mine.state
        : exclusive ? LineState::exclusive
                    : LineState::shared,
        Cause::load);
    return missed;
  }
  const bool through = protocol_ == Protocol::write_through;
  if (through) counts_.stored_bytes += access.bytes();
  if (mine.state == LineState::shared && !through) ++counts_.upgrades;
  notify_of_store(copies, me, line, bytes);
  set(mine, through ? LineState::shared : LineState::modified, Cause::store);
  return missed;
}

LineState CoherentCaches::state(int cache, std::uint64_t address) const {
  const auto found = lines_.find(line_.of(address));
  return found == lines_.end() ? LineState::invalid
                               : found->second[static_cast<std::size_t>(cache)].state;
}

void CoherentCaches::interleave(const std::vector<std::vector<Access>>& streams) {
  std::size_t longest = 0;
  for (const auto& stream : streams) longest = std::max(longest, stream.size());
  for (std::size_t i = 0; i < longest; ++i) {
    for (std::size_t thread = 0; thread < streams.size(); ++thread) {
      if (i < streams[thread].size()) touch(static_cast<int>(thread), streams[thread][i]);
    }
  }
}

}  // namespace tessera::inline v1::locality
