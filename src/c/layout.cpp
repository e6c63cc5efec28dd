// Layouts of matrices.

#include <algorithm>
#include <array>
#include <tuple>

#include "c/context.hpp"
#include "layout/home.hpp"

namespace tessera::inline v1::c {
namespace {

void expect_extents(index_t rows, index_t cols) {
  expect_extent(rows, "rows");
  expect_extent(cols, "cols");
  index_t area = 0;
  expect(!__builtin_mul_overflow(rows, cols, &area), "cols",
         "is {}: a matrix of {} rows has more elements than 64 bits count", cols, rows);
}

layout::ProcessGrid grid_of(const Context& context, const layout::MatrixLayout& matrix,
                            int grid_rows, int grid_cols) {
  const int ranks = context.comm.size();
  if (grid_rows == 0 && grid_cols == 0)
    return layout::nearest_square(ranks, matrix.rows, matrix.cols);
  expect(grid_rows > 0 && grid_cols > 0 && index_t{grid_rows} * grid_cols == ranks, "grid_rows",
         "and grid_cols are {} x {}: must have the {} ranks of the context, or be 0 x 0", grid_rows,
         grid_cols, ranks);
  return {grid_rows, grid_cols};
}

/// Returns the layout in which each rank has the box that it passes. Collective.
layout::MatrixLayout gathered(const Context& context, index_t rows, index_t cols,
                              const int64_t* box) {
  std::array<index_t, 4> mine{};
  agree(context, [&](Fingerprint& same) {
    same.add(rows).add(cols);
    expect_extents(rows, cols);
    expect(box != nullptr, "box", "is a null pointer");
    for (const int low : {0, 2}) {
      const index_t extent = low == 0 ? rows : cols;
      expect(box[low] >= 0 && box[low] <= box[low + 1] && box[low + 1] <= extent, "box",
             "has [{}, {}): must be a range within 0 .. {}", box[low], box[low + 1], extent);
    }
    std::copy_n(box, 4, mine.begin());
  });
  const std::vector<index_t> all = context.comm.all_gather(std::span<const index_t>(mine));
  layout::MatrixLayout boxes{rows, cols, {}};
  for (std::size_t i = 0; i < all.size(); i += mine.size()) {
    boxes.boxes.push_back({{all[i], all[i + 1]}, {all[i + 2], all[i + 3]}});
  }
  layout::require_home(boxes, context.comm.size(), "box");
  return boxes;
}

/// Returns the rows and columns of a rank's array.
std::pair<index_t, index_t> local_shape(const Layout& layout, index_t rank) {
  if (layout.boxes) {
    const layout::Box& box = layout.boxes->of(rank);
    return {box.rows.size(), box.cols.size()};
  }
  if (layout.parts.arrays(rank) == 0) return {0, 0};
  const layout::Box box = layout.parts.local_box(rank, 0);
  return {box.rows.end, box.cols.end};
}

void expect_rank(const Layout& layout, int rank) {
  expect(rank >= 0 && rank < layout.parts.ranks(), "rank", "is {}: must be in 0 .. {}", rank,
         layout.parts.ranks() - 1);
}

std::shared_ptr<Layout> layout_of_boxes(layout::MatrixLayout boxes) {
  return std::make_shared<Layout>(Layout{layout::Distribution(boxes), std::move(boxes)});
}

}  // namespace

void agree(const Context& context, const std::function<void(Fingerprint&)>& checks) {
  mpi::Agreement agreement(context.comm, "check arguments");
  Fingerprint same;
  if (!agreement.check([&] { checks(same); })) same = {};
  const std::size_t most = agreement.largest(same.value());
  const std::size_t least = agreement.largest(-same.value());
  agreement.settle();
  expect(agreement.value(most) == agreement.least(least), "arguments",
         "differ between the ranks: only memory, boxes and leading dimensions may");
}

Home home_of(const Context& context, const char* name, Storage storage, tessera_layout layout,
             index_t ld) {
  const std::string argument = std::string("layout_") + name;
  const auto found = layout_of(layout, argument.c_str());
  const layout::Distribution& parts = found->parts;
  expect(parts.ranks() == context.comm.size(), argument,
         "has {} ranks: must have the {} of context", parts.ranks(), context.comm.size());
  const auto [rows, cols] = local_shape(*found, context.comm.rank());
  return {name, found, {rows, cols, storage}, ld};
}

void expect_shape(const Home& x, index_t rows, index_t cols, const char* reason) {
  if (x.rows() == rows && x.cols() == cols) return;
  throw Error::of_argument(
      std::string("layout_") + x.name,
      fmt::format("is {} x {}: must be {} x {}, {}", x.rows(), x.cols(), rows, cols, reason));
}

void expect_memory(const Home& home, const void* data, index_t bytes) {
  expect(home.ld != -1, home.name, "has another shape than this rank's box, {} x {}",
         home.shape.rows, home.shape.cols);
  expect_matrix(home.name, data, home.ld, home.shape, bytes);
}

}  // namespace tessera::inline v1::c

int tessera_layout_grid(tessera_context context, int64_t rows, int64_t cols, int grid_rows,
                        int grid_cols, tessera_layout* layout) {
  using namespace tessera;
  return c::create(layout, "layout", [&] {
    const auto on = c::context_of(context);
    c::expect_extents(rows, cols);
    const layout::ProcessGrid grid = c::grid_of(*on, {rows, cols, {}}, grid_rows, grid_cols);
    return c::layout_of_boxes(layout::grid_blocks(layout::BlockMap(rows, grid.rows),
                                                  layout::BlockMap(cols, grid.cols), grid));
  });
}

int tessera_layout_box(tessera_context context, int64_t rows, int64_t cols, const int64_t box[4],
                       tessera_layout* layout) {
  using namespace tessera;
  return c::create(layout, "layout", [&] {
    const auto on = c::context_of(context);
    return c::layout_of_boxes(c::gathered(*on, rows, cols, box));
  });
}

int tessera_layout_cyclic(tessera_context context, int64_t rows, int64_t cols, int64_t row_block,
                          int64_t col_block, int grid_rows, int grid_cols, int row_source,
                          int col_source, tessera_layout* layout) {
  using namespace tessera;
  return c::create(layout, "layout", [&] {
    const auto on = c::context_of(context);
    c::expect_extents(rows, cols);
    c::expect(row_block >= 1, "row_block", "is {}: must be at least 1", row_block);
    c::expect(col_block >= 1, "col_block", "is {}: must be at least 1", col_block);
    const int ranks = on->comm.size();
    c::expect(grid_rows >= 1 && grid_cols >= 1 && index_t{grid_rows} * grid_cols <= ranks,
              "grid_rows", "and grid_cols are {} x {}: must have at most the {} ranks of context",
              grid_rows, grid_cols, ranks);
    c::expect(row_source >= 0 && row_source < grid_rows, "row_source", "is {}: must be in 0 .. {}",
              row_source, grid_rows - 1);
    c::expect(col_source >= 0 && col_source < grid_cols, "col_source", "is {}: must be in 0 .. {}",
              col_source, grid_cols - 1);
    const layout::BlockCyclic cyclic{
        {.extent = rows, .block = row_block, .parts = grid_rows, .source = row_source},
        {.extent = cols, .block = col_block, .parts = grid_cols, .source = col_source}};
    return std::make_shared<c::Layout>(c::Layout{layout::Distribution(cyclic, ranks)});
  });
}

int tessera_layout_local(tessera_layout layout, int rank, int64_t* rows, int64_t* cols) {
  using namespace tessera;
  return c::guarded([&] {
    const auto found = c::layout_of(layout, "layout");
    c::expect_rank(*found, rank);
    c::expect(rows != nullptr, "rows", "is a null pointer");
    c::expect(cols != nullptr, "cols", "is a null pointer");
    std::tie(*rows, *cols) = c::local_shape(*found, rank);
  });
}

int tessera_layout_box_of(tessera_layout layout, int rank, int64_t box[4]) {
  using namespace tessera;
  return c::guarded([&] {
    const auto found = c::layout_of(layout, "layout");
    c::expect_rank(*found, rank);
    c::expect(box != nullptr, "box", "is a null pointer");
    c::expect(found->boxes.has_value(), "layout", "is block-cyclic: has no box for each rank");
    const layout::Box& one = found->boxes->of(rank);
    box[0] = one.rows.begin;
    box[1] = one.rows.end;
    box[2] = one.cols.begin;
    box[3] = one.cols.end;
  });
}

int tessera_layout_free(tessera_layout* layout) {
  using namespace tessera::c;
  return guarded([&] { Handles<tessera_layout, Layout>::all().free(layout, "layout"); });
}
