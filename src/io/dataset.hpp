#pragma once
// Datasets: names, descriptions, and reads of blocks.

#include <complex>
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/view.hpp"
#include "io/h5.hpp"
#include "io/selection.hpp"
#include "layout/matrix_layout.hpp"

namespace tessera::inline v1::io {

struct Packing;

/// "file.h5:/path/to/dataset", with a selection.
struct DatasetName {
  std::string file;
  std::string path;
  Selection selection = {};
  std::shared_ptr<const Packing> packing =
      nullptr;  ///< mapping of stored numbers to values (io/packed.hpp)
  [[nodiscard]] std::string text() const { return file + ":" + path; }
};

/// Returns the end of the file name in "file.h5:/path"; npos if nothing separates them. If the path
/// contains ":/", too ("f.h5:/PV:/x"), returns the last position at which the file exists,
/// otherwise the last one at which its directory exists, otherwise the last one.
[[nodiscard]] std::size_t end_of_file_name(std::string_view text);

/// Parses a dataset's name. Throws Error(usage) naming the option unless the text has the form
/// "file:/path".
[[nodiscard]] DatasetName parse_dataset_name(std::string_view text, std::string_view option);
/// As above, but also accepts the root group, "file.h5:/".
[[nodiscard]] DatasetName parse_table_name(std::string_view text, std::string_view option);

/// Splits a list of datasets, "a.h5:/u,/v[0:9,3],b.h5:/w"; those without a file are in the last one
/// named.
[[nodiscard]] std::vector<std::string> split_names(const std::string& text);

/// The description of a dataset, without HDF5 types.
struct DatasetInfo {
  enum class Kind { real, integer, complex, other, boolean };
  std::vector<index_t> shape;
  std::vector<index_t> chunk;  ///< extents of a chunk; empty if stored contiguously
  Kind kind = Kind::other;
  index_t element_bytes = 0;
  bool is_signed = true;
  std::string other = "bytes";  ///< for elements that are not numbers: type_name()
  bool self_contained = true;   ///< elements have no references and no parts of variable length

  [[nodiscard]] bool is_number() const { return kind == Kind::real || kind == Kind::integer; }
  /// Returns whether HDF5 converts the elements to real numbers; outputs should keep the stored
  /// type.
  [[nodiscard]] bool reads_as_number() const { return is_number() || kind == Kind::boolean; }
  /// Returns the name of the type: "f64", "u16", "c128", "bool", "bitfield of 8 bits".
  [[nodiscard]] std::string type_text() const;
  [[nodiscard]] std::string shape_text() const;  ///< "1000 x 20"
  [[nodiscard]] index_t chunk_bytes() const;  ///< decoded; 0 if stored contiguously, at most 2^40
};

/// Convert the description to one line of text, for another process, and back. Throws
/// Error(internal) for any other text.
[[nodiscard]] std::string to_text(const DatasetInfo& info);
[[nodiscard]] DatasetInfo parse_dataset_info(const std::string& text);

/// Returns the native number type with that type_text: u8 i8 ... u64 i64 f32 f64 c64 c128. Throws
/// Error(usage).
[[nodiscard]] DatasetInfo number_type(std::string_view name);
/// Returns HDF5's native type of such numbers; complex ones are compounds {r, i}, as in h5py.
[[nodiscard]] Handle number_type(const DatasetInfo& info);

/// Returns whether an element's bytes are self-contained: neither references nor of variable
/// length. The size of other types differs between memory and file.
[[nodiscard]] bool is_self_contained(hid_t type);

/// Opens a file for reading. Throws Error(missing_input) if it cannot be read, Error(bad_data) if
/// it is damaged, not an HDF5 file or marked as open for writing, Error(io) if it is locked,
/// Error(memory) if memory or file descriptors are insufficient.
[[nodiscard]] Handle open_file(const std::string& file, hid_t access_list = H5P_DEFAULT);
/// Throws Error(bad_data) if the file is an unfinished output of Tessera.
void require_complete(hid_t file, const std::string& name);
[[nodiscard]] Handle open_dataset(hid_t file, const DatasetName& name);
[[nodiscard]] DatasetInfo inspect(hid_t dataset, const DatasetName& name);

/// Returns the bytes that are needed to read `values` bytes of values from `chunks` chunks of the
/// dataset: the decoded chunks and the values, limited by deflate's maximal expansion of the whole
/// file, because a damaged file can claim any extents.
[[nodiscard]] index_t bytes_to_read(hid_t dataset, const DatasetInfo& info, index_t chunks,
                                    index_t values);

/// Returns the description of the part that the name selects. Throws Error(usage) if it is out of
/// bounds.
[[nodiscard]] DatasetInfo selected(DatasetInfo info, const DatasetName& name);

/// Throws Error(bad_data) unless the dataset is a matrix of real or integer numbers.
void require_matrix(const DatasetInfo& info, const DatasetName& name);

/// Returns the type in which the dataset is stored. Reads with it convert nothing, and a dataset of
/// it holds the same elements bit by bit.
[[nodiscard]] Handle stored_type(const DatasetName& name);
/// Returns the memory type of complex numbers, real part first, in elements of `bytes` bytes, with
/// members named as in the dataset, because HDF5 matches them by name. Throws Error(bad_data) if
/// the dataset holds no complex numbers.
[[nodiscard]] Handle complex_form(const DatasetName& name, index_t bytes);

/// Returns whether the dataset is stored in the memory format of the element.
[[nodiscard]] bool is_stored_as(const DatasetName& name, Element element);

/// The target of `read_slab`: elements of `type`, the last dimension fastest, in rows of `ld`
/// elements.
struct SlabTarget {
  hid_t type;
  void* data;
  index_t element_bytes;
  index_t ld;
};

/// Reads a slab of the dataset, or of its selection, with one range per dimension, converted to the
/// target's type (floats are rounded to nearest, ties to even). Not collective: every rank opens
/// the file by itself. Throws Error(bad_data) with the number, and its position, that the type
/// cannot hold.
void read_slab(const DatasetName& name, std::span<const layout::Range> slab, const SlabTarget& to);

/// Prefetches a slab for read_slab: its runs are read concurrently, and overlap other work, whereas
/// read_slab waits for each. A hint: no effect if the dataset is not contiguous or the file system
/// has no read-ahead.
void will_read(const DatasetName& name, std::span<const layout::Range> slab);

struct IntegerForm {
  std::size_t bytes = 8;
  bool is_signed = true;
};
struct MatrixShape {
  index_t rows = 0, cols = 0, ld = 0;
};
/// read_box of integers.
void read_integers(const DatasetName& name, const layout::Box& box, void* data,
                   const MatrixShape& shape, const IntegerForm& form);

/// Reads the dataset's box (m x n) into to[0:m, 0:n], converted to T from any number type, byte
/// order, chunking and filter; unpacked if the name has packing.
template <class T>
void read_box(const DatasetName& name, const layout::Box& box, MatrixView<T> to);
/// Reads complex or real numbers.
template <class T>
requires is_complex<T>
void read_box(const DatasetName& name, const layout::Box& box, MatrixView<T> to);
/// Reads integers of up to 64 bits, under any name of their type: a number that T does not hold is
/// an Error(bad_data). Throws Error(usage) if the name has packing, whose values are real.
template <std::integral T>
void read_box(const DatasetName& name, const layout::Box& box, MatrixView<T> to) {
  read_integers(name, box, to.data, {to.rows, to.cols, to.ld}, {sizeof(T), std::is_signed_v<T>});
}
/// Reads std::complex.
template <class T>
requires std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>
void read_box(const DatasetName& name, const layout::Box& box, MatrixView<T> to) {
  using Own = Complex<typename T::value_type>;
  read_box(name, box, MatrixView<Own>{reinterpret_cast<Own*>(to.data), to.rows, to.cols, to.ld});
}

}  // namespace tessera::inline v1::io
