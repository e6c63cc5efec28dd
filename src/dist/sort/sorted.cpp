#include "dist/sort/sorted.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "dist/sort/bounds.hpp"
#include "dist/sort/grain.hpp"
#include "dist/sort/key_words.hpp"
#include "mpi/agreement.hpp"
#include "mpi/exchange.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

using tessera::sort::ComparedAs;
template <class T>
using KeyMapOf = tessera::sort::KeyMap<tessera::sort::Bits<ComparedAs<T>>>;

/// Returns the place of a key in the order of numbers.
template <class T>
std::uint64_t place_of(T key, const KeyMapOf<T>& map) {
  return number_bits(tessera::sort::widened(key), map);
}

/// The first and last keys of all ranks, as places in the order of numbers.
template <class T>
class Borders {
 public:
  /// Throws Error(usage) on all ranks unless the ranks' keys are in order. Collective.
  Borders(const mpi::Communicator& comm, std::span<const T> sorted, Order order, bool descends)
      : map_(tessera::sort::key_map<ComparedAs<T>>(order)) {
    Ends mine;
    if (!sorted.empty()) {
      mine = {static_cast<index_t>(sorted.size()), place(sorted.front()), place(sorted.back()),
              descends ? std::uint64_t{1} : std::uint64_t{0}};
    }
    const std::vector<Ends> ranks = comm.all_gather(std::span<const Ends>(&mine, 1));
    mpi::alike("look at sorted keys", [&] {
      require_argument(in_order(ranks), "sorted", "is not in the order of the call on all ranks");
    });
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (ranks[r].keys > 0) filled_.push_back({ranks[r].first, ranks[r].last, r});
      offsets_.push_back(offsets_.back() + ranks[r].keys);
    }
  }

  [[nodiscard]] std::uint64_t place(T key) const { return place_of(key, map_); }
  [[nodiscard]] index_t before(int rank) const { return offsets_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] index_t total() const { return offsets_.back(); }

  /// Returns the first rank with a key at or behind the position of a place; the number of ranks if
  /// there is none.
  [[nodiscard]] std::size_t rank_of(std::uint64_t place, SearchSide side) const {
    const auto found =
        std::partition_point(filled_.begin(), filled_.end(), [&](const Filled& rank) {
          return side == SearchSide::left ? rank.last < place : rank.last <= place;
        });
    return found == filled_.end() ? offsets_.size() - 1 : found->rank;
  }
  /// Returns whether the last key before those of a rank with keys equals its first.
  [[nodiscard]] bool continues(int rank) const {
    const auto at = std::partition_point(filled_.begin(), filled_.end(), [&](const Filled& one) {
      return one.rank < static_cast<std::size_t>(rank);
    });
    return at != filled_.begin() && std::prev(at)->last == at->first;
  }

 private:
  struct Filled {
    std::uint64_t first, last;
    std::size_t rank;
  };
  KeyMapOf<T> map_;
  std::vector<Filled> filled_;  ///< the ranks with keys
  std::vector<index_t> offsets_{0};
};

/// Numbers grouped by the rank that they are for.
struct Destinations {
  std::vector<index_t> counts;     ///< by rank
  std::vector<std::size_t> order;  ///< numbers by rank
};
Destinations group(const std::vector<std::size_t>& rank_of, int ranks) {
  Destinations to{std::vector<index_t>(static_cast<std::size_t>(ranks)), {}};
  std::vector<std::size_t> next(static_cast<std::size_t>(ranks) + 1);
  for (const std::size_t rank : rank_of)
    if (rank < to.counts.size()) ++next[rank + 1];
  for (std::size_t r = 0; r < to.counts.size(); ++r) {
    to.counts[r] = static_cast<index_t>(next[r + 1]);
    next[r + 1] += next[r];
  }
  to.order.resize(next.back());
  for (std::size_t i = 0; i < rank_of.size(); ++i)
    if (rank_of[i] < to.counts.size()) to.order[next[rank_of[i]]++] = i;
  return to;
}

index_t sum(const std::vector<index_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), index_t{0});
}

/// The first keys of groups within this rank's keys: begins[piece], of pieces of `grain` keys.
struct LocalGroups {
  std::vector<std::vector<index_t>> begins;
  bool descends = false;  ///< any key is before its predecessor
};
template <class T>
LocalGroups groups_within(std::span<const T> sorted, Order order, int threads) {
  const auto map = tessera::sort::key_map<ComparedAs<T>>(order);
  const auto n = static_cast<index_t>(sorted.size());
  LocalGroups found{
      std::vector<std::vector<index_t>>(static_cast<std::size_t>(ceil_div(n, grain)))};
  std::atomic<bool> descends = false;
  machine::parallel(threads, [&] {
    machine::parallel_for(0, static_cast<index_t>(found.begins.size()), 1, [&](index_t p, index_t) {
      const index_t first = std::max<index_t>(1, p * grain), end = std::min(n, (p + 1) * grain);
      for (index_t i = first; i < end; ++i) {
        const auto before = place_of(sorted[static_cast<std::size_t>(i - 1)], map),
                   here = place_of(sorted[static_cast<std::size_t>(i)], map);
        if (here < before) descends = true;
        if (here != before) found.begins[static_cast<std::size_t>(p)].push_back(i);
      }
    });
  });
  found.descends = descends;
  return found;
}

}  // namespace

template <class T>
std::vector<index_t> searchsorted(const mpi::Communicator& comm, std::span<const T> sorted,
                                  std::span<const T> values, SearchSide side, Order order) {
  const Borders<T> borders(comm, sorted, order, false);
  std::vector<index_t> found(values.size(), borders.total());
  std::vector<std::size_t> rank(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    rank[i] = borders.rank_of(borders.place(values[i]), side);
  const Destinations to = group(rank, comm.size());
  std::vector<std::uint64_t> asked;
  for (const std::size_t i : to.order) asked.push_back(borders.place(values[i]));
  const std::vector<index_t> counts_from = comm.all_to_all(to.counts);
  std::vector<std::uint64_t> searched(static_cast<std::size_t>(sum(counts_from)));
  mpi::exchange_items(comm, std::span<const std::uint64_t>(asked), to.counts, std::span(searched),
                      counts_from);
  std::vector<index_t> answers;
  for (const std::uint64_t place : searched) {
    const auto at = std::partition_point(sorted.begin(), sorted.end(), [&](T key) {
      return side == SearchSide::left ? borders.place(key) < place : borders.place(key) <= place;
    });
    answers.push_back(borders.before(comm.rank()) + (at - sorted.begin()));
  }
  std::vector<index_t> positions(to.order.size());
  mpi::exchange_items(comm, std::span<const index_t>(answers), counts_from, std::span(positions),
                      to.counts);
  for (std::size_t k = 0; k < positions.size(); ++k) found[to.order[k]] = positions[k];
  return found;
}

template <class T>
Groups group_boundaries(const mpi::Communicator& comm, std::span<const T> sorted, Order order,
                        int threads) {
  LocalGroups within;
  mpi::together(comm, "look for groups", [&] { within = groups_within(sorted, order, threads); });
  const Borders<T> borders(comm, sorted, order, within.descends);
  const index_t before = borders.before(comm.rank());
  Groups groups;
  if (!sorted.empty() && !borders.continues(comm.rank())) groups.begins.push_back(before);
  for (const std::vector<index_t>& piece : within.begins)
    for (const index_t i : piece) groups.begins.push_back(before + i);
  const index_t none = borders.total();
  const std::vector<index_t> firsts =
      comm.all_gather(groups.begins.empty() ? none : groups.begins.front());
  groups.end = std::accumulate(firsts.begin() + comm.rank() + 1, firsts.end(), none,
                               [](index_t a, index_t b) { return std::min(a, b); });
  return groups;
}

template <class T>
Distinct<T> unique(const mpi::Communicator& comm, std::span<const T> sorted, Order order,
                   int threads) {
  const Groups groups = group_boundaries(comm, sorted, order, threads);
  index_t before = static_cast<index_t>(sorted.size());
  comm.sum_before(std::span(&before, 1));
  Distinct<T> found;
  for (std::size_t k = 0; k < groups.begins.size(); ++k) {
    const index_t begin = groups.begins[k],
                  end = k + 1 < groups.begins.size() ? groups.begins[k + 1] : groups.end;
    found.keys.push_back(sorted[static_cast<std::size_t>(begin - before)]);
    found.counts.push_back(end - begin);
  }
  return found;
}

#define TESSERA_INSTANTIATE(T)                                                                \
  template std::vector<index_t> searchsorted(const mpi::Communicator&, std::span<const T>,    \
                                             std::span<const T>, SearchSide, Order);          \
  template Groups group_boundaries(const mpi::Communicator&, std::span<const T>, Order, int); \
  template Distinct<T> unique(const mpi::Communicator&, std::span<const T>, Order, int)
TESSERA_FOR_KEY_TYPES(TESSERA_INSTANTIATE)
TESSERA_FOR_SMALL_KEY_TYPES(TESSERA_INSTANTIATE)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::dist::sort
