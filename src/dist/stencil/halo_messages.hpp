#pragma once
// What halo exchanges on the host and on devices have in common.

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "dist/stencil/halo_exchange.hpp"
#include "mpi/packed_messages.hpp"

namespace tessera::inline v1::dist::stencil {

/// An exchange of fields at one place.
class HaloMoves::Impl {
 public:
  Impl(const mpi::Communicator& comm, const HaloShape& shape, Space place)
      : box_(shape.grid.of(comm.rank())), place_(place) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  virtual ~Impl() = default;

  [[nodiscard]] const Box3& box() const { return box_; }
  [[nodiscard]] Space place() const { return place_; }  ///< of the fields
  [[nodiscard]] virtual std::size_t fields() const = 0;
  virtual void bind(std::size_t field, const Memory& memory) = 0;
  virtual void start() = 0;
  virtual void wait() = 0;
  [[nodiscard]] virtual index_t messages() const = 0;
  [[nodiscard]] virtual index_t buffer_bytes() const = 0;

  bool started = false;

 private:
  Box3 box_;
  Space place_;
};

/// The boxes of all directions that travel between this rank and a peer.
struct HaloMessage {
  int peer = 0;
  std::vector<Box3> boxes;
  index_t points = 0;  ///< of one field
};

/// Joins the pieces of a peer, in the order of their tags, which are equal on both ranks.
[[nodiscard]] inline std::vector<HaloMessage> messages_of(std::vector<layout::HaloPiece> pieces) {
  std::stable_sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) {
    return std::pair(a.peer, a.tag) < std::pair(b.peer, b.tag);
  });
  std::vector<HaloMessage> messages;
  for (const layout::HaloPiece& piece : pieces) {
    const auto peer = static_cast<int>(piece.peer);
    if (messages.empty() || messages.back().peer != peer) messages.push_back({peer, {}, 0});
    messages.back().boxes.push_back(piece.box);
    messages.back().points += piece.box.volume();
  }
  return messages;
}

/// The messages of a rank.
class HaloSchedule {
 public:
  HaloSchedule() = default;
  HaloSchedule(const HaloShape& shape, int rank) {
    const auto is = [&](std::size_t d) { return shape.sides[d][0].kind == Boundary::periodic; };
    const std::array<bool, 3> periodic{is(0), is(1), is(2)};
    out = messages_of(layout::halo_sends(shape.grid, rank, shape.widths, periodic));
    in = messages_of(layout::halo_receives(shape.grid, rank, shape.widths, periodic));
  }
  /// Returns the sizes of messages with that many bytes a point.
  [[nodiscard]] static std::vector<mpi::PackedMessage> sizes(
      const std::vector<HaloMessage>& messages, index_t point_bytes) {
    std::vector<mpi::PackedMessage> all;
    for (const HaloMessage& m : messages) all.push_back({m.peer, m.points * point_bytes});
    return all;
  }

  std::vector<HaloMessage> out, in;
};

/// Makes an exchange of fields in the memory of the current device.
[[nodiscard]] std::unique_ptr<HaloMoves::Impl> device_moves(const mpi::Communicator& comm,
                                                            const HaloShape& shape,
                                                            const HaloMoves::Points& points,
                                                            index_t fields);

}  // namespace tessera::inline v1::dist::stencil
