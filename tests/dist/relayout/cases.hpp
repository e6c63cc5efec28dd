#pragma once
// Random relayouts: their memory, with sentinels, and what they must become.

#include <array>
#include <cstring>
#include <vector>

#include "base/hash.hpp"
#include "dist/relayout/placed.hpp"
#include "dist/relayout/relayout.hpp"
#include "machine/device.hpp"

namespace tessera::dist::relayout {

using mpi::Communicator;

/// A record that no number type matches.
struct Three {
  std::array<unsigned char, 3> bytes;
  friend bool operator==(const Three&, const Three&) = default;
};

/// Returns the element (i, j) of matrix `which`: a small integer, so that updates are exact.
template <class T>
T value(int which, index_t i, index_t j) {
  const std::uint64_t code = mix64(static_cast<std::uint64_t>((i * 10007 + j) * 5 + which));
  const auto part = [&](int shift) { return static_cast<float>((code >> shift) % 31) - 15; };
  if constexpr (mpi::is_any_complex<T>) {
    return {part(0), part(8)};
  } else if constexpr (std::is_same_v<T, Three>) {
    return {{static_cast<unsigned char>(code), static_cast<unsigned char>(code >> 8),
             static_cast<unsigned char>(code >> 16)}};
  } else {
    return static_cast<T>(part(0));
  }
}

template <class T>
T conjugated(const T& x) {
  if constexpr (mpi::is_any_complex<T>)
    return std::conj(x);
  else
    return x;
}

/// The local arrays of a rank, with gaps between rows and at the end that hold sentinels.
template <class T>
struct Local {
  std::vector<std::vector<T>> arrays;
  std::vector<index_t> ld;
  StorageOrder order;

  Local(const Placed& placed, index_t rank, StorageOrder storage) : order(storage) {
    struct Extents {
      index_t rows = 0, cols = 0;
    };
    std::vector<Extents> extents;
    const auto& d = placed.distribution;
    for (index_t i = 0; i < d.rows(); ++i) {
      for (index_t j = 0; j < d.cols(); ++j) {
        const auto at = placed.where(rank, i, j);
        if (!at) continue;
        extents.resize(std::max(extents.size(), at->array + 1));
        auto& [rows, cols] = extents[at->array];
        rows = std::max(rows, at->row + 1);
        cols = std::max(cols, at->col + 1);
      }
    }
    extents.resize(static_cast<std::size_t>(d.arrays(rank)));  // of empty blocks too
    for (const auto& [rows, cols] : extents) {
      const bool by_rows = order == StorageOrder::row_major;
      const auto gap = static_cast<index_t>((ld.size() + static_cast<std::size_t>(rank)) % 4);
      ld.push_back((by_rows ? cols : rows) + gap);
      arrays.emplace_back(static_cast<std::size_t>((by_rows ? rows : cols) * ld.back() + 2));
      std::memset(static_cast<void*>(arrays.back().data()), 0xff, arrays.back().size() * sizeof(T));
    }
  }
  /// One array in rows.
  Local(std::vector<T> array, index_t row) : ld{row}, order(StorageOrder::row_major) {
    arrays.push_back(std::move(array));
  }
  T& at(const Where& w) {
    const index_t offset = order == StorageOrder::row_major ? w.row * ld[w.array] + w.col
                                                            : w.col * ld[w.array] + w.row;
    return arrays[w.array][static_cast<std::size_t>(offset)];
  }
  template <class Element>
  [[nodiscard]] std::vector<LocalArray<Element>> views() {
    std::vector<LocalArray<Element>> result;
    for (std::size_t k = 0; k < arrays.size(); ++k) result.push_back({arrays[k].data(), ld[k]});
    return result;
  }
};

/// Sets every element that the rank has to f(i, j).
template <class T, class F>
void fill(const Placed& placed, index_t rank, Local<T>& local, const F& f) {
  for (index_t i = 0; i < placed.distribution.rows(); ++i) {
    for (index_t j = 0; j < placed.distribution.cols(); ++j) {
      if (const auto at = placed.where(rank, i, j)) local.at(*at) = f(i, j);
    }
  }
}

template <class T>
bool same_bytes(const Local<T>& x, const Local<T>& y) {
  for (std::size_t k = 0; k < x.arrays.size(); ++k) {
    if (std::memcmp(x.arrays[k].data(), y.arrays[k].data(), x.arrays[k].size() * sizeof(T)) != 0)
      return false;
  }
  return true;
}

/// The arrays of a rank in device memory.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const Local<T>& here) {
    for (const std::vector<T>& array : here.arrays)
      there_.emplace_back(bytes_of(array), machine::device::Home::device);
    upload(here);
  }
  void upload(const Local<T>& here) const {
    for (std::size_t k = 0; k < there_.size(); ++k) {
      const auto* const data = reinterpret_cast<const std::byte*>(here.arrays[k].data());
      machine::device::upload(row(data, here.arrays[k]), row(there_[k].data(), here.arrays[k]), 1);
    }
  }
  template <class Element>
  [[nodiscard]] std::vector<LocalArray<Element>> views(const Local<T>& here) const {
    std::vector<LocalArray<Element>> result;
    for (std::size_t k = 0; k < there_.size(); ++k)
      result.push_back({reinterpret_cast<Element*>(there_[k].data()), here.ld[k]});
    return result;
  }
  void download(Local<T>& here) const {
    for (std::size_t k = 0; k < there_.size(); ++k) {
      auto* const data = reinterpret_cast<std::byte*>(here.arrays[k].data());
      machine::device::download(row(there_[k].data(), here.arrays[k]), row(data, here.arrays[k]),
                                1);
    }
  }

 private:
  static index_t bytes_of(const std::vector<T>& array) {
    return std::ssize(array) * static_cast<index_t>(sizeof(T));
  }
  template <class Byte>
  static MatrixView<Byte> row(Byte* data, const std::vector<T>& like) {
    return {data, 1, bytes_of(like), bytes_of(like)};
  }

  std::vector<machine::device::Allocation> there_;
};

/// One matrix of a random case: its relayout, its memory, and what b must become.
template <class T>
struct Case {
  using Factor = typename Memory<T>::Factor;
  Placed a, b;
  Relayout relayout;
  Local<T> from, to, want;
  std::vector<LocalArray<const T>> a_views;
  std::vector<LocalArray<T>> b_views;
  Factor alpha{1}, beta{0};

  static Placed source(Random& random, index_t rows, index_t cols, Op op, index_t ranks) {
    return turns(op) ? any_distribution(random, cols, rows, ranks)
                     : any_distribution(random, rows, cols, ranks);
  }
  static StorageOrder order(Random& random) {
    return pick(random, 0, 1) == 0 ? StorageOrder::row_major : StorageOrder::column_major;
  }
  Case(Random& random, const Communicator& comm, index_t rows, index_t cols, Op op)
      : a(source(random, rows, cols, op, comm.size())),
        b(any_distribution(random, rows, cols, comm.size())),
        relayout{a.distribution, op, b.distribution, order(random), order(random)},
        from(a, comm.rank(), relayout.a_order),
        to(b, comm.rank(), relayout.b_order),
        want(to),
        a_views(from.template views<const T>()),
        b_views(to.template views<T>()) {
    if constexpr (Scalable<T>) {
      alpha = value<T>(7, pick(random, 0, 9), 1);
      beta = value<T>(8, pick(random, 0, 9), 2);
      if (pick(random, 0, 3) == 0) alpha = T{1};
      if (pick(random, 0, 3) == 0) alpha = T{0};
      if (pick(random, 0, 2) == 0) beta = T{0};
    }
    fill(a, comm.rank(), from, [](index_t i, index_t j) { return value<T>(0, i, j); });
    // What beta == 0 leaves unread keeps its sentinel, a NaN.
    if (beta != Factor{0})
      fill(b, comm.rank(), to, [](index_t i, index_t j) { return value<T>(1, i, j); });
    want = to;
    b_views = to.template views<T>();
    fill(b, comm.rank(), want, [&](index_t i, index_t j) {
      const T x = turns(op) ? value<T>(0, j, i) : value<T>(0, i, j);
      if constexpr (!Scalable<T>)
        return x;
      else {
        const T term = alpha == T{0} ? T{0} : alpha * (op == Op::hermitian ? conjugated(x) : x);
        return beta == T{0} ? term + T{0} : term + beta * value<T>(1, i, j);
      }
    });
  }
  [[nodiscard]] Memory<T> memory() const { return {a_views, b_views, alpha, beta}; }
  [[nodiscard]] bool right() const {
    for (std::size_t k = 0; k < to.arrays.size(); ++k) {
      for (std::size_t e = 0; e < to.arrays[k].size(); ++e) {
        const T &got = to.arrays[k][e], &expected = want.arrays[k][e];
        const bool equal = got == expected || std::memcmp(&got, &expected, sizeof(T)) == 0;
        if (!equal) return false;  // sentinels are NaN, compared by their bytes
      }
    }
    return true;
  }
};

}  // namespace tessera::dist::relayout
