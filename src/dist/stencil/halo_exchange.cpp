// Plans of halo exchanges: pieces by neighbour, packed into persistent messages.

#include "dist/stencil/halo_exchange.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/half.hpp"
#include "dist/stencil/ghost_layers.hpp"
#include "machine/buffer.hpp"
#include "machine/team.hpp"
#include "mpi/agreement.hpp"
#include "mpi/repeated.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

std::array<bool, 3> periodic_of(const Sides& sides) {
  const auto is = [&](std::size_t d) { return sides[d][0].kind == Boundary::periodic; };
  return {is(0), is(1), is(2)};
}

void check_shape(const mpi::Communicator& comm, const HaloShape& shape) {
  const layout::GridLayout& grid = shape.grid;
  require_argument(
      grid.ranks == comm.size() && grid.active() <= grid.ranks, "shape.grid",
      fmt::format("has {} boxes on {} ranks: comm has {}", grid.active(), grid.ranks, comm.size()));
  for (int d = 0; d < 3; ++d) {
    const auto& both = shape.sides[static_cast<std::size_t>(d)];
    require_argument((both[0].kind == Boundary::periodic) == (both[1].kind == Boundary::periodic),
                     "shape.sides", fmt::format("are periodic on one side of dimension {}", d));
    require_argument(shape.widths[d] >= 0, "shape.widths",
                     fmt::format("are {} in dimension {}: must be at least 0", shape.widths[d], d));
    const index_t least = grid.parts[d] > 1 ? std::max<index_t>(shape.widths[d], 1) : 1;
    require_argument(grid.shortest(d) >= least, "shape.widths",
                     fmt::format("are {} in dimension {}: the thinnest box has {} points",
                                 shape.widths[d], d, grid.shortest(d)));
  }
}

/// The boxes of all directions that travel between this rank and a peer.
struct Message {
  int peer = 0;
  std::vector<Box3> boxes;
  index_t offset = 0;  ///< of its first element in the buffer
  index_t elements = 0;
};

/// Joins the pieces of a peer, in the order of their tags, which are equal on both ranks.
std::vector<Message> messages_of(std::vector<layout::HaloPiece> pieces, index_t fields) {
  std::stable_sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) {
    return std::pair(a.peer, a.tag) < std::pair(b.peer, b.tag);
  });
  std::vector<Message> messages;
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

index_t total(const std::vector<Message>& messages) {
  return messages.empty() ? 0 : messages.back().offset + messages.back().elements;
}

/// Calls move(row of u, row of the buffer, length) for all rows of a box, on several threads.
template <class T, class Move>
void each_row(const GridView<T>& u, const Box3& box, T* buffer, int threads, const Move& move) {
  constexpr index_t rows_at_once = 64;
  const Index3 size = box.size();
  const index_t rows = size[0] * size[1];
  std::atomic<index_t> taken{0};
  const int team = machine::team_for(box.volume() * index_t{sizeof(T)}, threads);
  machine::parallel_parts(team, [&](int, int) {
    for (index_t begin = taken.fetch_add(rows_at_once); begin < rows;
         begin = taken.fetch_add(rows_at_once)) {
      for (index_t i = begin; i < std::min(begin + rows_at_once, rows); ++i) {
        const Index3 at{{box.low[0] + i / size[1], box.low[1] + i % size[1], box.low[2]}};
        move(&u(at), buffer + i * size[2], size[2]);
      }
    }
  });
}

}  // namespace

template <class T>
struct HaloPlan<T>::State {
  State(const mpi::Communicator& communicator, const HaloShape& shape, index_t fields,
        int thread_count)
      : threads(thread_count),
        views(static_cast<std::size_t>(fields)),
        box(shape.grid.of(communicator.rank())) {
    const auto periodic = periodic_of(shape.sides);
    const int rank = communicator.rank();
    if (box.empty()) return;
    ghosts = GhostLayers(shape, rank);
    sends = messages_of(layout::halo_sends(shape.grid, rank, shape.widths, periodic), fields);
    receives = messages_of(layout::halo_receives(shape.grid, rank, shape.widths, periodic), fields);
    outgoing = machine::Buffer<T>(total(sends));
    incoming = machine::Buffer<T>(total(receives));
    std::vector<mpi::RepeatedMessages::Out> out;
    std::vector<mpi::RepeatedMessages::In> in;
    for (const Message& m : sends)
      out.push_back({m.peer, std::as_bytes(std::span(outgoing.data() + m.offset, size_of(m)))});
    for (const Message& m : receives)
      in.push_back(
          {m.peer, std::as_writable_bytes(std::span(incoming.data() + m.offset, size_of(m)))});
    messages = mpi::RepeatedMessages(communicator, out, in);
  }
  [[nodiscard]] static std::size_t size_of(const Message& m) {
    return static_cast<std::size_t>(m.elements);
  }

  /// Formats no text unless something is wrong: executions allocate nothing.
  void check(std::span<const GridView<T>> fields) const {
    if (fields.size() != views.size())
      throw Error::of_argument(
          "fields", fmt::format("has {} fields: the plan has {}", fields.size(), views.size()));
    for (std::size_t f = 0; f < fields.size() && !box.empty(); ++f) {
      const auto fail_here = [&](const std::string& problem) {
        throw Error::of_argument(fmt::format("fields[{}]", f), problem);
      };
      const Index3 n = fields[f].extent, size = box.size();
      if (fields[f].data == nullptr) fail_here("has no memory");
      if (!(n == size))
        fail_here(fmt::format("has {} x {} x {} points: the box of this rank has {} x {} x {}",
                              n[0], n[1], n[2], size[0], size[1], size[2]));
    }
  }

  void pack(const Message& message) {
    T* to = outgoing.data() + message.offset;
    for (const Box3& part : message.boxes) {
      for (const GridView<T>& view : views) {
        each_row(view, part, to, threads, [&](const T* row, T* packed, index_t n) {
          copy_row(packed, 1, row, view.stride[2], n);
        });
        to += part.volume();
      }
    }
  }
  void unpack(const Message& message) {
    T* from = incoming.data() + message.offset;
    for (const Box3& part : message.boxes) {
      for (const GridView<T>& view : views) {
        each_row(view, part, from, threads, [&](T* row, const T* packed, index_t n) {
          copy_row(row, view.stride[2], packed, 1, n);
        });
        from += part.volume();
      }
    }
  }

  int threads;
  std::vector<GridView<T>> views;  ///< of the last start()
  Box3 box;
  GhostLayers ghosts;
  std::vector<Message> sends, receives;
  machine::Buffer<T> outgoing, incoming;
  mpi::RepeatedMessages messages;
  bool started = false;
};

template <class T>
HaloPlan<T>::HaloPlan(const mpi::Communicator& comm, const HaloShape& shape, index_t fields,
                      int threads) {
  require_argument(!comm.empty(), "comm", "is an empty communicator");
  require_argument(fields >= 1, "fields", fmt::format("is {}: must be at least 1", fields));
  require_argument(threads >= 1, "threads", fmt::format("is {}: must be at least 1", threads));
  check_shape(comm, shape);
  state_ = std::make_unique<State>(comm, shape, fields, threads);
}
template <class T>
HaloPlan<T>::HaloPlan(HaloPlan&&) noexcept = default;
template <class T>
HaloPlan<T>& HaloPlan<T>::operator=(HaloPlan&&) noexcept = default;
template <class T>
HaloPlan<T>::~HaloPlan() = default;

template <class T>
void HaloPlan<T>::check(std::span<const GridView<T>> fields) const {
  state_->check(fields);
}

template <class T>
void HaloPlan<T>::start(std::span<const GridView<T>> fields) {
  State& s = *state_;
  if (s.started)
    throw Error(ExitCode::usage, "start: the plan is started already; call wait first");
  s.check(fields);
  std::copy(fields.begin(), fields.end(), s.views.begin());
  s.started = true;
  s.messages.start_receives();
  for (std::size_t m = 0; m < s.sends.size(); ++m) {
    s.pack(s.sends[m]);
    s.messages.start_send(m);
  }
}

template <class T>
void HaloPlan<T>::wait() {
  State& s = *state_;
  if (!s.started) throw Error(ExitCode::usage, "wait: the plan is not started; call start first");
  for (auto complete = s.messages.arrived(); !complete.empty(); complete = s.messages.arrived())
    for (const std::size_t m : complete) s.unpack(s.receives[m]);
  s.messages.finish();
  for (const GridView<T>& view : s.views)
    if (!s.box.empty()) s.ghosts.fill(view);
  s.started = false;
}

template <class T>
index_t HaloPlan<T>::messages() const {
  return static_cast<index_t>(state_->sends.size());
}
template <class T>
index_t HaloPlan<T>::buffer_bytes() const {
  return (state_->outgoing.size() + state_->incoming.size()) * index_t{sizeof(T)};
}

template <class T>
void exchange_halo(const mpi::Communicator& comm, const GridView<T>& field,
                   const HaloShape& shape) {
  std::optional<HaloPlan<T>> plan;
  mpi::together(comm, "exchange", [&] {
    plan.emplace(comm, shape);
    plan->check(std::span(&field, 1));
  });
  plan->execute(field);
}

#define TESSERA_INSTANTIATE(T) \
  template class HaloPlan<T>;  \
  template void exchange_halo(const mpi::Communicator&, const GridView<T>&, const HaloShape&)
TESSERA_INSTANTIATE(Half);
TESSERA_INSTANTIATE(float);
TESSERA_INSTANTIATE(double);
TESSERA_INSTANTIATE(std::int32_t);
TESSERA_INSTANTIATE(std::int64_t);
TESSERA_INSTANTIATE(Complex<float>);
TESSERA_INSTANTIATE(Complex<double>);
TESSERA_INSTANTIATE(std::complex<float>);
TESSERA_INSTANTIATE(std::complex<double>);
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::dist::stencil
