// Searches in sorted keys of all ranks, and their groups.

#include <algorithm>

#include "c/context.hpp"
#include "c/options.hpp"
#include "dist/sort/sorted.hpp"

namespace tessera::inline v1::c {
namespace {

namespace sorts = dist::sort;

/// This rank's sorted keys.
struct SortedKeys {
  int type, direction;
  int64_t n;
  const void* data;

  [[nodiscard]] sorts::Order order() const { return direction_of(direction); }
  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    return {static_cast<const T*>(data), static_cast<std::size_t>(n)};
  }
};

void check(Fingerprint& same, const SortedKeys& keys) {
  same.add(keys.type).add(keys.direction);
  expect_key(keys.type, "type");
  [[maybe_unused]] const sorts::Order order = keys.order();
  expect_extent(keys.n, "n");
  expect_memory(keys.data, keys.n, "sorted");
}

sorts::SearchSide side_of(int side) {
  expect(side == TESSERA_LEFT || side == TESSERA_RIGHT, "side",
         "is {}: must be TESSERA_LEFT or TESSERA_RIGHT", side);
  return side == TESSERA_LEFT ? sorts::SearchSide::left : sorts::SearchSide::right;
}

/// Calls f(span of the keys in their type).
template <class F>
void with_keys(const SortedKeys& keys, const F& f) {
  dispatch_key(keys.type, "type", [&](auto t) { f(keys.as<typename decltype(t)::type>()); });
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_dist_searchsorted(tessera_context context, int type, int direction, int side, int64_t n,
                              const void* sorted, int64_t count, const void* values,
                              int64_t* positions) {
  using namespace tessera::c;
  return guarded([&] {
    const auto on = context_of(context);
    const SortedKeys keys{type, direction, n, sorted};
    agree(*on, [&](Fingerprint& same) {
      check(same.add(side), keys);
      [[maybe_unused]] const sorts::SearchSide checked = side_of(side);
      expect_extent(count, "count");
      expect_memory(values, count, "values");
      expect_memory(positions, count, "positions");
    });
    with_keys(keys, [&]<class T>(std::span<const T> mine) {
      const auto found =
          sorts::searchsorted(on->comm, mine, SortedKeys{type, direction, count, values}.as<T>(),
                              side_of(side), keys.order());
      std::copy(found.begin(), found.end(), positions);
    });
  });
}

int tessera_dist_groups(tessera_context context, int type, int direction, int64_t n,
                        const void* sorted, int64_t* begins, int64_t* groups, int64_t* end,
                        const char* options) {
  using namespace tessera::c;
  return guarded([&] {
    const auto on = context_of(context);
    const SortedKeys keys{type, direction, n, sorted};
    int threads = 1;
    agree(*on, [&](Fingerprint& same) {
      check(same.add(options), keys);
      expect_memory(begins, n, "begins");
      expect(groups != nullptr, "groups", "is a null pointer");
      expect(end != nullptr, "end", "is a null pointer");
      threads = Options(options, {"threads"}).threads(on->threads);
    });
    with_keys(keys, [&](auto mine) {
      const sorts::Groups found = sorts::group_boundaries(on->comm, mine, keys.order(), threads);
      std::copy(found.begins.begin(), found.begins.end(), begins);
      *groups = static_cast<int64_t>(found.begins.size());
      *end = found.end;
    });
  });
}

int tessera_dist_unique(tessera_context context, int type, int direction, int64_t n,
                        const void* sorted, void* distinct, int64_t* counts, int64_t* groups,
                        const char* options) {
  using namespace tessera::c;
  return guarded([&] {
    const auto on = context_of(context);
    const SortedKeys keys{type, direction, n, sorted};
    int threads = 1;
    agree(*on, [&](Fingerprint& same) {
      check(same.add(options), keys);
      expect_memory(distinct, n, "distinct");
      const auto bytes = n * bytes_of(type);
      refuse_overlap("distinct", {distinct, bytes}, "sorted", {sorted, bytes});
      expect(groups != nullptr, "groups", "is a null pointer");
      threads = Options(options, {"threads"}).threads(on->threads);
    });
    with_keys(keys, [&]<class T>(std::span<const T> mine) {
      const sorts::Distinct<T> found = sorts::unique(on->comm, mine, keys.order(), threads);
      std::copy(found.keys.begin(), found.keys.end(), static_cast<T*>(distinct));
      if (counts != nullptr) std::copy(found.counts.begin(), found.counts.end(), counts);
      *groups = static_cast<int64_t>(found.keys.size());
    });
  });
}
