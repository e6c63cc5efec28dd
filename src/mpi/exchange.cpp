#include "mpi/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"
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
  if (bytes_to[me] > 0)
    std::memcpy(to.data() + in[me], from.data() + out[me], static_cast<std::size_t>(bytes_to[me]));
  const index_t piece = bytes_of_round(ranks);
  index_t most = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (r != me) most = std::max({most, bytes_to[r], bytes_from[r]});
  }
  for (index_t done = 0; done < most; done += piece) {
    std::vector<Request> requests;
    const auto part = [&](std::span<const index_t> offsets, std::span<const index_t> bytes,
                          std::size_t peer, auto data) {
      const index_t size = std::clamp<index_t>(bytes[peer] - done, 0, piece);
      return data.subspan(static_cast<std::size_t>(size > 0 ? offsets[peer] + done : 0),
                          static_cast<std::size_t>(size));
    };
    // Each step pairs every rank with another one, so that no rank is the target of all at once.
    for (std::size_t step = 1; step < ranks; ++step) {
      const std::size_t peer = (me + ranks - step) % ranks;
      const auto block = part(in, bytes_from, peer, to);
      if (!block.empty())
        requests.push_back(comm.receive(block, static_cast<int>(peer), tag::exchange));
    }
    for (std::size_t step = 1; step < ranks; ++step) {
      const std::size_t peer = (me + step) % ranks;
      const auto block = part(out, bytes_to, peer, from);
      if (!block.empty())
        requests.push_back(comm.send(block, static_cast<int>(peer), tag::exchange));
    }
    wait_all(requests);
  }
}

}  // namespace tessera::inline v1::mpi
