// The merge sort probes of the task runtime, with a serial and a forked merge.

#include "kernels/forkjoin/mergesort.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::forkjoin {
namespace {

class Mergesort final : public SortProblem {
 public:
  Mergesort(index_t n, MergesortMethod method) : SortProblem(n), scratch_(n), method_(method) {}
  void run() override {
    mergesort_forked(keys().data(), scratch_.data(), keys().size(), keys().data(), method_);
  }

 private:
  machine::Buffer<std::uint64_t> scratch_;
  MergesortMethod method_;
};

}  // namespace

std::unique_ptr<Problem> mergesort_serial_merge(index_t n, index_t threshold) {
  return std::make_unique<Mergesort>(n, MergesortMethod{threshold, Merge::serial});
}

std::unique_ptr<Problem> mergesort_parallel_merge(index_t n, index_t threshold) {
  return std::make_unique<Mergesort>(n, MergesortMethod{threshold, Merge::forked});
}

}  // namespace tessera::forkjoin
