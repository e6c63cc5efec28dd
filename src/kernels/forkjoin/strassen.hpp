#pragma once
// Strassen's product (Strassen 1969; the ten sums and seven products of Cormen et al. 2009, 4.2 and
// 27.2): work n^lg 7, span lg^2 n. The edge is padded with zeros to leaf * 2^levels. A template for
// plain and traced elements.

#include <array>

#include "kernels/forkjoin/matmul.hpp"

namespace tessera::inline v1::forkjoin {

/// Square blocks in memory of their own.
template <class T, std::size_t count>
class Blocks {
 public:
  explicit Blocks(index_t edge) : edge_(edge), memory_(static_cast<index_t>(count) * edge * edge) {}
  [[nodiscard]] MatrixView<T> operator[](index_t i) {
    return matrix_view(memory_.data() + i * edge_ * edge_, edge_, edge_);
  }

 private:
  index_t edge_;
  machine::Buffer<T> memory_;
};

/// One of the sums: x + y, or x - y.
template <class T>
struct SumOfBlocks {
  MatrixView<const T> x, y;
  bool subtract;
};

/// Computes c = a * b of edges leaf * 2^levels, leaf <= threshold.
template <class T>
void strassen(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b, index_t threshold) {
  if (c.rows <= threshold) return multiply(c, a, b, threshold);
  const index_t h = c.rows / 2;
  const auto of = [h](const auto& x, index_t i, index_t j) { return x.block(i * h, j * h, h, h); };
  const auto a11 = of(a, 0, 0), a12 = of(a, 0, 1), a21 = of(a, 1, 0), a22 = of(a, 1, 1);
  const auto b11 = of(b, 0, 0), b12 = of(b, 0, 1), b21 = of(b, 1, 0), b22 = of(b, 1, 1);
  using Sum = SumOfBlocks<T>;
  const std::array<Sum, 10> sums{Sum{b12, b22, true}, {a11, a12, false}, {a21, a22, false},
                                 {b21, b11, true},    {a11, a22, false}, {b11, b22, false},
                                 {a12, a22, true},    {b21, b22, false}, {a11, a21, true},
                                 {b11, b12, false}};
  Blocks<T, 10> s(h);
  machine::fork_for(0, 10, 1, [&](index_t one, index_t) {
    const Sum& sum = sums[static_cast<std::size_t>(one)];
    const MatrixView<T> to = s[one];
    for_elements(h, h, threshold, [&](index_t i, index_t j) {
      to(i, j) = sum.subtract ? sum.x(i, j) - sum.y(i, j) : sum.x(i, j) + sum.y(i, j);
    });
  });
  using In = MatrixView<const T>;
  const std::array<std::array<In, 2>, 7> factors{{{a11, s[0]},
                                                  {s[1], b22},
                                                  {s[2], b11},
                                                  {a22, s[3]},
                                                  {s[4], s[5]},
                                                  {s[6], s[7]},
                                                  {s[8], s[9]}}};
  Blocks<T, 7> p(h);
  machine::fork_for(0, 7, 1, [&](index_t one, index_t) {
    const auto& [x, y] = factors[static_cast<std::size_t>(one)];
    strassen(p[one], x, y, threshold);
  });
  const MatrixView<T> c11 = of(c, 0, 0), c12 = of(c, 0, 1), c21 = of(c, 1, 0), c22 = of(c, 1, 1);
  for_elements(h, h, threshold, [&](index_t i, index_t j) {
    c11(i, j) = p[4](i, j) + p[3](i, j) - p[1](i, j) + p[5](i, j);
    c12(i, j) = p[0](i, j) + p[1](i, j);
    c21(i, j) = p[2](i, j) + p[3](i, j);
    c22(i, j) = p[4](i, j) + p[0](i, j) - p[2](i, j) - p[6](i, j);
  });
}

/// Returns the smallest leaf * 2^levels >= n with leaf <= threshold.
[[nodiscard]] inline index_t strassen_edge(index_t n, index_t threshold) {
  index_t leaves = 1;
  while (ceil_div(n, leaves) > threshold) leaves *= 2;
  return ceil_div(n, leaves) * leaves;
}

template <class T>
class Strassen final : public Product<T> {
 public:
  Strassen(index_t n, index_t threshold) : Product<T>(n, threshold, strassen_edge(n, threshold)) {}
  void run() override { strassen(this->c(), this->a(), this->b(), this->threshold_); }
};

}  // namespace tessera::inline v1::forkjoin
