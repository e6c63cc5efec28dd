// Rectangles in place by decomposition, without following cycles (Catanzaro, Keller and Garland
// 2014). Memory is viewed as m rows of n. C2R rotates columns, scatters within rows and gathers
// within columns, which together transpose an m x n matrix. R2C inverts the three steps in reverse
// order, which transposes an n x m matrix. Each step is a set of independent rows or columns. The
// longer side becomes the rows, since rows are contiguous. Three passes over the matrix.

#include <numeric>

#include "kernels/transpose/in_place.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::transpose {
namespace {

constexpr index_t strip_target_bytes =
    64 << 10;  // columns permuted together: with their scratch they fit any L2

/// The index maps of the paper for an m x n matrix: c = gcd(m, n), a = m / c, b = n / c.
struct Maps {
  index_t m, n, a, b;
  Maps(index_t rows, index_t cols)
      : m(rows), n(cols), a(rows / std::gcd(rows, cols)), b(cols / std::gcd(rows, cols)) {}

  /// Returns whether columns rotate: column j then takes its element for row i from row (i + j / b)
  /// % m.
  [[nodiscard]] bool rotates() const { return b != n; }
  /// Returns the start of the shuffle: column j takes its element for row i from row
  /// (shuffle_start(i) + j) % m.
  [[nodiscard]] index_t shuffle_start(index_t i) const { return (i * n - i / a) % m; }
};

enum class Access { gather, scatter };

template <class Copy>
class ThreePass {
 public:
  ThreePass(std::byte* data, index_t bytes, const Maps& maps, Copy copy, int threads)
      : data_(data), bytes_(bytes), maps_(maps), copy_(copy), threads_(threads) {
    strip_ = std::clamp<index_t>(strip_target_bytes / (maps.m * bytes),
                                 64 / std::gcd<index_t>(64, bytes), maps.n);
  }

  void c2r() const {
    if (maps_.rotates()) rotate(Access::gather);
    rows(Access::scatter);
    shuffle(Access::gather);
  }
  void r2c() const {
    shuffle(Access::scatter);
    rows(Access::gather);
    if (maps_.rotates()) rotate(Access::scatter);
  }

 private:
  [[nodiscard]] std::byte* at(index_t i, index_t j) const {
    return data_ + (i * maps_.n + j) * bytes_;
  }

  void rotate(Access access) const {
    columns(access, maps_.b, [](index_t i) { return i; });
  }
  void shuffle(Access access) const {
    columns(access, 1, [this](index_t i) { return maps_.shuffle_start(i); });
  }

  /// Permutes within every column j: element i comes from (gather) or goes to (scatter) row
  /// (start(i) + j / step) % m. Processes strips of columns, with counters in place of divisions.
  template <class Start>
  void columns(Access access, index_t step, const Start& start) const {
    on_pieces(ceil_div(maps_.n, strip_), maps_.m * strip_, [&](index_t strip, std::byte* scratch) {
      const index_t left = strip * strip_;
      const index_t wide = std::min(strip_, maps_.n - left);
      const auto run = static_cast<std::size_t>(wide * bytes_);
      for (index_t i = 0; i < maps_.m; ++i)
        std::memcpy(scratch + i * wide * bytes_, at(i, left), run);
      for (index_t i = 0; i < maps_.m; ++i) {
        index_t other = (start(i) + left / step) % maps_.m;
        index_t until_next = step - left % step;
        for (index_t j = 0; j < wide; ++j) {
          const index_t from = access == Access::gather ? other : i;
          const index_t to = access == Access::gather ? i : other;
          copy_(at(to, left + j), scratch + (from * wide + j) * bytes_);
          if (--until_next > 0) continue;
          until_next = step;
          if (++other == maps_.m) other = 0;
        }
      }
    });
  }

  /// Permutes within every row: element j goes to (scatter) or comes from (gather) ((i + j / b) % m
  /// + j * m) % n, with running sums in place of divisions.
  void rows(Access access) const {
    const index_t step = maps_.m % maps_.n;
    on_pieces(maps_.m, maps_.n, [&](index_t i, std::byte* scratch) {
      std::memcpy(scratch, at(i, 0), static_cast<std::size_t>(maps_.n * bytes_));
      index_t rotation = i;  // (i + j / b) % m
      index_t product = 0;   // j * m % n
      for (index_t j = 0; j < maps_.n;) {
        for (const index_t stop = j + maps_.b; j < stop; ++j) {
          index_t other = rotation + product;
          if (other >= maps_.n) other -= maps_.n;
          access == Access::scatter ? copy_(at(i, other), scratch + j * bytes_)
                                    : copy_(at(i, j), scratch + other * bytes_);
          product += step;
          if (product >= maps_.n) product -= maps_.n;
        }
        if (++rotation == maps_.m) rotation = 0;
      }
    });
  }

  /// Calls body(piece, scratch of `count` records) for every piece; a few pieces share a scratch.
  template <class Body>
  void on_pieces(index_t pieces, index_t count, const Body& body) const {
    machine::parallel_for(0, pieces, ceil_div(pieces, index_t{4} * threads_),
                          [&](index_t begin, index_t end) {
                            machine::Buffer<std::byte> scratch(count * bytes_);
                            for (index_t piece = begin; piece < end; ++piece)
                              body(piece, scratch.data());
                          });
  }

  std::byte* data_;
  index_t bytes_;
  Maps maps_;
  Copy copy_;
  int threads_;
  index_t strip_;
};

}  // namespace

void in_place_rectangle(std::byte* data, index_t rows, index_t cols, index_t bytes,
                        const Tuning& tuning) {
  const int threads = threads_of(tuning);
  with_record(bytes, [&](auto copy) {
    machine::parallel(threads, [&] {
      if (rows <= cols) {
        ThreePass(data, bytes, Maps(rows, cols), copy, threads).c2r();
      } else {
        ThreePass(data, bytes, Maps(cols, rows), copy, threads).r2c();
      }
    });
  });
}

}  // namespace tessera::inline v1::transpose
