#pragma once
// What plans of relayouts do at one place, the host or a device. Private to this folder.

#include <memory>
#include <vector>

#include "dist/relayout/relayout.hpp"
#include "dist/relayout/schedule.hpp"
#include "mpi/packed_messages.hpp"

namespace tessera::inline v1::mpi {
class DeviceExchange;
}

namespace tessera::inline v1::dist::relayout {

using tessera::relayout::Array;
using tessera::relayout::ElementKind;
using tessera::relayout::Factors;

/// What executions bind to a matrix.
struct Bound {
  std::vector<Array<const std::byte>> a;
  std::vector<Array<std::byte>> b;
  Factors factors;
  ElementKind kind;
};

/// The part of a rank: the packed sides of its messages are numbered consecutively.
struct Part {
  Schedule schedule;
  std::vector<Turn> turn;  ///< by matrix
  index_t bytes = 8;       ///< of an element
};

/// How a piece moves.
struct Ends {
  Array<const std::byte> from;
  Array<std::byte> to;
  Turn turn = Turn::no;
  Factors factors;
};

class Execution {
 public:
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  virtual ~Execution() = default;

  /// As Plan::start() and wait(). reads: any matrix a is read; without, nothing is sent.
  virtual void start(bool reads) = 0;
  virtual void wait(bool reads) = 0;
  [[nodiscard]] virtual index_t buffer_bytes() const = 0;

  std::vector<Bound> bound;  ///< by matrix
  mpi::Phases phases;

 protected:
  explicit Execution(Part&& part) : bound(part.turn.size()), part_(std::move(part)) {}

  [[nodiscard]] bool reads_a(const Piece& piece) const {
    return bound[piece.matrix].factors.alpha != Complex<double>{0};
  }
  [[nodiscard]] const ElementKind& kind(const Piece& piece) const {
    return bound[piece.matrix].kind;
  }
  /// Return how a piece gets into its message, out of it, and from array to array of this rank.
  [[nodiscard]] Ends packing(const Piece& piece, std::byte* message) const {
    return {source(piece),
            {message + piece.offset * part_.bytes, piece.packed_cols},
            part_.turn[piece.matrix],
            {}};
  }
  [[nodiscard]] Ends unpacking(const Piece& piece, const std::byte* message) const {
    return {{message + piece.offset * part_.bytes, piece.packed_cols},
            target(piece),
            Turn::no,
            bound[piece.matrix].factors};
  }
  [[nodiscard]] Ends moving(const Piece& piece) const {
    return {source(piece), target(piece), part_.turn[piece.matrix], bound[piece.matrix].factors};
  }
  /// Returns the messages with their bytes.
  [[nodiscard]] std::vector<mpi::PackedMessage> sizes(const std::vector<Exchange>& side) const {
    std::vector<mpi::PackedMessage> all;
    for (const Exchange& each : side)
      all.push_back({static_cast<int>(each.peer), each.elements * part_.bytes});
    return all;
  }

  Part part_;

 private:
  /// Returns the array of a, perhaps absent if it is not read.
  [[nodiscard]] Array<const std::byte> source(const Piece& piece) const {
    const auto& arrays = bound[piece.matrix].a;
    const auto k = static_cast<std::size_t>(piece.a_array);
    return k < arrays.size() ? arrays[k] : Array<const std::byte>{};
  }
  [[nodiscard]] const Array<std::byte>& target(const Piece& piece) const {
    return bound[piece.matrix].b[static_cast<std::size_t>(piece.b_array)];
  }
};

/// In the memory of the host. Local.
[[nodiscard]] std::unique_ptr<Execution> on_host(const mpi::Communicator& comm, Part&& part,
                                                 int threads);
/// In the memory of the current device. Throws on all ranks if on any. Collective.
[[nodiscard]] std::unique_ptr<Execution> on_device(const mpi::DeviceExchange& exchange,
                                                   Part&& part);

}  // namespace tessera::inline v1::dist::relayout
