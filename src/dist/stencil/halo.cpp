// Halo exchange by messages or through the node's window, packed in parallel.

#include "dist/stencil/halo.hpp"

#include <cstring>

#include "machine/fork_join.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

/// Calls move(row of u, row of the buffer, bytes) for every row of the box, in parallel.
template <class T, class U, class Move>
void each_row(const GridView<T>& u, const Box3& box, U* buffer, int threads, const Move& move) {
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
void unpack(const GridView<T>& u, const Box3& box, const T* from, int threads) {
  each_row(u, box, from, threads,
           [](T* row, const T* packed, std::size_t bytes) { std::memcpy(row, packed, bytes); });
}

}  // namespace

template <class T>
Halo<T>::Halo(const mpi::Communicator& comm, const DistributedField<T>& field, index_t steps)
    : comm_(comm),
      steps_(steps),
      levels_(field.scheme().stencil.two_levels() ? 2 : 1),
      views_(levels_ * field.fields()),
      window_(field.window()) {
  const Index3 depth = times(field.scheme().stencil.radius, steps);
  const auto periodic = field.scheme().periodic();
  receives_ = parts(layout::halo_receives(field.grid(), comm.rank(), depth, periodic));
  sends_ = parts(layout::halo_sends(field.grid(), comm.rank(), depth, periodic));
  incoming_ = machine::Buffer<T>(total(receives_));
  if (window_) {
    look_for_neighbours(field);
  } else {
    outgoing_ = machine::Buffer<T>(total(sends_));
  }
}

/// Every rank computes the offsets of its pieces in its neighbours' windows, without communication.
template <class T>
void Halo<T>::look_for_neighbours(const DistributedField<T>& field) {
  const Index3 depth = times(field.scheme().stencil.radius, steps_);
  for (HaloMessage& part : sends_) part.in_window = window_->of(part.piece.peer) != nullptr;
  for (HaloMessage& part : receives_) {
    part.in_window = window_->of(part.piece.peer) != nullptr;
    if (!part.in_window) continue;
    for (const HaloMessage& sent : parts(
             layout::halo_sends(field.grid(), part.piece.peer, depth, field.scheme().periodic()))) {
      if (sent.peer() == comm_.rank() && sent.piece.tag == part.piece.tag)
        part.window_offset = sent.offset;
    }
  }
}

template <class T>
std::vector<GridView<T>> Halo<T>::views(DistributedField<T>& field) const {
  std::vector<GridView<T>> all;
  for (index_t i = 0; i < field.fields(); ++i) {
    all.push_back(field.now(i));
    if (levels_ == 2) all.push_back(field.past(i));
  }
  return all;
}

template <class T>
auto Halo<T>::parts(const std::vector<layout::HaloPiece>& pieces) const
    -> std::vector<HaloMessage> {
  std::vector<HaloMessage> result;
  index_t offset = 0;
  for (const layout::HaloPiece& piece : pieces) {
    result.push_back({piece, offset});
    offset += views_ * piece.box.volume();
  }
  return result;
}

template <class T>
index_t Halo<T>::total(const std::vector<HaloMessage>& parts) const {
  return parts.empty() ? 0 : parts.back().offset + views_ * parts.back().piece.box.volume();
}

template <class T>
std::span<std::byte> Halo<T>::bytes_of(T* buffer, HaloMessage& part) const {
  if (part.in_window) return {&part.there, 1};
  return std::as_writable_bytes(
      std::span(buffer + part.offset, static_cast<std::size_t>(views_ * part.piece.box.volume())));
}

template <class T>
void Halo<T>::start(DistributedField<T>& field, int threads) {
  for (HaloMessage& part : receives_)
    arriving_.push_back(
        comm_.receive(bytes_of(incoming_.data(), part), part.peer(), part.piece.tag));
  if (window_) window_->turn();
  T* const buffer = window_ ? window_->mine() : outgoing_.data();
  for (HaloMessage& part : sends_) {
    T* to = buffer + part.offset;
    for (const GridView<T>& view : views(field)) {
      pack(view, part.piece.box, to, threads);
      to += part.piece.box.volume();
    }
    if (part.in_window) window_->sync();
    leaving_.push_back(comm_.send(bytes_of(buffer, part), part.peer(), part.piece.tag));
  }
}

template <class T>
void Halo<T>::finish(DistributedField<T>& field, int threads) {
  mpi::wait_all(arriving_);
  if (window_) window_->sync();
  for (const HaloMessage& part : receives_) {
    const T* from = part.in_window ? window_->of(part.piece.peer) + part.window_offset
                                   : incoming_.data() + part.offset;
    for (const GridView<T>& view : views(field)) {
      unpack(view, part.piece.box, from, threads);
      from += part.piece.box.volume();
    }
  }
  mpi::wait_all(leaving_);
  arriving_.clear();
  leaving_.clear();
}

template class Halo<Half>;
template class Halo<BFloat16>;
template class Halo<float>;
template class Halo<double>;

}  // namespace tessera::inline v1::dist::stencil
