// c_overhead: prints what the C API adds to the bare kernel for a small product, in nanoseconds.
// Calls alternate in blocks, and the fastest block of each counts.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "kernels/matmul/cache_oblivious.hpp"
#include "tessera.h"

namespace {

constexpr int blocks = 400, calls = 100;

template <class F>
double seconds_of_block(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
}

void compare(std::int64_t n) {
  const auto size = static_cast<std::size_t>(n * n);
  std::vector<double> a(size, 1), b(size, 2), c(size);
  const tessera::matmul::Gemm<double> bare{
      .a = {a.data(), n, n, n}, .b = {b.data(), n, n, n}, .c = {c.data(), n, n, n}};
  double kernel = 1, whole = 1, refused = 1;
  for (int block = 0; block < blocks; ++block) {
    kernel = std::min(kernel, seconds_of_block([&] { tessera::matmul::cache_oblivious(bare); }));
    whole = std::min(whole, seconds_of_block([&] {
                       tessera_matmul(TESSERA_ROW_MAJOR, TESSERA_F64, TESSERA_NO_TRANS,
                                      TESSERA_NO_TRANS, n, n, n, nullptr, a.data(), n, b.data(), n,
                                      nullptr, c.data(), n, nullptr);
                     }));
    refused = std::min(refused, seconds_of_block([&] {
                         tessera_matmul(TESSERA_ROW_MAJOR, TESSERA_F64, TESSERA_NO_TRANS,
                                        TESSERA_NO_TRANS, n, n, n, nullptr, nullptr, n, b.data(), n,
                                        nullptr, c.data(), n, nullptr);
                       }));
  }
  std::printf(
      "%3ld x %-3ld f64: kernel %8.0f ns, tessera_matmul %8.0f ns, difference %5.0f ns; "
      "a wrong call %6.0f ns\n",
      static_cast<long>(n), static_cast<long>(n), kernel * 1e9, whole * 1e9, (whole - kernel) * 1e9,
      refused * 1e9);
}

}  // namespace

int main() {
  for (const std::int64_t n : {1, 8, 64, 128}) compare(n);
  return 0;
}
