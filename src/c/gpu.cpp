#include "c/gpu.hpp"

#include <limits>

#include "c/status.hpp"
#include "machine/gpu.hpp"
#include "machine/reach.hpp"

namespace tessera::inline v1::c {

bool uses_gpu(const Options& options) {
  if (options.text("gpu").empty()) return false;
  const machine::Gpus& found = machine::gpus();
  const auto count = static_cast<index_t>(found.devices.size());
  if (count == 0) {
    throw Error::of_argument("options", fmt::format("has gpu={}, which this process cannot use: {}",
                                                    options.text("gpu"), found.reason));
  }
  if (!options.text("kernel").empty())
    throw Error::of_argument("options", "has a kernel and a gpu, whose kernel is the best one");
  machine::use_gpu(static_cast<int>(options.number("gpu", 0, count - 1, 0)));
  return true;
}

std::optional<int> gpu_of(const Options& options) {
  if (!uses_gpu(options)) return std::nullopt;
  return static_cast<int>(options.number("gpu", 0, std::numeric_limits<int>::max(), 0));
}

void expect_reach(const void* data, bool on_gpu, const char* argument) {
  if (const char* const why = machine::out_of_reach(data, on_gpu); why != nullptr)
    throw Error::of_argument(argument, why);
}

}  // namespace tessera::inline v1::c
