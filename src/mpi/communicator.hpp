#pragma once
// RAII wrappers of MPI: communicators, checked calls, 64-bit counts.

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

/// Throws Error(internal) with the library's message unless rc is MPI_SUCCESS. `call` names the
/// function.
void check(int rc, const char* call);

/// A pending transfer of any size, completed by wait(), or by a test() that returns true.
class Request {
 public:
  Request() = default;
  explicit Request(std::vector<MPI_Request> parts) : parts_(std::move(parts)) {}
  Request(Request&&) = default;
  Request& operator=(Request&&) = default;
  void wait();
  [[nodiscard]] bool test();
  /// Takes over the transfers of `other`.
  void join(Request&& other);
  [[nodiscard]] std::vector<MPI_Request>& parts() { return parts_; }

 private:
  std::vector<MPI_Request> parts_;
};

struct GridLines;

/// A group of communicating ranks. Copies refer to the same MPI communicator, which is freed with
/// the last copy. All ranks must call collectives in the same order. An invalid rank or size throws
/// Error(usage) naming the argument.
class Communicator {
 public:
  /// Returns all ranks of the program, on a duplicate of MPI_COMM_WORLD; MPI must be initialised.
  /// Collective.
  [[nodiscard]] static Communicator world();
  /// Returns a communicator of this rank alone.
  [[nodiscard]] static Communicator self();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_root() const { return rank_ == 0; }
  [[nodiscard]] MPI_Comm handle() const { return state_->handle; }

  /// Returns the ranks of equal color (>= 0), ordered by key. Collective.
  [[nodiscard]] Communicator split(int color, int key) const;
  /// Returns this rank's row and column of the row-major grid rows x cols of all ranks. Created on
  /// first use and cached, because the cost of splitting grows with the number of ranks.
  /// Collective.
  [[nodiscard]] const GridLines& grid_lines(index_t rows, index_t cols) const;
  /// Returns the ranks that share memory with this one (one node). Created on first use and cached.
  /// Collective.
  [[nodiscard]] Communicator node() const;
  /// The ranks here of the ranks of `part`, by rank there. Local.
  [[nodiscard]] std::vector<index_t> ranks_of(const Communicator& part) const;

  void barrier() const;
  /// Broadcasts long data along a chain of the ranks (mpi/network.hpp), short data by MPI_Bcast.
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

  /// Returns every rank's value, by rank, on every rank.
  [[nodiscard]] std::vector<double> all_gather(double value) const;
  [[nodiscard]] std::vector<index_t> all_gather(index_t value) const;
  /// Computes the exclusive scan (sum) over the ranks in place; zeros on rank 0.
  void sum_before(std::span<index_t> values) const;

  /// Gathers all[r * mine.size() ...] = rank r's bytes on every rank; all ranks contribute equally
  /// many.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) const;
  template <class T>
  [[nodiscard]] std::vector<T> all_gather(std::span<const T> mine) const {
    std::vector<T> all(mine.size() * static_cast<std::size_t>(size_));
    all_gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
    return all;
  }
  /// Sends one value to every rank and returns one from every rank.
  [[nodiscard]] std::vector<index_t> all_to_all(std::span<const index_t> values) const;
  /// Returns every rank's values (equally many) concatenated by rank on the root; nothing
  /// elsewhere.
  [[nodiscard]] std::vector<double> gather(std::span<const double> values, int root) const;
  [[nodiscard]] std::vector<std::string> gather(const std::string& text, int root) const;

  /// Start a transfer of bytes to or from a peer. Messages between two ranks with one tag arrive in
  /// order. The memory must not be accessed until the request is complete.
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
  Communicator row;  ///< ranks of the same row, by column
  Communicator col;  ///< ranks of the same column, by row
};

/// Waits for all requests.
void wait_all(std::span<Request> requests);

}  // namespace tessera::mpi
