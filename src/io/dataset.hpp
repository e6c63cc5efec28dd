#pragma once
// Datasets by name, what they are, and blocks of them.

#include <string>
#include <string_view>
#include <vector>

#include "base/view.hpp"
#include "io/h5.hpp"
#include "layout/matrix_layout.hpp"

namespace tessera::io {

/// "file.h5:/path/to/dataset".
struct DatasetName {
  std::string file;
  std::string path;
  [[nodiscard]] std::string text() const { return file + ":" + path; }
};

/// Throws Error(usage) naming the option when the text has no "file:/path" form.
[[nodiscard]] DatasetName parse_dataset_name(std::string_view text, std::string_view option);

/// What a dataset holds, in words that need no HDF5 to read.
struct DatasetInfo {
  enum class Kind { real, integer, other };
  std::vector<index_t> shape;
  Kind kind = Kind::other;
  index_t element_bytes = 0;
  bool is_signed = true;

  /// "f64", "u16", "3 bytes of another kind".
  [[nodiscard]] std::string type_text() const;
  [[nodiscard]] std::string shape_text() const;  ///< "1000 x 20"
};

/// Opens for reading: Error(missing_input) when the file or the path is not there, Error(bad_data) when it is
/// no HDF5 file or damaged.
[[nodiscard]] Handle open_file(const std::string& file);
/// Throws Error(bad_data) when the file is an output of ours that was never finished.
void require_complete(hid_t file, const std::string& name);
[[nodiscard]] Handle open_dataset(hid_t file, const DatasetName& name);
[[nodiscard]] DatasetInfo inspect(hid_t dataset, const DatasetName& name);

/// Throws Error(bad_data) unless the dataset is a matrix of real or integer numbers.
void require_matrix(const DatasetInfo& info, const DatasetName& name);

/// to[0:m, 0:n] = the dataset's box (m x n), converted to T whatever number type, byte order, chunking or
/// filter it is stored in. Reads pieces of at most 1 GiB. Every rank opens the file for itself: reading needs
/// no agreement.
template <class T>
void read_box(const DatasetName& name, const layout::Box& box, MatrixView<T> to);

}  // namespace tessera::io
