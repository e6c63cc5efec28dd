#include "io/decode.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "io/chunks.hpp"
#include "io/conversion.hpp"
#include "machine/fork_join.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::io {
namespace {

/// A thread has the stored bytes of a chunk and two steps of its decoding.
index_t buffers_of_thread(index_t chunk_bytes) { return 3 * chunk_bytes; }

/// Returns how many of the threads decode chunks of that size: more than one within 64 MiB.
int decoding_threads(index_t chunk_bytes, int threads) {
  constexpr index_t most_bytes = index_t{64} << 20;
  const index_t most = most_bytes / std::max<index_t>(1, buffers_of_thread(chunk_bytes));
  return static_cast<int>(std::clamp<index_t>(most, 1, std::max(1, threads)));
}

/// What the threads that read a box share.
struct BoxDecoding {
  hid_t dataset;
  const std::string& name;
  const Ranges& box;
  const HeldArray& to;
  Chunking chunking;
  std::optional<NumberConversion> conversion;  // none: bytes are copied
  index_t stored_element_bytes;
};

/// Returns how to decode the box; none if the library has to read it.
std::optional<BoxDecoding> decoding_of(hid_t dataset, const std::string& name, const Ranges& box,
                                       const HeldArray& to) {
  const Handle creation(h5_check(H5Dget_create_plist(dataset), name), H5Pclose);
  unsigned options = 0;
  if (H5Pget_layout(creation) != H5D_CHUNKED || H5Pget_chunk_opts(creation, &options) < 0 ||
      options != 0)
    return std::nullopt;  // incomplete chunks at the dataset's end may be unfiltered
  auto chunking = chunking_of(dataset, creation, name);
  constexpr hsize_t most_chunk_bytes = hsize_t{1} << 32;  // of HDF5
  if (!chunking || chunking->filters.empty() || chunking->bytes == 0 ||
      chunking->bytes >= most_chunk_bytes || chunking->extents.size() != box.size())
    return std::nullopt;
  const Handle type(h5_check(H5Dget_type(dataset), name), H5Tclose);
  std::optional<NumberConversion> conversion;
  if (H5Tequal(type, to.type) <= 0) {
    conversion = NumberConversion::between(type, to.type);
    if (!conversion) return std::nullopt;
  }
  return BoxDecoding{dataset,
                     name,
                     box,
                     to,
                     std::move(*chunking),
                     std::move(conversion),
                     static_cast<index_t>(H5Tget_size(type))};
}

/// Returns the part of the box that is in a chunk.
Ranges part_of(const BoxDecoding& whole, std::span<const hsize_t> chunk) {
  Ranges part;
  for (std::size_t d = 0; d < chunk.size(); ++d) {
    const auto begin = static_cast<index_t>(chunk[d]);
    part.push_back(
        {std::max(begin, whole.box[d].begin),
         std::min(begin + static_cast<index_t>(whole.chunking.extents[d]), whole.box[d].end)});
  }
  return part;
}

/// Copies or converts a part of the box from its decoded chunk; returns false if a number cannot be
/// represented.
bool put_part(const BoxDecoding& whole, std::span<const hsize_t> chunk, const Ranges& part,
              std::span<const std::byte> decoded) {
  const auto extent = [&](std::size_t d) {
    return static_cast<index_t>(whole.chunking.extents[d]);
  };
  std::size_t inner = part.size() - 1;  // from this dimension on elements are contiguous in both
  index_t run = part[inner].size();
  for (; inner > 0 && part[inner].size() == extent(inner) &&
         part[inner].size() == whole.to.extents[inner];
       --inner)
    run *= part[inner - 1].size();
  index_t runs = 1;
  for (std::size_t d = 0; d < inner; ++d) runs *= part[d].size();
  for (index_t r = 0; r < runs; ++r) {
    index_t from = 0, to = 0, rest = r, from_step = 1, to_step = 1;
    for (std::size_t d = part.size(); d-- > 0;) {
      const index_t i = part[d].begin + (d < inner ? rest % part[d].size() : 0);
      if (d < inner) rest /= part[d].size();
      from += (i - static_cast<index_t>(chunk[d])) * from_step;
      to += (i - whole.box[d].begin) * to_step;
      from_step *= extent(d);
      to_step *= whole.to.extents[d];
    }
    const std::byte* const source = decoded.data() + from * whole.stored_element_bytes;
    std::byte* const target = static_cast<std::byte*>(whole.to.data) + to * whole.to.element_bytes;
    const auto n = static_cast<std::size_t>(run);
    if (!whole.conversion)
      std::memcpy(target, source, n * static_cast<std::size_t>(whole.to.element_bytes));
    else if (!whole.conversion->convert(source, target, n))
      return false;
  }
  return true;
}

/// Reads the chunks that its threads take one after the other.
class Decoding {
 public:
  explicit Decoding(const BoxDecoding& whole)
      : whole_(whole), grid_(whole.box, whole.chunking.extents) {}

  /// Returns whether all numbers could be represented.
  [[nodiscard]] bool run() {
    machine::on_each_thread(threads(), [this](int thread, int) {
      ChunkDecoder decoder(whole_.chunking.filters, whole_.chunking.bytes);
      StoredChunk stored;
      for (index_t i = next_++; i < grid_.count(); i = next_++) {
        try {
          read(i, stored, decoder);
        } catch (...) {
          next_ = grid_.count();
          throw;
        }
        if (thread == 0) mpi::heartbeat();
      }
    });
    return !refused_;
  }
  [[nodiscard]] std::vector<Ranges>& absent() { return absent_; }

 private:
  [[nodiscard]] int threads() const {
    const auto some =
        static_cast<int>(std::min<index_t>(grid_.count(), machine::default_threads()));
    return decoding_threads(static_cast<index_t>(whole_.chunking.bytes), some);
  }

  void read(index_t i, StoredChunk& stored, ChunkDecoder& decoder) {
    const std::vector<hsize_t> chunk = grid_.position(i);
    const Ranges part = part_of(whole_, chunk);
    {
      const std::lock_guard lock(library_);
      read_stored_chunk(whole_.dataset, chunk, whole_.chunking, whole_.name, stored);
      if (stored.bytes.empty()) return absent_.push_back(part);
    }
    const auto decoded = decode_chunk(decoder, stored, chunk, whole_.name);
    if (put_part(whole_, chunk, part, decoded)) return;
    refused_ = true;
    next_ = grid_.count();
  }

  const BoxDecoding& whole_;
  ChunkGrid grid_;
  std::atomic<index_t> next_ = 0;
  std::atomic<bool> refused_ = false;
  std::mutex library_;  // HDF5 is not thread-safe
  std::vector<Ranges> absent_;
};

/// Returns whether the box is a part of a single chunk.
bool is_inside_a_chunk(const BoxDecoding& whole) {
  const ChunkGrid grid(whole.box, whole.chunking.extents);
  if (grid.count() != 1) return false;
  for (std::size_t d = 0; d < whole.box.size(); ++d)
    if (whole.box[d].size() != static_cast<index_t>(whole.chunking.extents[d])) return true;
  return false;
}

}  // namespace

index_t decode_bytes(index_t chunk_bytes, int threads) {
  return buffers_of_thread(chunk_bytes) * decoding_threads(chunk_bytes, threads);
}

std::optional<std::vector<Ranges>> decode_box(hid_t dataset, const std::string& name,
                                              const Ranges& box, const HeldArray& to) {
  const auto whole = decoding_of(dataset, name, box, to);
  if (!whole || is_inside_a_chunk(*whole)) return std::nullopt;
  Decoding decoding(*whole);
  if (!decoding.run()) return std::nullopt;
  return std::move(decoding.absent());
}

}  // namespace tessera::inline v1::io
