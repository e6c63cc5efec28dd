#include "io/chunks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace tessera::inline v1::io {
namespace {

/// Returns the filters of a pipeline; none if one is not known here, or two are deflate.
std::optional<Filters> known_filters(hid_t creation) {
  Filters filters;
  for (unsigned f = 0; f < static_cast<unsigned>(H5Pget_nfilters(creation)); ++f) {
    unsigned flags = 0;
    std::array<unsigned, 1> parameter{};
    std::size_t values = parameter.size();
    const H5Z_filter_t id =
        H5Pget_filter2(creation, f, &flags, &values, parameter.data(), 0, nullptr, nullptr);
    if (id == H5Z_FILTER_DEFLATE && !position_of_deflate(filters))
      filters.push_back({Filter::Kind::deflate, parameter[0]});
    else if (id == H5Z_FILTER_FLETCHER32)
      filters.push_back({Filter::Kind::fletcher32});
    else if (id == H5Z_FILTER_SHUFFLE)
      filters.push_back({Filter::Kind::shuffle, parameter[0]});
    else
      return std::nullopt;
  }
  return filters;
}

}  // namespace

hsize_t Chunking::stored_bytes(unsigned mask) const {
  return bytes_before(filters, filters.size(), mask, bytes);
}

bool Chunking::is_deflated(unsigned mask) const {
  const auto deflate = position_of_deflate(filters);
  return deflate && is_applied(mask, *deflate);
}

std::optional<Chunking> chunking_of(hid_t dataset, hid_t creation, const std::string& name) {
  if (H5Pget_layout(creation) != H5D_CHUNKED) return std::nullopt;
  const Handle type(h5_check(H5Dget_type(dataset), name), H5Tclose);
  if (!is_self_contained(type)) return std::nullopt;
  auto filters = known_filters(creation);
  if (!filters) return std::nullopt;
  Chunking chunking;
  chunking.filters = std::move(*filters);
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  const int rank = H5Pget_chunk(creation, static_cast<int>(extents.size()), extents.data());
  require(rank >= 0, ExitCode::bad_data, name + " has no chunk extents");
  for (int d = 0; d < rank; ++d)
    chunking.extents.push_back(std::max<hsize_t>(1, extents[static_cast<std::size_t>(d)]));
  chunking.bytes = H5Tget_size(type);
  for (const hsize_t extent : chunking.extents) chunking.bytes *= extent;
  return chunking;
}

void throw_damaged_chunk(const std::string& name, std::span<const hsize_t> chunk,
                         const std::string& what) {
  throw Error(ExitCode::bad_data, fmt::format("{} is damaged: its chunk at [{}] {}; make the file "
                                              "again",
                                              name, fmt::join(chunk, ", "), what));
}

namespace {

/// Decodes the first chunk in the index.
void require_first_chunk(hid_t dataset, hid_t space, const Chunking& chunking,
                         const std::string& name) {
  std::vector<hsize_t> chunk(chunking.extents.size());
  StoredChunk first;
  haddr_t address = 0;
  hsize_t stored = 0;
  h5_check_rc(H5Dget_chunk_info(dataset, space, 0, chunk.data(), &first.mask, &address, &stored),
              name);
  read_stored_chunk(dataset, chunk, chunking, name, first);
  ChunkDecoder decoder(chunking.filters, chunking.bytes);
  (void)decode_chunk(decoder, first, chunk, name);
}

}  // namespace

ChunkGrid::ChunkGrid(std::span<const layout::Range> box, std::span<const hsize_t> extents)
    : extents_(extents.begin(), extents.end()) {
  for (std::size_t d = 0; d < box.size(); ++d) {
    const auto extent = static_cast<index_t>(extents[d]);
    const index_t first = box[d].begin / extent;
    first_.push_back(static_cast<hsize_t>(first));
    counts_.push_back(box[d].empty() ? 0 : ceil_div(box[d].end, extent) - first);
    count_ *= counts_.back();
  }
}

std::vector<hsize_t> ChunkGrid::position(index_t chunk) const {
  std::vector<hsize_t> at(first_);
  for (std::size_t d = at.size(); d-- > 0; chunk /= counts_[d])
    at[d] = (at[d] + static_cast<hsize_t>(chunk % counts_[d])) * extents_[d];
  return at;
}

void read_stored_chunk(hid_t dataset, std::span<const hsize_t> chunk, const Chunking& chunking,
                       const std::string& name, StoredChunk& to) {
  hsize_t stored = 0;
  // An error for a chunk that is not stored; whether its index is damaged, too, H5Dread finds.
  if (H5Dget_chunk_storage_size(dataset, chunk.data(), &stored) < 0) stored = 0;
  const hsize_t most = 2 * chunking.stored_bytes(0) + 1024;
  if (stored > most)
    throw_damaged_chunk(name, chunk,
                        fmt::format("has {} bytes, at most {} are possible", stored, most));
  to.bytes.resize(stored);
  if (stored == 0) return;
  h5_check_rc(H5Dread_chunk(dataset, H5P_DEFAULT, chunk.data(), &to.mask, to.bytes.data()),
              ExitCode::bad_data, name + " has a chunk that cannot be read");
}

void require_whole_chunks(hid_t dataset, hid_t creation, const DatasetName& name) {
  const auto chunking = chunking_of(dataset, creation, name.text());
  if (!chunking) return;
  const Handle space(h5_check(H5Dget_space(dataset), name.text()), H5Sclose);
  hsize_t count = 0;
  h5_check_rc(H5Dget_num_chunks(dataset, space, &count), name.text());
  if (count == 0) return;
  const hsize_t bytes = chunking->stored_bytes(0), stored = H5Dget_storage_size(dataset);
  constexpr double most_of_a_byte = 1032;  // a byte of a deflate stream expands to at most these
  const double whole = static_cast<double>(count) * static_cast<double>(chunking->bytes);
  require(position_of_deflate(chunking->filters)
              ? whole <= most_of_a_byte * static_cast<double>(stored)
              : stored == count * bytes,
          ExitCode::bad_data,
          fmt::format("{} is damaged: its {} chunks of {} bytes have {} bytes in the file; make "
                      "the file again",
                      name.text(), count, bytes, stored));
  if (position_of_deflate(chunking->filters))
    require_first_chunk(dataset, space, *chunking, name.text());
}

std::span<const std::byte> decode_chunk(ChunkDecoder& decoder, const StoredChunk& stored,
                                        std::span<const hsize_t> chunk, const std::string& name) {
  try {
    return decoder.decode(stored.bytes, stored.mask);
  } catch (const ChunkDamage& damage) {
    throw_damaged_chunk(name, chunk, damage.what);
  }
}

void require_honest_masks(hid_t dataset, const std::string& name,
                          std::span<const layout::Range> box) {
  const Handle creation(h5_check(H5Dget_create_plist(dataset), name), H5Pclose);
  const auto chunking = chunking_of(dataset, creation, name);
  if (!chunking || !position_of_deflate(chunking->filters)) return;
  StoredChunk stored;
  const ChunkGrid grid(box, chunking->extents);
  for (index_t i = 0; i < grid.count(); ++i) {
    const std::vector<hsize_t> chunk = grid.position(i);
    read_stored_chunk(dataset, chunk, *chunking, name, stored);
    const hsize_t wanted = chunking->stored_bytes(stored.mask);
    if (!stored.bytes.empty() && !chunking->is_deflated(stored.mask) &&
        stored.bytes.size() < wanted)
      throw_damaged_chunk(
          name, chunk,
          fmt::format("decodes to {} bytes, {} are required", stored.bytes.size(), wanted));
  }
}

}  // namespace tessera::inline v1::io
