#pragma once
// Transposition on the device: operands and result in device memory, on a stream. Any shape and
// strides; records of 1 to 64 bytes, aligned to the largest power of two that divides their size
// (16 at most). Records of other sizes than 1, 2, 4, 8 and 16 bytes use a plain kernel in every
// variant.

#include <array>
#include <vector>

#include "kernels/transpose/boxes.hpp"
#include "kernels/transpose/variants.hpp"
#include "kernels/transpose/vector_plan.hpp"
#include "machine/occupancy.hpp"

namespace tessera::inline v1::transpose {

/// A kernel of b[0:n, 0:m] = transpose(a[0:m, 0:n]).
using DeviceKernel = void(const ConstRecords& a, const Records& b, const Tuning& tuning,
                          DeviceStream stream);
DeviceKernel cuda_naive;
DeviceKernel cuda_coalesced;
DeviceKernel cuda_conflict_free;
DeviceKernel cuda_diagonal;
DeviceKernel cuda_vectorized;

/// Moves records as move_strided() (strided.hpp), with any strides of `from`. The memory of both
/// sides is aligned as records are above.
void cuda_rearrange(const Rearrangement& task, const std::byte* from, std::byte* to,
                    DeviceStream stream);
using DeviceRearrange = decltype(&cuda_rearrange);
/// Returns it; nullptr without a GPU.
[[nodiscard]] DeviceRearrange device_rearrange();

/// The device rows of the table: names and descriptions, those of a build whose library is missing,
/// too.
inline constexpr std::array<VariantInfo, 5> cuda_names{{
    {"cuda_naive", Space::device, "four elements per thread: coalesced reads, strided writes"},
    {"cuda_coalesced", Space::device,
     "shared-memory tiles of 32 x 32 (Ruetsch and Micikevicius 2009)"},
    {"cuda_conflict_free", Space::device, "cuda_coalesced, tiles padded against bank conflicts"},
    {"cuda_diagonal", Space::device, "cuda_conflict_free, tiles in diagonal order"},
    {"cuda_vectorized", Space::device,
     "16-byte loads and stores of whole lines through padded shared memory"},
}};

/// Returns the rows of the table, each of which copies its operand to the device, transposes and
/// copies the result back; out of core if both matrices do not fit. Empty in a build without CUDA.
[[nodiscard]] std::vector<Variant> cuda_rows();
[[nodiscard]] std::vector<Variant> compiled_rows();  // those of libtessera_cuda.so

/// The steps of the optimisation ladder (Ruetsch and Micikevicius 2009): tiles of 32 x 32 and
/// blocks of 32 x 8 threads.
enum class Step {
  copy,            ///< b = a
  copy_shared,     ///< b = a through shared memory
  naive,           ///< b = transpose(a)
  coalesced,       ///< b = transpose(a) through shared memory, with bank conflicts
  conflict_free,   ///< b = transpose(a), shared memory padded
  fine_grained,    ///< transposes within tiles, which keep their positions; b has a's shape
  coarse_grained,  ///< moves tiles without transposing inside
  diagonal,        ///< b = transpose(a), tiles taken diagonally
};
enum class Makes { copy, transpose, part };
struct LadderRow {
  const char* name;
  Step step;
  Makes makes;
};
/// Returns the ladder in the order of the paper. Records of 1, 2, 4, 8 or 16 bytes.
[[nodiscard]] std::span<const LadderRow> ladder();
[[nodiscard]] std::span<const LadderRow> compiled_ladder();

/// A loop inside the kernel: every block processes `count` tiles, `stride` tiles apart (0: the same
/// tile again).
struct Repeats {
  int count = 1;
  index_t stride = 0;
};
void run_step(Step step, const ConstRecords& a, const Records& b, const Repeats& repeats,
              DeviceStream stream);

/// Runs cuda_vectorized by a plan. Records of 1, 2, 4, 8 or 16 bytes.
void run_vectorized(const ConstRecords& a, const Records& b, const VectorPlan& plan,
                    DeviceStream stream);

/// Returns the functions that rows and ladder launch, for `tessera list --occupancy`.
[[nodiscard]] std::vector<machine::DeviceFunction> device_functions();
[[nodiscard]] std::vector<machine::DeviceFunction> compiled_functions();
void add_ladder_functions(std::vector<machine::DeviceFunction>& to);
void add_vectorized_functions(std::vector<machine::DeviceFunction>& to);
void add_rearrange_functions(std::vector<machine::DeviceFunction>& to);

}  // namespace tessera::inline v1::transpose
