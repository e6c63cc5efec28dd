#include "io/plain_rows.hpp"

#include <filesystem>

#include "io/home_file.hpp"
#include "io/raw_file.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::io {

std::optional<PlainRows> PlainRows::of(const std::string& file, const Column& column,
                                       Element element) {
  if (!column.member.empty() || !is_stored_as({file, column.path}, element)) return std::nullopt;
  return stored(file, {column});
}

std::optional<PlainRows> PlainRows::stored(const std::string& file,
                                           const std::vector<Column>& columns) {
  const Handle in = open_file(file);
  PlainRows rows;
  for (const Column& column : columns) {
    const Handle dataset = open_dataset(in, {file, column.path});
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF || !is_in_file(dataset, in)) return std::nullopt;
    rows.places_.push_back({static_cast<index_t>(offset), column.row_bytes()});
  }
  rows.file_ = std::filesystem::canonical(file).string();
  return rows;
}

void PlainRows::read(layout::Range rows, std::span<std::byte* const> to, index_t at_once,
                     const std::function<void(layout::Range)>& arrived) const {
  const RawFile raw(file_, RawFile::Mode::read);
  for (index_t begin = rows.begin; begin < rows.end; begin += at_once) {
    const layout::Range some{begin, std::min(rows.end, begin + at_once)};
    for (std::size_t c = 0; c < places_.size(); ++c) {
      const index_t bytes = places_[c].row_bytes;
      raw.read_at(
          places_[c].offset + begin * bytes,
          {to[c] + (begin - rows.begin) * bytes, static_cast<std::size_t>(some.size() * bytes)});
    }
    mpi::heartbeat();
    arrived(some);
  }
}

void PlainRows::will_read(layout::Range rows) const {
  const RawFile raw(file_, RawFile::Mode::read);
  for (const RowLayout& place : places_)
    raw.will_read(place.offset + rows.begin * place.row_bytes, rows.size() * place.row_bytes);
}

}  // namespace tessera::inline v1::io
