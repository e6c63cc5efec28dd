// Execution of the plan of an out-of-core product on the device.

#include "kernels/matmul/cuda_pieces.hpp"

#include <memory>

#include "machine/cuda_laps.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::matmul {
namespace {

namespace cuda = machine::cuda;

/// The execution of a plan on three streams: host to device, kernels, device to host. Events
/// enforce the dependencies.
template <class T>
class Passing {
 public:
  Passing(DeviceKernel<T> kernel, const Gemm<T>& g, const Tuning& tuning, const Pieces& pieces,
          const Passage& passage)
      : kernel_(kernel),
        g_(g),
        tuning_(tuning),
        p_(pieces),
        serial_(passage.overlap == Passage::Overlap::no),
        memory_(p_.places * p_.place_bytes + p_.c_places * p_.c_place_bytes),
        staging_(passage.staging) {
    for (index_t at = 0; at < p_.places + p_.c_places; ++at)
      places_.push_back(std::make_unique<Place>(
          memory_.data() +
          (at < p_.places ? at * p_.place_bytes
                          : p_.places * p_.place_bytes + (at - p_.places) * p_.c_place_bytes)));
  }

  machine::DeviceTimes run() {
    for (const PieceStep& step : p_.steps) {
      switch (step.does) {
        case PieceStep::Does::send_a:
          send(stored(g_.a, g_.op_a, rows(step), depth(step)), operand(step.a));
          break;
        case PieceStep::Does::send_b:
          send(stored(g_.b, g_.op_b, depth(step), cols(step)), operand(step.b));
          break;
        case PieceStep::Does::send_c:
          send(MatrixView<const T>(c_tile(step)), result(step.c));
          break;
        case PieceStep::Does::multiply:
          multiply(step);
      }
      if (serial_) wait();
    }
    machine::DeviceTimes times = staging_.finish();
    wait();
    times.kernels = products_.take();
    return times;
  }

 private:
  /// A place in device memory that holds one tile after another.
  struct Place {
    explicit Place(std::byte* at) : data(at) {}
    std::byte* data;
    cuda::Event filled;  ///< the tile has arrived
    cuda::Event freed;   ///< its last product so far, or its copy back, has ended
  };
  /// A range of m, n or k.
  struct Part {
    index_t begin, size;
  };

  static Part part(index_t number, index_t edge, index_t length) {
    const index_t begin = number * edge;
    return {begin, std::min(edge, length - begin)};
  }
  [[nodiscard]] Part rows(const PieceStep& step) const { return part(step.i, p_.m, g_.m()); }
  [[nodiscard]] Part cols(const PieceStep& step) const { return part(step.j, p_.n, g_.n()); }
  [[nodiscard]] Part depth(const PieceStep& step) const { return part(step.p, p_.k, g_.k()); }

  static MatrixView<const T> stored(const MatrixView<const T>& x, Op op, Part first, Part second) {
    if (turns(op)) std::swap(first, second);
    return x.block(first.begin, second.begin, first.size, second.size);
  }
  [[nodiscard]] MatrixView<T> c_tile(const PieceStep& step) const {
    const Part i = rows(step), j = cols(step);
    return g_.c.block(i.begin, j.begin, i.size, j.size);
  }

  Place& operand(index_t at) { return *places_[static_cast<std::size_t>(at)]; }
  Place& result(index_t at) { return *places_[static_cast<std::size_t>(p_.places + at)]; }

  /// Returns the view of a tile of that shape in a place.
  template <class U>
  static MatrixView<T> there(const Place& place, const MatrixView<U>& tile) {
    return {reinterpret_cast<T*>(place.data), tile.rows, tile.cols,
            machine::device_ld(tile.cols, static_cast<index_t>(sizeof(T)))};
  }

  void send(const MatrixView<const T>& tile, Place& place) {
    const MatrixView<T> to = there(place, tile);
    place.freed.before_next(staging_.sending());
    staging_.send(in_bytes(tile), in_bytes(to));
    place.filled.record(staging_.sending());
  }

  void multiply(const PieceStep& step) {
    Place &a = operand(step.a), &b = operand(step.b), &c = result(step.c);
    const MatrixView<const T> a_tile = stored(g_.a, g_.op_a, rows(step), depth(step)),
                              b_tile = stored(g_.b, g_.op_b, depth(step), cols(step));
    const MatrixView<T> c_there = there(c, c_tile(step));
    a.filled.before_next(compute_);
    b.filled.before_next(compute_);
    if (step.p == 0) (g_.beta == T{0} ? c.freed : c.filled).before_next(compute_);
    cuda::Lap& product = products_.next();
    product.begin.record(compute_);
    kernel_({g_.alpha, there(a, a_tile), g_.op_a, there(b, b_tile), g_.op_b,
             step.p == 0 ? g_.beta : T{1}, c_there},
            tuning_, compute_);
    product.end.record(compute_);
    a.freed.record(compute_);
    b.freed.record(compute_);
    if (step.p + 1 < p_.tiles_k()) return;
    product.end.before_next(staging_.bringing());
    staging_.bring(in_bytes(c_there), in_bytes(c_tile(step)));
    c.freed.record(staging_.bringing());
  }

  void wait() const {
    compute_.wait();
    staging_.sending().wait();
    staging_.bringing().wait();
  }

  DeviceKernel<T> kernel_;
  const Gemm<T>& g_;
  const Tuning& tuning_;
  const Pieces& p_;
  bool serial_;
  cuda::DeviceBuffer<std::byte> memory_;
  cuda::Stream compute_;
  cuda::Staging staging_;
  std::vector<std::unique_ptr<Place>> places_;
  cuda::Laps products_;
};

}  // namespace

template <class T>
machine::DeviceTimes multiply_in_pieces(DeviceKernel<T> kernel, const Gemm<T>& g,
                                        const Tuning& tuning, const Pieces& pieces,
                                        const Passage& passage) {
  return Passing<T>(kernel, g, tuning, pieces, passage).run();
}

template machine::DeviceTimes multiply_in_pieces(DeviceKernel<float>, const Gemm<float>&,
                                                 const Tuning&, const Pieces&, const Passage&);
template machine::DeviceTimes multiply_in_pieces(DeviceKernel<double>, const Gemm<double>&,
                                                 const Tuning&, const Pieces&, const Passage&);

template machine::DeviceTimes multiply_in_pieces(DeviceKernel<Complex<float>>,
                                                 const Gemm<Complex<float>>&, const Tuning&,
                                                 const Pieces&, const Passage&);
template machine::DeviceTimes multiply_in_pieces(DeviceKernel<Complex<double>>,
                                                 const Gemm<Complex<double>>&, const Tuning&,
                                                 const Pieces&, const Passage&);

}  // namespace tessera::inline v1::matmul
