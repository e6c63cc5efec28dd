#include "mpi/transfer.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/complex.hpp"

namespace tessera::mpi {
namespace {

constexpr int tag = 101;

template <class T>
MatrixView<T> part(MatrixView<T> view, const layout::Box& whole, const layout::Box& box) {
  return view.block(box.rows.begin - whole.rows.begin, box.cols.begin - whole.cols.begin, box.rows.size(),
                    box.cols.size());
}

template <class T>
std::span<std::byte> bytes_of(MatrixView<T> view) {
  return std::as_writable_bytes(std::span(view.data, static_cast<std::size_t>(view.rows * view.cols)));
}

template <class T>
bool contiguous(MatrixView<T> view) {
  return view.rows <= 1 || view.ld == view.cols;
}

}  // namespace

template <class T>
void copy_block(MatrixView<const T> from, MatrixView<T> to) {
  if (from.empty()) return;  // there may be no memory
  for (index_t i = 0; i < from.rows; ++i) {
    std::memcpy(&to(i, 0), &from(i, 0), static_cast<std::size_t>(from.cols) * sizeof(T));
  }
}

template <class T>
void redistribute(const Communicator& comm, const layout::MatrixLayout& home, MatrixView<const T> from,
                  const layout::MatrixLayout& need, MatrixView<T> to) {
  const auto out = outgoing(home, need, comm.rank());
  const auto in = incoming(home, need, comm.rank());
  const layout::Box& home_box = home.of(comm.rank());
  const layout::Box& need_box = need.of(comm.rank());
  std::vector<Request> requests;
  std::vector<machine::Buffer<T>> packed_in(in.size()), packed_out(out.size());

  // Pieces that are contiguous on this side travel in place; the others through a buffer.
  for (std::size_t p = 0; p < in.size(); ++p) {
    if (in[p].peer == comm.rank()) continue;
    MatrixView<T> piece = part(to, need_box, in[p].box);
    if (!contiguous(piece)) {
      packed_in[p] = machine::Buffer<T>(in[p].box.area());
      piece = matrix_view(packed_in[p].data(), piece.rows, piece.cols);
    }
    requests.push_back(comm.receive(bytes_of(piece), static_cast<int>(in[p].peer), tag));
  }
  for (std::size_t p = 0; p < out.size(); ++p) {
    MatrixView<const T> piece = part(from, home_box, out[p].box);
    if (out[p].peer == comm.rank()) {
      copy_block(piece, part(to, need_box, out[p].box));
      continue;
    }
    if (!contiguous(piece)) {
      packed_out[p] = machine::Buffer<T>(out[p].box.area());
      const MatrixView<T> packed = matrix_view(packed_out[p].data(), piece.rows, piece.cols);
      copy_block(piece, packed);
      piece = packed;
    }
    const std::span<const T> elements(piece.data, static_cast<std::size_t>(piece.rows * piece.cols));
    requests.push_back(comm.send(std::as_bytes(elements), static_cast<int>(out[p].peer), tag));
  }
  wait_all(requests);
  for (std::size_t p = 0; p < in.size(); ++p) {
    if (packed_in[p].size() == 0) continue;
    const MatrixView<T> packed =
        matrix_view(packed_in[p].data(), in[p].box.rows.size(), in[p].box.cols.size());
    copy_block<T>(packed, part(to, need_box, in[p].box));
  }
}

template void copy_block<float>(MatrixView<const float>, MatrixView<float>);
template void copy_block<double>(MatrixView<const double>, MatrixView<double>);
template void copy_block<Complex<float>>(MatrixView<const Complex<float>>, MatrixView<Complex<float>>);
template void copy_block<Complex<double>>(MatrixView<const Complex<double>>, MatrixView<Complex<double>>);
template void copy_block<std::byte>(MatrixView<const std::byte>, MatrixView<std::byte>);
template void redistribute<float>(const Communicator&, const layout::MatrixLayout&, MatrixView<const float>,
                                  const layout::MatrixLayout&, MatrixView<float>);
template void redistribute<double>(const Communicator&, const layout::MatrixLayout&, MatrixView<const double>,
                                   const layout::MatrixLayout&, MatrixView<double>);
template void redistribute<Complex<float>>(const Communicator&, const layout::MatrixLayout&,
                                           MatrixView<const Complex<float>>, const layout::MatrixLayout&,
                                           MatrixView<Complex<float>>);
template void redistribute<Complex<double>>(const Communicator&, const layout::MatrixLayout&,
                                            MatrixView<const Complex<double>>, const layout::MatrixLayout&,
                                            MatrixView<Complex<double>>);
template void redistribute<std::byte>(const Communicator&, const layout::MatrixLayout&,
                                      MatrixView<const std::byte>, const layout::MatrixLayout&,
                                      MatrixView<std::byte>);

}  // namespace tessera::mpi
