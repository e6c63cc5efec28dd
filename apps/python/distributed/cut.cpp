// Cuts of arrays, and what moves and multiplies them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "dist/matmul/laid_out.hpp"
#include "dist/relayout/relayout.hpp"
#include "distributed/operations.hpp"

namespace tessera::python {
namespace {

namespace relayouts = dist::relayout;
using relayouts::StorageOrder;

layout::ArrayGrid grid_of(const std::vector<index_t>& shape, const std::vector<index_t>& grid,
                          const std::vector<index_t>& block, index_t ranks) {
  for (const auto& [name, list] : {std::pair("grid", &grid), std::pair("block", &block)}) {
    require_argument(
        list->empty() || list->size() == shape.size(), name,
        fmt::format("has {} axes: must have {}, as the array", list->size(), shape.size()));
    require_argument(std::ranges::all_of(*list, [](index_t n) { return n >= 1; }), name,
                     "must have numbers of at least 1");
  }
  layout::ArrayGrid result;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (grid.empty()) {
      result.axes.push_back(layout::replicated(shape[d], d == 0 ? ranks : 1));
      continue;
    }
    require_argument(grid[d] <= ranks, "grid",
                     fmt::format("has {} parts: there are {} ranks", grid[d], ranks));
    result.axes.push_back(block.empty() ? layout::in_shares({shape[d], grid[d]})
                                        : layout::in_blocks({shape[d], block[d], grid[d]}));
  }
  return result;
}

/// A numpy array whose rows, or whose columns, follow each other in memory.
struct Stored {
  const py::array& array;
  StorageOrder order;
};

/// Returns the arrays with the orders of their shares, which the wire format of messages depends on
/// and which are hence the same on all ranks: a share of one row or one column is in both orders.
/// Throws on all ranks alike if some shares are in C's order only and others in Fortran's.
/// Collective.
template <std::size_t count>
std::array<Stored, count> stored(const Ranks& ranks,
                                 const std::array<const py::array*, count>& arrays) {
  std::array<int, 2 * count> excluded{};  // of each array: C's order, Fortran's order
  for (std::size_t i = 0; i < count; ++i) {
    const py::array& x = *arrays[i];
    excluded[2 * i] = (x.flags() & py::array::c_style) == 0;
    excluded[2 * i + 1] = x.ndim() != 2 || (x.flags() & py::array::f_style) == 0;
  }
  ranks.comm().max(excluded);
  const auto of = [&](std::size_t i) {
    if (excluded[2 * i] != 0 && excluded[2 * i + 1] != 0)
      throw py::value_error(
          "local is contiguous neither in C's nor in Fortran's order on all ranks: must be in one");
    return Stored{*arrays[i],
                  excluded[2 * i] == 0 ? StorageOrder::row_major : StorageOrder::column_major};
  };
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return std::array<Stored, count>{of(i)...};
  }
  (std::make_index_sequence<count>());
}

/// Appends an axis of `extent` units of an element to the array.
layout::ArrayGrid with_units(layout::ArrayGrid grid, index_t extent) {
  grid.axes.push_back(layout::replicated(extent, 1));
  return grid;
}

/// An array as a distributed matrix.
struct Flat {
  layout::Distribution distribution;
  Stored stored;

  template <class T>
  [[nodiscard]] relayouts::LocalArray<T> local(index_t rank) const {
    const layout::Box box = distribution.local_box(rank, 0);
    const index_t ld = stored.order == StorageOrder::row_major ? box.cols.end : box.rows.end;
    return {reinterpret_cast<T*>(const_cast<std::byte*>(bytes_of(stored.array))),
            std::max<index_t>(ld, 1)};
  }
};

struct Unit16 {
  std::uint64_t words[2];
};

template <class T>
void move(const Ranks& ranks, const Flat& a, const Flat& b) {
  const relayouts::Relayout matrix{a.distribution, relayouts::Op::none, b.distribution,
                                   a.stored.order, b.stored.order};
  const auto from = a.local<const T>(ranks.comm().rank());
  const auto to = b.local<T>(ranks.comm().rank());
  const relayouts::Memory<T> memory{std::span(&from, 1), std::span(&to, 1)};
  const py::gil_scoped_release release;
  relayouts::relayout<T>(ranks.comm(), matrix, memory, ranks.threads());
}

template <class T>
dist::matmul::LaidOut<T> laid_out(const Ranks& ranks, const Cut& cut, const Stored& x) {
  const Flat flat{{cut.grid(), 1, ranks.comm().size()}, x};
  return {flat.distribution, flat.local<T>(ranks.comm().rank()), flat.stored.order};
}

template <class T>
void multiply(const Ranks& ranks, const Cut& cut_a, const py::array& a, const Cut& cut_b,
              const py::array& b, const Cut& cut_c, const py::array& c) {
  const auto [in_a, in_b, in_c] = stored<3>(ranks, {&a, &b, &c});
  const dist::matmul::LaidOutProduct<T> product{.a = laid_out<const T>(ranks, cut_a, in_a),
                                                .b = laid_out<const T>(ranks, cut_b, in_b),
                                                .c = laid_out<T>(ranks, cut_c, in_c)};
  dist::matmul::Method method;
  method.threads = ranks.threads();
  mpi::Phases phases;
  const py::gil_scoped_release release;
  dist::matmul::multiply(ranks.comm(), product, method, phases);
}

}  // namespace

Cut::Cut(const Ranks& ranks, std::vector<index_t> shape, const std::vector<index_t>& grid,
         const std::vector<index_t>& block, std::vector<index_t> owners)
    : grid_(grid_of(shape, grid, block, ranks.comm().size())),
      ranks_(ranks.comm().size()),
      rank_(ranks.comm().rank()) {
  grid_.ranks = std::move(owners);
  [[maybe_unused]] const layout::Distribution checked(grid_, 1, ranks_);
}

layout::Segments Cut::segments(std::size_t axis) const {
  return layout::segments(grid_, axis, rank_);
}

py::tuple Cut::local_shape() const {
  py::list shape;
  for (std::size_t d = 0; d < grid_.axes.size(); ++d) shape.append(layout::count(segments(d)));
  return shape;
}

py::array_t<index_t> Cut::indices(std::size_t axis) const {
  const layout::Segments here = segments(axis);
  py::array_t<index_t> result(layout::count(here));
  for (const layout::Segment& segment : here) {
    for (index_t i = 0; i < segment.global.size(); ++i)
      result.mutable_at(segment.local + i) = segment.global.begin + i;
  }
  return result;
}

py::tuple nearest_grid(const Ranks& ranks, index_t rows, index_t cols) {
  const layout::ProcessGrid grid = layout::nearest_square(ranks.comm().size(), rows, cols);
  return py::make_tuple(grid.rows, grid.cols);
}

void relayout(const Ranks& ranks, const Cut& from, const py::array& a, const Cut& to, py::array b) {
  const index_t bytes = a.itemsize(), unit = std::min<index_t>(bytes & -bytes, sizeof(Unit16));
  const auto [source, target] = stored<2>(ranks, {&a, &b});
  const bool is_matrix = bytes == unit && a.ndim() == 2;
  if (!is_matrix && source.order != StorageOrder::row_major)
    throw py::value_error(
        "local has elements of another size than 1, 2, 4, 8 or 16 bytes: must be "
        "contiguous in C's order");
  const auto grid_of = [&](const Cut& cut) {
    return is_matrix ? cut.grid() : with_units(cut.grid(), bytes / unit);
  };
  const layout::ArrayGrid grid_a = grid_of(from), grid_b = grid_of(to);
  const std::size_t rows = layout::fewest_segments(grid_a, grid_b);
  const index_t size = ranks.comm().size();
  const Flat flat_a{{grid_a, rows, size}, source}, flat_b{{grid_b, rows, size}, target};
  if (unit == 1) return move<std::uint8_t>(ranks, flat_a, flat_b);
  if (unit == 2) return move<std::uint16_t>(ranks, flat_a, flat_b);
  if (unit == 4) return move<std::uint32_t>(ranks, flat_a, flat_b);
  if (unit == 8) return move<std::uint64_t>(ranks, flat_a, flat_b);
  move<Unit16>(ranks, flat_a, flat_b);
}

void matmul_distributed(const Ranks& ranks, const Cut& cut_a, const py::array& a, const Cut& cut_b,
                        const py::array& b, const Cut& cut_c, py::array c) {
  c::dispatch_factor(type_of(c.dtype()), [&](auto t) {
    multiply<typename decltype(t)::type>(ranks, cut_a, a, cut_b, b, cut_c, c);
  });
}

}  // namespace tessera::python
