// cachegrind_driver WORKLOAD KERNEL N WHOLE: allocates arrays as tessera locality does, empties the
// caches, then runs the kernel once, on all elements or, for WHOLE = 0, on one. The difference of
// both counts is due to the elements. Compiled such that loads and stores match the source.

#include <alloca.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/naive.hpp"
#include "kernels/transpose/textbook.hpp"

namespace tessera {
namespace {

constexpr index_t page = 4096;
constexpr index_t emptied_bytes = index_t{8} << 20;  // larger than any cache of the test

/// Consecutive arrays, each at the start of a page.
class Place {
 public:
  double* array(index_t count) {
    std::byte* const begin = memory_ + used_;
    used_ = round_up(used_ + count * index_t{sizeof(double)}, page);
    std::memset(begin, 0, static_cast<std::size_t>(count) * sizeof(double));
    return reinterpret_cast<double*>(begin);
  }

 private:
  static constexpr index_t alignment = index_t{1} << 24;
  std::byte* memory_ = static_cast<std::byte*>(std::aligned_alloc(alignment, alignment));
  index_t used_ = 0;
};

/// Touches every line of a large block, which evicts everything else.
void empty_caches() {
  auto* const block = static_cast<volatile char*>(std::malloc(emptied_bytes));
  for (index_t i = 0; i < emptied_bytes; i += 64) block[i] = 1;
}

void run_matmul(const std::string& kernel, index_t n, index_t used) {
  Place place;
  const auto matrix = [&] { return matrix_view(place.array(n * n), n, n).block(0, 0, used, used); };
  const auto a = matrix(), b = matrix(), c = matrix();
  const matmul::Gemm<double> g{.a = a, .b = b, .c = c};
  empty_caches();
  if (kernel == "naive") matmul::naive(g, {});
  if (kernel == "cache_oblivious") matmul::cache_oblivious(g);
}

void run_transpose(const std::string& kernel, index_t n, index_t used) {
  Place place;
  const auto matrix = [&] { return matrix_view(place.array(n * n), n, n).block(0, 0, used, used); };
  const auto a = transpose::records(matrix()), b = transpose::records(matrix());
  empty_caches();
  const transpose::FixedRecord<sizeof(double)> copy;
  if (kernel == "naive") transpose::naive_walk(a, b, 1, copy);
  if (kernel == "cache_oblivious") transpose::cache_oblivious(a, b, {.threads = 1});
}

/// The stack's address depends on the length of the environment: aligns subsequent frames to the
/// same offset in a page.
[[gnu::noinline]] void run_at_page(const std::string& workload, const std::string& kernel,
                                   index_t n, index_t used) {
  auto* const gap = static_cast<volatile char*>(
      alloca(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) %
                 static_cast<std::uintptr_t>(page) +
             1));
  gap[0] = 0;
  workload == "matmul" ? run_matmul(kernel, n, used) : run_transpose(kernel, n, used);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  if (argc != 5) return 64;
  const auto n = static_cast<tessera::index_t>(std::atoi(argv[3]));
  tessera::run_at_page(argv[1], argv[2], n, argv[4][0] == '1' ? n : 1);
}
