#pragma once
// Datasets of an output, as they are made.

#include <span>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "io/dataset.hpp"
#include "io/h5.hpp"

namespace tessera::io {

/// An object of an output, and one of an input whose attributes it gets.
struct AttributesOf {
  std::string path;
  DatasetName from;
};

struct DatasetSpec {
  std::string path;  ///< "/group/name"; groups are made
  std::vector<index_t> shape;
  hid_t type = -1;  ///< borrowed; e.g. native_type(Element::f64)
  std::vector<std::string>
      dimensions;  ///< a name each: dimension scales at the root, where names are given
  std::vector<index_t> time =
      {};              ///< values along the first dimension, where that is time; else 0, 1, 2, ...
  bool image = false;  ///< a field, also for VTK (io/image.hpp)
  std::vector<AttributesOf> attributes = {};  ///< of the dataset itself, and of groups above it
};

/// Where a dataset goes. In a file of others nothing that is there is changed: no attributes of
/// groups, and scales of ours only serve.
struct DatasetPlace {
  bool of_others = false;
  std::vector<Handle> scales =
      {};  ///< those that the dataset of that name had, a dimension each or none
};

/// Throws Error(usage) where a dataset would lie where a name of ours does, or another one of the
/// file, or below one.
void require_free_paths(const std::string& file, std::span<const DatasetSpec> specs);

/// Makes a contiguous dataset with its scales and attributes, its space reserved. Returns its first
/// byte in the file; -1 when it has no element. Throws Error(cannot_create).
[[nodiscard]] index_t create_dataset(hid_t file, const DatasetSpec& spec,
                                     const DatasetPlace& place);

/// Whether a dataset is a scale as create_dataset() makes them: numbers 0, 1, 2, ..., or times.
[[nodiscard]] bool is_own_scale(hid_t dataset, const std::string& path);

/// Has large datasets of a file that is opened with that list begin on a page.
void set_data_alignment(hid_t access_list);

}  // namespace tessera::io
