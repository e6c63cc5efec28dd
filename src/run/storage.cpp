#include "run/storage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/output_file.hpp"

namespace tessera::inline v1::run {
namespace {

using io::Filter;

/// Returns a whole number between the limits; none for other text.
std::optional<index_t> number_of(const std::string& text, index_t low, index_t high) {
  index_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= low && number <= high ? std::optional(number) : std::nullopt;
}

[[noreturn]] void throw_unknown_filter(const std::string& word, const std::string& text) {
  throw Error(ExitCode::usage,
              fmt::format("--compress {} has '{}', which outputs do not have (their filters are in "
                          "every HDF5 library); write gzip, gzip:LEVEL (0 to 9), shuffle, "
                          "fletcher32, several with commas, or none",
                          text, word));
}

/// Parses "shuffle,gzip:1"; the element size of shuffle is set later.
io::Filters parse_filters(const std::string& text) {
  io::Filters filters;
  if (text == "none") return filters;
  for (const std::string& word : split(text, ',')) {
    const auto colon = word.find(':');
    const std::string name = word.substr(0, colon);
    Filter filter;
    if (name == "gzip") {
      const auto level = colon == std::string::npos ? std::optional<index_t>(4)
                                                    : number_of(word.substr(colon + 1), 0, 9);
      if (!level) throw_unknown_filter(word, text);
      filter = {Filter::Kind::deflate, static_cast<unsigned>(*level)};
    } else if (word == "shuffle") {
      filter = {Filter::Kind::shuffle};
    } else if (word == "fletcher32") {
      filter = {Filter::Kind::fletcher32};
    } else {
      throw_unknown_filter(word, text);
    }
    const bool again = std::any_of(filters.begin(), filters.end(),
                                   [&](const Filter& f) { return f.kind == filter.kind; });
    require(!again, ExitCode::usage,
            fmt::format("--compress {} names {} twice; name every filter once", text, name));
    filters.push_back(filter);
  }
  return filters;
}

std::vector<index_t> parse_extents(const std::string& text) {
  std::vector<index_t> extents;
  for (const std::string& word : split(text, 'x')) {
    const auto extent = number_of(word, 1, index_t{1} << 40);
    require(extent.has_value(), ExitCode::usage,
            fmt::format("--chunks {} is not a chunk's extents; write numbers from 1 on, 64x64x64, "
                        "or auto",
                        text));
    extents.push_back(*extent);
  }
  return extents;
}

/// Returns the storage of an input, for its selection.
io::Storage storage_of_input(const StorageOrigin& origin) {
  const io::Handle file = io::open_file(origin.input.file);
  const io::Handle dataset = io::open_dataset(file, origin.input);
  io::Storage storage = io::storage_of(dataset, origin.input.text());
  if (!storage.is_chunked()) return storage;
  const std::vector<index_t> chunk = kept(origin.input.selection, storage.chunk);
  storage.chunk = chunk;
  for (std::size_t d = 0; d < origin.axes.size() && d < chunk.size(); ++d)
    storage.chunk[d] = chunk[static_cast<std::size_t>(origin.axes[d])];
  return storage;
}

}  // namespace

std::vector<index_t> automatic_chunk(std::vector<index_t> shape, index_t element_bytes) {
  constexpr double most_bytes = 1 << 20;
  const auto bytes = [&] {
    double all = static_cast<double>(element_bytes);
    for (const index_t extent : shape) all *= static_cast<double>(extent);
    return all;
  };
  while (bytes() > most_bytes) {
    const auto longest = std::max_element(shape.begin(), shape.end());
    if (*longest == 1) break;
    *longest = ceil_div(*longest, 2);
  }
  return shape;
}

StorageRequest::StorageRequest(const std::string& compress, const std::string& chunks,
                               const std::string& like)
    : chunks_(chunks), like_(like) {
  if (!compress.empty()) filters_ = parse_filters(compress);
  if (!chunks.empty() && chunks != "auto") extents_ = parse_extents(chunks);
  if (!like.empty() && like != "input") (void)io::parse_dataset_name(like, "like");
}

index_t StorageRequest::memory(index_t input_chunk, int threads) const {
  if (!given()) return 0;
  double chunk = 8;
  for (const index_t extent : extents_) chunk *= static_cast<double>(extent);
  constexpr double automatic = 1 << 20, most = 1LL << 32;
  chunk = std::clamp(chunk, automatic, most);
  return io::encode_bytes(std::max(static_cast<index_t>(chunk), like_.empty() ? 0 : input_chunk),
                          threads);
}

io::Storage StorageRequest::of(const io::DatasetSpec& spec,
                               const std::optional<StorageOrigin>& origin) const {
  io::Storage storage;
  const bool has_elements = std::find(spec.shape.begin(), spec.shape.end(), 0) == spec.shape.end();
  // Elements of variable length are written by the library, to contiguous datasets.
  if (!given() || spec.shape.empty() || !has_elements || !io::is_self_contained(spec.type))
    return storage;
  if (like_ == "input" && origin) storage = storage_of_input(*origin);
  if (storage.is_chunked() && !spec.time.empty()) storage.chunk.insert(storage.chunk.begin(), 1);
  if (!like_.empty() && like_ != "input")
    storage = storage_of_input({io::parse_dataset_name(like_, "like")});
  index_t elements = 1;
  for (const index_t extent : spec.shape) elements *= extent;
  const index_t element_bytes = io::bytes_of(spec) / elements;
  if (filters_) storage.filters = *filters_;
  if (!extents_.empty()) storage.chunk = extents_;
  const bool needs_chunks = !storage.filters.empty() || chunks_ == "auto";
  if (chunks_ == "auto" || (needs_chunks && storage.chunk.empty()))
    storage.chunk = automatic_chunk(spec.shape, element_bytes);
  if (storage.chunk.empty()) return {};
  require(storage.chunk.size() <= spec.shape.size(), ExitCode::usage,
          fmt::format("chunks of {} have {} dimensions, the output '{}' has {}; give as many or "
                      "fewer",
                      fmt::join(storage.chunk, "x"), storage.chunk.size(), spec.path,
                      spec.shape.size()));
  for (std::size_t d = storage.chunk.size(); d < spec.shape.size(); ++d)
    storage.chunk.push_back(spec.shape[d]);  // not named: whole
  double bytes = static_cast<double>(element_bytes);
  for (std::size_t d = 0; d < spec.shape.size(); ++d) {
    storage.chunk[d] = std::min(storage.chunk[d], spec.shape[d]);
    bytes *= static_cast<double>(storage.chunk[d]);
  }
  constexpr double most_bytes = 1LL << 32;  // of HDF5
  require(bytes < most_bytes, ExitCode::usage,
          fmt::format("chunks of {} of '{}' have {:.0f} bytes: HDF5 allows less than 4 GiB; pass "
                      "smaller --chunks",
                      fmt::join(storage.chunk, "x"), spec.path, bytes));
  for (Filter& filter : storage.filters)
    if (filter.kind == Filter::Kind::shuffle)
      filter.parameter = static_cast<unsigned>(element_bytes);
  return storage;
}

}  // namespace tessera::inline v1::run
