// Partition and local sort of keys on devices, with a final move of the borders.

#include "dist/sort/on_devices.hpp"

#include <algorithm>
#include <utility>

#include "base/option_names.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

namespace device = machine::device;
using layout::Range;
using tessera::sort::digit_values;
using tessera::sort::most_bounds;
using tessera::sort::most_parts;

/// Maximal errors of a share in keys when keys are sent to the ranks: as many move again between
/// neighbours. Bounds are exact to the digit; buckets end at a value of the leading bits, half of
/// the keys with the same value off, if half of the values occur.
index_t tolerance_of(index_t total, index_t ranks) { return total / (512 * ranks); }
index_t bucket_tolerance_of(index_t total) { return total / (buckets::fine_bins / 2); }
index_t head_of(index_t total) { return round_up(bucket_tolerance_of(total) + 1, 64); }
index_t room_of(index_t total, index_t ranks) {
  return ranks == 1 ? total : ceil_div(total, ranks) + 3 * head_of(total);
}

/// The first round takes one in first_round keys of a share: few, as all wait for them, but enough
/// that their sort hides the transfer of the others, and that the links are busy while keys are
/// divided.
constexpr index_t first_round = 2;

/// Two rounds if ranks can access each other's memory and there are enough bounds and keys.
index_t rounds_of(const mpi::DeviceExchange& exchange, index_t total) {
  const index_t ranks = exchange.comm().size();
  return exchange.reaches() && 2 * ranks <= most_parts && total / ranks >= 1024 ? 2 : 1;
}

constexpr index_t digits_bytes =
    most_bounds * digit_values * static_cast<index_t>(sizeof(std::uint64_t));
constexpr index_t cursors_bytes = 2 * most_parts * static_cast<index_t>(sizeof(std::uint64_t));

}  // namespace

template <class B>
index_t DeviceSort<B>::device_bytes(index_t total, index_t ranks,
                                    const ResidentKernels<B>& kernels) {
  constexpr index_t messages = index_t{512} << 20;  // in flight
  const index_t room = room_of(total, ranks);
  return (ceil_div(total, ranks) + 2 * room) * static_cast<index_t>(sizeof(B)) +
         kernels.work_bytes(room) +
         (DividedSort::serves(total, ranks, kernels.dividing)
              ? DividedSort::device_bytes(total, ranks, *kernels.dividing)
              : 0) +
         messages;
}

template <class B>
DeviceSort<B>::DeviceSort(const mpi::DeviceExchange& exchange, index_t total, const KeyMap<B>& map,
                          const ResidentKernels<B>& kernels)
    : exchange_(exchange),
      total_(total),
      ranks_(exchange.comm().size()),
      rank_(exchange.comm().rank()),
      rounds_(rounds_of(exchange, total)),
      map_(map),
      kernels_(kernels),
      shares_(total, ranks_),
      tolerance_(tolerance_of(total, ranks_)),
      head_(head_of(total)),
      keys_(exchange, room_of(total, ranks_) * static_cast<index_t>(sizeof(B))) {
  mpi::together(exchange.comm(), "allocate", [&] {
    require(ranks_ <= most_parts, ExitCode::usage,
            "sort of keys in GPU memory supports at most 16 ranks; use " +
                std::string(option_or("--gpu-exchange host", "keys in host memory")));
    const index_t room = room_of(total, ranks_);
    input_ = device::Allocation(shares_.size(rank_) * static_cast<index_t>(sizeof(B)),
                                device::Home::device);
    spare_ = device::Allocation(room * static_cast<index_t>(sizeof(B)), device::Home::device);
    work_ = device::Allocation(kernels.work_bytes(room), device::Home::device);
    digits_ = device::Allocation(digits_bytes, device::Home::device);
    cursors_ = device::Allocation(cursors_bytes, device::Home::device);
    host_ = device::Allocation(digits_bytes, device::Home::pinned);
    zeros_ = device::Allocation(digits_bytes, device::Home::pinned);
    std::fill_n(zeros_.data(), zeros_.size(), std::byte{0});
    if constexpr (std::is_same_v<B, DividedSort::Key>)
      if (DividedSort::serves(total, ranks_, kernels.dividing))
        dividing_.emplace(exchange, total, bucket_tolerance_of(total), map, *kernels.dividing);
  });
  if constexpr (std::is_same_v<B, DividedSort::Key>) {  // devices of a job may differ
    if (exchange.comm().max(index_t{dividing_ ? 0 : 1}) > 0) dividing_.reset();
  }
}

template <class B>
void DeviceSort<B>::put(const B* keys, int threads) {
  const index_t n = shares_.size(rank_);
  device::upload(in_bytes(keys, n), in_bytes(input(), n), threads);
}

template <class B>
void DeviceSort<B>::get(B* keys, int threads) const {
  const index_t n = shares_.size(rank_);
  device::download(in_bytes(result_, n), in_bytes(keys, n), threads);
}

template <class B>
void DeviceSort<B>::zero(device::Allocation& block, index_t bytes) {
  device::copy({zeros_.data(), 1, bytes, bytes}, {block.data(), 1, bytes, bytes}, stream_);
}

template <class B>
void DeviceSort<B>::count(const Prefixes<B>& prefixes, std::span<index_t> counts) {
  const auto bytes = static_cast<index_t>(counts.size() * sizeof(std::uint64_t));
  zero(digits_, bytes);
  kernels_.count(input(), shares_.size(rank_), map_, prefixes,
                 reinterpret_cast<std::uint64_t*>(digits_.data()), stream_);
  device::copy({digits_.data(), 1, bytes, bytes}, {host_.data(), 1, bytes, bytes}, stream_);
  stream_.wait();
  const auto* const found = reinterpret_cast<const std::uint64_t*>(host_.data());
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<index_t>(found[i]);
}

template <class B>
bool DeviceSort<B>::is_in_order() {
  constexpr auto word = static_cast<index_t>(sizeof(std::uint64_t));
  const index_t n = shares_.size(rank_);
  std::byte* const found = host_.data();
  const auto key_at = [&](index_t place) { return reinterpret_cast<B*>(found + place * word); };
  zero(digits_, word);
  kernels_.find_descent(input(), n, map_, reinterpret_cast<std::uint64_t*>(digits_.data()),
                        stream_);
  device::copy({digits_.data(), 1, word, word}, {found, 1, word, word}, stream_);
  if (n > 0) device::copy(in_bytes<const B>(input(), 1), in_bytes(key_at(1), 1), stream_);
  if (n > 0) device::copy(in_bytes<const B>(input() + n - 1, 1), in_bytes(key_at(2), 1), stream_);
  {
    const mpi::Computing computing;
    stream_.wait();
  }
  Ends mine{.keys = n};
  if (n > 0)
    mine = {n, map_.to_bits(*key_at(1)), map_.to_bits(*key_at(2)),
            *reinterpret_cast<const std::uint64_t*>(found)};
  return in_order(exchange_.comm().all_gather(std::span<const Ends>(&mine, 1)));
}

template <class B>
void DeviceSort<B>::find_bounds() {
  const auto& comm = exchange_.comm();
  std::vector<index_t> targets;
  for (index_t r = 0; r < ranks_; ++r) {
    if (r > 0) targets.push_back(shares_.begin(r));
    if (rounds_ > 1) targets.push_back(shares_.begin(r) + shares_.size(r) / first_round);
  }
  Search search(targets, total_, tolerance_);
  while (!search.done()) {
    const Prefixes<B> wanted = search.wanted();
    std::vector<index_t> mine(static_cast<std::size_t>(wanted.count * digit_values));
    count(wanted, mine);
    std::vector<index_t> all = mine;
    comm.sum(std::span(all));
    search.refine(all, mine);
  }
  const index_t n = shares_.size(rank_);
  found_ = search.finish(comm, n);
  std::vector<index_t> of_each;
  found_.below.push_back(n);
  index_t before = 0;
  for (const index_t end : found_.below) of_each.push_back(end - std::exchange(before, end));
  counts_ = comm.all_gather(std::span<const index_t>(of_each));
  held_.assign(static_cast<std::size_t>(ranks_), 0);
  for (index_t p = 0; p < ranks_ * rounds_; ++p)
    held_[static_cast<std::size_t>(p / rounds_)] += received(p);
}

template <class B>
index_t DeviceSort<B>::received(index_t part) const {
  index_t keys = 0;
  for (index_t r = 0; r < ranks_; ++r) keys += of(r, part);
  return keys;
}

template <class B>
index_t DeviceSort<B>::place(index_t part) const {
  index_t before = 0;
  for (index_t p = part - part % rounds_; p < part; ++p) before += received(p);
  for (index_t r = 0; r < rank_; ++r) before += of(r, part);
  return before;
}

template <class B>
bool DeviceSort<B>::straight(index_t part) const {
  return exchange_.reaches() && (part % rounds_ == 0 || part / rounds_ == rank_);
}

/// Partitions the keys into the memory of their ranks directly, or packs and sends them.
template <class B>
void DeviceSort<B>::take_to_ranks() {
  tessera::sort::Parts<B> parts;
  B* packed = reinterpret_cast<B*>(spare_.data());
  for (index_t p = 0; p < ranks_ * rounds_; ++p) {
    parts.data[p] =
        straight(p) ? sorted(keys_.of(static_cast<int>(p / rounds_))) + place(p) : packed;
    if (!straight(p)) packed += of(rank_, p);
  }
  parts.cursors = reinterpret_cast<std::uint64_t*>(cursors_.data());
  zero(cursors_, cursors_bytes);
  exchange_.comm().barrier();  // no rank reads or writes its own keys any more
  kernels_.partition(input(), shares_.size(rank_), map_, found_.bounds, parts, stream_);
  {
    const mpi::Computing computing;
    stream_.wait();
  }
  if (!exchange_.reaches()) return send_packed();
  send_later_rounds();
  exchange_.comm().barrier();  // the first round's keys have arrived
}

/// Sends all keys, between ranks that cannot access each other's memory.
template <class B>
void DeviceSort<B>::send_packed() {
  std::vector<mpi::DeviceOut> out;
  std::vector<mpi::DeviceIn> in;
  const B* packed = reinterpret_cast<const B*>(spare_.data());
  B* to = sorted(keys_.data());
  for (index_t peer = 0; peer < ranks_; ++peer) {
    const auto sent = in_bytes(packed, of(rank_, peer));
    const auto received = in_bytes(to, of(peer, rank_));
    if (peer == rank_) {
      device::copy(sent, received, stream_);
    } else {
      out.push_back({static_cast<int>(peer), sent});
      in.push_back({static_cast<int>(peer), received});
    }
    packed += of(rank_, peer);
    to += of(peer, rank_);
  }
  exchange_.exchange(out, in);
  stream_.wait();
}

/// Sends the packed keys of other ranks, starting with the next rank, so that ranks do not all send
/// to the same one at once.
template <class B>
void DeviceSort<B>::send_later_rounds() {
  const B* packed = reinterpret_cast<const B*>(spare_.data());
  std::vector<const B*> from;
  for (index_t p = 0; p < ranks_ * rounds_; ++p) {
    from.push_back(packed);
    if (!straight(p)) packed += of(rank_, p);
  }
  for (index_t k = 1; k < ranks_; ++k) {
    const index_t peer = (rank_ + k) % ranks_;
    for (index_t p = peer * rounds_ + 1; p < (peer + 1) * rounds_; ++p) {
      B* const to = sorted(keys_.of(static_cast<int>(peer))) + place(p);
      device::copy(in_bytes(from[static_cast<std::size_t>(p)], of(rank_, p)),
                   in_bytes(to, of(rank_, p)), later_);
    }
  }
}

/// Moves the few keys at the ends of a share to the neighbours that own them.
template <class B>
void DeviceSort<B>::move_borders() {
  std::vector<Range> ranges;  // of the sorted sequence, by rank
  index_t end = 0;
  for (const index_t held : held_) {
    ranges.push_back({end, end + held});
    end += held;
  }
  const auto held_by = [&](index_t rank) { return ranges[static_cast<std::size_t>(rank)]; };
  const auto at = [&](std::byte* memory, index_t rank, const Range& range) {
    return in_bytes(sorted(memory) + (range.begin - held_by(rank).begin), range.size());
  };
  std::vector<mpi::DeviceOut> out;
  std::vector<mpi::DeviceIn> in;
  exchange_.comm().barrier();  // all ranks have sorted
  for (index_t peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    const Range incoming = intersect(held_by(peer), shares_.range(rank_));
    const Range goes = intersect(held_by(rank_), shares_.range(peer));
    if (exchange_.reaches()) {
      if (!incoming.empty())
        device::copy(at(keys_.of(static_cast<int>(peer)), peer, incoming),
                     at(keys_.data(), rank_, incoming), stream_);
      continue;
    }
    if (!goes.empty()) out.push_back({static_cast<int>(peer), at(keys_.data(), rank_, goes)});
    if (!incoming.empty())
      in.push_back({static_cast<int>(peer), at(keys_.data(), rank_, incoming)});
  }
  if (!exchange_.reaches()) exchange_.exchange(out, in);
  stream_.wait();
  exchange_.comm().barrier();  // all ranks have read them
  result_ = sorted(keys_.data()) + (shares_.begin(rank_) - held_by(rank_).begin);
}

template <class B>
bool DeviceSort<B>::divide_and_sort(mpi::Phases& phases) {
  if (!dividing_) return false;
  if constexpr (std::is_same_v<B, DividedSort::Key>) {
    {
      const mpi::PhaseScope scope(phases, "split");
      if (!dividing_->plan(input())) return false;
    }
    held_ = dividing_->held();
    const auto sort_bits = [&](B* keys, B* spare, index_t n) {
      kernels_.sort(keys, spare, n, {}, work_.data(), stream_);
      stream_.wait();
    };
    const auto sorted_of = [&](index_t rank) { return sorted(keys_.of(static_cast<int>(rank))); };
    dividing_->run({input(), reinterpret_cast<B*>(spare_.data()), sorted_of, sort_bits}, phases);
  }
  return true;
}

template <class B>
void DeviceSort<B>::sort(B* keys, B* spare, index_t n, mpi::Phases& phases) {
  const mpi::PhaseScope scope(phases, "sort");
  const mpi::Computing computing;
  kernels_.sort(keys, spare, n, map_, work_.data(), stream_);
  stream_.wait();
}

template <class B>
void DeviceSort<B>::sort_by_bounds(mpi::Phases& phases) {
  {
    const mpi::PhaseScope scope(phases, "split");
    find_bounds();
  }
  {
    const mpi::PhaseScope scope(phases, "exchange");
    take_to_ranks();
  }
  B* keys = sorted(keys_.data());
  for (index_t q = 0; q < rounds_; ++q) {
    if (q == 1) {
      const mpi::PhaseScope scope(phases, "exchange");
      later_.wait();
      exchange_.comm().barrier();  // all keys have arrived
    }
    const bool spare_holds_keys = q + 1 < rounds_;
    const index_t n = received(rank_ * rounds_ + q);
    sort(keys, spare_holds_keys ? input() : reinterpret_cast<B*>(spare_.data()), n, phases);
    keys += n;
  }
}

template <class B>
void DeviceSort<B>::run(mpi::Phases& phases) {
  if (ranks_ == 1) {
    sort(input(), reinterpret_cast<B*>(spare_.data()), total_, phases);
    result_ = input();
    return;
  }
  divided_ = false;
  {
    const mpi::PhaseScope scope(phases, "split");
    result_ = input();
    if (is_in_order()) return;
  }
  divided_ = divide_and_sort(phases);
  if (!divided_) sort_by_bounds(phases);
  const mpi::PhaseScope scope(phases, "exchange");
  move_borders();
}

template class DeviceSort<std::uint32_t>;
template class DeviceSort<std::uint64_t>;

}  // namespace tessera::inline v1::dist::sort
