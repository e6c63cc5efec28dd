#pragma once
// Datasets by name, what they are, and blocks of them.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/view.hpp"
#include "io/h5.hpp"
#include "io/selection.hpp"
#include "layout/matrix_layout.hpp"

namespace tessera::io {

struct Packing;

/// "file.h5:/path/to/dataset", and what part of it.
struct DatasetName {
  std::string file;
  std::string path;
  Selection selection = {};
  std::shared_ptr<const Packing> packing = nullptr;  ///< how numbers become values (io/packed.hpp)
  [[nodiscard]] std::string text() const { return file + ":" + path; }
};

/// Where in "file.h5:/path" the file's name ends; npos where nothing parts them. A path may have a
/// colon before a slash, too ("f.h5:/PV:/x"): then it is the last place at which a file of that
/// name is there, else the last at which there is a folder for one.
[[nodiscard]] std::size_t end_of_file_name(std::string_view text);

/// Throws Error(usage) naming the option when the text has no "file:/path" form.
[[nodiscard]] DatasetName parse_dataset_name(std::string_view text, std::string_view option);
/// The same, where "file.h5:/", the root group, is a name too.
[[nodiscard]] DatasetName parse_table_name(std::string_view text, std::string_view option);

/// "a.h5:/u,/v[0:9,3],b.h5:/w": several datasets, those without a file in the one named before
/// them.
[[nodiscard]] std::vector<std::string> split_names(const std::string& text);

/// What a dataset holds, in words that need no HDF5 to read.
struct DatasetInfo {
  enum class Kind { real, integer, complex, other, boolean };
  std::vector<index_t> shape;
  std::vector<index_t> chunk;  ///< extents of a chunk; empty when stored contiguously
  Kind kind = Kind::other;
  index_t element_bytes = 0;
  bool is_signed = true;
  std::string other = "bytes";  ///< what it holds where it holds no numbers, as type_name() says it
  bool self_contained =
      true;  ///< an element's bytes say all: no references, no parts of variable length

  [[nodiscard]] bool is_number() const { return kind == Kind::real || kind == Kind::integer; }
  /// Whether HDF5 converts its elements to real numbers; what is written again should keep its own
  /// type.
  [[nodiscard]] bool reads_as_number() const { return is_number() || kind == Kind::boolean; }
  /// "f64", "u16", "c128", "bool", "bitfield of 8 bits".
  [[nodiscard]] std::string type_text() const;
  [[nodiscard]] std::string shape_text() const;  ///< "1000 x 20"
  [[nodiscard]] index_t chunk_bytes() const;  ///< decoded; 0 when stored contiguously, at most 2^40
};

/// One line of it for another process, and back. Throws Error(internal) for any other text.
[[nodiscard]] std::string to_text(const DatasetInfo& info);
[[nodiscard]] DatasetInfo parse_dataset_info(const std::string& text);

/// The native number type of that name (type_text's): u8 i8 ... u64 i64 f32 f64 c64 c128. Throws
/// Error(usage).
[[nodiscard]] DatasetInfo number_type(std::string_view name);
/// HDF5's native type of numbers like those; complex ones are compounds {r, i}, as h5py writes
/// them.
[[nodiscard]] Handle number_type(const DatasetInfo& info);

/// Opens for reading: Error(missing_input) when the file or the path is not there, Error(bad_data)
/// when it is no HDF5 file or damaged.
[[nodiscard]] Handle open_file(const std::string& file, hid_t access_list = H5P_DEFAULT);
/// Throws Error(bad_data) when the file is an output of ours that was never finished.
void require_complete(hid_t file, const std::string& name);
[[nodiscard]] Handle open_dataset(hid_t file, const DatasetName& name);
[[nodiscard]] DatasetInfo inspect(hid_t dataset, const DatasetName& name);

/// Bytes that it takes to read so many bytes of values out of so many chunks of the dataset: the
/// decoded chunks and the values, and no more than deflate makes of all of its file, for a damaged
/// one can claim any extents.
[[nodiscard]] index_t bytes_to_read(hid_t dataset, const DatasetInfo& info, index_t chunks,
                                    index_t values);

/// What the name's selection leaves of the dataset; throws Error(usage) where it lies outside.
[[nodiscard]] DatasetInfo selected(DatasetInfo info, const DatasetName& name);

/// Throws Error(bad_data) unless the dataset is a matrix of real or integer numbers.
void require_matrix(const DatasetInfo& info, const DatasetName& name);

/// The type that the dataset is stored in. Reading with it converts nothing, and a dataset of it
/// holds the same elements bit by bit.
[[nodiscard]] Handle stored_type(const DatasetName& name);
/// Of complex numbers as they are held in memory, the real part first, in elements of so many
/// bytes: its members are named as in the dataset, for HDF5 finds them by their names.
[[nodiscard]] Handle complex_form(const DatasetName& name, index_t bytes);

/// Whether it is stored as such numbers are held in memory.
[[nodiscard]] bool is_stored_as(const DatasetName& name, Element element);

/// What `read_slab` fills: elements of `type`, the last dimension fastest, in rows of `ld`
/// elements.
struct SlabTarget {
  hid_t type;
  void* data;
  index_t element_bytes;
  index_t ld;
};

/// A slab of the dataset, or of what the name selects of it, a range a dimension, converted to the
/// target's type (floats are rounded to nearest, ties to even). Every rank opens the file for
/// itself: reading needs no agreement. Throws Error(bad_data) with the number and its position that
/// the type cannot hold.
void read_slab(const DatasetName& name, std::span<const layout::Range> slab, const SlabTarget& to);

/// Lets the device begin with a slab that read_slab will be asked for: its runs travel side by side
/// and under other work, where read_slab alone waits for each. A hint: does nothing where the
/// dataset is not contiguous or the file system has no read-ahead.
void will_read(const DatasetName& name, std::span<const layout::Range> slab);

/// to[0:m, 0:n] = the dataset's box (m x n), converted to T whatever number type, byte order,
/// chunking or filter it is stored in; the values, where the name has packing.
template <class T>
void read_box(const DatasetName& name, const layout::Box& box, MatrixView<T> to);
/// Complex numbers, or real ones.
template <class T>
requires is_complex<T>
void read_box(const DatasetName& name, const layout::Box& box, MatrixView<T> to);

}  // namespace tessera::io
