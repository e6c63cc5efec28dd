// Rectangles in place by chunks of columns. An m x n matrix, m < n, is viewed as m x k x b (b
// columns per chunk). First the k chunks of every row move as records of b elements until the m
// rows of each chunk are contiguous; then each chunk is transposed through scratch in the cache.
// Records follow the cycles of their permutation, cut into pieces for the threads. Columns that
// fill no chunk are saved in scratch. An n x m matrix takes the inverse steps in reverse order.

#include "kernels/transpose/in_place.hpp"
#include "kernels/transpose/leaf.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::transpose {
namespace {

/// A part of a cycle, or a whole one: `count` places from `first` on, each of which receives the
/// record of the next.
struct Piece {
  index_t first, count;
  index_t next = -1;  ///< the piece whose first record goes to this one's last place; -1: itself
};

/// The in-place transposition of rows x cols records of `bytes` bytes.
class RecordMover {
 public:
  RecordMover(std::byte* data, index_t rows, index_t cols, index_t bytes, int threads)
      : data_(data),
        rows_(rows),
        cols_(cols),
        bytes_(bytes),
        most_(std::max<index_t>(1, rows * cols / (8 * threads))),
        grain_divisor_(16 * threads) {}

  void run() {
    if (rows_ == 1 || cols_ == 1) return;
    std::vector<bool> done(static_cast<std::size_t>(rows_ * cols_));
    for (index_t start = 1; start + 1 < rows_ * cols_; ++start) {
      if (done[static_cast<std::size_t>(start)]) continue;
      cut_cycle(start, done);
      if (pieces_.size() >= 8192) move_pieces();
    }
    move_pieces();
  }

 private:
  [[nodiscard]] std::byte* at(index_t place) const { return data_ + place * bytes_; }
  /// Returns the place of the record that belongs into `place`.
  [[nodiscard]] index_t source(index_t place) const {
    return place % rows_ * cols_ + place / rows_;
  }

  void cut_cycle(index_t start, std::vector<bool>& done) {
    const std::size_t before = pieces_.size();
    pieces_.push_back({start, 0});
    index_t place = start;
    do {
      done[static_cast<std::size_t>(place)] = true;
      if (pieces_.back().count == most_) pieces_.push_back({place, 0});
      ++pieces_.back().count;
      place = source(place);
    } while (place != start);
    const std::size_t parts = pieces_.size() - before;
    if (parts == 1 && pieces_.back().count == 1) pieces_.pop_back();
    for (std::size_t p = 0; parts > 1 && p < parts; ++p)
      pieces_[before + p].next = static_cast<index_t>(before + (p + 1) % parts);
  }

  /// Moves the pieces after saving the records that cut cycles overwrite.
  void move_pieces() {
    std::vector<index_t> saved(pieces_.size(), -1);
    index_t count = 0;
    for (const Piece& piece : pieces_)
      if (piece.next >= 0) saved[static_cast<std::size_t>(piece.next)] = count++;
    const machine::Buffer<std::byte> aside(count * bytes_);
    for (std::size_t p = 0; p < pieces_.size(); ++p)
      if (saved[p] >= 0)
        copy(const_cast<std::byte*>(aside.data()) + saved[p] * bytes_, at(pieces_[p].first));
    const auto size = static_cast<index_t>(pieces_.size());
    machine::parallel_for(0, size, ceil_div(size, grain_divisor_), [&](index_t begin, index_t end) {
      machine::Buffer<std::byte> own(bytes_);
      for (index_t p = begin; p < end; ++p) {
        const Piece& piece = pieces_[static_cast<std::size_t>(p)];
        if (piece.next < 0) copy(own.data(), at(piece.first));
        move_piece(piece,
                   piece.next < 0
                       ? own.data()
                       : aside.data() + saved[static_cast<std::size_t>(piece.next)] * bytes_);
      }
    });
    pieces_.clear();
  }

  void move_piece(const Piece& piece, const std::byte* last) const {
    index_t place = piece.first, from = source(place);
    for (index_t left = piece.count; left > 1; --left) {
      const index_t next = source(from);
      for (index_t k = 0; k < std::min<index_t>(bytes_, 512); k += line_bytes)
        __builtin_prefetch(at(next) + k);
      copy(at(place), at(from));
      place = from;
      from = next;
    }
    copy(at(place), last);
  }

  void copy(std::byte* to, const std::byte* from) const {
    std::memcpy(to, from, static_cast<std::size_t>(bytes_));
  }

  std::byte* data_;
  index_t rows_, cols_, bytes_;
  index_t most_;  ///< records in a piece
  index_t grain_divisor_;
  std::vector<Piece> pieces_;
};

/// A matrix of m rows with k * b + rest elements, or as many columns.
class Chunked {
 public:
  Chunked(std::byte* data, index_t bytes, const ChunkPlan& plan, const Tuning& tuning)
      : data_(data),
        bytes_(bytes),
        plan_(plan),
        threads_(threads_of(tuning)),
        rest_(plan.m * plan.rest * bytes) {}

  /// Transposes from m rows.
  void wide() {
    const auto [m, k, b, rest] = plan_;
    if (rest > 0) {
      transpose_block(view(data_ + k * b * bytes_, m, rest, length()),
                      view(rest_.data(), rest, m, m));
      for (index_t i = 1; i < m; ++i) move_row(i * k * b, i * length());
    }
    RecordMover(data_, m, k, b * bytes_, threads_).run();
    turn_chunks(m, b);
    if (rest > 0)
      std::memcpy(end_of_chunks(), rest_.data(), static_cast<std::size_t>(rest_.size()));
  }

  /// Transposes to m rows.
  void tall() {
    const auto [m, k, b, rest] = plan_;
    if (rest > 0)
      transpose_block(view(end_of_chunks(), rest, m, m), view(rest_.data(), m, rest, rest));
    turn_chunks(b, m);
    RecordMover(data_, k, m, b * bytes_, threads_).run();
    for (index_t i = m; rest > 0 && i-- > 0;) {
      move_row(i * length(), i * k * b);
      std::memcpy(data_ + (i * length() + k * b) * bytes_, rest_.data() + i * rest * bytes_,
                  static_cast<std::size_t>(rest * bytes_));
    }
  }

 private:
  [[nodiscard]] index_t length() const { return plan_.k * plan_.b + plan_.rest; }
  [[nodiscard]] std::byte* end_of_chunks() const {
    return data_ + plan_.m * plan_.k * plan_.b * bytes_;
  }
  [[nodiscard]] Records view(std::byte* data, index_t rows, index_t cols, index_t ld) const {
    return {data, rows, cols, ld, bytes_};
  }

  /// Moves the chunks of a row; positions in elements.
  void move_row(index_t to, index_t from) const {
    std::memmove(data_ + to * bytes_, data_ + from * bytes_,
                 static_cast<std::size_t>(plan_.k * plan_.b * bytes_));
  }

  /// Transposes every chunk, rows x cols, in place.
  void turn_chunks(index_t rows, index_t cols) const {
    const index_t size = rows * cols * bytes_;
    machine::parallel_for(
        0, plan_.k, ceil_div(plan_.k, index_t{4} * threads_), [&](index_t begin, index_t end) {
          machine::Buffer<std::byte> scratch(size);
          for (index_t chunk = begin; chunk < end; ++chunk) {
            std::byte* const here = data_ + chunk * size;
            transpose_block(view(here, rows, cols, cols), view(scratch.data(), cols, rows, rows));
            std::memcpy(here, scratch.data(), static_cast<std::size_t>(size));
          }
        });
  }

  std::byte* data_;
  index_t bytes_;
  ChunkPlan plan_;
  int threads_;
  machine::Buffer<std::byte> rest_;
};

}  // namespace

ChunkPlan chunk_plan(index_t m, index_t n, index_t bytes, const ChunkSizes& sizes) {
  const index_t least = std::min(n, ceil_div(sizes.run, bytes));
  const index_t most = std::clamp(sizes.chunk / (m * bytes), least, n);
  index_t b = most;
  while (b >= least && n % b != 0) --b;
  if (b < least) b = most;
  return {m, n / b, b, n % b};
}

index_t chunks_scratch_bytes(const ChunkPlan& plan, index_t bytes, int threads) {
  return plan.m * (plan.b * threads + plan.rest) * bytes + plan.m * plan.k / 8;
}

bool uses_chunks(const ChunkPlan& plan, index_t bytes, int threads) {
  return chunks_scratch_bytes(plan, bytes, threads) <= index_t{48} << 20;
}

void in_place_chunks(std::byte* data, index_t rows, index_t cols, index_t bytes,
                     const Tuning& tuning, const ChunkSizes& sizes) {
  const ChunkPlan plan = chunk_plan(std::min(rows, cols), std::max(rows, cols), bytes, sizes);
  Chunked chunked(data, bytes, plan, tuning);
  machine::parallel(threads_of(tuning), [&] { rows <= cols ? chunked.wide() : chunked.tall(); });
}

}  // namespace tessera::inline v1::transpose
