#include "io/chunks.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace tessera::io {
namespace {

constexpr hsize_t sum_bytes = 4;  // of Fletcher32

/// The chunks of a dataset and the filters that shape their stored bytes.
struct Chunking {
  std::vector<hsize_t> extents;
  hsize_t bytes = 0;                ///< of a decoded chunk
  std::optional<unsigned> deflate;  ///< positions in the pipeline
  std::vector<unsigned> sums;

  /// Returns the bytes of a chunk with the checksums of the filters before one, for a filter mask.
  [[nodiscard]] hsize_t summed_bytes(unsigned mask, unsigned first_after) const {
    hsize_t all = bytes;
    for (const unsigned f : sums)
      if (f < first_after && (mask >> f & 1U) == 0) all += sum_bytes;
    return all;
  }
  /// Returns the stored bytes of a chunk that is not deflated.
  [[nodiscard]] hsize_t plain_bytes(unsigned mask) const { return summed_bytes(mask, 32); }
  [[nodiscard]] bool is_deflated(unsigned mask) const {
    return deflate && (mask >> *deflate & 1U) == 0;
  }
};

/// Returns the chunks of a dataset; nothing for other layouts, and for filters whose lengths are
/// not known here.
std::optional<Chunking> chunking_of(hid_t dataset, hid_t creation, const std::string& name) {
  if (H5Pget_layout(creation) != H5D_CHUNKED) return std::nullopt;
  const Handle type(h5_check(H5Dget_type(dataset), ExitCode::bad_data, name), H5Tclose);
  if (!is_self_contained(type)) return std::nullopt;
  Chunking chunking;
  for (unsigned f = 0; f < static_cast<unsigned>(H5Pget_nfilters(creation)); ++f) {
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t id =
        H5Pget_filter2(creation, f, &flags, &values, nullptr, 0, nullptr, nullptr);
    if (id == H5Z_FILTER_DEFLATE && !chunking.deflate)
      chunking.deflate = f;
    else if (id == H5Z_FILTER_FLETCHER32)
      chunking.sums.push_back(f);
    else if (id != H5Z_FILTER_SHUFFLE)
      return std::nullopt;
  }
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  const int rank = H5Pget_chunk(creation, static_cast<int>(extents.size()), extents.data());
  require(rank >= 0, ExitCode::bad_data, name + " has no chunk extents");
  for (int d = 0; d < rank; ++d)
    chunking.extents.push_back(std::max<hsize_t>(1, extents[static_cast<std::size_t>(d)]));
  chunking.bytes = H5Tget_size(type);
  for (const hsize_t extent : chunking.extents) chunking.bytes *= extent;
  return chunking;
}

/// Throws the error for a chunk whose stored bytes are not those of its extents.
[[noreturn]] void throw_damaged(const std::string& name, std::span<const hsize_t> chunk,
                                hsize_t stored, hsize_t wanted) {
  throw Error(ExitCode::bad_data,
              fmt::format("{} is damaged: its chunk at [{}] decodes to {} bytes, {} are required; "
                          "make the file again",
                          name, fmt::join(chunk, ", "), stored, wanted));
}

/// Reads the stored bytes of a chunk; returns its filter mask. `bytes` has the stored length.
unsigned read_stored(hid_t dataset, std::span<const hsize_t> chunk, std::vector<Bytef>& bytes,
                     const std::string& name) {
  unsigned mask = 0;
  h5_check_rc(H5Dread_chunk(dataset, H5P_DEFAULT, chunk.data(), &mask, bytes.data()),
              ExitCode::bad_data, name + " has a chunk that cannot be read");
  return mask;
}

/// Returns the bytes that a deflated stream expands to; some number above `limit` if they are more,
/// 0 if the stream is damaged.
hsize_t inflated_bytes(std::vector<Bytef>& stream, hsize_t limit) {
  z_stream state{};
  if (inflateInit(&state) != Z_OK) throw Error(ExitCode::memory, "zlib cannot be started");
  state.next_in = stream.data();
  state.avail_in = static_cast<uInt>(stream.size());
  std::array<Bytef, 65536> scratch{};
  int result = Z_OK;
  while (result == Z_OK && state.total_out <= limit) {
    state.next_out = scratch.data();
    state.avail_out = scratch.size();
    result = inflate(&state, Z_NO_FLUSH);
  }
  const hsize_t bytes = state.total_out;
  inflateEnd(&state);
  return result == Z_STREAM_END || bytes > limit ? bytes : 0;
}

/// Checks the decoded length of the first chunk in the index.
void require_first_chunk(hid_t dataset, hid_t space, const Chunking& chunking,
                         const std::string& name) {
  std::vector<hsize_t> chunk(chunking.extents.size());
  unsigned mask = 0;
  haddr_t address = 0;
  hsize_t stored = 0;
  h5_check_rc(H5Dget_chunk_info(dataset, space, 0, chunk.data(), &mask, &address, &stored),
              ExitCode::bad_data, name);
  if (!chunking.is_deflated(mask)) {
    const hsize_t wanted = chunking.plain_bytes(mask);
    if (stored != wanted) throw_damaged(name, chunk, stored, wanted);
    return;
  }
  const hsize_t wanted = chunking.summed_bytes(mask, *chunking.deflate);
  if (stored > 2 * wanted + 1024) throw_damaged(name, chunk, stored, wanted);
  std::vector<Bytef> bytes(stored);
  read_stored(dataset, chunk, bytes, name);
  const hsize_t decoded = inflated_bytes(bytes, wanted);
  if (decoded != wanted) throw_damaged(name, chunk, decoded, wanted);
}

/// Calls body(first element) for each chunk that the box meets.
template <class Body>
void each_chunk(std::span<const layout::Range> box, std::span<const hsize_t> extents,
                const Body& body) {
  std::vector<hsize_t> chunk;
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (box[d].empty()) return;
    chunk.push_back(static_cast<hsize_t>(box[d].begin) / extents[d] * extents[d]);
  }
  const std::vector<hsize_t> first = chunk;
  for (;;) {
    body(chunk);
    std::size_t d = chunk.size();
    for (; d > 0; --d) {
      chunk[d - 1] += extents[d - 1];
      if (chunk[d - 1] < static_cast<hsize_t>(box[d - 1].end)) break;
      chunk[d - 1] = first[d - 1];
    }
    if (d == 0) return;
  }
}

}  // namespace

void require_whole_chunks(hid_t dataset, hid_t creation, const DatasetName& name) {
  const auto chunking = chunking_of(dataset, creation, name.text());
  if (!chunking) return;
  const Handle space(h5_check(H5Dget_space(dataset), ExitCode::bad_data, name.text()), H5Sclose);
  hsize_t count = 0;
  h5_check_rc(H5Dget_num_chunks(dataset, space, &count), ExitCode::bad_data, name.text());
  if (count == 0) return;
  const hsize_t bytes = chunking->plain_bytes(0), stored = H5Dget_storage_size(dataset);
  constexpr double most_of_a_byte = 1032;  // a byte of a deflate stream expands to at most these
  const double whole = static_cast<double>(count) * static_cast<double>(chunking->bytes);
  require(chunking->deflate ? whole <= most_of_a_byte * static_cast<double>(stored)
                            : stored == count * bytes,
          ExitCode::bad_data,
          fmt::format("{} is damaged: its {} chunks of {} bytes have {} bytes in the file; make "
                      "the file again",
                      name.text(), count, bytes, stored));
  if (chunking->deflate) require_first_chunk(dataset, space, *chunking, name.text());
}

void require_honest_masks(hid_t dataset, const std::string& name,
                          std::span<const layout::Range> box) {
  const Handle creation(h5_check(H5Dget_create_plist(dataset), ExitCode::bad_data, name), H5Pclose);
  const auto chunking = chunking_of(dataset, creation, name);
  if (!chunking || !chunking->deflate) return;
  std::vector<Bytef> bytes;
  each_chunk(box, chunking->extents, [&](const std::vector<hsize_t>& chunk) {
    hsize_t stored = 0;
    h5_check_rc(H5Dget_chunk_storage_size(dataset, chunk.data(), &stored), ExitCode::bad_data,
                name + " has a chunk that cannot be found");
    if (stored == 0 || stored >= chunking->plain_bytes(0)) return;  // none, or long enough
    bytes.resize(stored);
    const unsigned mask = read_stored(dataset, chunk, bytes, name);
    const hsize_t wanted = chunking->plain_bytes(mask);
    if (!chunking->is_deflated(mask) && stored < wanted) throw_damaged(name, chunk, stored, wanted);
  });
}

}  // namespace tessera::io
