// The quicksort probe of the task runtime.

#include "kernels/forkjoin/quicksort.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::forkjoin {
namespace {

class Quicksort final : public SortProblem {
 public:
  Quicksort(index_t n, index_t threshold) : SortProblem(n), threshold_(threshold) {}
  void run() override { quicksort_forked(keys().data(), keys().size(), threshold_); }

 private:
  index_t threshold_;
};

}  // namespace

std::unique_ptr<Problem> quicksort(index_t n, index_t threshold) {
  return std::make_unique<Quicksort>(n, threshold);
}

}  // namespace tessera::forkjoin
