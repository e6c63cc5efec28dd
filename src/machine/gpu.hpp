#pragma once
// GPUs of this node; none in a build or on a machine without CUDA.

#include <string>
#include <vector>

#include "base/index.hpp"

namespace tessera::machine {

struct Gpu {
  std::string name;
  index_t memory_bytes = 0;
  int multiprocessors = 0;
  int major = 0, minor = 0;  ///< compute capability
};

struct Gpus {
  std::vector<Gpu> devices;
  std::string reason;  ///< why there are none: "built without CUDA", the driver's words, ...
};

/// What the driver shows to this process. Never throws: no driver is no GPU, with the reason.
[[nodiscard]] Gpus gpus();

}  // namespace tessera::machine
