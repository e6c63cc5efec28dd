#pragma once
// Messages that are exchanged again and again between the same memory.

#include <span>
#include <vector>

#include "mpi/communicator.hpp"

namespace tessera::inline v1::mpi {

/// One message a peer in each direction, with fixed memory, as persistent requests: exchanging them
/// allocates nothing. Sends to and receives from one peer must have the same order on both ranks if
/// several objects are in use at the same time on one communicator.
class RepeatedMessages {
 public:
  /// The bytes for, or from, a rank.
  struct Out {
    int peer = 0;
    std::span<const std::byte> data;
  };
  struct In {
    int peer = 0;
    std::span<std::byte> data;
  };

  RepeatedMessages() = default;
  /// Local.
  RepeatedMessages(const Communicator& comm, std::span<const Out> out, std::span<const In> in);
  RepeatedMessages(RepeatedMessages&&) = default;
  RepeatedMessages& operator=(RepeatedMessages&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(out_, other.out_);
    std::swap(in_, other.in_);
    return *this;
  }
  RepeatedMessages(const RepeatedMessages&) = delete;
  RepeatedMessages& operator=(const RepeatedMessages&) = delete;
  ~RepeatedMessages();

  /// Starts all receives.
  void start_receives();
  /// Starts the send to the given peer of `out`.
  void start_send(std::size_t number);
  /// Waits for receives that are not yet reported, and returns the numbers of those that are
  /// complete, each once; none if all are reported.
  [[nodiscard]] std::span<const std::size_t> arrived();
  /// Waits for all sends.
  void finish();

 private:
  /// Requests of one direction: message m has those from first[m] to first[m + 1].
  struct Side {
    std::vector<MPI_Request> parts;
    std::vector<std::size_t> first{0};
    std::vector<std::size_t> message;  ///< of each part
    std::vector<int> pending;          ///< parts by message
    std::vector<int> indices;          ///< for MPI_Waitsome
    std::vector<std::size_t> complete;
    void add_part(std::size_t number, MPI_Request request);
    void close();
    void release() noexcept;
  };
  Communicator comm_;  ///< keeps the communicator of the requests
  Side out_, in_;
};

}  // namespace tessera::inline v1::mpi
