#pragma once
// Creation of the datasets of an output.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "io/dataset.hpp"
#include "io/filters.hpp"
#include "io/geometry.hpp"
#include "io/h5.hpp"

namespace tessera::inline v1::io {

/// An object of an output, and the object of an input whose attributes or content it gets.
struct AttributesOf {
  std::string path;
  DatasetName from;
};

/// The input whose coordinates a dataset gets.
struct CoordinatesOf {
  DatasetName from;
  std::vector<int> axes = {};   ///< of each dimension, the axis of the selection, -1 for a new one;
                                ///< empty: the same
  bool rows_reordered = false;  ///< coordinates of the rows are outputs, too, or are left out
};

/// The storage of a dataset: contiguous unless it has chunk extents.
struct Storage {
  std::vector<index_t> chunk = {};
  Filters filters = {};
  [[nodiscard]] bool is_chunked() const { return !chunk.empty(); }
  bool operator==(const Storage&) const = default;
};

struct DatasetSpec {
  std::string path;  ///< "/group/name"; groups are created
  std::vector<index_t> shape;
  hid_t type = -1;                      ///< borrowed; e.g. native_type(Element::f64)
  std::vector<std::string> dimensions;  ///< names of the dimension scales at the root; may be empty
  std::vector<index_t> time =
      {};  ///< values along the first dimension, if that is time; otherwise 0, 1, 2, ...
  bool image = false;                         ///< a field, also for VTK (io/image.hpp)
  std::optional<Geometry> geometry = {};      ///< of an image, if its input has one
  std::vector<AttributesOf> attributes = {};  ///< for the dataset itself, and for groups above it
  std::optional<CoordinatesOf> coordinates = {};
  std::vector<AttributesOf> copies = {};  ///< datasets that are copied whole to these paths
  Storage storage = {};
};

/// Returns the bytes of its elements.
[[nodiscard]] index_t bytes_of(const DatasetSpec& spec);

/// The destination of a dataset. In a foreign file existing objects are not modified: groups get no
/// attributes, and only scales of Tessera's form are reused.
struct DatasetPlace {
  bool of_others = false;
  std::vector<Handle> scales = {};  ///< those of the replaced dataset, at most one per dimension
};

/// Throws Error(usage) if the path of a dataset is reserved by Tessera, equals another one's, or is
/// below one of these.
void require_free_paths(const std::string& file, std::span<const DatasetSpec> specs);

/// Creates a dataset with its scales and attributes, its space allocated if it is contiguous.
/// Returns the offset of its first byte in the file; -1 if it has no elements or is chunked. Throws
/// Error(cannot_create).
[[nodiscard]] index_t create_dataset(hid_t file, const DatasetSpec& spec,
                                     const DatasetPlace& place);

/// Returns the storage of a dataset. Throws Error(bad_data) for chunks with other filters than
/// filters.hpp's.
[[nodiscard]] Storage storage_of(hid_t dataset, const std::string& name);

/// Returns whether a dataset is a scale as create_dataset() makes them: numbers 0, 1, 2, ..., or
/// times.
[[nodiscard]] bool is_own_scale(hid_t dataset, const std::string& path);

/// Permits attributes of any number and size: those beyond 64 KiB are stored outside of the
/// object's header, which the oldest format does not support.
[[nodiscard]] Handle for_attributes(Handle list);

/// Aligns large datasets of files opened with that list to pages.
void set_data_alignment(hid_t access_list);

}  // namespace tessera::inline v1::io
