#pragma once
// GPUs on paper: the published figures from which the bounds of a kernel follow.

#include <span>
#include <string>
#include <string_view>

#include "machine/residency.hpp"

namespace tessera::inline v1::paper {

/// A GPU as its vendor and the literature describe it.
struct PaperGpu {
  std::string name;
  std::string version;  ///< compute capability
  index_t multiprocessors = 0;
  double clock = 0;         ///< of the multiprocessors, Hz
  double bandwidth = 0;     ///< of device memory, B/s
  double l2_bandwidth = 0;  ///< B/s; 0: unknown
  index_t l2_bytes = 0;
  double latency = 0;          ///< of a load from device memory, clocks
  double flops32 = 0;          ///< FLOP/s in f32, without tensor cores; also of 32-bit integers
  double flops64 = 0;          ///< FLOP/s in f64
  index_t segment_bytes = 32;  ///< unit of a transfer from or to device memory
  double pass_clocks = 1;      ///< clocks of a pass of shared memory
  machine::Multiprocessor multiprocessor = {};

  [[nodiscard]] double peak(index_t element_bytes) const {
    return element_bytes == 8 ? flops64 : flops32;
  }
  /// Returns the bytes that a multiprocessor must have in flight for the full bandwidth (Little
  /// 1961): latency times its share of the bandwidth.
  [[nodiscard]] double bytes_in_flight() const {
    return latency / clock * bandwidth / static_cast<double>(multiprocessors);
  }
};

inline constexpr index_t line_bytes = 128;  ///< of the first-level cache
inline constexpr index_t banks = 32;        ///< of shared memory, from compute capability 2.0 on
inline constexpr index_t bank_bytes = 4;    ///< per clock and bank

/// Returns the built-in GPUs:
///
/// name    multiprocessors, clock, bandwidth, peaks                  L2 bandwidth        latency
/// h100    SXM5, 132, 1.98 GHz, 3.35 TB/s, 66.9 and 33.5 TFLOP/s (1)  5120 B a clock (2)  479 (3)
/// a100    SXM4 40 GB, 108, 1.41 GHz, 1.555 TB/s, 19.5 and 9.7 (2)    5120 B a clock (2)  466 (3)
/// v100    SXM2, 80, 1.53 GHz, 0.9 TB/s, 15.7 and 7.8 (4)             2048 B a clock (2)  375 (5)
/// gtx580  16, 1.544 GHz, 0.1924 TB/s, 1.581 and 0.198 (6)            unknown             600 (7)
///
/// (1) NVIDIA H100 data sheet, 2023. (2) NVIDIA A100 architecture whitepaper, 2020; that of the
/// H100 is not published and taken from the A100. (3) Luo et al. 2024, a pointer chase. (4) NVIDIA
/// V100 architecture whitepaper, 2017. (5) Jia et al. 2018. (6) NVIDIA GeForce GTX 580
/// specification, 2010; f64 at an eighth. (7) The middle of 400 to 800 of the CUDA C Programming
/// Guide 3.2, 2010. Segments: 32 bytes; 128 where loads are cached in lines only (gtx580). A bank
/// of 2.x has a word in two clocks (the same guide), of later versions in one.
[[nodiscard]] std::span<const PaperGpu> paper_gpus();

/// Parses "paper", "paper:h100" or "paper:FILE.toml". Throws Error(usage, missing_input) that names
/// the nearest GPU, or the file, line and key.
[[nodiscard]] PaperGpu parse_device(const std::string& text);

}  // namespace tessera::inline v1::paper
