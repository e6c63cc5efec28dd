#include "dist/stencil/halo.hpp"

#include <cstring>

#include "machine/fork_join.hpp"

namespace tessera::dist::stencil {
namespace {

/// move(row of u, row of the buffer, bytes) for every row of the box, many of them at once.
template <class T, class Move>
void each_row(const GridView<T>& u, const Box3& box, T* buffer, int threads, const Move& move) {
  const Index3 size = box.size();
  const index_t grain = std::max<index_t>(64, (index_t{1} << 16) / std::max<index_t>(size[2], 1));
  machine::parallel(size[0] * size[1] > grain ? threads : 1, [&] {
    machine::parallel_for(0, size[0] * size[1], grain, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) {
        T* row = u.row(box.low[0] + i / size[1], box.low[1] + i % size[1]) + box.low[2];
        move(row, buffer + i * size[2], static_cast<std::size_t>(size[2]) * sizeof(T));
      }
    });
  });
}

template <class T>
void pack(const GridView<T>& u, const Box3& box, T* to, int threads) {
  each_row(u, box, to, threads,
           [](T* row, T* packed, std::size_t bytes) { std::memcpy(packed, row, bytes); });
}

template <class T>
void unpack(const GridView<T>& u, const Box3& box, T* from, int threads) {
  each_row(u, box, from, threads,
           [](T* row, T* packed, std::size_t bytes) { std::memcpy(row, packed, bytes); });
}

Index3 times(Index3 radius, index_t steps) {
  return {{radius[0] * steps, radius[1] * steps, radius[2] * steps}};
}

}  // namespace

template <class T>
Halo<T>::Halo(const mpi::Communicator& comm, const DistributedField<T>& field, index_t steps)
    : comm_(comm), steps_(steps), levels_(field.problem().stencil.two_levels() ? 2 : 1) {
  const Index3 depth = times(field.problem().stencil.radius, steps);
  const auto periodic = field.problem().periodic();
  receives_ = parts(layout::halo_receives(field.grid(), comm.rank(), depth, periodic));
  sends_ = parts(layout::halo_sends(field.grid(), comm.rank(), depth, periodic));
  incoming_ = machine::Buffer<T>(total(receives_));
  outgoing_ = machine::Buffer<T>(total(sends_));
}

template <class T>
auto Halo<T>::parts(const std::vector<layout::HaloPiece>& pieces) const -> std::vector<Part> {
  std::vector<Part> result;
  index_t offset = 0;
  for (const layout::HaloPiece& piece : pieces) {
    result.push_back({piece, offset});
    offset += result.back().elements(levels_);
  }
  return result;
}

template <class T>
index_t Halo<T>::total(const std::vector<Part>& parts) const {
  return parts.empty() ? 0 : parts.back().offset + parts.back().elements(levels_);
}

template <class T>
std::span<std::byte> Halo<T>::bytes_of(machine::Buffer<T>& buffer, const Part& part) const {
  return std::as_writable_bytes(
      std::span(buffer.data() + part.offset, static_cast<std::size_t>(part.elements(levels_))));
}

template <class T>
void Halo<T>::start(DistributedField<T>& field, int threads) {
  for (const Part& part : receives_)
    arriving_.push_back(
        comm_.receive(bytes_of(incoming_, part), static_cast<int>(part.piece.peer), part.piece.tag));
  for (const Part& part : sends_) {
    T* to = outgoing_.data() + part.offset;
    pack(field.now(), part.piece.box, to, threads);
    if (levels_ == 2) pack(field.past(), part.piece.box, to + part.piece.box.volume(), threads);
    leaving_.push_back(
        comm_.send(bytes_of(outgoing_, part), static_cast<int>(part.piece.peer), part.piece.tag));
  }
}

template <class T>
void Halo<T>::finish(DistributedField<T>& field, int threads) {
  mpi::wait_all(arriving_);
  for (const Part& part : receives_) {
    T* from = incoming_.data() + part.offset;
    unpack(field.now(), part.piece.box, from, threads);
    if (levels_ == 2) unpack(field.past(), part.piece.box, from + part.piece.box.volume(), threads);
  }
  mpi::wait_all(leaving_);
  arriving_.clear();
  leaving_.clear();
}

template class Halo<float>;
template class Halo<double>;

}  // namespace tessera::dist::stencil
