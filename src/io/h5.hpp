#pragma once
// RAII wrappers of the HDF5 C library: handles, and calls that throw with the library's message.

#include <hdf5.h>

#include <string>
#include <utility>
#include <vector>

#include "base/element.hpp"
#include "base/index.hpp"

namespace tessera::inline v1::io {

/// The owner of one HDF5 identifier.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }
  void reset() {
    if (id_ >= 0) close_(id_);
    id_ = -1;
  }
  /// Closes now; returns a negative value if the library could not write buffered data. For files
  /// that are written.
  [[nodiscard]] herr_t finish() { return id_ >= 0 ? close_(std::exchange(id_, -1)) : 0; }
  operator hid_t() const {
    return id_;
  }  // NOLINT: it is the identifier wherever the C library wants one

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Scope: HDF5 prints no errors in this thread, because its messages are part of Tessera's. Scopes
/// nest; the outermost one restores how the program prints errors. Also registers Tessera's number
/// conversions (conversion.hpp), once. Every entry point here has one, and every open file.
class QuietErrors {
 public:
  QuietErrors();
  ~QuietErrors();
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;
};

/// Returns the extents of a dataspace, or of a dataset.
[[nodiscard]] std::vector<index_t> extents_of_space(hid_t space);
[[nodiscard]] std::vector<index_t> extents_of(hid_t dataset);

/// Returns the owner of an open file, in a scope of QuietErrors that ends when it is closed.
[[nodiscard]] Handle owned_file(hid_t id);

/// Takes HDF5 over for this process, before MPI is initialised, because only then the library stays
/// out of MPI_Finalize: no error output, and no exit handler, as after a failed write HDF5 1.10.8
/// crashes when it terminates, at exit or in MPI_Finalize. For programs whose only user of HDF5 is
/// Tessera.
void quiet_errors();

/// Returns the innermost message of the library's error stack on one line, e.g. "unable to open
/// file: truncated file: eof = 96".
[[nodiscard]] std::string h5_words();

/// Returns the version of the loaded library: "1.10.8".
[[nodiscard]] std::string library_version();

/// Returns the exit code of a failed call: `memory` if the library lacked memory or file
/// descriptors, `cannot_create` for lack of space, otherwise `otherwise`.
[[nodiscard]] ExitCode h5_code(ExitCode otherwise);
/// The code of calls that make an output.
inline constexpr auto not_created = ExitCode::cannot_create;
/// Throws Error(h5_code(code), "<what> (<words>)") if the call failed.
hid_t h5_check(hid_t result, ExitCode code, const std::string& what);
inline void h5_check_rc(herr_t result, ExitCode code, const std::string& what) {
  (void)h5_check(static_cast<hid_t>(result), code, what);
}
/// Throws Error(h5_code(bad_data)) that calls `name` damaged if a call that describes it failed:
/// versions of the library differ in what they find wrong, and when.
hid_t h5_check(hid_t result, const std::string& name);
inline void h5_check_rc(herr_t result, const std::string& name) {
  (void)h5_check(static_cast<hid_t>(result), name);
}

/// Flushes and closes a written file. Throws Error(code) if buffered data cannot be written.
void close_written(Handle& file, ExitCode code, const std::string& what);

/// Returns HDF5's type of real numbers or integers. Throws Error(internal) for complex numbers.
[[nodiscard]] hid_t native_type(Element element);
/// Returns the type of complex numbers with parts of type `part`: a compound with these member
/// names, by default as in h5py.
[[nodiscard]] Handle complex_type(hid_t part, const std::string& re = "r",
                                  const std::string& im = "i");
[[nodiscard]] Handle owned_type(Element element);  ///< an owned copy; also for complex numbers

/// Returns the type of UTF-8 strings of variable length: those of fixed length crash xarray's
/// netCDF reader (netcdf-c #2159).
[[nodiscard]] Handle text_type();

/// Writes an attribute, also in place of an existing one: `value` holds the elements of `space` in
/// the type `held`; null: the attribute has no elements. Throws Error(io).
void write_attribute(hid_t object, const std::string& name, hid_t space, hid_t stored, hid_t held,
                     const void* value);

/// Read or write attributes: UTF-8 strings of variable length (str in h5py), 64-bit integers,
/// doubles. Existing attributes are overwritten.
void write_attribute(hid_t object, const std::string& name, const std::string& value);
void write_attribute(hid_t object, const std::string& name, index_t value);
void write_attribute(hid_t object, const std::string& name, double value);
[[nodiscard]] bool has_attribute(hid_t object, const std::string& name);
[[nodiscard]] std::string read_text_attribute(hid_t object, const std::string& name);
[[nodiscard]] index_t read_integer_attribute(hid_t object, const std::string& name);
[[nodiscard]] double read_real_attribute(hid_t object, const std::string& name);

/// Returns the property list of a new file or group that tracks creation order (required by netCDF
/// readers).
[[nodiscard]] Handle creation_ordered(hid_t list_class);
/// Returns the names of a group's links in order of creation; none if it does not track that.
[[nodiscard]] std::vector<std::string> links_by_creation(hid_t group);

}  // namespace tessera::inline v1::io
