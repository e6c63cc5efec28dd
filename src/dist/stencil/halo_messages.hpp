#pragma once
// What halo exchanges on the host and on devices have in common.

#include <memory>
#include <utility>
#include <vector>

#include "dist/stencil/halo_exchange.hpp"

namespace tessera::inline v1::dist::stencil {

/// An exchange of fields at one place.
class HaloMoves::Impl {
 public:
  Impl(const mpi::Communicator& comm, const HaloShape& shape) : box_(shape.grid.of(comm.rank())) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  virtual ~Impl() = default;

  [[nodiscard]] const Box3& box() const { return box_; }
  [[nodiscard]] virtual std::size_t fields() const = 0;
  virtual void bind(std::size_t field, const Memory& memory) = 0;
  virtual void start() = 0;
  virtual void wait() = 0;
  [[nodiscard]] virtual index_t messages() const = 0;
  [[nodiscard]] virtual index_t buffer_bytes() const = 0;

  bool started = false;

 private:
  Box3 box_;
};

/// The boxes of all directions that travel between this rank and a peer.
struct HaloMessage {
  int peer = 0;
  std::vector<Box3> boxes;
  index_t offset = 0;  ///< of its first element in the buffer
  index_t elements = 0;
};

/// Joins the pieces of a peer, in the order of their tags, which are equal on both ranks.
[[nodiscard]] inline std::vector<HaloMessage> messages_of(std::vector<layout::HaloPiece> pieces,
                                                          index_t fields) {
  std::stable_sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) {
    return std::pair(a.peer, a.tag) < std::pair(b.peer, b.tag);
  });
  std::vector<HaloMessage> messages;
  index_t offset = 0;
  for (const layout::HaloPiece& piece : pieces) {
    const auto peer = static_cast<int>(piece.peer);
    if (messages.empty() || messages.back().peer != peer) messages.push_back({peer, {}, offset, 0});
    messages.back().boxes.push_back(piece.box);
    messages.back().elements += fields * piece.box.volume();
    offset += fields * piece.box.volume();
  }
  return messages;
}

[[nodiscard]] inline index_t total(const std::vector<HaloMessage>& messages) {
  return messages.empty() ? 0 : messages.back().offset + messages.back().elements;
}

/// Returns which dimensions are periodic.
[[nodiscard]] inline std::array<bool, 3> periodic_of(const Sides& sides) {
  const auto is = [&](std::size_t d) { return sides[d][0].kind == Boundary::periodic; };
  return {is(0), is(1), is(2)};
}

/// Makes an exchange of fields in the memory of the current device.
[[nodiscard]] std::unique_ptr<HaloMoves::Impl> device_moves(const mpi::Communicator& comm,
                                                            const HaloShape& shape,
                                                            const HaloMoves::Points& points,
                                                            index_t fields);

}  // namespace tessera::inline v1::dist::stencil
