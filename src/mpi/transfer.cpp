#include "mpi/transfer.hpp"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "base/bfloat16.hpp"
#include "base/complex.hpp"
#include "base/error.hpp"
#include "mpi/tags.hpp"

namespace tessera::inline v1::mpi {
namespace {

template <class T>
MatrixView<T> part(MatrixView<T> view, const layout::Box& whole, const layout::Box& box) {
  return view.block(box.rows.begin - whole.rows.begin, box.cols.begin - whole.cols.begin,
                    box.rows.size(), box.cols.size());
}

template <class T>
std::span<std::byte> bytes_of(MatrixView<T> view) {
  return std::as_writable_bytes(
      std::span(view.data, static_cast<std::size_t>(view.rows * view.cols)));
}

template <class T>
bool contiguous(MatrixView<T> view) {
  return view.rows <= 1 || view.ld == view.cols;
}

}  // namespace

template <class T>
void copy_block(MatrixView<const T> from, MatrixView<T> to) {
  if (from.empty()) return;  // an empty view may have no memory
  for (index_t i = 0; i < from.rows; ++i) {
    std::memcpy(&to(i, 0), &from(i, 0), static_cast<std::size_t>(from.cols) * sizeof(T));
  }
}

template <class T>
Redistribution<T>::Redistribution(const Communicator& comm, const layout::MatrixLayout& home,
                                  MatrixView<const T> from, const layout::MatrixLayout& need,
                                  MatrixView<T> to, machine::Buffer<T>& scratch) {
  const auto in = incoming(home, need, comm.rank()), out = outgoing(home, need, comm.rank());
  const auto part_to = [&](const layout::PeerBlock& p) {
    return part(to, need.of(comm.rank()), p.box);
  };
  const auto part_from = [&](const layout::PeerBlock& p) {
    return part(from, home.of(comm.rank()), p.box);
  };
  const auto away = [&](const layout::PeerBlock& p) { return p.peer != comm.rank(); };
  index_t packed = 0;
  for (const auto& p : in) packed += away(p) && !contiguous(part_to(p)) ? p.box.area() : 0;
  for (const auto& p : out) packed += away(p) && !contiguous(part_from(p)) ? p.box.area() : 0;
  if (scratch.size() < packed) {
    scratch = machine::Buffer<T>();  // frees the old buffer first, to hold only one at a time
    scratch = machine::Buffer<T>(packed);
  }
  T* free = scratch.data();
  const auto pack = [&](index_t rows, index_t cols) {
    return matrix_view(std::exchange(free, free + rows * cols), rows, cols);
  };
  for (const layout::PeerBlock& p : in) {
    if (!away(p)) continue;
    MatrixView<T> piece = part_to(p);
    if (!contiguous(piece)) {
      const MatrixView<T> there = std::exchange(piece, pack(piece.rows, piece.cols));
      arrivals_.push_back({piece, there});
    }
    request_.join(comm.receive(bytes_of(piece), static_cast<int>(p.peer), tag::transfer));
  }
  for (const layout::PeerBlock& p : out) {
    MatrixView<const T> piece = part_from(p);
    if (!away(p)) {
      copy_block(piece, part_to(p));
      continue;
    }
    if (!contiguous(piece)) {
      const MatrixView<T> copy = pack(piece.rows, piece.cols);
      copy_block(piece, copy);
      piece = copy;
    }
    const std::span<const T> elements(piece.data,
                                      static_cast<std::size_t>(piece.rows * piece.cols));
    request_.join(comm.send(std::as_bytes(elements), static_cast<int>(p.peer), tag::transfer));
  }
}

template <class T>
void Redistribution<T>::finish() {
  request_.wait();
  for (const Arrival& arrival : arrivals_) copy_block(arrival.packed, arrival.to);
  arrivals_.clear();
}

template <class T>
void redistribute(const Communicator& comm, const layout::MatrixLayout& home,
                  std::type_identity_t<MatrixView<const T>> from, const layout::MatrixLayout& need,
                  MatrixView<T> to) {
  const auto check = [&](const char* argument, const layout::MatrixLayout& layout, const auto& view,
                         const char* view_argument) {
    require_argument(layout.ranks() == comm.size(), argument,
                     fmt::format("has {} boxes: comm has {} ranks", layout.ranks(), comm.size()));
    const layout::Box& box = layout.of(comm.rank());
    require_argument(box.empty() ? view.empty() || view.data != nullptr
                                 : view.rows == box.rows.size() && view.cols == box.cols.size() &&
                                       view.ld >= view.cols && view.data != nullptr,
                     view_argument,
                     fmt::format("has {} x {} elements with rows {} apart: must fit the box {}",
                                 view.rows, view.cols, view.ld, layout::text(box)));
  };
  check("home", home, from, "from");
  check("need", need, to, "to");
  machine::Buffer<T> scratch;
  Redistribution<T>(comm, home, from, need, to, scratch).finish();
}

template void copy_block<float>(MatrixView<const float>, MatrixView<float>);
template void copy_block<double>(MatrixView<const double>, MatrixView<double>);
template void copy_block<Complex<float>>(MatrixView<const Complex<float>>,
                                         MatrixView<Complex<float>>);
template void copy_block<Complex<double>>(MatrixView<const Complex<double>>,
                                          MatrixView<Complex<double>>);
template void copy_block<std::byte>(MatrixView<const std::byte>, MatrixView<std::byte>);
template void copy_block<Half>(MatrixView<const Half>, MatrixView<Half>);
template void copy_block<BFloat16>(MatrixView<const BFloat16>, MatrixView<BFloat16>);
#define TESSERA_INSTANTIATE(T)                                                    \
  template class Redistribution<T>;                                               \
  template void redistribute<T>(const Communicator&, const layout::MatrixLayout&, \
                                std::type_identity_t<MatrixView<const T>>,        \
                                const layout::MatrixLayout&, MatrixView<T>)

TESSERA_INSTANTIATE(float);
TESSERA_INSTANTIATE(double);
TESSERA_INSTANTIATE(Complex<float>);
TESSERA_INSTANTIATE(Complex<double>);
TESSERA_INSTANTIATE(std::byte);
template class Redistribution<Half>;
template class Redistribution<BFloat16>;

}  // namespace tessera::inline v1::mpi
