// Top-k and distinct keys of a distributed sequence, and their verification.

#include "dist/sort/some_keys.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "dist/sort/check.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

using tessera::sort::Bits;
using tessera::sort::Content;

/// Return maps to bits under which keys are equal as numbers, or as stored.
template <class T>
auto numbers_in(Order order) {
  return [map = tessera::sort::key_map<T>(order)](const T& key) { return number_bits(key, map); };
}
template <class T>
auto bits_in(Order order) {
  return [map = tessera::sort::key_map<T>(order)](const T& key) {
    return std::uint64_t{map.to_bits(std::bit_cast<Bits<T>>(key))};
  };
}

/// Returns the content of the keys below a key, for comparison of two parts.
template <class T>
Content below(const mpi::Communicator& comm, std::span<const T> keys, std::uint64_t last,
              Order order, std::uint64_t seed) {
  Content mine;
  const auto bits = bits_in<T>(order);
  for (const T& key : keys) {
    const std::uint64_t here = bits(key);
    if (here >= last) continue;
    ++mine.count;
    mine.hash += mix64(here ^ seed);
  }
  return {comm.sum(mine.count), comm.sum(mine.hash)};
}

/// Returns the bits of the last key of the lower ranks, if they hold any.
std::optional<std::uint64_t> last_before(const mpi::Communicator& comm,
                                         std::optional<std::uint64_t> last) {
  const std::array<std::uint64_t, 2> mine{last ? 1U : 0U, last.value_or(0)};
  const auto all = comm.all_gather(std::span<const std::uint64_t>(mine));
  std::optional<std::uint64_t> before;
  for (std::size_t r = 0; r < 2 * static_cast<std::size_t>(comm.rank()); r += 2)
    before = all[r] != 0 ? std::optional(all[r + 1]) : before;
  return before;
}

}  // namespace

template <class T>
BitsPass bits_pass(std::span<const T> keys, Order order) {
  return [keys, bits = bits_in<T>(order)](const BitsPiece& piece) {
    std::array<std::uint64_t, 4096> some;  // in the first-level cache
    for (std::size_t at = 0; at < keys.size(); at += some.size()) {
      const std::size_t count = std::min(some.size(), keys.size() - at);
      for (std::size_t j = 0; j < count; ++j) some[j] = bits(keys[at + j]);
      piece(std::span<const std::uint64_t>(some).first(count));
    }
  };
}

template <class T>
machine::Buffer<T> sort_first(const mpi::Communicator& comm, const FirstKeys<T>& task,
                              const Method& method, mpi::Phases& phases) {
  const auto& [keys, most, order] = task;
  const index_t count = std::min(most, comm.sum(static_cast<index_t>(keys.size())));
  machine::Buffer<T> items, spare;
  index_t taken = 0;
  if (count > 0) {
    const mpi::PhaseScope scope(phases, "select");
    const index_t last_place = count - 1;
    const Selected last = select(comm, bits_pass(keys, order), std::span(&last_place, 1)).front();
    const auto bits = bits_in<T>(order);
    std::array<index_t, 2> here{};  // below the last key, and equal to it
    for (const T& key : keys) {
      const std::uint64_t one = bits(key);
      here[0] += one < last.bits ? 1 : 0;
      here[1] += one == last.bits ? 1 : 0;
    }
    index_t before = here[1];
    comm.sum_before(std::span(&before, 1));
    index_t equal = std::clamp<index_t>(count - last.below - before, 0, here[1]);
    taken = here[0] + equal;
    const index_t room = std::max(taken, layout::BlockMap(count, comm.size()).size(comm.rank()));
    mpi::together(comm, "allocate", [&] {
      items = machine::Buffer<T>(room);
      spare = machine::Buffer<T>(room);
    });
    T* next = items.data();
    for (const T& key : keys) {
      const std::uint64_t one = bits(key);
      if (one < last.bits || (one == last.bits && equal-- > 0)) *next++ = key;
    }
  }
  const index_t share =
      sort_keys(comm, Room<T>{items.data(), spare.data(), taken}, order, method, phases);
  machine::Buffer<T> result(share);
  std::copy_n(items.data(), share, result.data());
  return result;
}

template <class T>
index_t faults_of_first(const mpi::Communicator& comm, const FirstKeys<T>& task,
                        std::span<const T> first, Hashing hashing) {
  const auto& [keys, most, order] = task;
  const index_t count = std::min(most, comm.sum(static_cast<index_t>(keys.size())));
  const Content held = content(comm, first, hashing);
  const index_t wrong = faults(comm, first, order, held, hashing) + (held.count == count ? 0 : 1);
  if (held.count == 0 || wrong > 0) return wrong;
  // The keys are balanced and in order, so the greatest of the last keys is the last.
  const auto bits = bits_in<T>(order);
  const std::uint64_t mine[] = {first.empty() ? 0 : bits(first.back())};
  const auto lasts = comm.all_gather(std::span<const std::uint64_t>(mine));
  const std::uint64_t last = *std::max_element(lasts.begin(), lasts.end());
  return below(comm, keys, last, order, hashing.seed) ==
                 below(comm, first, last, order, hashing.seed)
             ? 0
             : 1;
}

template <class T>
index_t keep_distinct(const mpi::Communicator& comm, std::span<const T> sorted, Order order,
                      T* to) {
  const auto number = numbers_in<T>(order);
  auto before =
      last_before(comm, sorted.empty() ? std::nullopt : std::optional(number(sorted.back())));
  T* next = to;
  for (const T& key : sorted) {
    const std::uint64_t here = number(key);
    if (!before || *before != here) *next++ = key;
    before = here;
  }
  return next - to;
}

template <class T>
index_t faults_of_distinct(const mpi::Communicator& comm, std::span<const T> sorted,
                           std::span<const T> distinct, Order order) {
  const auto number = numbers_in<T>(order);
  auto before =
      last_before(comm, sorted.empty() ? std::nullopt : std::optional(number(sorted.back())));
  bool right = true;
  std::size_t used = 0;
  for (const T& key : sorted) {  // each key equals the previous distinct one, or is the next
    const std::uint64_t here = number(key);
    if (before && here == *before) continue;
    right = right && used < distinct.size() && number(distinct[used]) == here &&
            (!before || *before < here);
    ++used;
    before = here;
  }
  return comm.sum(index_t{right && used == distinct.size() ? 0 : 1});
}

#define INSTANTIATE(T)                                                                     \
  template BitsPass bits_pass(std::span<const T>, Order);                                  \
  template machine::Buffer<T> sort_first(const mpi::Communicator&, const FirstKeys<T>&,    \
                                         const Method&, mpi::Phases&);                     \
  template index_t faults_of_first(const mpi::Communicator&, const FirstKeys<T>&,          \
                                   std::span<const T>, Hashing);                           \
  template index_t keep_distinct(const mpi::Communicator&, std::span<const T>, Order, T*); \
  template index_t faults_of_distinct(const mpi::Communicator&, std::span<const T>,        \
                                      std::span<const T>, Order)
TESSERA_FOR_KEY_TYPES(INSTANTIATE)
#undef INSTANTIATE

}  // namespace tessera::inline v1::dist::sort
