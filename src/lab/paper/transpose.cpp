// The ladder of Ruetsch and Micikevicius (2009) on paper: tiles of 32 x 32, blocks of 32 x 8
// threads.

#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/remap.hpp"
#include "lab/paper/kernels.hpp"
#include "lab/paper/warp.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::paper {
namespace {

using transpose::Cell;
using transpose::Step;

constexpr index_t edge = 32, rows_at_once = 8;
constexpr std::size_t each = edge / rows_at_once;  // records of a tile per thread

index_t x_of(const Thread& t) { return t.number % edge; }
index_t y_of(const Thread& t) { return t.number / edge; }

/// A matrix in device memory: rows begin at multiples of 16 bytes.
template <class T>
struct Matrix {
  Matrix(Meter& meter, const char* name, index_t rows_, index_t cols_)
      : rows(rows_),
        cols(cols_),
        ld(machine::device_ld(cols_, sizeof(T))),
        array(global_array(meter, name,
                           std::vector<T>(static_cast<std::size_t>(rows_ * ld), T(~T{0})), ld)) {}
  [[nodiscard]] index_t at(index_t i, index_t j) const { return i * ld + j; }
  [[nodiscard]] T& operator()(index_t i, index_t j) {
    return array.values[static_cast<std::size_t>(at(i, j))];
  }
  index_t rows, cols, ld;
  Array<T> array;
};

constexpr bool turns_inside(Step step) {
  return step != Step::copy && step != Step::copy_shared && step != Step::coarse_grained;
}
constexpr bool moves_tile(Step step) {
  return step != Step::copy && step != Step::copy_shared && step != Step::fine_grained;
}

/// Where a thread's records of a tile come from, and where they go.
template <class T>
struct Tile {
  Matrix<T>& a;
  Matrix<T>& b;
  index_t i0, j0;
};

template <class T>
using Records = std::array<Register<T>, each>;

/// Loads the records in rows y, y + 8, ... of the tile.
template <class T>
Records<T> load_rows(Warp& warp, const Tile<T>& tile, auto inside) {
  Records<T> record;
  for (std::size_t k = 0; k < each; ++k) {
    warp.where([&](const Thread& t) { return inside(t, k); },
               [&] {
                 record[k] = warp.load(tile.a.array, [&](const Thread& t) {
                   return tile.a.at(tile.i0 + y_of(t) + static_cast<index_t>(k) * rows_at_once,
                                    tile.j0 + x_of(t));
                 });
               });
  }
  return record;
}

template <Step step, class T>
void move_directly(Warp& warp, const Tile<T>& tile) {
  const auto row = [&](const Thread& t, std::size_t k) {
    return tile.i0 + y_of(t) + static_cast<index_t>(k) * rows_at_once;
  };
  const auto col = [&](const Thread& t) { return tile.j0 + x_of(t); };
  const auto inside = [&](const Thread& t, std::size_t k) {
    return row(t, k) < tile.a.rows && col(t) < tile.a.cols;
  };
  const Records<T> record = load_rows(warp, tile, inside);
  for (std::size_t k = 0; k < each; ++k) {
    warp.where([&](const Thread& t) { return inside(t, k); },
               [&] {
                 warp.store(
                     tile.b.array,
                     [&](const Thread& t) {
                       return step == Step::copy ? tile.b.at(row(t, k), col(t))
                                                 : tile.b.at(col(t), row(t, k));
                     },
                     [&](const Thread& t) { return record[k][t]; });
               });
  }
}

template <Step step, class T>
void move_through(Block& block, const Tile<T>& tile) {
  constexpr index_t pitch = edge + (step == Step::copy_shared || step == Step::coalesced ? 0 : 1);
  Array<T> shared = block.shared<T>("tile", edge * pitch, pitch);
  const auto within = [](const Thread& t, std::size_t k) {
    return y_of(t) + static_cast<index_t>(k) * rows_at_once;
  };
  block.phase([&](Warp& warp) {
    const auto inside = [&](const Thread& t, std::size_t k) {
      return tile.i0 + within(t, k) < tile.a.rows && tile.j0 + x_of(t) < tile.a.cols;
    };
    const Records<T> record = load_rows(warp, tile, inside);
    for (std::size_t k = 0; k < each; ++k) {
      warp.where([&](const Thread& t) { return inside(t, k); },
                 [&] {
                   warp.store(
                       shared, [&](const Thread& t) { return within(t, k) * pitch + x_of(t); },
                       [&](const Thread& t) { return record[k][t]; });
                 });
    }
  });
  block.phase([&](Warp& warp) {
    Records<T> record;
    for (std::size_t k = 0; k < each; ++k)
      record[k] = warp.load(shared, [&](const Thread& t) {
        return turns_inside(step) ? x_of(t) * pitch + within(t, k) : within(t, k) * pitch + x_of(t);
      });
    const index_t i1 = moves_tile(step) ? tile.j0 : tile.i0,
                  j1 = moves_tile(step) ? tile.i0 : tile.j0;
    const auto inside = [&](const Thread& t, std::size_t k) {
      const index_t row = within(t, k);
      const index_t s = turns_inside(step) ? x_of(t) : row, f = turns_inside(step) ? row : x_of(t);
      return i1 + row < tile.b.rows && j1 + x_of(t) < tile.b.cols && tile.i0 + s < tile.a.rows &&
             tile.j0 + f < tile.a.cols;
    };
    for (std::size_t k = 0; k < each; ++k) {
      warp.where([&](const Thread& t) { return inside(t, k); },
                 [&] {
                   warp.store(
                       tile.b.array,
                       [&](const Thread& t) { return tile.b.at(i1 + within(t, k), j1 + x_of(t)); },
                       [&](const Thread& t) { return record[k][t]; });
                 });
    }
  });
}

/// Returns where element (i, j) of a belongs, or nowhere: parts leave out what their tile has no
/// room for.
template <Step step>
Cell target_of(index_t i, index_t j) {
  const index_t i0 = i / edge * edge, j0 = j / edge * edge;
  const Cell corner = moves_tile(step) ? Cell{j0, i0} : Cell{i0, j0};
  return turns_inside(step) ? Cell{corner.i + j - j0, corner.j + i - i0}
                            : Cell{corner.i + i - i0, corner.j + j - j0};
}

template <Step step, class T>
void run_typed(Meter& meter, const Request& request) {
  const index_t m = request.problem.m, n = request.problem.n;
  const bool turned = moves_tile(step);
  Matrix<T> a(meter, "a", m, n), b(meter, "b", turned ? n : m, turned ? m : n);
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j) a(i, j) = static_cast<T>(i * n + j);
  const index_t down = ceil_div(m, edge), right = ceil_div(n, edge);
  launch(meter, down * right, edge * rows_at_once, [&](Block& block) {
    const Cell cell = step == Step::diagonal
                          ? transpose::diagonal_order(block.number(), down, right)
                          : transpose::row_order(block.number(), right);
    const Tile<T> tile{a, b, cell.i * edge, cell.j * edge};
    if constexpr (step == Step::copy || step == Step::naive)
      block.phase([&](Warp& warp) { move_directly<step>(warp, tile); });
    else
      move_through<step>(block, tile);
  });
  for (index_t i = 0; i < m; ++i) {
    for (index_t j = 0; j < n; ++j) {
      const Cell to = target_of<step>(i, j);
      if (to.i < b.rows && to.j < b.cols)
        require_right(b(to.i, to.j) == static_cast<T>(i * n + j), "of the transpose ladder");
    }
  }
}

template <Step step>
void run(Meter& meter, Request& request) {
  if (request.problem.element_bytes == 4) return run_typed<step, std::uint32_t>(meter, request);
  run_typed<step, std::uint64_t>(meter, request);
}

}  // namespace

std::vector<PaperKernel> transpose_kernels() {
  return {{"transpose", "cuda_copy", 30, 32, run<Step::copy>},
          {"transpose", "cuda_copy_shared", 32, 32, run<Step::copy_shared>},
          {"transpose", "cuda_naive", 32, 29, run<Step::naive>},
          {"transpose", "cuda_coalesced", 32, 32, run<Step::coalesced>},
          {"transpose", "cuda_conflict_free", 32, 32, run<Step::conflict_free>},
          {"transpose", "cuda_fine_grained", 32, 32, run<Step::fine_grained>},
          {"transpose", "cuda_coarse_grained", 32, 32, run<Step::coarse_grained>},
          {"transpose", "cuda_diagonal", 28, 32, run<Step::diagonal>}};
}

}  // namespace tessera::inline v1::paper
