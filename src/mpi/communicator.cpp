#include "mpi/communicator.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "mpi/collective.hpp"
#include "mpi/idle.hpp"
#include "mpi/long_collectives.hpp"
#include "mpi/message_parts.hpp"
#include "mpi/network.hpp"
#include "mpi/tags.hpp"

namespace tessera::inline v1::mpi {

void check(int rc, const char* call) {
  if (rc == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> words{};
  int length = 0;
  MPI_Error_string(rc, words.data(), &length);
  throw Error(ExitCode::internal, std::string(call) + " failed: " + words.data());
}

void Request::wait() {
  if (parts_.empty()) return;
  if constexpr (library_spins) {
    poll_until([&] { return test(); });
  } else {
    check(MPI_Waitall(narrow<int>(parts_.size()), parts_.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
  }
  parts_.clear();
  heartbeat();
}

bool Request::test() {
  int done = 1;
  if (!parts_.empty()) {
    check(MPI_Testall(narrow<int>(parts_.size()), parts_.data(), &done, MPI_STATUSES_IGNORE),
          "MPI_Testall");
  }
  if (done != 0) parts_.clear();
  return done != 0;
}

void Request::join(Request&& other) {
  parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end());
  other.parts_.clear();
}

void wait_all(std::span<Request> requests) {
  Request all;
  for (Request& request : requests) all.join(std::move(request));
  all.wait();
}

void Communicator::barrier() const {
  collective<MPI_Barrier, MPI_Ibarrier>("MPI_Barrier", handle());
}

/// Pipelines segments along a ring: every rank receives from its predecessor and forwards to its
/// successor.
void Communicator::broadcast_along_chain(std::span<std::byte> data, int root) const {
  const int before = (rank_ + size_ - 1) % size_, behind = (rank_ + 1) % size_;
  const auto segment =
      static_cast<std::size_t>(chain_segment(static_cast<index_t>(data.size()), size_));
  std::vector<Request> arriving, leaving;
  const auto part = [&](std::size_t at) {
    return data.subspan(at, std::min(segment, data.size() - at));
  };
  for (std::size_t at = 0; rank_ != root && at < data.size(); at += segment)
    arriving.push_back(receive(part(at), before, tag::chain));
  for (std::size_t at = 0; at < data.size(); at += segment) {
    if (rank_ != root) arriving[at / segment].wait();
    if (behind != root) leaving.push_back(send(part(at), behind, tag::chain));
  }
  wait_all(leaving);
}

void Communicator::broadcast(std::span<std::byte> data, int root) const {
  require_rank(root, "root");
  if (uses_chain(static_cast<index_t>(data.size()), size_))
    return broadcast_along_chain(data, root);
  in_pieces(static_cast<index_t>(data.size()), [&](index_t offset, int count) {
    collective<MPI_Bcast, MPI_Ibcast>("MPI_Bcast", data.data() + offset, count, MPI_BYTE, root,
                                      handle());
  });
}

std::string Communicator::broadcast(std::string text, int root) const {
  constexpr std::size_t at_once = 1016;  // 1 KiB with the length: most texts need one message
  struct Head {
    index_t length;
    std::array<char, at_once> text;
  } head{static_cast<index_t>(text.size()), {}};
  std::copy_n(text.begin(), std::min(text.size(), at_once), head.text.begin());
  broadcast(std::span(&head, 1), root);
  text.resize(static_cast<std::size_t>(head.length));
  std::copy_n(head.text.begin(), std::min(text.size(), at_once), text.begin());
  if (text.size() > at_once) broadcast(std::span(text).subspan(at_once), root);
  return text;
}

void Communicator::reduce(void* values, index_t count, MPI_Datatype type, MPI_Op op) const {
  auto* const first = static_cast<std::byte*>(values);
  if (type == MPI_INT64_T && op == MPI_SUM && sums_in_parts(count * 8, size_))
    return sum_in_parts(*this,
                        {reinterpret_cast<index_t*>(first), static_cast<std::size_t>(count)});
  int width = 0;
  check(MPI_Type_size(type, &width), "MPI_Type_size");
  constexpr index_t piece = index_t{1} << 26;  // numbers
  for (index_t offset = 0; offset < count; offset += piece) {
    collective<MPI_Allreduce, MPI_Iallreduce>(
        "MPI_Allreduce", MPI_IN_PLACE, static_cast<void*>(first + offset * width),
        narrow<int>(std::min(piece, count - offset)), type, op, handle());
  }
}

void Communicator::sum_before(std::span<index_t> values) const {
  // Exclusive scan in log2(ranks) rounds (Hillis and Steele 1986); Open MPI's proceeds from rank to
  // rank.
  std::vector<index_t> with_mine(values.begin(), values.end()), before(values.size(), 0),
      more(values.size());
  for (int distance = 1; distance < size_; distance *= 2) {
    Request arriving, leaving;
    const bool receives = rank_ >= distance;
    if (receives)
      arriving = receive(std::as_writable_bytes(std::span(more)), rank_ - distance, tag::scan);
    if (rank_ + distance < size_)
      leaving = send(std::as_bytes(std::span(with_mine)), rank_ + distance, tag::scan);
    arriving.wait();
    leaving.wait();
    for (std::size_t i = 0; receives && i < more.size(); ++i) {
      before[i] += more[i];
      with_mine[i] += more[i];
    }
  }
  std::copy(before.begin(), before.end(), values.begin());
}

void Communicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) const {
  require_argument(all.size() == mine.size() * static_cast<std::size_t>(size_), "all",
                   "has " + std::to_string(all.size()) + " bytes: must have " +
                       std::to_string(mine.size()) + " for each of " + std::to_string(size_) +
                       " ranks");
  if (gathers_by_doubling(static_cast<index_t>(all.size()), size_))
    return gather_by_doubling(*this, mine, all);
  const auto count = narrow<int>(mine.size());
  collective<MPI_Allgather, MPI_Iallgather>("MPI_Allgather", mine.data(), count, MPI_BYTE,
                                            all.data(), count, MPI_BYTE, handle());
}

std::vector<index_t> Communicator::all_to_all(std::span<const index_t> values) const {
  require_argument(values.size() == static_cast<std::size_t>(size_), "values",
                   "has " + std::to_string(values.size()) +
                       " elements: must have one for each of " + std::to_string(size_) + " ranks");
  std::vector<index_t> result(values.size());
  collective<MPI_Alltoall, MPI_Ialltoall>("MPI_Alltoall", values.data(), 1, MPI_INT64_T,
                                          result.data(), 1, MPI_INT64_T, handle());
  return result;
}

std::vector<double> Communicator::gather(std::span<const double> values, int root) const {
  require_rank(root, "root");
  std::vector<double> all(rank_ == root ? values.size() * static_cast<std::size_t>(size_) : 0);
  const auto count = narrow<int>(values.size());
  collective<MPI_Gather, MPI_Igather>("MPI_Gather", values.data(), count, MPI_DOUBLE, all.data(),
                                      count, MPI_DOUBLE, root, handle());
  return all;
}

std::vector<std::string> Communicator::gather(const std::string& text, int root) const {
  require_rank(root, "root");
  const auto lengths = all_gather(static_cast<index_t>(text.size()));
  std::vector<int> counts, offsets;
  int total = 0;
  for (const index_t length : lengths) {
    counts.push_back(narrow<int>(length));
    offsets.push_back(total);
    total += counts.back();
  }
  std::string joined(rank_ == root ? static_cast<std::size_t>(total) : 0, '\0');
  collective<MPI_Gatherv, MPI_Igatherv>("MPI_Gatherv", text.data(), narrow<int>(text.size()),
                                        MPI_CHAR, joined.data(), counts.data(), offsets.data(),
                                        MPI_CHAR, root, handle());
  std::vector<std::string> texts;
  for (std::size_t r = 0; rank_ == root && r < counts.size(); ++r) {
    texts.push_back(
        joined.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(counts[r])));
  }
  return texts;
}

Request Communicator::send(std::span<const std::byte> data, int peer, int tag) const {
  require_rank(peer, "peer");
  std::vector<MPI_Request> parts;
  in_pieces(static_cast<index_t>(data.size()), [&](index_t offset, int count) {
    check(MPI_Isend(data.data() + offset, count, MPI_BYTE, peer, tag, handle(),
                    &parts.emplace_back()),
          "MPI_Isend");
  });
  return Request(std::move(parts));
}

Request Communicator::receive(std::span<std::byte> data, int peer, int tag) const {
  require_rank(peer, "peer");
  std::vector<MPI_Request> parts;
  in_pieces(static_cast<index_t>(data.size()), [&](index_t offset, int count) {
    check(MPI_Irecv(data.data() + offset, count, MPI_BYTE, peer, tag, handle(),
                    &parts.emplace_back()),
          "MPI_Irecv");
  });
  return Request(std::move(parts));
}

}  // namespace tessera::inline v1::mpi
