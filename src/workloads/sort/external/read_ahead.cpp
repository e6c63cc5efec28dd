// Reads and hashes the next slices asynchronously while the previous ones are sorted and written.

#include "workloads/sort/external/read_ahead.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::inline v1::workloads::sort {
namespace {

constexpr index_t line = 64;

}  // namespace

void ReadAhead::prepare(index_t rows) {
  rows_ = rows;
  index_t bytes = 0;
  for (const index_t row : row_bytes_) bytes += round_up(checked_mul(rows, row, "a column"), line);
  for (machine::Buffer<std::byte>& room : rooms_) room = machine::Buffer<std::byte>(bytes);
}

ReadAhead::Pointers ReadAhead::columns_of(std::size_t room, index_t first) {
  Pointers columns;
  std::byte* at = rooms_[room].data();
  for (const index_t row : row_bytes_) {
    columns.push_back(at + first * row);
    at += round_up(rows_ * row, line);
  }
  return columns;
}

void ReadAhead::expect(std::span<const Slice> slices) {
  TESSERA_EXPECTS(!free_.empty() && rows_of(slices) <= rows_);
  Coming& next = coming_.emplace_back();
  next.slices.assign(slices.begin(), slices.end());
  next.room = free_.front().room;
  next.written = free_.front().written;
  free_.pop_front();
  for (const Slice& slice : slices) {
    next.places.push_back(place_of(slice.file));
    if (!next.places.back()) return;  // read on demand
  }
  next.read = reading_.ask([this, &next] { read(next); });
}

const std::optional<io::PlainRows>& ReadAhead::place_of(const std::string& file) {
  const auto known = places_.find(file);
  return known != places_.end() ? known->second
                                : places_.emplace(file, source_.find(file)).first->second;
}

/// Reads in blocks that fit a cache, in which they are then hashed.
void ReadAhead::read(Coming& coming) {
  constexpr index_t block_bytes = index_t{512} << 10;
  const index_t row = std::accumulate(row_bytes_.begin(), row_bytes_.end(), index_t{0});
  const index_t block = std::max<index_t>(1, block_bytes / std::max<index_t>(1, row));
  if (coming.written.valid()) coming.written.get();
  index_t first = 0;
  for (std::size_t s = 0; s < coming.slices.size(); ++s) {
    const Slice& slice = coming.slices[s];
    coming.places[s]->read(
        slice.rows, columns_of(coming.room, first), block, [&](layout::Range some) {
          coming.look += source_.look(
              slice, some, columns_of(coming.room, first + some.begin - slice.rows.begin));
        });
    first += slice.rows.size();
  }
  reading_.count_read(first * row);
}

ReadAhead::Taken ReadAhead::take(std::span<const Slice> slices) {
  if (coming_.empty()) expect(slices);
  Coming& now = coming_.front();
  TESSERA_EXPECTS(rows_of(slices) == rows_of(now.slices));
  if (now.read.valid()) {
    reading_.wait(now.read);
  } else {
    writes_.wait(now.written);
    now.look = source_.read(slices, columns_of(now.room));
  }
  const Taken taken{now.room, now.look};
  coming_.pop_front();
  return taken;
}

}  // namespace tessera::inline v1::workloads::sort
