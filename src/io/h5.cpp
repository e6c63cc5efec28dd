#include "io/h5.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/conversion.hpp"
#include "io/number_types.hpp"

namespace tessera::inline v1::io {
namespace {

struct ErrorWords {
  std::string innermost;
  bool no_memory = false;
};

herr_t collect(unsigned depth, const H5E_error2_t* error, void* data) {
  auto& words = *static_cast<ErrorWords*>(data);
  if (depth == 0 && error->desc != nullptr) words.innermost = error->desc;
  words.no_memory =
      words.no_memory || (error->maj_num == H5E_RESOURCE && error->min_num == H5E_NOSPACE);
  return 0;
}

/// Shortens the library's report of a failed system call, which is long and has a line break in its
/// date: of "file write failed: time = ..., error message = 'No space left on device', buf = ..."
/// it keeps the beginning and the reason.
std::string system_reason(std::string words) {
  const std::string mark = "error message = '";
  if (const auto at = words.find(mark); at != std::string::npos) {
    const auto begin = at + mark.size();
    const std::string reason = words.substr(begin, words.find('\'', begin) - begin);
    return words.substr(0, words.find_first_of(":,")) + ": " + reason;
  }
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

// How the program prints errors; of a thread, as the library's error stacks are.
struct Printing {
  H5E_auto2_t print = nullptr;
  void* about = nullptr;
};
thread_local Printing before;
thread_local int quiet_scopes = 0;

void begin_quiet_scope() {
  if (quiet_scopes++ > 0) return;
  H5Eget_auto2(H5E_DEFAULT, &before.print, &before.about);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

/// If another thread closes a file, the thread that opened it stays quiet.
void end_quiet_scope() {
  if (quiet_scopes == 0 || --quiet_scopes > 0) return;
  H5Eset_auto2(H5E_DEFAULT, before.print, before.about);
}

Handle scalar_space() { return {H5Screate(H5S_SCALAR), H5Sclose}; }

void write_scalar(hid_t object, const std::string& name, hid_t type, const void* value) {
  write_attribute(object, name, scalar_space(), type, type, value);
}

Handle open_attribute(hid_t object, const std::string& name) {
  return {h5_check(H5Aopen(object, name.c_str(), H5P_DEFAULT), ExitCode::bad_data,
                   "attribute '" + name + "' is missing"),
          H5Aclose};
}

template <class T>
T read_scalar(hid_t object, const std::string& name, hid_t type) {
  T value{};
  h5_check_rc(H5Aread(open_attribute(object, name), type, &value), ExitCode::bad_data,
              "attribute '" + name + "' cannot be read");
  return value;
}

}  // namespace

void write_attribute(hid_t object, const std::string& name, hid_t space, hid_t stored, hid_t held,
                     const void* value) {
  const std::string what = "attribute '" + name + "' cannot be written";
  if (has_attribute(object, name)) h5_check_rc(H5Adelete(object, name.c_str()), ExitCode::io, what);
  const Handle attribute(
      h5_check(H5Acreate2(object, name.c_str(), stored, space, H5P_DEFAULT, H5P_DEFAULT),
               ExitCode::io, what),
      H5Aclose);
  if (value != nullptr) h5_check_rc(H5Awrite(attribute, held, value), ExitCode::io, what);
}

Handle text_type() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

QuietErrors::QuietErrors() {
  begin_quiet_scope();
  [[maybe_unused]] static const bool ours = (register_conversions(), true);
}

QuietErrors::~QuietErrors() { end_quiet_scope(); }

Handle owned_file(hid_t id) {
  if (id >= 0) begin_quiet_scope();
  return {id, [](hid_t file) {
            const herr_t result = H5Fclose(file);
            end_quiet_scope();
            return result;
          }};
}

void quiet_errors() {
  [[maybe_unused]] static const herr_t once = H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  [[maybe_unused]] static const bool ours = (register_conversions(), true);
}

std::string library_version() {
  unsigned major = 0, minor = 0, release = 0;
  h5_check_rc(H5get_libversion(&major, &minor, &release), ExitCode::internal,
              "HDF5 reports no version");
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

std::vector<index_t> extents_of_space(hid_t space) {
  std::vector<hsize_t> extents(
      static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  return {extents.begin(), extents.end()};
}

std::vector<index_t> extents_of(hid_t dataset) {
  return extents_of_space(Handle(H5Dget_space(dataset), H5Sclose));
}

std::string h5_words() {
  ErrorWords words;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &words);
  if (words.innermost.empty()) return "the HDF5 library gives no reason";
  return system_reason(words.innermost);
}

ExitCode h5_code(ExitCode otherwise) {
  ErrorWords words;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &words);
  const std::string reason = system_reason(words.innermost);
  const auto is = [&](int number) { return reason.ends_with(std::strerror(number)); };
  if (words.no_memory || is(ENOMEM) || is(EMFILE) || is(ENFILE)) return ExitCode::memory;
  return is(ENOSPC) || is(EDQUOT) || is(EFBIG) ? ExitCode::cannot_create : otherwise;
}

hid_t h5_check(hid_t result, ExitCode code, const std::string& what) {
  if (result >= 0) return result;
  throw Error(h5_code(code), what + " (" + h5_words() + ")");
}

hid_t h5_check(hid_t result, const std::string& name) {
  if (result >= 0) return result;
  return h5_check(result, ExitCode::bad_data,
                  name + " is damaged, or this HDF5 library cannot read it");
}

void close_written(Handle& file, ExitCode code, const std::string& what) {
  h5_check_rc(H5Fflush(file, H5F_SCOPE_GLOBAL), code, what);
  h5_check_rc(file.finish(), code, what);
}

hid_t native_type(Element element) {
  const NumberType* const type = find_number_type(name(element));
  require(type != nullptr, ExitCode::internal, "HDF5 has no native type of complex numbers");
  return native_type(*type);
}

Handle complex_type(hid_t part, const std::string& re, const std::string& im) {
  const std::size_t half = H5Tget_size(part);
  Handle type(h5_check(H5Tcreate(H5T_COMPOUND, 2 * half), ExitCode::internal, "H5Tcreate"),
              H5Tclose);
  h5_check_rc(H5Tinsert(type, re.c_str(), 0, part), ExitCode::internal, "H5Tinsert");
  h5_check_rc(H5Tinsert(type, im.c_str(), half, part), ExitCode::internal, "H5Tinsert");
  return type;
}

Handle owned_type(Element element) {
  if (element == Element::c64) return complex_type(H5T_NATIVE_FLOAT);
  if (element == Element::c128) return complex_type(H5T_NATIVE_DOUBLE);
  return {H5Tcopy(native_type(element)), H5Tclose};
}

void write_attribute(hid_t object, const std::string& name, const std::string& value) {
  const Handle type = text_type();
  const char* text = value.c_str();
  write_scalar(object, name, type, &text);
}
void write_attribute(hid_t object, const std::string& name, index_t value) {
  write_scalar(object, name, H5T_NATIVE_INT64, &value);
}
void write_attribute(hid_t object, const std::string& name, double value) {
  write_scalar(object, name, H5T_NATIVE_DOUBLE, &value);
}

bool has_attribute(hid_t object, const std::string& name) {
  return H5Aexists(object, name.c_str()) > 0;
}

std::string read_text_attribute(hid_t object, const std::string& name) {
  const Handle attribute = open_attribute(object, name);
  const Handle stored(H5Aget_type(attribute), H5Tclose);
  require(H5Tget_class(stored) == H5T_STRING && H5Tis_variable_str(stored) > 0, ExitCode::bad_data,
          "attribute '" + name + "' is not a string of variable length");
  char* text = nullptr;
  const Handle type = text_type();
  h5_check_rc(H5Aread(attribute, type, static_cast<void*>(&text)), ExitCode::bad_data,
              "attribute '" + name + "' cannot be read");
  std::string value = text == nullptr ? "" : text;
  H5free_memory(text);
  return value;
}

index_t read_integer_attribute(hid_t object, const std::string& name) {
  return read_scalar<index_t>(object, name, H5T_NATIVE_INT64);
}

double read_real_attribute(hid_t object, const std::string& name) {
  return read_scalar<double>(object, name, H5T_NATIVE_DOUBLE);
}

Handle creation_ordered(hid_t list_class) {
  Handle list(h5_check(H5Pcreate(list_class), ExitCode::internal, "H5Pcreate"), H5Pclose);
  H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  return list;
}

std::vector<std::string> links_by_creation(hid_t group) {
  std::vector<std::string> names;
  H5Literate(
      group, H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr,
      [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
        static_cast<std::vector<std::string>*>(list)->emplace_back(name);
        return 0;
      },
      &names);
  return names;
}

}  // namespace tessera::inline v1::io
