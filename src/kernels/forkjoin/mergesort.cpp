// The merge sort probes of the task runtime, with a serial and a forked merge.

#include "kernels/forkjoin/mergesort.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::forkjoin {
namespace {

class Mergesort final : public SortProblem {
 public:
  Mergesort(index_t n, index_t threshold, Merge merge)
      : SortProblem(n), scratch_(n), threshold_(threshold), merge_(merge) {}
  void run() override {
    mergesort_forked(keys().data(), scratch_.data(), keys().size(), keys().data(), threshold_,
                     merge_);
  }

 private:
  machine::Buffer<std::uint64_t> scratch_;
  index_t threshold_;
  Merge merge_;
};

}  // namespace

std::unique_ptr<Problem> mergesort_serial_merge(index_t n, index_t threshold) {
  return std::make_unique<Mergesort>(n, threshold, Merge::serial);
}

std::unique_ptr<Problem> mergesort_parallel_merge(index_t n, index_t threshold) {
  return std::make_unique<Mergesort>(n, threshold, Merge::forked);
}

}  // namespace tessera::forkjoin
