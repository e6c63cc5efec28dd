#include "mpi/exchange.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "mpi/node_reads.hpp"
#include "mpi/tags.hpp"

namespace tessera::inline v1::mpi {
namespace {

/// Returns the bytes of a message of one round; equal on sender and receiver.
index_t bytes_of_round(std::size_t ranks) {
  return std::max<index_t>(1, round_bytes / static_cast<index_t>(ranks));
}

std::vector<index_t> offsets_of(std::span<const index_t> bytes) {
  std::vector<index_t> offsets(bytes.size() + 1, 0);
  for (std::size_t r = 0; r < bytes.size(); ++r) offsets[r + 1] = offsets[r] + bytes[r];
  return offsets;
}

/// Blocks of this size and more are copied from the memory of the other rank, where that works.
constexpr index_t long_bytes = index_t{1} << 20;

/// One exchange of checked sizes. Long blocks of ranks of this node are copied by all threads of
/// the receiver; messages take the others, and those that the system refused to copy.
class Exchange {
 public:
  struct Blocks {
    std::span<const std::byte> from;
    std::span<const index_t> out, bytes_to;  ///< offsets in from
    std::span<std::byte> to;
    std::span<const index_t> in, bytes_from;
  };
  Exchange(const Communicator& comm, const Blocks& blocks)
      : comm_(comm),
        blocks_(blocks),
        ranks_(static_cast<std::size_t>(comm.size())),
        me_(static_cast<std::size_t>(comm.rank())),
        readers_(comm.node_readers()),
        left_to_(blocks.bytes_to.begin(), blocks.bytes_to.end()),
        left_from_(blocks.bytes_from.begin(), blocks.bytes_from.end()) {
    left_to_[me_] = left_from_[me_] = 0;
  }

  void run() {
    copy_from_node();
    const index_t piece = bytes_of_round(ranks_),
                  most = std::max(*std::max_element(left_to_.begin(), left_to_.end()),
                                  *std::max_element(left_from_.begin(), left_from_.end()));
    for (index_t done = 0; done < most; done += piece) send_round(done, piece);
  }

 private:
  [[nodiscard]] bool is_copied(std::size_t peer, std::span<const index_t> bytes) const {
    return peer != me_ && bytes[peer] >= long_bytes && readers_[peer];
  }

  /// Copies this rank's own block and the long ones of its node, which are not left to send then.
  void copy_from_node() {
    std::vector<NodeBytes> places(ranks_);  // of this rank's blocks for the others
    std::vector<index_t> copied_by(ranks_, 0), copied(ranks_, 0);
    std::vector<Request> requests;
    const auto bytes = [](auto& x) { return std::as_writable_bytes(std::span(&x, 1)); };
    for (std::size_t step = 1; step < ranks_; ++step) {
      const std::size_t peer = (me_ + step) % ranks_;
      if (!is_copied(peer, blocks_.bytes_to)) continue;
      places[peer] = here(blocks_.from.data() + blocks_.out[peer]);
      const auto rank = static_cast<int>(peer);
      requests.push_back(comm_.send(bytes(places[peer]), rank, tag::place));
      requests.push_back(comm_.receive(bytes(copied_by[peer]), rank, tag::copied));
    }
    std::vector<NodeRead> reads;
    std::vector<std::size_t> peers;
    for (std::size_t step = 1; step < ranks_; ++step) {
      const std::size_t peer = (me_ + ranks_ - step) % ranks_;
      if (!is_copied(peer, blocks_.bytes_from)) continue;
      NodeBytes its;
      comm_.receive(bytes(its), static_cast<int>(peer), tag::place).wait();
      reads.push_back({its, received(peer)});
      peers.push_back(peer);
    }
    if (blocks_.bytes_to[me_] > 0)
      reads.push_back({here(blocks_.from.data() + blocks_.out[me_]), received(me_)});
    read_node(reads);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const std::size_t peer = peers[i];
      copied[peer] = reads[i].failed ? 0 : 1;
      if (!reads[i].failed) left_from_[peer] = 0;
      requests.push_back(comm_.send(bytes(copied[peer]), static_cast<int>(peer), tag::copied));
    }
    wait_all(requests);
    for (std::size_t peer = 0; peer < ranks_; ++peer)
      if (copied_by[peer] != 0) left_to_[peer] = 0;
  }

  /// Returns the place of the bytes from a rank.
  [[nodiscard]] std::span<std::byte> received(std::size_t peer) const {
    return blocks_.to.subspan(static_cast<std::size_t>(blocks_.in[peer]),
                              static_cast<std::size_t>(blocks_.bytes_from[peer]));
  }

  /// Sends and receives bytes [done, done + piece) of the blocks that are left.
  void send_round(index_t done, index_t piece) const {
    std::vector<Request> requests;
    const auto part = [&](std::span<const index_t> offsets, std::span<const index_t> bytes,
                          std::size_t peer, auto data) {
      const index_t size = std::clamp<index_t>(bytes[peer] - done, 0, piece);
      return data.subspan(static_cast<std::size_t>(size > 0 ? offsets[peer] + done : 0),
                          static_cast<std::size_t>(size));
    };
    // Each step pairs every rank with another one, so that no rank is the target of all at once.
    for (std::size_t step = 1; step < ranks_; ++step) {
      const std::size_t peer = (me_ + ranks_ - step) % ranks_;
      const auto block = part(blocks_.in, left_from_, peer, blocks_.to);
      if (!block.empty())
        requests.push_back(comm_.receive(block, static_cast<int>(peer), tag::exchange));
    }
    for (std::size_t step = 1; step < ranks_; ++step) {
      const std::size_t peer = (me_ + step) % ranks_;
      const auto block = part(blocks_.out, left_to_, peer, blocks_.from);
      if (!block.empty())
        requests.push_back(comm_.send(block, static_cast<int>(peer), tag::exchange));
    }
    wait_all(requests);
  }

  const Communicator& comm_;
  Blocks blocks_;
  std::size_t ranks_, me_;
  const std::vector<bool>& readers_;
  std::vector<index_t> left_to_, left_from_;  ///< bytes for messages
};

}  // namespace

index_t exchange_messages(std::span<const index_t> bytes_to, int rank) {
  index_t messages = 0;
  for (std::size_t r = 0; r < bytes_to.size(); ++r) {
    if (static_cast<int>(r) != rank)
      messages += ceil_div(bytes_to[r], bytes_of_round(bytes_to.size()));
  }
  return messages;
}

void exchange(const Communicator& comm, std::span<const std::byte> from,
              std::span<const index_t> bytes_to, std::span<std::byte> to,
              std::span<const index_t> bytes_from) {
  exchange(comm, from, offsets_of(bytes_to), bytes_to, to, bytes_from);
}

void exchange(const Communicator& comm, std::span<const std::byte> from,
              std::span<const index_t> out, std::span<const index_t> bytes_to,
              std::span<std::byte> to, std::span<const index_t> bytes_from) {
  const auto ranks = static_cast<std::size_t>(comm.size()),
             me = static_cast<std::size_t>(comm.rank());
  const auto in = offsets_of(bytes_from);
  require_argument(bytes_to.size() == ranks && out.size() >= ranks, "bytes_to",
                   "must have one number for each of the " + std::to_string(ranks) + " ranks");
  require_argument(bytes_from.size() == ranks && bytes_from[me] == bytes_to[me], "bytes_from",
                   "must have one number for each of the " + std::to_string(ranks) +
                       " ranks, this rank's as in bytes_to");
  for (std::size_t r = 0; r < ranks; ++r) {
    const bool inside =
        bytes_to[r] == 0 || (bytes_to[r] > 0 && out[r] >= 0 &&
                             out[r] + bytes_to[r] <= static_cast<index_t>(from.size()));
    if (!inside)
      throw Error::of_argument("bytes_to",
                               "has bytes for rank " + std::to_string(r) + " that exceed from");
    if (bytes_from[r] < 0)
      throw Error::of_argument("bytes_from", "has a negative number: must be at least 0");
  }
  require_argument(in.back() <= static_cast<index_t>(to.size()), "to",
                   "has " + std::to_string(to.size()) + " bytes: must have the " +
                       std::to_string(in.back()) + " received");
  Exchange(comm, {from, out, bytes_to, to, in, bytes_from}).run();
}

}  // namespace tessera::inline v1::mpi
