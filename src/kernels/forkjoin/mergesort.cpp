// The merge sort probes of the task runtime, with a serial and a forked merge.

#include "kernels/forkjoin/mergesort.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::inline v1::forkjoin {

std::unique_ptr<Problem> mergesort_serial_merge(index_t n, index_t threshold) {
  return std::make_unique<Mergesort<std::uint64_t>>(n, MergesortMethod{threshold, Merge::serial});
}

std::unique_ptr<Problem> mergesort_parallel_merge(index_t n, index_t threshold) {
  return std::make_unique<Mergesort<std::uint64_t>>(n, MergesortMethod{threshold, Merge::forked});
}

}  // namespace tessera::inline v1::forkjoin
