#include <vector>

#include "kernels/matmul/cuda.hpp"
#include "machine/cuda.hpp"
#include "machine/device_times.hpp"

namespace tessera::matmul {
namespace {

namespace cuda = machine::cuda;

template <class T>
using DeviceKernel = void (*)(const Gemm<T>&, const Tuning&, DeviceStream);

/// A matrix's place on the device: rows start at multiples of 16 bytes, for vector loads, which read the
/// padding too: it is zeros.
template <class T>
struct OnDevice {
  cuda::DeviceBuffer<T> storage;
  MatrixView<T> view;

  OnDevice(MatrixView<const T> host, cudaStream_t stream) {
    const index_t ld = round_up(host.cols, 16 / static_cast<index_t>(sizeof(T)));
    storage = cuda::DeviceBuffer<T>(checked_mul(host.rows, ld, "a device matrix"));
    view = {storage.data(), host.rows, host.cols, ld};
    cuda::zero(MatrixView<T>{view.data + host.cols, host.rows, ld - host.cols, ld}, stream);
  }
};

/// The same with k == 0: alpha == 0 must not read the operands, which may hold NaN.
template <class T>
Gemm<T> without_operands(Gemm<T> g) {
  g.alpha = T{1};
  (g.op_a == Op::none ? g.a.cols : g.a.rows) = 0;
  (g.op_b == Op::none ? g.b.rows : g.b.cols) = 0;
  return g;
}

/// A problem in host memory on the device: operands there, kernel, result back; the times of the three are
/// kept.
template <class T, DeviceKernel<T> kernel>
void staged(const Gemm<T>& g, const Tuning& tuning) {
  if (g.c.empty()) return;
  if (g.alpha == T{0}) return staged<T, kernel>(without_operands(g), tuning);
  const cuda::Stream stream;
  const OnDevice<T> a(g.a, stream), b(g.b, stream), c(g.c, stream);
  machine::DeviceTimes times;
  cuda::Stopwatch to(stream);
  cuda::copy<T>(g.a, a.view, cudaMemcpyHostToDevice, stream);
  cuda::copy<T>(g.b, b.view, cudaMemcpyHostToDevice, stream);
  if (g.beta != T{0}) cuda::copy<T>(g.c, c.view, cudaMemcpyHostToDevice, stream);
  times.to_device = to.seconds();
  cuda::Stopwatch run(stream);
  kernel({g.alpha, a.view, g.op_a, b.view, g.op_b, g.beta, c.view}, tuning, stream);
  times.kernels = run.seconds();
  cuda::Stopwatch from(stream);
  cuda::copy<T>(c.view, g.c, cudaMemcpyDeviceToHost, stream);
  times.from_device = from.seconds();
  machine::add_device_times(times);
}

}  // namespace

std::vector<Variant> cuda_rows() {
  return {
      {{"cuda_naive", Space::device, "a thread an element of C, no shared memory"},
       staged<float, cuda_naive<float>>,
       staged<double, cuda_naive<double>>},
      {{"cuda_column", Space::device,
        "cuda_naive with C swept in columns of --column-width blocks of threads"},
       staged<float, cuda_column<float>>,
       staged<double, cuda_column<double>>},
      {{"cuda_zigzag", Space::device, "cuda_column, every other row of a column right to left"},
       staged<float, cuda_zigzag<float>>,
       staged<double, cuda_zigzag<double>>},
      {{"cuda_tiled", Space::device, "tiles of 32 x 32 (16 x 16 with --tile 16) in shared memory"},
       staged<float, cuda_tiled<float>>,
       staged<double, cuda_tiled<double>>},
      {{"cuda_register", Space::device,
        "8 x 16 of C in the registers of a thread, operands by asynchronous copies, several stages ahead"},
       staged<float, cuda_register<float>>,
       staged<double, cuda_register<double>>},
      {{"cuda_tensor", Space::device,
        "f64 on the tensor units (DMMA); f32, which they do not have, as cuda_register"},
       staged<float, cuda_tensor>,
       staged<double, cuda_tensor>},
      {{"cublas", Space::device, "the vendor's library, for reference"},
       staged<float, cublas<float>>,
       staged<double, cublas<double>>},
  };
}

std::vector<machine::DeviceFunction> device_functions() {
  std::vector<machine::DeviceFunction> all;
  add_textbook_functions(all);
  add_register_functions(all);
  add_tensor_functions(all);
  return all;
}

}  // namespace tessera::matmul
