#pragma once
// RAII wrappers of MPI: communicators, checked calls, 64-bit counts.

#include <mpi.h>

#include <map>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "mpi/datatype.hpp"

namespace tessera::inline v1::mpi {

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

/// A vector, array or span of numbers, of which reductions work in place.
template <class R>
concept Numbers = std::ranges::contiguous_range<R> && Number<std::ranges::range_value_t<R>> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
template <class R>
concept OrderedNumbers = Numbers<R> && OrderedNumber<std::ranges::range_value_t<R>>;

/// A group of communicating ranks, or empty. Copies refer to the same MPI communicator, which is
/// freed with the last copy. All ranks must call collectives in the same order. An invalid rank or
/// size throws Error(usage) naming the argument, as does any call of an empty communicator; what
/// the MPI library reports is thrown as Error(internal).
class Communicator {
 public:
  /// An empty communicator: of no ranks, as split() returns it to ranks without a part.
  Communicator() = default;
  /// Wraps a communicator of the program: communicates in a duplicate of it, so that no message,
  /// tag or error handler of the program is touched. The first wrap on each rank makes the
  /// duplicate and is collective over `comm`; later ones find it attached to `comm`, and are local.
  /// It is freed with `comm`, or by MPI_Finalize. MPI_COMM_NULL gives an empty communicator. Throws
  /// Error(usage) for an intercommunicator, and unless MPI is initialised and not finalised.
  explicit Communicator(MPI_Comm comm);
  /// Wraps the communicator of a Fortran handle (an integer, or comm%MPI_VAL).
  [[nodiscard]] static Communicator from_fortran(MPI_Fint comm);
  /// Takes over a communicator that was made for the purpose, without a duplicate: sets its error
  /// handler, and frees it with the last copy. MPI_COMM_NULL gives an empty communicator. Local.
  [[nodiscard]] static Communicator adopt(MPI_Comm comm);
  /// Returns all ranks of the program: MPI_COMM_WORLD, wrapped. The first call is collective.
  [[nodiscard]] static Communicator world();
  /// Returns a communicator of this rank alone. Local.
  [[nodiscard]] static Communicator self();

  [[nodiscard]] bool empty() const { return state_ == nullptr; }
  [[nodiscard]] explicit operator bool() const { return !empty(); }
  [[nodiscard]] int rank() const { return rank_; }  ///< -1 if empty
  [[nodiscard]] int size() const { return size_; }  ///< 0 if empty
  [[nodiscard]] bool is_root() const { return rank_ == 0; }
  [[nodiscard]] MPI_Comm handle() const;

  /// Returns the ranks of equal color (>= 0), ordered by key; empty for MPI_UNDEFINED. Collective.
  [[nodiscard]] Communicator split(int color, int key) const;
  /// Returns this rank's row and column of the row-major grid rows x cols of all ranks. Created on
  /// first use and cached, because the cost of splitting grows with the number of ranks.
  /// Collective.
  [[nodiscard]] const GridLines& grid_lines(index_t rows, index_t cols) const;
  /// Returns the ranks that share memory with this one (one node). Created on first use and cached.
  /// Collective.
  [[nodiscard]] Communicator node() const;
  /// Returns, by rank, whether this rank and that one, of the same node, may copy from each other's
  /// memory by several threads (mpi/node_reads.hpp); the answer is one for all ranks of a node.
  /// Tried on first use and cached. Collective.
  [[nodiscard]] const std::vector<bool>& node_readers() const;
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

  /// Return the reduction of the ranks' values on every rank, in 64 bits (Reduced): unsigned sums
  /// are modulo 2^64.
  template <Number T>
  [[nodiscard]] Reduced<T> sum(T value) const {
    return reduced<T>(value, MPI_SUM);
  }
  template <OrderedNumber T>
  [[nodiscard]] Reduced<T> max(T value) const {
    return reduced<T>(value, MPI_MAX);
  }
  template <OrderedNumber T>
  [[nodiscard]] Reduced<T> min(T value) const {
    return reduced<T>(value, MPI_MIN);
  }
  /// Reduce the values at the same place of all ranks, in place and in their type, on every rank;
  /// all ranks have equally many.
  template <Numbers R>
  void sum(R&& values) const {
    reduce(values, MPI_SUM);
  }
  template <OrderedNumbers R>
  void max(R&& values) const {
    reduce(values, MPI_MAX);
  }
  template <OrderedNumbers R>
  void min(R&& values) const {
    reduce(values, MPI_MIN);
  }

  /// Returns every rank's value, by rank, on every rank.
  template <Number T>
  [[nodiscard]] std::vector<T> all_gather(T value) const {
    return all_gather(std::span<const T>(&value, 1));
  }
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
    std::vector<bool> node_readers;
    std::map<std::pair<index_t, index_t>, std::shared_ptr<const GridLines>> lines;
  };

  explicit Communicator(std::shared_ptr<State> state);
  [[nodiscard]] static std::shared_ptr<State> owned(MPI_Comm comm);
  [[nodiscard]] static std::shared_ptr<State> duplicate_of(MPI_Comm comm);
  friend struct Attached;
  void require_rank(int rank, const char* argument) const;
  void broadcast_along_chain(std::span<std::byte> data, int root) const;
  void reduce(void* values, index_t count, MPI_Datatype type, MPI_Op op) const;
  template <class R>
  void reduce(R& values, MPI_Op op) const {
    reduce(std::ranges::data(values), static_cast<index_t>(std::ranges::size(values)),
           datatype<std::ranges::range_value_t<R>>(), op);
  }
  template <class T>
  [[nodiscard]] Reduced<T> reduced(T value, MPI_Op op) const {
    auto result = static_cast<Reduced<T>>(value);
    reduce(&result, 1, datatype<Reduced<T>>(), op);
    return result;
  }
  std::shared_ptr<State> state_;
  int rank_ = -1;
  int size_ = 0;
};

struct GridLines {
  Communicator row;  ///< ranks of the same row, by column
  Communicator col;  ///< ranks of the same column, by row
};

/// Waits for all requests.
void wait_all(std::span<Request> requests);

}  // namespace tessera::inline v1::mpi
