// The vectorised device kernel's own loops, executed on the CPU tile by tile and thread by thread:
// they read within rows of a, and write each record of b once, in vectors aligned to 16 bytes.

#include "kernels/transpose/turn_moves.hpp"

#include <gtest/gtest.h>

#include "kernels/transpose/records_test.hpp"
#include "kernels/transpose/tiles_test.hpp"

namespace tessera::transpose {
namespace {

/// Counts the accesses to each byte of a matrix's rows.
class Watch {
 public:
  explicit Watch(const ConstRecords& view)
      : view_(view), counts_(static_cast<std::size_t>(view.rows * view.cols * view.bytes)) {}

  /// Counts an access; returns whether it is within one row.
  bool touch(const std::byte* from, index_t bytes) {
    const index_t at = from - view_.data, row_bytes = view_.cols * view_.bytes;
    const index_t row = at < 0 ? -1 : at / view_.stride(), inside = at - row * view_.stride();
    if (row < 0 || row >= view_.rows || inside + bytes > row_bytes) return false;
    for (index_t b = 0; b < bytes; ++b)
      ++counts_[static_cast<std::size_t>(row * row_bytes + inside + b)];
    return true;
  }
  [[nodiscard]] bool all_once() const {
    return std::all_of(counts_.begin(), counts_.end(), [](int count) { return count == 1; });
  }

 private:
  ConstRecords view_;
  std::vector<int> counts_;
};

/// Move of a tile that checks the device's accesses.
struct WatchedMove {
  std::byte* tile;
  int size;
  Watch *read_from, *written;
  int *faults, *singles;  ///< records stored individually

  void expect(bool right) const { *faults += right ? 0 : 1; }
  template <int bytes>
  void expect_in_tile(int at) const {
    expect(at >= 0 && at + bytes <= size && at % bytes == 0);
  }

  void copy_vector(int to, const std::byte* from) const {
    expect_in_tile<16>(to);
    expect(beyond(from, 16) == 0 && read_from->touch(from, 16));
    std::memcpy(tile + to, from, 16);
  }
  template <int bytes>
  void copy_record(int to, const std::byte* from) const {
    expect_in_tile<bytes>(to);
    expect(beyond(from, bytes) == 0 && read_from->touch(from, bytes));
    std::memcpy(tile + to, from, bytes);
  }
  template <int bytes>
  [[nodiscard]] Word<bytes> read(int at) const {
    expect_in_tile<bytes>(at);
    Word<bytes> word;
    std::memcpy(&word, tile + at, bytes);
    return word;
  }
  void store_vector(std::byte* to, const Vec16& v) const {
    expect(beyond(to, 16) == 0 && written->touch(to, 16));
    std::memcpy(to, &v, 16);
  }
  template <int bytes>
  void store_record(std::byte* to, const Word<bytes>& record) const {
    expect(beyond(to, bytes) == 0 && written->touch(to, bytes));
    ++*singles;
    std::memcpy(to, &record, bytes);
  }
  [[nodiscard]] unsigned pick(unsigned x, unsigned y, unsigned selector) const {
    const std::uint64_t both = x | static_cast<std::uint64_t>(y) << 32;
    unsigned picked = 0;
    for (unsigned b = 0; b < 4; ++b)
      picked |= static_cast<unsigned>(both >> (8 * (selector >> (4 * b) & 7)) & 0xFF) << (8 * b);
    return picked;
  }
  [[nodiscard]] unsigned join(unsigned low, unsigned high, int first) const {
    return static_cast<unsigned>((low | static_cast<std::uint64_t>(high) << 32) >> first);
  }
};

template <class Tile, bool on_vectors, int window>
void expect_right(Fenced& a, Fenced& b) {
  constexpr int extra = extra_rows<Tile>(window), size = Tile::size(extra);
  const ConstRecords from = a.view();
  const Records to = b.view();
  const index_t down = ceil_div(from.rows + extra, Tile::rows),
                right = ceil_div(from.cols, Tile::cols);
  const TurnTask task{from.data,
                      from.stride(),
                      to.data,
                      to.stride(),
                      from.rows,
                      from.cols,
                      static_cast<unsigned>(down)};
  Watch read(from), written(to);
  int faults = 0, singles = 0;
  std::vector<Vec16> tile(static_cast<std::size_t>(ceil_div(size, 16)));
  for (unsigned number = 0; number < static_cast<unsigned>(down * right); ++number) {
    std::memset(tile.data(), 0xFF, static_cast<std::size_t>(size));  // NaN marks unwritten bytes
    const WatchedMove move{
        reinterpret_cast<std::byte*>(tile.data()), size, &read, &written, &faults, &singles};
    const TilePart part = part_of<Tile, window>(task, number);
    for (int thread = 0; thread < Tile::threads; ++thread) {
      load_vectors<Tile, on_vectors, window>(thread, part, move);
      load_ends<Tile, window>(thread, part, move);
    }
    for (int thread = 0; thread < Tile::threads; ++thread) {
      if constexpr (window == 0)
        store_patches<Tile, on_vectors>(thread, part, move);
      else
        store_windows<Tile, on_vectors, window>(thread, part, move);
    }
  }
  EXPECT_EQ(faults, 0);
  EXPECT_LE(singles, 2 * (Tile::vector - 1) * to.rows);  // at the ends of rows of b
  EXPECT_TRUE(written.all_once());
  EXPECT_EQ(b.spoiled(), 0);
  EXPECT_EQ(differences(from, to), 0);
}

template <class Tile>
struct Moves : public ::testing::Test {};
TYPED_TEST_SUITE(Moves, EveryTile);

template <class Tile>
std::vector<std::pair<index_t, index_t>> shapes() {
  constexpr index_t r = Tile::rows, c = Tile::cols;
  return {{1, 1},     {1, c + 3},     {r + 1, 1},         {r - 1, c},
          {r, c + 1}, {r + 1, c - 1}, {2 * r + 3, c + 7}, {r / 2, 2 * c}};
}

TYPED_TEST(Moves, WriteEveryRecordOnceWhereRowsBeginOnVectors) {
  using Tile = TypeParam;
  constexpr index_t vector = Tile::vector;
  for (const auto& [rows, cols] : shapes<Tile>()) {
    Fenced a(rows, cols, round_up(cols, vector), Tile::bytes, 16);
    Fenced b(cols, rows, round_up(rows, vector) + vector, Tile::bytes, 32);
    a.fill(7);
    expect_right<Tile, true, 0>(a, b);
  }
}

TYPED_TEST(Moves, WriteEveryRecordOnceWhereverRowsBegin) {
  using Tile = TypeParam;
  constexpr index_t vector = Tile::vector, bytes = Tile::bytes;
  if constexpr (bytes < 16) {
    for (const auto& [rows, cols] : shapes<Tile>()) {
      for (index_t off = 0; off < vector; off += std::max<index_t>(1, vector / 4)) {
        SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols) + ", " +
                     std::to_string(off));
        Fenced a(rows, cols, cols + off, bytes, off * bytes),
            on(rows, cols, round_up(cols, vector), bytes);
        a.fill(7), on.fill(7);
        Fenced b(cols, rows, round_up(rows, vector), bytes, 16);
        expect_right<Tile, false, 0>(a, b);
        Fenced c(cols, rows, rows + off, bytes, (vector - off) * bytes), d = c;
        expect_right<Tile, false, 32>(a, c);
        expect_right<Tile, true, 32>(on, d);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::transpose
