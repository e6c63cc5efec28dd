#pragma once
// Operations on a GPU and calls of CUDA of an analysed program, as libtessera_gpu_sampler.so leaves
// them: text, a line each.

#include <string>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::analyse {

/// The variable with the path of the text.
inline constexpr const char* gpu_calls_variable = "TESSERA_ANALYSE_GPU_CALLS";

/// First letters of lines. Operations and calls: the letter, number, total, least and most
/// nanoseconds, name; lost: number of records; failure: a sentence.
namespace gpu_calls_format {
inline constexpr char operation = 'o', call = 'c', lost = 'l', failure = 'f';
}

struct GpuCall {
  std::string name;
  index_t calls = 0;
  double seconds = 0, least = 0, most = 0;  ///< of all calls, of one
};

struct GpuCalls {
  std::vector<GpuCall> operations;  ///< kernels, copies and sets by time on the GPU, most first
  std::vector<GpuCall> calls;       ///< functions of CUDA by time of the caller, most first
  index_t lost = 0;                 ///< records
  std::string failure;              ///< why there is nothing; "" if nothing failed
};

/// Reads the text; names become readable. Throws Error(bad_data) for other text.
[[nodiscard]] GpuCalls gpu_calls_of(const std::string& text);

/// Returns both tables as nvprof prints them: share, time, calls, average, least, most. "" if the
/// program used no GPU.
[[nodiscard]] std::string text_of(const GpuCalls& found, index_t top, std::size_t columns);

}  // namespace tessera::inline v1::analyse
