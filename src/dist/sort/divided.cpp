// Bucket sort on devices: one dividing pass for the exchange and the sort, in overlapped rounds.

#include "dist/sort/divided.hpp"

#include <algorithm>

#include "mpi/agreement.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

namespace device = machine::device;
using buckets::Plan;
using buckets::State;
using Key = DividedSort::Key;

constexpr index_t plans_bytes = (exchange_rounds + 1) * static_cast<index_t>(sizeof(Plan));

}  // namespace

bool DividedSort::serves(index_t total, index_t ranks, const buckets::Kernels* kernels) {
  if (kernels == nullptr || ranks == 1) return false;
  if (kernels->fits != nullptr && !kernels->fits()) return false;
  const index_t share = total / ranks;
  const auto into = buckets::division_of(share, static_cast<int>(ranks));
  return share >= kernels->least_keys && share <= buckets::usual_keys * into.buckets * into.subs *
                                                      9 / 8;  // blocks sort half as many again
}

index_t DividedSort::device_bytes(index_t total, index_t ranks, const buckets::Kernels& kernels) {
  return plans_bytes +
         kernels.work_bytes(buckets::division_of(total / ranks, static_cast<int>(ranks)));
}

DividedSort::DividedSort(const mpi::DeviceExchange& exchange, index_t total, index_t tolerance,
                         const tessera::sort::KeyMap<Key>& map, const buckets::Kernels& kernels)
    : exchange_(exchange),
      shares_(total, exchange.comm().size()),
      tolerance_(tolerance),
      ranks_(exchange.comm().size()),
      rank_(exchange.comm().rank()),
      map_(map),
      kernels_(kernels),
      into_(buckets::division_of(total / ranks_, static_cast<int>(ranks_))),
      plans_(plans_bytes, device::Home::device),
      work_(kernels.work_bytes(into_), device::Home::device),
      host_(plans_bytes, device::Home::pinned) {
  std::fill_n(host_.data(), host_.size(), std::byte{0});
}

bool DividedSort::plan(const Key* input) {
  const auto& comm = exchange_.comm();
  const index_t n = shares_.size(rank_);
  const auto state_here = in_bytes<State>(host_plans(), 1);
  const auto state_there = in_bytes<State>(plans(), 1);
  device::zero(plans_.data(), static_cast<index_t>(sizeof(Plan)), stream_);
  kernels_.look(input, n, map_, plans(), stream_);
  device::copy(state_there, state_here, stream_);
  stream_.wait();
  const State mine = *host_plans();
  const State state = common_state(comm.all_gather(std::span<const State>(&mine, 1)));
  if (state.going == 0) return false;
  static_cast<State&>(*host_plans()) = state;
  device::copy(state_here, state_there, stream_);
  kernels_.count(input, n, map_, plans(), stream_);
  const auto& fine = host_plans()->fine;
  device::copy(in_bytes(plans()->fine, std::ssize(fine)),
               in_bytes(host_plans()->fine, std::ssize(fine)), stream_);
  stream_.wait();
  const std::vector<index_t> counts(std::begin(fine), std::end(fine));
  division_ = divide_evenly(state, comm.all_gather(std::span<const index_t>(counts)), shares_,
                            tolerance_, into_);
  return division_.ranks > 0;
}

layout::Range DividedSort::buckets_of(index_t rank, index_t round) const {
  const layout::Range range = round_of(round, into_.buckets);
  return {rank * into_.buckets + range.begin, rank * into_.buckets + range.end};
}

/// Returns the keys of a round, relative to this rank's.
layout::Range DividedSort::keys_of(index_t round) const {
  const layout::Range range = buckets_of(rank_, round);
  if (range.empty()) return {};
  const buckets::Bucket& last = division_.at(range.end - 1);
  return {division_.at(range.begin).begin, last.begin + last.n};
}

/// Returns the offset of the keys from rank `from` among those of the bucket's rank.
index_t DividedSort::place(index_t from, index_t bucket) const {
  index_t before = division_.at(bucket).begin;
  for (index_t r = 0; r < from; ++r) before += division_.of(r, bucket);
  return before;
}

/// Returns whether the division writes them to their rank directly; otherwise it packs them.
bool DividedSort::straight(index_t rank, index_t round) const {
  return rank == rank_ || (round == 0 && exchange_.reaches());
}

/// Builds the plans on the device: the first for the division, the others for a rank's sort of each
/// round's buckets.
void DividedSort::make_plans(const Memory& memory) {
  Plan& all = *host_plans();
  std::copy(division_.bucket_of.begin(), division_.bucket_of.end(), all.bucket_of);
  packed_at_.assign(static_cast<std::size_t>(ranks_ * into_.buckets), 0);
  index_t packed = 0;
  for (index_t rank = 0; rank < ranks_; ++rank) {
    for (index_t round = 0; round < exchange_rounds; ++round) {
      const layout::Range range = buckets_of(rank, round);
      for (index_t b = range.begin; b < range.end; ++b) {
        packed_at_[static_cast<std::size_t>(b)] = packed;
        Key* const to = straight(rank, round) ? memory.sorted_of(rank) + place(rank_, b)
                                              : memory.packed + packed;
        all.cursor[b] = reinterpret_cast<buckets::U64>(to);
        if (!straight(rank, round)) packed += division_.of(rank_, b);
      }
    }
  }
  for (index_t round = 0; round < exchange_rounds; ++round) {
    Plan& plan = host_plans()[1 + round];
    static_cast<State&>(plan) = {};
    plan.going = 1;
    const layout::Range range = buckets_of(rank_, round);
    index_t tiles = 0;
    for (index_t b = 0; b < range.size(); ++b) {
      plan.bucket[b] = division_.at(range.begin + b);
      plan.bucket[b].begin -= keys_of(round).begin;
      plan.first_tile[b] = narrow<unsigned>(tiles);
      tiles += ceil_div(plan.bucket[b].n, kernels_.tile);
    }
    plan.first_tile[range.size()] = narrow<unsigned>(tiles);
  }
  device::copy(in_bytes<const Plan>(host_plans(), exchange_rounds + 1),
               in_bytes(plans(), exchange_rounds + 1), stream_);
}

/// Sends the packed keys of a round, starting with the next rank, so that ranks do not all send to
/// the same one at once.
void DividedSort::start(index_t round, const Memory& memory) {
  if (!exchange_.reaches()) return;
  for (index_t k = 1; k < ranks_; ++k) {
    const index_t peer = (rank_ + k) % ranks_;
    const layout::Range range = buckets_of(peer, round);
    Key* const to = memory.sorted_of(peer);
    for (index_t b = range.begin; b < range.end; ++b) {
      const index_t n = division_.of(rank_, b);
      device::copy(in_bytes<const Key>(memory.packed + packed_at_[static_cast<std::size_t>(b)], n),
                   in_bytes(to + place(rank_, b), n), later_);
    }
  }
  sent_[static_cast<std::size_t>(round)].record(later_);
}

/// Waits until all keys of a round have arrived.
void DividedSort::arrive(index_t round, const Memory& memory) {
  if (exchange_.reaches()) {
    if (round > 0) sent_[static_cast<std::size_t>(round)].wait();
    return exchange_.comm().barrier();
  }
  std::vector<mpi::DeviceOut> out;
  std::vector<mpi::DeviceIn> in;
  Key* const here = memory.sorted_of(rank_);
  for (index_t peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    const layout::Range theirs = buckets_of(peer, round), mine = buckets_of(rank_, round);
    for (index_t b = theirs.begin; b < theirs.end; ++b) {
      const index_t n = division_.of(rank_, b);
      const Key* const from = memory.packed + packed_at_[static_cast<std::size_t>(b)];
      if (n > 0) out.push_back({static_cast<int>(peer), in_bytes(from, n)});
    }
    for (index_t b = mine.begin; b < mine.end; ++b) {
      const index_t n = division_.of(peer, b);
      if (n > 0) in.push_back({static_cast<int>(peer), in_bytes(here + place(peer, b), n)});
    }
  }
  exchange_.exchange(out, in);
}

void DividedSort::sort(index_t round, const Memory& memory) {
  const layout::Range keys = keys_of(round);
  if (keys.empty()) return;
  Key* const here = memory.sorted_of(rank_) + keys.begin;
  const int count = narrow<int>(buckets_of(rank_, round).size());
  kernels_.sort(here, memory.input, here, keys.size(), map_, {count, into_.subs},
                plans() + 1 + round, work_.data(), stream_);
}

/// Sorts again the rounds that have a part with too many keys.
void DividedSort::sort_what_overflowed(const Memory& memory) {
  constexpr auto plan = static_cast<index_t>(sizeof(Plan)),
                 state = static_cast<index_t>(sizeof(State));
  device::copy({plans_.data() + plan, exchange_rounds, state, plan},
               {host_.data() + plan, exchange_rounds, state, plan}, stream_);
  stream_.wait();
  for (index_t round = 0; round < exchange_rounds; ++round) {
    const layout::Range keys = keys_of(round);
    if (keys.empty() || host_plans()[1 + round].done != 0) continue;
    Key* const here = memory.sorted_of(rank_) + keys.begin;
    memory.sort_bits(here, memory.input, keys.size());
    kernels_.to_raw(here, keys.size(), map_, stream_);
    stream_.wait();
  }
}

void DividedSort::run(const Memory& memory, mpi::Phases& phases) {
  {
    const mpi::PhaseScope scope(phases, "exchange");
    const mpi::Computing computing;
    make_plans(memory);
    kernels_.divide(memory.input, shares_.size(rank_), map_, narrow<int>(ranks_ * into_.buckets),
                    plans(), stream_);
    stream_.wait();
  }
  index_t started = 1;
  for (index_t round = 0; round < exchange_rounds; ++round) {
    {
      const mpi::PhaseScope scope(phases, "exchange");
      arrive(round, memory);
    }
    const mpi::PhaseScope scope(phases, "sort");
    const mpi::Computing computing;
    sort(round, memory);
    while (started < exchange_rounds && started <= round + 2)
      start(started++, memory);  // two ahead: links never wait
    stream_.wait();
  }
  const mpi::PhaseScope scope(phases, "sort");
  const mpi::Computing computing;
  sort_what_overflowed(memory);
}

}  // namespace tessera::inline v1::dist::sort
