#include "io/filters.hpp"

#include <fmt/core.h>
#ifdef TESSERA_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr std::size_t sum_bytes = 4;

std::string wrong_length(std::size_t bytes, std::size_t wanted) {
  return fmt::format("decodes to {}{} bytes, {} are required", bytes > wanted ? "more than " : "",
                     std::min(bytes, wanted), wanted);
}

/// Returns the number at the end of a chunk.
std::uint32_t stored_sum(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t b = sum_bytes; b-- > 0;) sum = sum << 8U | static_cast<std::uint32_t>(bytes[b]);
  return sum;
}

/// Returns the checksum as HDF5 before 1.6.3 stored it on little-endian machines.
std::uint32_t with_swapped_words(std::uint32_t sum) {
  return (sum & 0x00ff00ffU) << 8U | (sum >> 8U & 0x00ff00ffU);
}

}  // namespace

std::size_t bytes_before(const Filters& filters, std::size_t filter, unsigned mask,
                         std::size_t bytes) {
  for (std::size_t f = 0; f < filter; ++f)
    if (filters[f].kind == Filter::Kind::fletcher32 && is_applied(mask, f)) bytes += sum_bytes;
  return bytes;
}

std::optional<std::size_t> position_of_deflate(const Filters& filters) {
  for (std::size_t f = 0; f < filters.size(); ++f)
    if (filters[f].kind == Filter::Kind::deflate) return f;
  return std::nullopt;
}

std::uint32_t fletcher32(std::span<const std::byte> data) {
  constexpr std::size_t most_words = 360;  // whose second sum stays below 2^32
  std::uint32_t first = 0, second = 0;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(data[i]); };
  const std::size_t words = data.size() / 2;
  for (std::size_t w = 0; w < words;) {
    for (const std::size_t end = std::min(words, w + most_words); w < end; ++w) {
      first += byte(2 * w) << 8U | byte(2 * w + 1);
      second += first;
    }
    first = (first & 0xffffU) + (first >> 16U);
    second = (second & 0xffffU) + (second >> 16U);
  }
  if (data.size() % 2 != 0) {
    first += byte(data.size() - 1) << 8U;
    second += first;
    first = (first & 0xffffU) + (first >> 16U);
    second = (second & 0xffffU) + (second >> 16U);
  }
  first = (first & 0xffffU) + (first >> 16U);
  second = (second & 0xffffU) + (second >> 16U);
  return second << 16U | first;
}

#ifdef TESSERA_LIBDEFLATE

struct ChunkDecoder::Inflater {
  libdeflate_decompressor* state = libdeflate_alloc_decompressor();
  Inflater() { require(state != nullptr, ExitCode::memory, "libdeflate cannot be started"); }
  ~Inflater() { libdeflate_free_decompressor(state); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Expands a stream; returns its bytes, to.size() + 1 if they are more. Throws ChunkDamage.
  std::size_t expand(std::span<const std::byte> from, std::span<std::byte> to) const {
    std::size_t bytes = 0;
    const auto result =
        libdeflate_zlib_decompress(state, from.data(), from.size(), to.data(), to.size(), &bytes);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) return to.size() + 1;
    if (result != LIBDEFLATE_SUCCESS) throw ChunkDamage{"cannot be decompressed"};
    return bytes;
  }
};

struct ChunkEncoder::Deflater {
  libdeflate_compressor* state;
  explicit Deflater(unsigned level) : state(libdeflate_alloc_compressor(static_cast<int>(level))) {
    require(state != nullptr, ExitCode::memory, "libdeflate cannot be started");
  }
  ~Deflater() { libdeflate_free_compressor(state); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// Compresses into a buffer; returns the bytes of the stream, 0 if it does not fit.
  std::size_t compress(std::span<const std::byte> from, std::span<std::byte> to) const {
    return libdeflate_zlib_compress(state, from.data(), from.size(), to.data(), to.size());
  }
};

#else

struct ChunkDecoder::Inflater {
  std::size_t expand(std::span<const std::byte> from, std::span<std::byte> to) const {
    uLongf bytes = to.size();
    const int result = uncompress(reinterpret_cast<Bytef*>(to.data()), &bytes,
                                  reinterpret_cast<const Bytef*>(from.data()), from.size());
    require(result != Z_MEM_ERROR, ExitCode::memory, "zlib cannot be started");
    if (result == Z_BUF_ERROR && bytes == to.size()) return to.size() + 1;
    if (result != Z_OK) throw ChunkDamage{"cannot be decompressed"};
    return bytes;
  }
};

struct ChunkEncoder::Deflater {
  int level;
  explicit Deflater(unsigned wanted) : level(static_cast<int>(wanted)) {}

  std::size_t compress(std::span<const std::byte> from, std::span<std::byte> to) const {
    uLongf bytes = to.size();
    const int result = compress2(reinterpret_cast<Bytef*>(to.data()), &bytes,
                                 reinterpret_cast<const Bytef*>(from.data()), from.size(), level);
    require(result != Z_MEM_ERROR, ExitCode::memory, "zlib cannot be started");
    return result == Z_OK ? bytes : 0;
  }
};

#endif

ChunkEncoder::ChunkEncoder(Filters filters) : filters_(std::move(filters)) {
  if (const auto deflate = position_of_deflate(filters_))
    deflater_ = std::make_unique<Deflater>(filters_[*deflate].parameter);
}
ChunkEncoder::~ChunkEncoder() = default;

void ChunkEncoder::encode(std::span<const std::byte> chunk, StoredChunk& to) {
  to.bytes.assign(chunk.begin(), chunk.end());
  to.mask = 0;
  for (std::size_t f = 0; f < filters_.size(); ++f) {
    const Filter& filter = filters_[f];
    if (filter.kind == Filter::Kind::fletcher32) {
      const std::uint32_t sum = fletcher32(to.bytes);
      for (std::size_t b = 0; b < sum_bytes; ++b)
        to.bytes.push_back(static_cast<std::byte>(sum >> 8 * b & 0xffU));
      continue;
    }
    buffer_.resize(to.bytes.size());
    if (filter.kind == Filter::Kind::shuffle) {
      shuffle(to.bytes, filter.parameter, buffer_.data());
      std::swap(to.bytes, buffer_);
    } else if (const std::size_t bytes = deflater_->compress(to.bytes, buffer_);
               bytes > 0 && bytes < to.bytes.size()) {
      buffer_.resize(bytes);
      std::swap(to.bytes, buffer_);
    } else {
      to.mask |= 1U << f;
    }
  }
}

ChunkDecoder::ChunkDecoder(Filters filters, std::size_t bytes)
    : filters_(std::move(filters)), bytes_(bytes), inflater_(std::make_unique<Inflater>()) {}
ChunkDecoder::~ChunkDecoder() = default;

/// Returns a buffer of this length that does not hold `in`.
std::span<std::byte> ChunkDecoder::other_buffer(std::span<const std::byte> in, std::size_t bytes) {
  std::vector<std::byte>& buffer = buffers_[in.data() == buffers_[0].data() ? 1 : 0];
  if (buffer.size() < bytes) buffer.resize(bytes);
  return std::span(buffer).first(bytes);
}

std::span<const std::byte> ChunkDecoder::decode(std::span<const std::byte> stored, unsigned mask) {
  std::span<const std::byte> now = stored;
  const auto deflate = position_of_deflate(filters_);
  bool inflated = !deflate || !is_applied(mask, *deflate);
  for (std::size_t f = filters_.size(); f-- > 0;) {
    if (!is_applied(mask, f)) continue;
    const Filter& filter = filters_[f];
    const std::size_t wanted = bytes_before(filters_, f, mask, bytes_);
    if (filter.kind == Filter::Kind::deflate) {
      const std::span<std::byte> to = other_buffer(now, wanted);
      const std::size_t bytes = inflater_->expand(now, to);
      if (bytes != wanted) throw ChunkDamage{wrong_length(bytes, wanted)};
      inflated = true;
      now = to;
    } else if (filter.kind == Filter::Kind::shuffle) {
      if (inflated && now.size() != wanted) throw ChunkDamage{wrong_length(now.size(), wanted)};
      if (filter.parameter <= 1 || now.size() < filter.parameter) continue;
      const std::span<std::byte> to = other_buffer(now, now.size());
      unshuffle(now, filter.parameter, to.data());
      now = to;
    } else {
      if (now.size() < sum_bytes || (inflated && now.size() != wanted + sum_bytes))
        throw ChunkDamage{wrong_length(now.size(), wanted + sum_bytes)};
      const std::uint32_t sum = stored_sum(now.last(sum_bytes));
      now = now.first(now.size() - sum_bytes);
      const std::uint32_t found = fletcher32(now);
      if (sum != found && sum != with_swapped_words(found))
        throw ChunkDamage{"does not match its Fletcher32 checksum"};
    }
  }
  if (now.size() != bytes_) throw ChunkDamage{wrong_length(now.size(), bytes_)};
  return now;
}

}  // namespace tessera::inline v1::io
