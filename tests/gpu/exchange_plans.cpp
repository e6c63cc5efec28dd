// Plans of relayouts and of permuted axes on resident arrays.

#include "dist/relayout/relayout.hpp"
#include "dist/transpose/permute_plan.hpp"
#include "exchange_bench.hpp"

namespace tessera::exchange_bench {
namespace {

namespace dr = dist::relayout;
namespace dt = dist::transpose;

std::uint64_t code(index_t place) { return random_bits(1, 4, place); }

/// Words of this rank in device memory.
class Words {
 public:
  explicit Words(index_t count) : there_(8 * count, device::Home::device), here_(count) {
    std::fill(here_.begin(), here_.end(), 0);
    device::upload(here(), row(there_.data()), 0);
  }
  [[nodiscard]] std::byte* data() const { return there_.data(); }
  /// Sets word i to f(i).
  template <class F>
  void fill(const F& f) {
#pragma omp parallel for
    for (index_t i = 0; i < here_.size(); ++i) here_[i] = f(i);
    device::upload(here(), row(there_.data()), 0);
  }
  const machine::Buffer<std::uint64_t>& download() {
    device::download(row(there_.data()), row(reinterpret_cast<std::byte*>(here_.data())), 0);
    return here_;
  }

 private:
  [[nodiscard]] MatrixView<const std::byte> here() const {
    return row(reinterpret_cast<const std::byte*>(here_.data()));
  }
  template <class Byte>
  [[nodiscard]] MatrixView<Byte> row(Byte* data) const {
    return {data, 1, there_.size(), there_.size()};
  }

  device::Allocation there_;
  machine::Buffer<std::uint64_t> here_;
};

/// b = op(a) of n x n words, from rows to blocks of 64 in turn.
struct RelayoutCase {
  RelayoutCase(const DeviceExchange& exchange, index_t n_, dr::Op op_)
      : comm(exchange.comm()),
        n(n_),
        op(op_),
        matrix{layout::Distribution(layout::row_blocks(n, n, comm.size())), op, cyclic()},
        plan(exchange, std::span(&matrix, 1), 8),
        a_box(matrix.a.local_box(comm.rank(), 0)),
        b_box(matrix.b.local_box(comm.rank(), 0)),
        a(a_box.area()),
        b(b_box.area()) {
    const index_t first = layout::row_blocks(n, n, comm.size()).of(comm.rank()).rows.begin;
    a.fill([&](index_t i) { return code(first * n + i); });
  }
  [[nodiscard]] layout::Distribution cyclic() const {
    const layout::ProcessGrid grid = layout::nearest_square(comm.size(), n, n);
    return {layout::BlockCyclic{{n, 64, grid.rows}, {n, 64, grid.cols}}, comm.size()};
  }
  void run() {
    const dr::LocalArray<const std::uint64_t> from{reinterpret_cast<const std::uint64_t*>(a.data()),
                                                   a_box.cols.end};
    const dr::LocalArray<std::uint64_t> to{reinterpret_cast<std::uint64_t*>(b.data()),
                                           b_box.cols.end};
    const dr::Memory<std::uint64_t> memory{std::span(&from, 1), std::span(&to, 1)};
    plan.execute<std::uint64_t>(std::span(&memory, 1));
  }
  [[nodiscard]] bool right() {
    const machine::Buffer<std::uint64_t>& got = b.download();
    index_t wrong = 0;
    for (const auto& part : matrix.b.parts()) {
      if (part.rank != comm.rank()) continue;
      for (const auto& [rows, row] : matrix.b.row_segments(part))
        for (const auto& [cols, col] : matrix.b.col_segments(part))
          for (index_t i = 0; i < rows.size(); ++i)
            for (index_t j = 0; j < cols.size(); ++j) {
              const index_t r = rows.begin + i, c = cols.begin + j;
              wrong += got[(row + i) * b_box.cols.end + col + j] !=
                       code(op == dr::Op::none ? r * n + c : c * n + r);
            }
    }
    return comm.sum(wrong) == 0;
  }

  Communicator comm;
  index_t n;
  dr::Op op;
  dr::Relayout matrix;
  dr::Plan plan;
  layout::Box a_box, b_box;
  Words a, b;
};

/// n^3 pairs of words between slabs along the first axis and slabs along axis `cut`.
struct SlabCase {
  SlabCase(const DeviceExchange& exchange, index_t n_, std::vector<int> axes_, std::size_t cut_)
      : comm(exchange.comm()),
        n(n_),
        axes(std::move(axes_)),
        cut(cut_),
        plan(exchange, {slabs(0), axes, slabs(cut), 16}),
        a(2 * plan.a_elements()),
        b(2 * plan.b_elements()) {
    const index_t first = layout::segments(slabs(0), 0, comm.rank()).front().global.begin;
    a.fill([&](index_t i) { return code(first * n * n + i / 2); });
  }
  [[nodiscard]] layout::ArrayGrid slabs(std::size_t along) const {
    layout::ArrayGrid grid;
    for (std::size_t d = 0; d < 3; ++d)
      grid.axes.push_back(layout::in_shares({n, d == along ? comm.size() : 1}));
    return grid;
  }
  void run() { plan.execute(static_cast<const std::byte*>(a.data()), b.data()); }
  [[nodiscard]] bool right() {
    const machine::Buffer<std::uint64_t>& got = b.download();
    const layout::Range mine = layout::segments(slabs(cut), cut, comm.rank()).front().global;
    index_t low[3] = {}, size[3] = {n, n, n}, wrong = 0;
    low[cut] = mine.begin;
    size[cut] = mine.size();
#pragma omp parallel for reduction(+ : wrong)
    for (index_t i = 0; i < got.size(); ++i) {
      const index_t at = i / 2;
      const index_t here[3] = {low[0] + at / (size[1] * size[2]), low[1] + at / size[2] % size[1],
                               low[2] + at % size[2]};
      index_t there[3];
      for (std::size_t k = 0; k < 3; ++k) there[static_cast<std::size_t>(axes[k])] = here[k];
      wrong += got[i] == code((there[0] * n + there[1]) * n + there[2]) ? 0 : 1;
    }
    return comm.sum(wrong) == 0;
  }

  Communicator comm;
  index_t n;
  std::vector<int> axes;
  std::size_t cut;
  dt::PermutePlan plan;
  Words a, b;
};

template <class Case, class... Arguments>
void measure(Bench& bench, Table& table, const char* called, double all_bytes, index_t n,
             Arguments... arguments) {
  const double bytes = all_bytes / bench.comm.size();
  for (const DeviceExchange& exchange : bench.transports) {
    AllToAll all(exchange, static_cast<index_t>(bytes));
    const int repetitions = bench.repetitions(exchange);
    const double links = median_seconds(bench.comm, repetitions, [&] { all.run(); });
    Case x(exchange, n, arguments...);
    const double seconds = median_seconds(bench.comm, repetitions, [&] { x.run(); });
    table.add({called, std::string(name(exchange.transport())), std::to_string(n),
               human_seconds(seconds), gb_per_s(bytes, seconds),
               fmt::format("{:.3f}", links / seconds), bench.verdict(x.right())});
  }
}

}  // namespace

void plans(Bench& bench) {
  Table table({"plan", "by", "n", "median", "GB/s a rank", "of its all-to-all", "checked"});
  const index_t n = bench.quick ? 2048 : 24576, cube = bench.quick ? 160 : 640;
  const auto squared = static_cast<double>(n) * static_cast<double>(n),
             cubed = static_cast<double>(cube) * static_cast<double>(cube * cube);
  measure<RelayoutCase>(bench, table, "rows to 64-cyclic", 8 * squared, n, dr::Op::none);
  measure<RelayoutCase>(bench, table, "the same, transposed", 8 * squared, n, dr::Op::transpose);
  measure<SlabCase>(bench, table, "slabs, axes 1 0 2", 16 * cubed, cube, std::vector{1, 0, 2},
                    std::size_t{0});
  measure<SlabCase>(bench, table, "slabs, cut to the last", 16 * cubed, cube, std::vector{0, 1, 2},
                    std::size_t{2});
  measure<SlabCase>(bench, table, "slabs, axes 2 0 1", 16 * cubed, cube, std::vector{2, 0, 1},
                    std::size_t{0});
  bench.show(table);
}

}  // namespace tessera::exchange_bench
