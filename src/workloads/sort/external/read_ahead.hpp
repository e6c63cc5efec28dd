#pragma once
// Read-ahead of rows from files into memory, concurrent with sorting and writing (triple
// buffering).

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/async_file.hpp"
#include "io/plain_rows.hpp"
#include "machine/buffer.hpp"
#include "workloads/sort/external/pieces.hpp"

namespace tessera::inline v1::workloads::sort {

/// Buffers for rows, column by column: one is in use together with a spare one, the third is
/// written and then read into. A separate thread reads data that is stored as in memory.
class ReadAhead {
 public:
  using Pointers = std::vector<std::byte*>;  // of the columns
  struct RowSource {
    /// Returns the location of rows of the input (empty name) or of a run; empty: use `read`.
    std::function<std::optional<io::PlainRows>(const std::string& file)> find;
    /// Reads the rows of all slices, in the thread that takes them. Returns the sum of `look` over
    /// them.
    std::function<std::uint64_t(std::span<const Slice>, const Pointers&)> read;
    /// Returns the sum over rows of a slice that have arrived, few enough for a cache.
    std::function<std::uint64_t(const Slice&, layout::Range rows, const Pointers&)> look;
  };
  /// Columns of these bytes a row.
  ReadAhead(std::vector<index_t> row_bytes, io::FileQueue& writes, RowSource source)
      : row_bytes_(std::move(row_bytes)), writes_(writes), source_(std::move(source)) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  void prepare(index_t rows);
  /// As RowPieces::expect.
  void expect(std::span<const Slice> slices);

  struct Taken {
    std::size_t room;
    std::uint64_t look;
  };
  /// Waits for the rows that were expected next, and returns their buffer.
  [[nodiscard]] Taken take(std::span<const Slice> slices);
  [[nodiscard]] io::FileTraffic take_traffic() { return reading_.take_traffic(); }
  [[nodiscard]] Pointers columns_of(std::size_t room, index_t first = 0);
  [[nodiscard]] std::size_t spare() const { return spare_; }
  void swap_spare(std::size_t& room) { std::swap(spare_, room); }
  /// Frees a buffer once the queue has completed the writes requested so far.
  void hand_on(std::size_t room) { free_.push_back({room, writes_.last()}); }

 private:
  struct Coming {
    std::vector<Slice> slices;
    std::vector<std::optional<io::PlainRows>> places;  // of the slices
    std::size_t room = 0;
    std::uint64_t look = 0;
    io::FileQueue::Ticket written;  // the buffer's previous contents; invalid: empty
    io::FileQueue::Ticket read;     // invalid: not started
  };
  struct Free {
    std::size_t room;
    io::FileQueue::Ticket written;  // invalid: unused
  };
  const std::optional<io::PlainRows>& place_of(const std::string& file);
  void read(Coming& coming);

  std::vector<index_t> row_bytes_;
  io::FileQueue& writes_;
  RowSource source_;
  index_t rows_ = 0;
  std::map<std::string, std::optional<io::PlainRows>> places_;
  std::array<machine::Buffer<std::byte>, 3> rooms_;
  std::size_t spare_ = 2;
  std::deque<Free> free_ = {{0, {}}, {1, {}}};
  std::deque<Coming> coming_;
  io::FileQueue
      reading_;  // concurrent with the writes; declared last, so that it ends before its buffers
};

}  // namespace tessera::inline v1::workloads::sort
