// Plans of halo exchanges: pieces by neighbour, packed into persistent messages.

#include "dist/stencil/halo_exchange.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/error.hpp"
#include "dist/stencil/ghost_layers.hpp"
#include "dist/stencil/halo_messages.hpp"
#include "machine/reach.hpp"
#include "machine/team.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

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

/// A point of which only the bytes are moved.
template <std::size_t bytes>
struct Cell {
  std::byte of[bytes];
};

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

template <class T>
class Moves : public HaloMoves::Impl {
 public:
  Moves(const mpi::Communicator& comm, const HaloShape& shape, const HaloMoves::Values& beyond,
        index_t fields, int threads)
      : Impl(comm, shape, Space::host),
        threads_(threads),
        views_(static_cast<std::size_t>(fields)) {
    if (box().empty()) return;
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t side = 0; side < 2; ++side)
        std::memcpy(beyond_[d][side].of, beyond[d][side].data(), sizeof(T));
    ghosts_ = GhostLayers(shape, comm.rank());
    schedule_ = HaloSchedule(shape, comm.rank());
    const index_t bytes = fields * index_t{sizeof(T)};
    messages_ = mpi::PackedMessages(comm, HaloSchedule::sizes(schedule_.out, bytes),
                                    HaloSchedule::sizes(schedule_.in, bytes));
  }

  [[nodiscard]] std::size_t fields() const override { return views_.size(); }
  void bind(std::size_t field, const HaloMoves::Memory& memory) override {
    views_[field] = {static_cast<T*>(memory.data), memory.extent, memory.stride};
  }
  void start() override {
    messages_.start_receives();
    for (std::size_t m = 0; m < schedule_.out.size(); ++m) {
      pack(m);
      messages_.start_send(m);
    }
  }
  void wait() override {
    for (auto complete = messages_.arrived(); !complete.empty(); complete = messages_.arrived())
      for (const std::size_t m : complete) unpack(m);
    messages_.finish();
    for (const GridView<T>& view : views_)
      if (!box().empty()) ghosts_.fill(view, beyond_);
  }
  [[nodiscard]] index_t messages() const override { return std::ssize(schedule_.out); }
  [[nodiscard]] index_t buffer_bytes() const override {
    return messages_.sent_bytes() + messages_.received_bytes();
  }

 private:
  void pack(std::size_t m) {
    T* to = reinterpret_cast<T*>(messages_.out(m));
    for (const Box3& part : schedule_.out[m].boxes) {
      for (const GridView<T>& view : views_) {
        each_row(view, part, to, threads_, [&](const T* row, T* packed, index_t n) {
          copy_row(packed, 1, row, view.stride[2], n);
        });
        to += part.volume();
      }
    }
  }
  void unpack(std::size_t m) {
    T* from = reinterpret_cast<T*>(messages_.in(m));
    for (const Box3& part : schedule_.in[m].boxes) {
      for (const GridView<T>& view : views_) {
        each_row(view, part, from, threads_, [&](T* row, const T* packed, index_t n) {
          copy_row(row, view.stride[2], packed, 1, n);
        });
        from += part.volume();
      }
    }
  }

  int threads_;
  std::vector<GridView<T>> views_;  ///< of the last start()
  GhostLayers::Values<T> beyond_{};
  GhostLayers ghosts_;
  HaloSchedule schedule_;
  mpi::PackedMessages messages_;
};

}  // namespace

HaloMoves::HaloMoves(const mpi::Communicator& comm, const HaloShape& shape, const Points& points,
                     index_t fields, int threads) {
  require_argument(!comm.empty(), "comm", "is an empty communicator");
  require_argument(fields >= 1, "fields", fmt::format("is {}: must be at least 1", fields));
  require_argument(threads >= 1, "threads", fmt::format("is {}: must be at least 1", threads));
  check_shape(comm, shape);
  machine::find_driver();
  impl_ = [&]() -> std::unique_ptr<Impl> {
    if (points.place == Space::device) return device_moves(comm, shape, points, fields);
    const auto make = [&]<class T>(T) {
      return std::make_unique<Moves<T>>(comm, shape, points.beyond, fields, threads);
    };
    switch (points.bytes) {
      case 1:
        return make(Cell<1>{});
      case 2:
        return make(Cell<2>{});
      case 4:
        return make(Cell<4>{});
      case 8:
        return make(Cell<8>{});
      default:
        return make(Cell<16>{});
    }
  }();
}
HaloMoves::HaloMoves(HaloMoves&&) noexcept = default;
HaloMoves& HaloMoves::operator=(HaloMoves&&) noexcept = default;
HaloMoves::~HaloMoves() = default;

void HaloMoves::check_fields(std::size_t fields) const {
  if (fields != impl_->fields())
    throw Error::of_argument(
        "fields", fmt::format("has {} fields: the plan has {}", fields, impl_->fields()));
}

/// Formats no text unless something is wrong: executions allocate nothing.
void HaloMoves::check(std::size_t field, const Memory& memory) const {
  if (impl_->box().empty()) return;
  const auto fail_here = [&](const std::string& problem) {
    throw Error::of_argument(fmt::format("fields[{}]", field), problem);
  };
  const Index3 n = memory.extent, size = impl_->box().size();
  if (memory.data == nullptr) fail_here("has no memory");
  const char* const why = machine::out_of_reach(memory.data, impl_->place() == Space::device);
  if (why != nullptr) fail_here(why);
  if (!(n == size))
    fail_here(fmt::format("has {} x {} x {} points: the box of this rank has {} x {} x {}", n[0],
                          n[1], n[2], size[0], size[1], size[2]));
}

void HaloMoves::expect_idle() const {
  if (impl_->started)
    throw Error(ExitCode::usage, "start: the plan is started already; call wait first");
}
void HaloMoves::bind(std::size_t field, const Memory& memory) { impl_->bind(field, memory); }

void HaloMoves::start() {
  impl_->started = true;
  impl_->start();
}

void HaloMoves::wait() {
  if (!impl_->started)
    throw Error(ExitCode::usage, "wait: the plan is not started; call start first");
  impl_->wait();
  impl_->started = false;
}

index_t HaloMoves::messages() const { return impl_->messages(); }
index_t HaloMoves::buffer_bytes() const { return impl_->buffer_bytes(); }

}  // namespace tessera::inline v1::dist::stencil
