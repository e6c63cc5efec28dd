// The device variants of matmul as rows of the table; out of core if the device cannot hold the
// operands.

#include <algorithm>
#include <vector>

#include "kernels/matmul/cuda_pieces.hpp"
#include "machine/device_times.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::matmul {
namespace {

/// Returns the same problem with k == 0: alpha == 0 must not read the operands, which may hold NaN.
template <class T>
Gemm<T> without_operands(Gemm<T> g) {
  g.alpha = T{1};
  (g.op_a == Op::none ? g.a.cols : g.a.rows) = 0;
  (g.op_b == Op::none ? g.b.rows : g.b.cols) = 0;
  return g;
}

/// Runs a problem in host memory on the device, out of core if it does not fit; records the times
/// of transfers and kernels.
template <class T, DeviceKernel<T> kernel>
void staged(const Gemm<T>& g, const Tuning& tuning) {
  if (g.c.empty()) return;
  if (g.alpha == T{0}) return staged<T, kernel>(without_operands(g), tuning);
  const index_t limit = machine::gpu_memory_limit(tuning.device_memory);
  const Pieces pieces = plan_pieces(pieces_request(g, tuning), tiles_within(limit, is_complex<T>));
  const index_t bytes = std::max(pieces.sent_bytes, pieces.brought_bytes);
  machine::add_device_times(
      multiply_in_pieces<T>(kernel, g, tuning, pieces, {.staging = {.job_bytes = bytes}}));
}

}  // namespace

std::vector<Variant> compiled_rows() {
  VariantInfo of_vendor = entry(cuda_names, "cublas");
  of_vendor.missing = cublas_missing;
  of_vendor.remedy = "export LD_LIBRARY_PATH=FOLDER of libcublas.so";
  return {
      {entry(cuda_names, "cuda_naive"),
       staged<float, cuda_naive<float>>,
       staged<double, cuda_naive<double>>,
       {cuda_naive<float>, cuda_naive<double>}},
      {entry(cuda_names, "cuda_column"),
       staged<float, cuda_column<float>>,
       staged<double, cuda_column<double>>,
       {cuda_column<float>, cuda_column<double>}},
      {entry(cuda_names, "cuda_zigzag"),
       staged<float, cuda_zigzag<float>>,
       staged<double, cuda_zigzag<double>>,
       {cuda_zigzag<float>, cuda_zigzag<double>}},
      {entry(cuda_names, "cuda_tiled"),
       staged<float, cuda_tiled<float>>,
       staged<double, cuda_tiled<double>>,
       {cuda_tiled<float>, cuda_tiled<double>}},
      {entry(cuda_names, "cuda_register"),
       staged<float, cuda_register<float>>,
       staged<double, cuda_register<double>>,
       {cuda_register<float>, cuda_register<double>}},
      {entry(cuda_names, "cuda_tensor"),
       staged<float, cuda_tensor>,
       staged<double, cuda_tensor>,
       {cuda_tensor, cuda_tensor, cuda_complex, cuda_complex},
       staged<Complex<float>, cuda_complex>,
       staged<Complex<double>, cuda_complex>},
      {entry(cuda_names, "cuda_tensor_3m"),
       staged<float, cuda_tensor>,
       staged<double, cuda_tensor>,
       {cuda_tensor, cuda_tensor, cuda_complex_3m, cuda_complex_3m},
       staged<Complex<float>, cuda_complex_3m>,
       staged<Complex<double>, cuda_complex_3m>},
      {of_vendor,
       staged<float, cublas<float>>,
       staged<double, cublas<double>>,
       {cublas<float>, cublas<double>}},
  };
}

std::vector<machine::DeviceFunction> compiled_functions() {
  std::vector<machine::DeviceFunction> all;
  add_textbook_functions(all);
  add_register_functions(all);
  add_tensor_functions(all);
  add_complex_functions(all);
  add_complex_3m_functions(all);
  return all;
}

}  // namespace tessera::inline v1::matmul
