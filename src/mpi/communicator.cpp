#include "mpi/communicator.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "mpi/agreement.hpp"
#include "mpi/idle.hpp"
#include "mpi/long_collectives.hpp"
#include "mpi/network.hpp"
#include "mpi/watchdog.hpp"

namespace tessera::mpi {
namespace {

// Bytes per message: well below the 2 GiB of an int count, large enough for full bandwidth. Open
// MPI 4.1 implements MPI 3.1: it has no large-count calls, and an int count of 2^32 + 5 silently
// sends 5 bytes.
constexpr index_t piece_bytes = index_t{1} << 30;
constexpr int chain_tag = 104, scan_tag = 107;

template <class Call>
void in_pieces(index_t bytes, const Call& call) {
  for (index_t offset = 0; offset < bytes; offset += piece_bytes) {
    call(offset, narrow<int>(std::min(piece_bytes, bytes - offset)));
  }
}

/// Completes a collective call: `blocking`, or `started`, its nonblocking form, with polls.
template <auto blocking, auto started, class... Arguments>
void collective(const char* name, Arguments... arguments) {
  if constexpr (library_spins) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(started(arguments..., &request), name);
    poll_until([&] {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), name);
      return done != 0;
    });
  } else {
    check(blocking(arguments...), name);
  }
  heartbeat();
}

template <class T>
T all_reduce(T value, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  T result{};
  collective<MPI_Allreduce, MPI_Iallreduce>("MPI_Allreduce", &value, &result, 1, type, op, comm);
  return result;
}

template <class T>
void all_reduce(std::span<T> values, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  constexpr std::size_t piece = std::size_t{1} << 26;
  for (std::size_t offset = 0; offset < values.size(); offset += piece) {
    const auto count = narrow<int>(std::min(piece, values.size() - offset));
    collective<MPI_Allreduce, MPI_Iallreduce>("MPI_Allreduce", MPI_IN_PLACE, values.data() + offset,
                                              count, type, op, comm);
  }
}

template <class T>
std::vector<T> values_of_all(T value, MPI_Datatype type, int size, MPI_Comm comm) {
  std::vector<T> values(static_cast<std::size_t>(size));
  collective<MPI_Allgather, MPI_Iallgather>("MPI_Allgather", &value, 1, type, values.data(), 1,
                                            type, comm);
  return values;
}

}  // namespace

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

Communicator::State::~State() {
  lines.clear();
  node.reset();
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0 && handle != MPI_COMM_SELF && !leaves_alone()) MPI_Comm_free(&handle);
}

Communicator::Communicator(MPI_Comm handle) : state_(std::make_shared<State>(handle)) {
  check(MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(handle, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(handle, &size_), "MPI_Comm_size");
}

Communicator Communicator::world() {
  MPI_Comm copy = MPI_COMM_NULL;
  collective<MPI_Comm_dup, MPI_Comm_idup>("MPI_Comm_dup", MPI_COMM_WORLD, &copy);
  return Communicator(copy);
}

Communicator Communicator::self() { return Communicator(MPI_COMM_SELF); }

void Communicator::require_rank(int rank, const char* argument) const {
  if (rank >= 0 && rank < size_) return;
  throw Error(ExitCode::usage, std::string(argument) + ": " + std::to_string(rank) +
                                   " is not one of the " + std::to_string(size_) +
                                   " ranks of the communicator");
}

Communicator Communicator::split(int color, int key) const {
  require(color >= 0, ExitCode::usage, "color: " + std::to_string(color) + " is less than 0");
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(handle(), color, key, &part), "MPI_Comm_split");
  return Communicator(part);
}

std::vector<index_t> Communicator::ranks_of(const Communicator& part) const {
  MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
  check(MPI_Comm_group(handle(), &all), "MPI_Comm_group");
  check(MPI_Comm_group(part.handle(), &some), "MPI_Comm_group");
  std::vector<int> there(static_cast<std::size_t>(part.size())), here(there.size());
  std::iota(there.begin(), there.end(), 0);
  const int rc = MPI_Group_translate_ranks(some, part.size(), there.data(), all, here.data());
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  check(rc, "MPI_Group_translate_ranks");
  return {here.begin(), here.end()};
}

const GridLines& Communicator::grid_lines(index_t rows, index_t cols) const {
  require(rows > 0 && cols > 0 && rows * cols == size_, ExitCode::usage,
          "rows, cols: a process grid of " + std::to_string(rows) + " x " + std::to_string(cols) +
              " does not match the " + std::to_string(size_) + " ranks of the communicator");
  std::shared_ptr<const GridLines>& lines = state_->lines[{rows, cols}];
  if (!lines) {
    const auto row = static_cast<int>(rank_ / cols), col = static_cast<int>(rank_ % cols);
    lines = std::make_shared<const GridLines>(GridLines{split(row, col), split(col, row)});
  }
  return *lines;
}

Communicator Communicator::node() const {
  if (!state_->node) {
    MPI_Comm part = MPI_COMM_NULL;
    check(MPI_Comm_split_type(handle(), MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part),
          "MPI_Comm_split_type");
    state_->node = std::make_shared<const Communicator>(Communicator(part));
  }
  return *state_->node;
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
    arriving.push_back(receive(part(at), before, chain_tag));
  for (std::size_t at = 0; at < data.size(); at += segment) {
    if (rank_ != root) arriving[at / segment].wait();
    if (behind != root) leaving.push_back(send(part(at), behind, chain_tag));
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

index_t Communicator::sum(index_t value) const {
  return all_reduce(value, MPI_INT64_T, MPI_SUM, handle());
}
std::uint64_t Communicator::sum(std::uint64_t value) const {
  return all_reduce(value, MPI_UINT64_T, MPI_SUM, handle());
}
double Communicator::sum(double value) const {
  return all_reduce(value, MPI_DOUBLE, MPI_SUM, handle());
}
index_t Communicator::max(index_t value) const {
  return all_reduce(value, MPI_INT64_T, MPI_MAX, handle());
}
double Communicator::max(double value) const {
  return all_reduce(value, MPI_DOUBLE, MPI_MAX, handle());
}
double Communicator::min(double value) const {
  return all_reduce(value, MPI_DOUBLE, MPI_MIN, handle());
}
void Communicator::sum(std::span<double> values) const {
  all_reduce(values, MPI_DOUBLE, MPI_SUM, handle());
}
void Communicator::sum(std::span<index_t> values) const {
  if (sums_in_parts(static_cast<index_t>(values.size_bytes()), size_))
    return sum_in_parts(*this, values);
  all_reduce(values, MPI_INT64_T, MPI_SUM, handle());
}
void Communicator::max(std::span<double> values) const {
  all_reduce(values, MPI_DOUBLE, MPI_MAX, handle());
}
void Communicator::max(std::span<index_t> values) const {
  all_reduce(values, MPI_INT64_T, MPI_MAX, handle());
}

std::vector<double> Communicator::all_gather(double value) const {
  return values_of_all(value, MPI_DOUBLE, size_, handle());
}

std::vector<index_t> Communicator::all_gather(index_t value) const {
  return values_of_all(value, MPI_INT64_T, size_, handle());
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
      arriving = receive(std::as_writable_bytes(std::span(more)), rank_ - distance, scan_tag);
    if (rank_ + distance < size_)
      leaving = send(std::as_bytes(std::span(with_mine)), rank_ + distance, scan_tag);
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
  require(all.size() == mine.size() * static_cast<std::size_t>(size_), ExitCode::usage,
          "all: " + std::to_string(all.size()) + " bytes are not " + std::to_string(mine.size()) +
              " for each of " + std::to_string(size_) + " ranks");
  if (gathers_by_doubling(static_cast<index_t>(all.size()), size_))
    return gather_by_doubling(*this, mine, all);
  const auto count = narrow<int>(mine.size());
  collective<MPI_Allgather, MPI_Iallgather>("MPI_Allgather", mine.data(), count, MPI_BYTE,
                                            all.data(), count, MPI_BYTE, handle());
}

std::vector<index_t> Communicator::all_to_all(std::span<const index_t> values) const {
  require(values.size() == static_cast<std::size_t>(size_), ExitCode::usage,
          "values: must have one for each of the " + std::to_string(size_) + " ranks, not " +
              std::to_string(values.size()));
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

}  // namespace tessera::mpi
