#pragma once
// The radix sort with alternative numbers of threads and items, for --tune of sort_gpu.

#include <string>
#include <vector>

#include "kernels/sort/cuda.hpp"

namespace tessera::sort {

template <class Key, class Value>
struct Candidate {
  std::string name;
  void (*sort)(const DeviceBlock<Key, Value>&, DeviceStream);
  index_t (*bytes)(index_t);
};

template <class Key, class Value>
[[nodiscard]] std::vector<Candidate<Key, Value>> shapes();

}  // namespace tessera::sort
