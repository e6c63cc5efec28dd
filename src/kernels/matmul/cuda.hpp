#pragma once
// Matrix multiplication on the device: operands and result in device memory, row-major, on a
// stream. Every variant supports any shape and both ops, and never reads c when beta == 0.

#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/variants.hpp"
#include "machine/occupancy.hpp"

namespace tessera::matmul {

template <class T>
void cuda_naive(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream);
template <class T>
void cuda_column(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream);
template <class T>
void cuda_zigzag(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream);
template <class T>
void cuda_tiled(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream);
template <class T>
void cuda_register(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream);
void cuda_tensor(const Gemm<float>& g, const Tuning& tuning, DeviceStream stream);
void cuda_tensor(const Gemm<double>& g, const Tuning& tuning, DeviceStream stream);
template <class T>
void cublas(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream);

/// Returns the rows of the table, each of which copies its operands to the device, computes and
/// copies the result back. Empty in a build without CUDA.
[[nodiscard]] std::vector<Variant> cuda_rows();

/// Returns the functions that the rows launch on plain operands, for `tessera list --occupancy`.
[[nodiscard]] std::vector<machine::DeviceFunction> device_functions();
void add_textbook_functions(std::vector<machine::DeviceFunction>& to);
void add_register_functions(std::vector<machine::DeviceFunction>& to);
void add_tensor_functions(std::vector<machine::DeviceFunction>& to);

}  // namespace tessera::matmul
