#pragma once
// Copies of small datasets through memory, with attributes and a checksum. For what accompanies the
// data of an output.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "io/h5.hpp"

namespace tessera::inline v1::io {

/// Elements in memory as H5Dread returns them, with their content_checksum().
struct Content {
  hid_t type;
  std::span<const std::byte> data;
  std::uint64_t sum;
};

/// Returns whether a dataset has that shape, type and content.
[[nodiscard]] bool holds(hid_t dataset, const std::vector<index_t>& shape, const Content& content);

/// Returns whether a scale is a netCDF dimension without coordinate variable: its numbers have no
/// meaning.
[[nodiscard]] bool is_dimension_only(hid_t scale);
/// Makes a 1-D dataset of `rows` elements a dimension scale with the name of another one.
void make_scale(hid_t from, hid_t to, index_t rows);

/// Creates a dataset with the content, and the attributes of `source`; a scale if that is one.
/// Throws Error(bad_data, cannot_create).
[[nodiscard]] Handle create_copy(hid_t file, const std::string& path,
                                 const std::vector<index_t>& shape, const Content& content,
                                 hid_t source);

/// Copies a dataset to a path at which nothing or the same content exists; appends the path to
/// `created` if it is new. Throws Error(cannot_create) if other content exists there.
void copy_whole(hid_t source, hid_t file, const std::string& path,
                std::vector<std::string>& created);

}  // namespace tessera::inline v1::io
