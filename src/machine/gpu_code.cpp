#include "machine/gpu_code.hpp"

#include <algorithm>
#include <charconv>

namespace tessera::inline v1::machine {
namespace {

/// Returns whether code for one architecture runs on devices of compute capability `wanted`, 75 for
/// 7.5. Binary code runs on later devices of the same major version; virtual code is compiled by
/// the driver for any later device. Letters restrict both: "a" to that device, "f" to its major
/// version.
bool serves(std::string_view architecture, int wanted) {
  int number = 0;
  const char* const begin = architecture.data();
  const char* const end = begin + architecture.size();
  const auto [rest, error] = std::from_chars(begin, end, number);
  if (error != std::errc()) return true;  // native, all, all-major
  const std::string_view kind(rest, static_cast<std::size_t>(end - rest));
  if (wanted < number) return false;
  if (kind.starts_with("a")) return wanted == number;
  return wanted / 10 == number / 10 || (!kind.starts_with("f") && !kind.ends_with("-real"));
}

std::string version(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace

bool has_code(std::string_view architectures, int major, int minor) {
  while (!architectures.empty()) {
    const auto length = std::min(architectures.find(' '), architectures.size());
    if (serves(architectures.substr(0, length), 10 * major + minor)) return true;
    architectures.remove_prefix(std::min(length + 1, architectures.size()));
  }
  return false;
}

std::string without_code(std::string_view architectures, const Gpu& gpu) {
  std::string all(architectures);
  for (std::size_t at = 0; (at = all.find(' ', at)) != std::string::npos; at += 2)
    all.insert(at, ",");
  const std::string text = "libtessera_cuda.so has no code for " + gpu.name +
                           ", compute capability " + version(gpu.major, gpu.minor) +
                           " (it was compiled for " + all + ")";
  if (gpu.major < 7) return text + "; the kernels need 7.0 or later";
  return text + "; configure with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(gpu.major) +
         std::to_string(gpu.minor) + "-real";
}

}  // namespace tessera::inline v1::machine
