#pragma once
// MPI as values: a communicator, checked calls, counts of 64 bits.

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/index.hpp"

namespace tessera::mpi {

/// Throws Error(internal) with the library's own words unless rc is MPI_SUCCESS. `call` names the
/// function.
void check(int rc, const char* call);

/// A pending transfer of any size; only wait() completes it, or test() that says yes.
class Request {
 public:
  Request() = default;
  explicit Request(std::vector<MPI_Request> parts) : parts_(std::move(parts)) {}
  Request(Request&&) = default;
  Request& operator=(Request&&) = default;
  void wait();
  [[nodiscard]] bool test();
  /// Takes the other one's transfers as well.
  void join(Request&& other);
  [[nodiscard]] std::vector<MPI_Request>& parts() { return parts_; }

 private:
  std::vector<MPI_Request> parts_;
};

struct GridLines;

/// Ranks that talk to each other. Value semantics by sharing: copies refer to the same
/// communicator, which lives until the last copy goes. Every collective is called by all its ranks
/// in the same order. A rank or a size that the communicator does not have throws Error(usage)
/// naming the argument.
class Communicator {
 public:
  /// All ranks of the program, on a communicator of our own (MPI must be initialised).
  [[nodiscard]] static Communicator world();
  /// This rank alone.
  [[nodiscard]] static Communicator self();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_root() const { return rank_ == 0; }
  [[nodiscard]] MPI_Comm handle() const { return state_->handle; }

  /// The ranks that name the same color, at least 0, ordered by key.
  [[nodiscard]] Communicator split(int color, int key) const;
  /// This rank's lines of the grid rows x cols of all ranks, numbered row by row. Made when they
  /// are asked for the first time, then kept: splitting takes time that grows with the ranks.
  [[nodiscard]] const GridLines& grid_lines(index_t rows, index_t cols) const;
  /// The ranks that share this rank's memory (one node). Made when they are asked for the first
  /// time, then kept. Collective.
  [[nodiscard]] Communicator node() const;
  /// The ranks here of the ranks of `part`, by rank there. Local.
  [[nodiscard]] std::vector<index_t> ranks_of(const Communicator& part) const;

  void barrier() const;
  /// Long data along a chain of the ranks (mpi/network.hpp), short as the library does it.
  void broadcast(std::span<std::byte> data, int root) const;
  template <class T>
  void broadcast(std::span<T> data, int root) const {
    broadcast(std::as_writable_bytes(data), root);
  }
  [[nodiscard]] std::string broadcast(std::string text, int root) const;

  [[nodiscard]] index_t sum(index_t value) const;
  [[nodiscard]] std::uint64_t sum(std::uint64_t value) const;  ///< modulo 2^64
  [[nodiscard]] double sum(double value) const;
  [[nodiscard]] index_t max(index_t value) const;
  [[nodiscard]] double max(double value) const;
  [[nodiscard]] double min(double value) const;
  void sum(std::span<double> values) const;  ///< in place, on every rank
  void sum(std::span<index_t> values) const;
  void max(std::span<double> values) const;
  void max(std::span<index_t> values) const;

  /// Every rank's value, by rank, on every rank.
  [[nodiscard]] std::vector<double> all_gather(double value) const;
  [[nodiscard]] std::vector<index_t> all_gather(index_t value) const;
  /// In place: the sums over the ranks before this one; zeros on rank 0.
  void sum_before(std::span<index_t> values) const;

  /// all[r * mine.size() ...] = rank r's bytes, on every rank; every rank gives equally many.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) const;
  template <class T>
  [[nodiscard]] std::vector<T> all_gather(std::span<const T> mine) const {
    std::vector<T> all(mine.size() * static_cast<std::size_t>(size_));
    all_gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
    return all;
  }
  /// One value for every rank to one value from every rank.
  [[nodiscard]] std::vector<index_t> all_to_all(std::span<const index_t> values) const;
  /// Every rank's values (equally many) concatenated by rank, on the root; empty elsewhere.
  [[nodiscard]] std::vector<double> gather(std::span<const double> values, int root) const;
  [[nodiscard]] std::vector<std::string> gather(const std::string& text, int root) const;

  /// Bytes to or from a peer. Messages between two ranks with one tag arrive in the order they were
  /// sent. The memory must stay untouched until the request is complete.
  [[nodiscard]] Request send(std::span<const std::byte> data, int peer, int tag) const;
  [[nodiscard]] Request receive(std::span<std::byte> data, int peer, int tag) const;

 private:
  struct State {
    explicit State(MPI_Comm comm) : handle(comm) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();
    MPI_Comm handle;
    std::shared_ptr<const Communicator> node;
    std::map<std::pair<index_t, index_t>, std::shared_ptr<const GridLines>> lines;
  };

  explicit Communicator(MPI_Comm handle);
  void require_rank(int rank, const char* argument) const;
  void broadcast_along_chain(std::span<std::byte> data, int root) const;
  std::shared_ptr<State> state_;
  int rank_ = 0;
  int size_ = 1;
};

struct GridLines {
  Communicator row;  ///< those of the same row, by column
  Communicator col;  ///< those of the same column, by row
};

/// Completes all of them.
void wait_all(std::span<Request> requests);

}  // namespace tessera::mpi
