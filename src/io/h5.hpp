#pragma once
// The HDF5 C library as values: handles that close themselves, calls that throw with the library's
// own words.

#include <hdf5.h>

#include <string>
#include <utility>
#include <vector>

#include "base/element.hpp"
#include "base/index.hpp"

namespace tessera::io {

/// Owns one HDF5 identifier.
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
  /// Closes now; negative when the library could not write what it still held. For files that are
  /// written.
  [[nodiscard]] herr_t finish() { return id_ >= 0 ? close_(std::exchange(id_, -1)) : 0; }
  operator hid_t() const {
    return id_;
  }  // NOLINT: it is the identifier wherever the C library wants one

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Silences the library's own printing (its words travel in our errors instead) and its end: after
/// a write that failed, HDF5 1.10.8 crashes when it terminates, at exit or in MPI_Finalize. Called
/// by every entry point here, and by main before MPI is initialised, for only then does the library
/// stay out of MPI_Finalize. Numbers are converted by our functions from then on (conversion.hpp).
void quiet_errors();

/// The innermost words of the library's error stack on one line, e.g. "unable to open file:
/// truncated file: eof = 96".
[[nodiscard]] std::string h5_words();

/// "1.10.8": the library that runs.
[[nodiscard]] std::string library_version();

/// What a failed call ends with: `memory` when the library got none, or no more files could be
/// opened, `cannot_create` for want of space, else `otherwise`.
[[nodiscard]] ExitCode h5_code(ExitCode otherwise);
/// Throws Error(h5_code(code), "<what> (<words>)") if the call failed.
hid_t h5_check(hid_t result, ExitCode code, const std::string& what);
inline void h5_check_rc(herr_t result, ExitCode code, const std::string& what) {
  (void)h5_check(static_cast<hid_t>(result), code, what);
}

/// Closes a file that was written. What the library still holds goes there now, and a failure is
/// told: throws Error(code).
void close_written(Handle& file, ExitCode code, const std::string& what);

/// Of real numbers and integers.
[[nodiscard]] hid_t native_type(Element element);
/// Complex numbers with parts of that type: a compound with members of those names, by default as
/// h5py writes them.
[[nodiscard]] Handle complex_type(hid_t part, const std::string& re = "r",
                                  const std::string& im = "i");
[[nodiscard]] Handle owned_type(
    Element element);  ///< a copy of it, for those that keep types of both kinds

/// Attributes: UTF-8 strings of variable length (str in h5py), 64-bit integers, doubles. Overwrite
/// what is there.
void write_attribute(hid_t object, const std::string& name, const std::string& value);
void write_attribute(hid_t object, const std::string& name, index_t value);
void write_attribute(hid_t object, const std::string& name, double value);
[[nodiscard]] bool has_attribute(hid_t object, const std::string& name);
[[nodiscard]] std::string read_text_attribute(hid_t object, const std::string& name);
[[nodiscard]] index_t read_integer_attribute(hid_t object, const std::string& name);
[[nodiscard]] double read_real_attribute(hid_t object, const std::string& name);

/// Property list of a new file or group that keeps the order of creation (netCDF readers want it).
[[nodiscard]] Handle creation_ordered(hid_t list_class);

}  // namespace tessera::io
