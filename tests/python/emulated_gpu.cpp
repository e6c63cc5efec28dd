// A stand-in for libtessera_cuda.so whose GPU is the memory of the host, preloaded by
// tensors_emulated: its kernels are those of the host, on the addresses that calls give them.

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/cuda_kernels.hpp"
#include "kernels/matmul/variants.hpp"
#include "kernels/sort/resident.hpp"
#include "kernels/transpose/strided.hpp"
#include "kernels/transpose/variants.hpp"
#include "machine/cuda_library.hpp"

namespace tessera {
namespace {

template <class T>
void multiply(const matmul::Gemm<T>& g, const matmul::Tuning& tuning, matmul::DeviceStream) {
  matmul::variants().front()(g, tuning);
}

void transpose_host(const transpose::ConstRecords& a, const transpose::Records& b,
                    const transpose::Tuning& tuning, transpose::DeviceStream) {
  transpose::naive(a, b, tuning);
}

void rearrange_host(const transpose::Rearrangement& task, const std::byte* from, std::byte* to,
                    transpose::DeviceStream) {
  transpose::move_strided(task, from, to, {.threads = 1});
}

std::vector<matmul::Variant> matmul_rows() {
  matmul::Variant row{entry(matmul::cuda_names, "cuda_tensor"), nullptr, nullptr};
  row.on_device = {multiply<float>, multiply<double>, multiply<Complex<float>>,
                   multiply<Complex<double>>};
  return {row};
}
std::vector<transpose::Variant> transpose_rows() {
  transpose::Variant row{entry(transpose::cuda_names, "cuda_vectorized")};
  row.on_device = transpose_host;
  return {row};
}

template <class B>
void sort_host(B* keys, B*, index_t n, const sort::KeyMap<B>& map, std::byte*, CUstream_st*) {
  std::sort(keys, keys + n, [&](B x, B y) { return map.to_bits(x) < map.to_bits(y); });
}
/// Compares as numbers: of reals, -0 equals 0 and NaN are equal and last.
template <class B>
void argsort_host(const sort::OrderOfKeys<B>& block, CUstream_st*) {
  constexpr B sign = B{1} << (std::numeric_limits<B>::digits - 1);
  constexpr B infinity = sizeof(B) == 4 ? B{0x7f800000} : static_cast<B>(0x7ff0000000000000);
  const auto place = [&](std::uint64_t i) {
    B key = block.keys[i];
    if (block.map.spread != 0 && key == sign) key = 0;
    if (block.map.spread != 0 && (key & static_cast<B>(~sign)) > infinity) key = infinity + 1;
    return block.map.to_bits(key);
  };
  std::iota(block.order, block.order + block.n, std::uint64_t{0});
  std::stable_sort(block.order, block.order + block.n,
                   [&](std::uint64_t i, std::uint64_t j) { return place(i) < place(j); });
}
index_t no_bytes(index_t) { return 0; }
template <class B>
const sort::ResidentKernels<B>& keys() {
  static const sort::ResidentKernels<B> kernels{.sort = sort_host<B>,
                                                .work_bytes = no_bytes,
                                                .argsort = argsort_host<B>,
                                                .argsort_bytes = no_bytes};
  return kernels;
}

template <class Variant>
std::vector<Variant> no_rows() {
  return {};
}
std::vector<machine::DeviceFunction> no_functions() { return {}; }

machine::Gpus look() {
  machine::Gpus found;
  found.devices.resize(2);
  return found;
}

}  // namespace
}  // namespace tessera

const tessera::machine::CudaLibrary* tessera_cuda_library() {
  using namespace tessera;
  static const CudaKernels kernels{.matmul = {matmul_rows, no_functions},
                                   .transpose = {transpose_rows, no_functions},
                                   .stencil = {no_rows<stencil::Variant>, no_functions},
                                   .sort = {no_rows<sort::Variant>, no_functions},
                                   .ladder = {},
                                   .rearrange = rearrange_host,
                                   .move_indexed = relayout::move_indexed,
                                   .fields_f16 = nullptr,
                                   .fields_f32 = nullptr,
                                   .fields_f64 = nullptr,
                                   .keys32 = &keys<std::uint32_t>(),
                                   .keys64 = &keys<std::uint64_t>(),
                                   .make_probe = nullptr,
                                   .can_make = nullptr,
                                   .probe_functions = no_functions};
  static const machine::CudaLibrary library{
      .build = machine::interface_build(),
      .adopt = [](machine::SharedState&) {},
      .driver = &machine::device::emulated_driver(),
      .version = [] { return std::string("13.0"); },
      .look = look,
      .use_gpu = [](int) {},
      .free_memory = [] { return index_t{1} << 30; },
      .occupancy = [](const machine::DeviceFunction&) { return machine::Occupancy{}; },
      .kernels = &kernels};
  return &library;
}
