#include "machine/cuda_tensor_map.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <array>
#include <type_traits>

#include "machine/cuda.hpp"

namespace tessera::inline v1::machine::cuda {
namespace {

/// Finds the driver's function at run time, so that the program starts without libcuda.
auto encode_function() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  constexpr unsigned since = 12000;  // CUDA 12.0
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, since, cudaEnableDefault,
                                         &result),
        "cudaGetDriverEntryPointByVersion");
  require(found != nullptr, ExitCode::internal,
          "the CUDA driver does not support tensor maps; use another kernel");
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
}

template <class T>
constexpr CUtensorMapDataType data_type = CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
template <>
constexpr CUtensorMapDataType data_type<float> = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
template <>
constexpr CUtensorMapDataType data_type<__nv_bfloat16> = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
template <>
constexpr CUtensorMapDataType data_type<__half> = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
template <>
constexpr CUtensorMapDataType data_type<std::uint8_t> = CU_TENSOR_MAP_DATA_TYPE_UINT8;

}  // namespace

template <class T>
CUtensorMap tensor_map(const MatrixView<const T>& x, int rows, int cols, Rounding rounding) {
  static const auto encode = encode_function();
  const std::array<cuuint64_t, 2> size{static_cast<cuuint64_t>(x.cols),
                                       static_cast<cuuint64_t>(x.rows)};
  const std::array<cuuint64_t, 1> row_bytes{static_cast<cuuint64_t>(x.ld) * sizeof(T)};
  const std::array<cuuint32_t, 2> box{static_cast<cuuint32_t>(cols), static_cast<cuuint32_t>(rows)},
      step{1, 1};
  const bool tf32 = std::is_same_v<T, float> && rounding == Rounding::tf32;
  CUtensorMap map{};
  const CUresult rc = encode(&map, tf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : data_type<T>, 2,
                             const_cast<T*>(x.data), size.data(), row_bytes.data(), box.data(),
                             step.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  require(rc == CUDA_SUCCESS, ExitCode::internal,
          "cuTensorMapEncodeTiled failed with code " + std::to_string(static_cast<int>(rc)));
  return map;
}

template CUtensorMap tensor_map(const MatrixView<const double>&, int, int, Rounding);
template CUtensorMap tensor_map(const MatrixView<const float>&, int, int, Rounding);
template CUtensorMap tensor_map(const MatrixView<const __nv_bfloat16>&, int, int, Rounding);
template CUtensorMap tensor_map(const MatrixView<const __half>&, int, int, Rounding);
template CUtensorMap tensor_map(const MatrixView<const std::uint8_t>&, int, int, Rounding);

}  // namespace tessera::inline v1::machine::cuda
