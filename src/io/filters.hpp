#pragma once
// The filters of chunks that Tessera applies outside of HDF5, in any thread: shuffle, gzip
// (deflate, by libdeflate if the build found it, otherwise zlib) and Fletcher32. Stored bytes are
// those of HDF5's filters.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v1::io {

/// One filter of a pipeline.
struct Filter {
  enum class Kind { shuffle, deflate, fletcher32 };
  Kind kind = Kind::deflate;
  unsigned parameter = 0;  ///< element bytes of shuffle, level of deflate
  bool operator==(const Filter&) const = default;
};

/// Filters in the order in which a chunk passes them when it is written. Bit f of a chunk's filter
/// mask excludes filter f.
using Filters = std::vector<Filter>;

[[nodiscard]] inline bool is_applied(unsigned mask, std::size_t filter) {
  return (mask >> filter & 1U) == 0;
}

/// Returns the bytes of a chunk of `bytes` bytes before filter `filter` (the number of filters: the
/// stored bytes), if no deflate precedes it.
[[nodiscard]] std::size_t bytes_before(const Filters& filters, std::size_t filter, unsigned mask,
                                       std::size_t bytes);
/// Returns the position of deflate; none if the filters have none.
[[nodiscard]] std::optional<std::size_t> position_of_deflate(const Filters& filters);

/// Damage of a stored chunk: "decodes to 8 bytes, 336 are required".
struct ChunkDamage {
  std::string what;
};

/// Undoes the filters of chunks, one after the other. Not thread-safe: one per thread.
class ChunkDecoder {
 public:
  /// bytes: of a decoded chunk. At most one filter is deflate.
  ChunkDecoder(Filters filters, std::size_t bytes);
  ~ChunkDecoder();
  ChunkDecoder(const ChunkDecoder&) = delete;
  ChunkDecoder& operator=(const ChunkDecoder&) = delete;

  /// Returns the decoded chunk, valid until the next call and as long as `stored`. Throws
  /// ChunkDamage if the stored bytes do not have the length that the filters require, cannot be
  /// decompressed, or do not match their checksum.
  [[nodiscard]] std::span<const std::byte> decode(std::span<const std::byte> stored, unsigned mask);

 private:
  struct Inflater;
  [[nodiscard]] std::span<std::byte> other_buffer(std::span<const std::byte> in, std::size_t bytes);

  Filters filters_;
  std::size_t bytes_;
  std::vector<std::byte> buffers_[2];
  std::unique_ptr<Inflater> inflater_;
};

/// A chunk as it is stored.
struct StoredChunk {
  std::vector<std::byte> bytes;
  unsigned mask = 0;
};

/// Applies filters to chunks, one after the other. Not thread-safe: one per thread.
class ChunkEncoder {
 public:
  explicit ChunkEncoder(Filters filters);
  ~ChunkEncoder();
  ChunkEncoder(const ChunkEncoder&) = delete;
  ChunkEncoder& operator=(const ChunkEncoder&) = delete;

  /// Encodes a chunk; its mask excludes deflate if that does not make it smaller.
  void encode(std::span<const std::byte> chunk, StoredChunk& to);

 private:
  struct Deflater;
  Filters filters_;
  std::vector<std::byte> buffer_;
  std::unique_ptr<Deflater> deflater_;
};

/// Splits n elements of `bytes` bytes into planes: to[b, i] = from[i, b]; trailing bytes stay.
void shuffle(std::span<const std::byte> from, std::size_t bytes, std::byte* to);
/// The inverse: to[i, b] = from[b, i].
void unshuffle(std::span<const std::byte> from, std::size_t bytes, std::byte* to);

/// Returns the checksum of Fletcher (1982) over big-endian 16-bit words, as HDF5 stores it.
[[nodiscard]] std::uint32_t fletcher32(std::span<const std::byte> data);

}  // namespace tessera::inline v1::io
