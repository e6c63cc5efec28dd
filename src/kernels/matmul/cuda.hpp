#pragma once
// Matrix multiplication on the device: operands and result in device memory, row-major, on a
// stream. Every variant supports any shape and both ops, and never reads c when beta == 0.

#include <array>

#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/variants.hpp"
#include "machine/occupancy.hpp"

namespace tessera::inline v1::matmul {

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
/// Multiply complex matrices by cuda_tensor, in at most 512 MiB of work memory, as four real
/// products.
void cuda_complex(const Gemm<Complex<float>>& g, const Tuning& tuning, DeviceStream stream);
void cuda_complex(const Gemm<Complex<double>>& g, const Tuning& tuning, DeviceStream stream);
/// As three, in at most 768 MiB: three quarters of the operations, and an error that is small in
/// relation to |a| |b| alone, so that small imaginary parts may be wrong (Higham 1992).
void cuda_complex_3m(const Gemm<Complex<float>>& g, const Tuning& tuning, DeviceStream stream);
void cuda_complex_3m(const Gemm<Complex<double>>& g, const Tuning& tuning, DeviceStream stream);
template <class T>
void cublas(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream);
/// Returns why cuBLAS cannot be loaded, or "".
[[nodiscard]] const std::string& cublas_missing();

/// The device rows of the table: names and descriptions, those of a build whose library is missing,
/// too.
inline constexpr std::array<VariantInfo, 8> cuda_names{{
    {"cuda_naive", Space::device, "one thread per element of C, no shared memory"},
    {"cuda_column", Space::device, "cuda_naive, C by columns of --column-width thread blocks"},
    {"cuda_zigzag", Space::device, "cuda_column, every other row of a column from right to left"},
    {"cuda_tiled", Space::device, "shared-memory tiles of 32 x 32 (16 x 16 with --tile 16)"},
    {"cuda_register", Space::device,
     "register blocking, 8 x 16 per thread, multistage asynchronous copies"},
    {"cuda_tensor", Space::device,
     "f64 on tensor cores (DMMA); f32, which they lack, as cuda_register; complex as 4 real (4M)"},
    {"cuda_tensor_3m", Space::device,
     "cuda_tensor; complex as 3 real products (3M), 25 % fewer operations (Higham 1992)"},
    {"cublas", Space::device, "cuBLAS, the vendor's library, for reference"},
}};

/// Returns the rows of the table, each of which copies its operands to the device, computes and
/// copies the result back. Empty in a build without CUDA.
[[nodiscard]] std::vector<Variant> cuda_rows();
[[nodiscard]] std::vector<Variant> compiled_rows();  // those of libtessera_cuda.so

/// Returns the functions that the rows launch on plain operands, for `tessera list --occupancy`.
[[nodiscard]] std::vector<machine::DeviceFunction> device_functions();
[[nodiscard]] std::vector<machine::DeviceFunction> compiled_functions();
void add_textbook_functions(std::vector<machine::DeviceFunction>& to);
void add_register_functions(std::vector<machine::DeviceFunction>& to);
void add_tensor_functions(std::vector<machine::DeviceFunction>& to);
void add_complex_functions(std::vector<machine::DeviceFunction>& to);
void add_complex_3m_functions(std::vector<machine::DeviceFunction>& to);

}  // namespace tessera::inline v1::matmul
