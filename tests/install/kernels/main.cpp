// External program without MPI: multiplies two matrices and sorts, by the kernels alone.
//   a(i, p) = i + p, b(p, j) = p - j: c(i, j) is a sum of squares and products, exact in doubles.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <tessera/tessera.hpp>
#include <vector>

namespace {

using tessera::index_t;

constexpr index_t m = 41, n = 23, k = 67;

/// Returns a rows x cols matrix of i + sign * j.
std::vector<double> matrix(index_t rows, index_t cols, index_t sign) {
  std::vector<double> result;
  for (index_t i = 0; i < rows; ++i) {
    for (index_t j = 0; j < cols; ++j) result.push_back(static_cast<double>(i + sign * j));
  }
  return result;
}

bool is_product(const std::vector<double>& c, index_t i, index_t j) {
  index_t sum = 0;
  for (index_t p = 0; p < k; ++p) sum += (i + p) * (p - j);
  return c[static_cast<std::size_t>(i * n + j)] == static_cast<double>(sum);
}

bool sorts() {
  std::vector<std::int64_t> keys(1000);
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = static_cast<std::int64_t>(i * 7 % 1000) - 500;
  tessera::sort::sort_keys("auto", std::span(keys), 2);
  return std::is_sorted(keys.begin(), keys.end()) && keys.front() == -500;
}

}  // namespace

int main() {
  const std::vector<double> a = matrix(m, k, 1), b = matrix(k, n, -1);
  std::vector<double> c(static_cast<std::size_t>(m * n));
  tessera::machine::parallel(2, [&] {
    tessera::matmul::best()(tessera::matmul::Gemm<double>{
        .a = {a.data(), m, k, k}, .b = {b.data(), k, n, n}, .c = {c.data(), m, n, n}});
  });
  index_t wrong = 0;
  for (index_t i = 0; i < m; ++i) {
    for (index_t j = 0; j < n; ++j) wrong += is_product(c, i, j) ? 0 : 1;
  }
  std::printf("%lld of %lld elements wrong\n", static_cast<long long>(wrong),
              static_cast<long long>(m * n));
  return wrong == 0 && sorts() ? 0 : 1;
}
