// The entry of libtessera_cuda.so: the tables of all that it holds.

#include "machine/cuda_entry.hpp"
#include "kernels/cuda_kernels.hpp"
#include "machine/cuda.hpp"
#include "machine/cuda_library.hpp"

const tessera::machine::CudaLibrary* tessera_cuda_library() {
  using namespace tessera;
  static const CudaKernels kernels{{matmul::compiled_rows, matmul::compiled_functions},
                                   {transpose::compiled_rows, transpose::compiled_functions},
                                   {stencil::compiled_rows, stencil::compiled_functions},
                                   {sort::compiled_rows, sort::compiled_functions},
                                   transpose::compiled_ladder(),
                                   transpose::cuda_rearrange,
                                   relayout::cuda_move_indexed,
                                   stencil::compiled_kernels<Half>(),
                                   stencil::compiled_kernels<float>(),
                                   stencil::compiled_kernels<double>(),
                                   sort::compiled_kernels<std::uint32_t>(),
                                   sort::compiled_kernels<std::uint64_t>(),
                                   memory::compiled_probe,
                                   memory::has_compiled,
                                   memory::compiled_functions};
  static const machine::CudaLibrary library{
      machine::interface_build(), machine::adopt,           &machine::cuda::driver(),
      machine::cuda::version,     machine::cuda::look,      machine::cuda::choose_device,
      machine::cuda::free_memory, machine::cuda::occupancy, &kernels};
  return &library;
}
