#include "io/dataset.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/text.hpp"
#include "io/number_types.hpp"
#include "io/other_forms.hpp"
#include "io/raw_file.hpp"
#include "io/schema.hpp"
#include "io/storage.hpp"
#include "io/type_name.hpp"

namespace tessera::inline v1::io {

DatasetInfo number_type(std::string_view name) {
  using Kind = DatasetInfo::Kind;
  DatasetInfo info;
  info.other = name;
  if (const NumberType* const type = find_number_type(name)) {
    info.kind = type->form.real ? Kind::real : Kind::integer;
    info.element_bytes = static_cast<index_t>(type->form.bytes);
    info.is_signed = type->form.real || type->form.has_sign;
    return info;
  }
  const auto* const row = std::ranges::find(complex_elements, name, &ElementInfo::name);
  require(row != complex_elements.end(), ExitCode::usage,
          fmt::format("'{}' is not a number type; use one of {}", name,
                      join(number_type_names(), ", ")));
  info.kind = Kind::complex;
  info.element_bytes = static_cast<index_t>(row->bytes);
  return info;
}

index_t DatasetInfo::chunk_bytes() const {
  constexpr index_t beyond = index_t{1} << 40;
  index_t bytes = chunk.empty() ? 0 : element_bytes;
  for (const index_t extent : chunk) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return beyond;
  }
  return std::min(bytes, beyond);
}

index_t bytes_to_read(hid_t dataset, const DatasetInfo& info, index_t chunks, index_t values) {
  constexpr index_t beyond = index_t{1} << 50,
                    most_of_a_byte = 1032;  // deflate's maximal expansion
  const Handle file(H5Iget_file_id(dataset), H5Fclose);
  hsize_t held = 0;
  index_t bytes = 0, honest = 0;
  if (__builtin_mul_overflow(info.chunk_bytes(), chunks, &bytes) ||
      __builtin_add_overflow(bytes, values, &bytes))
    bytes = beyond;
  if (H5Fget_filesize(file, &held) < 0 || __builtin_mul_overflow(most_of_a_byte, held, &honest))
    return bytes;
  return std::min(bytes, honest);
}

Handle number_type(const DatasetInfo& info) {
  if (info.kind == DatasetInfo::Kind::complex) {
    return complex_type(info.element_bytes == 8 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE);
  }
  const NumberType* const type = find_number_type(info.type_text());
  require(type != nullptr, ExitCode::internal, "type " + info.type_text() + " has no HDF5 form");
  return {h5_check(H5Tcopy(native_type(*type)), ExitCode::internal, "H5Tcopy"), H5Tclose};
}

namespace {

/// Throws the error for a file that cannot be opened; one that is open for writing, or a lack of
/// file descriptors, does not mean that it is damaged.
[[noreturn]] void throw_not_opened(const std::string& file, const std::string& words) {
  require(h5_code(ExitCode::io) != ExitCode::memory, ExitCode::memory,
          fmt::format("'{}' cannot be opened ({}); check ulimit -n and ulimit -v", file, words));
  const auto mentions = [&](const char* part) { return words.find(part) != std::string::npos; };
  require(!mentions("lock file") || mentions(std::strerror(EAGAIN)), ExitCode::io,
          fmt::format("'{}' cannot be locked ({}); export HDF5_USE_FILE_LOCKING=FALSE if no "
                      "program writes to it",
                      file, words));
  require(
      !mentions("lock file"), ExitCode::io,
      fmt::format("'{}' is open for writing in another program ({}); try again when it is closed",
                  file, words));
  require(!mentions("open for write"), ExitCode::bad_data,
          fmt::format("'{}' is open for writing in another program, or was when that ended ({}); "
                      "try again when it is closed",
                      file, words));
  const htri_t is_hdf5 = H5Fis_hdf5(file.c_str());
  require(is_hdf5 >= 0, ExitCode::io,
          fmt::format(
              "'{}' cannot be opened ({}); check whether other files in its folder can be opened",
              file, words));
  const std::string form = form_of(file);
  throw Error(
      ExitCode::bad_data,
      is_hdf5 > 0
          ? fmt::format("'{}' is a damaged or unreadable HDF5 file ({}); write it again", file,
                        words)
          : fmt::format("'{}' is {} ({}); {}", file, form.empty() ? "not an HDF5 file" : form,
                        words, advice_on(file, form)));
}

}  // namespace

Handle open_file(const std::string& file, hid_t access_list) {
  const QuietErrors quiet;
  struct stat status {};
  if (stat(file.c_str(), &status) != 0 || access(file.c_str(), R_OK) != 0) {
    const int reason = errno;
    throw Error(ExitCode::missing_input, fmt::format("'{}' cannot be read: {}; check the path",
                                                     file, std::strerror(reason)));
  }
  if (const std::string form = form_of(file); S_ISDIR(status.st_mode) && !form.empty())
    throw Error(ExitCode::bad_data,
                fmt::format("'{}' is {}; {}", file, form, advice_on(file, form)));
  require(!S_ISDIR(status.st_mode), ExitCode::missing_input,
          fmt::format("'{}' cannot be read: it is a directory; name a file in it", file));
  require(S_ISREG(status.st_mode), ExitCode::bad_data,  // opening a pipe would wait for its writer
          fmt::format("'{}' is a pipe or device, not an HDF5 file; name a regular file", file));
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, access_list);
  if (id < 0) {
    throw_not_opened(file, h5_words());
  }
  return owned_file(id);
}

void require_complete(hid_t file, const std::string& name) {
  if (H5Lexists(file, schema::group, H5P_DEFAULT) <= 0) return;
  const Handle group(h5_check(H5Gopen2(file, schema::group, H5P_DEFAULT), name), H5Gclose);
  const std::string state = read_text_attribute(group, schema::state);
  require(state == schema::state_complete, ExitCode::bad_data,
          fmt::format("'{}' is an output of Tessera in state '{}'; write it again", name, state));
}

namespace {

/// Returns the deepest group on a path.
std::string group_on(hid_t file, const std::string& path) {
  std::string group = "/";
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    const Handle opened(H5Gopen2(file, path.substr(0, end).c_str(), H5P_DEFAULT), H5Gclose);
    if (opened < 0) break;
    group = path.substr(0, end);
  }
  return group;
}

/// Returns the error for a dataset that could not be opened.
Error no_dataset(hid_t file, const DatasetName& name) {
  const std::string words = h5_words();
  const char* const path = name.path.c_str();
  if (H5Oexists_by_name(file, path, H5P_DEFAULT) > 0) {
    const hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    if (object < 0) {
      return {
          ExitCode::bad_data,
          fmt::format("'{}' of '{}' cannot be opened ({}): it is damaged, or written by a newer "
                      "HDF5 in a newer format; write it again, with h5py by libver='v110'",
                      name.path, name.file, words)};
    }
    const bool is_group = H5Iget_type(object) == H5I_GROUP;
    H5Oclose(object);
    return {ExitCode::missing_input,
            fmt::format("'{}' of '{}' is a {}; name a dataset{}", name.path, name.file,
                        is_group ? "group" : "type", is_group ? " in it" : "")};
  }
  if (H5Lexists(file, path, H5P_DEFAULT) > 0) {
    return {ExitCode::missing_input,
            fmt::format("'{}' of '{}' is a dangling link; name a dataset", name.path, name.file)};
  }
  const std::string group = group_on(file, name.path);
  const Handle opened(H5Gopen2(file, group.c_str(), H5P_DEFAULT), H5Gclose);
  std::vector<std::string> names;
  H5Literate(
      opened, H5_INDEX_NAME, H5_ITER_INC, nullptr,
      [](hid_t, const char* link, const H5L_info_t*, void* list) -> herr_t {
        static_cast<std::vector<std::string>*>(list)->push_back(link);
        return 0;
      },
      &names);
  for (std::string& one : names) one.insert(0, group == "/" ? "/" : group + "/");
  return {
      ExitCode::missing_input,
      fmt::format("'{}' has no dataset '{}'; choose from its {}: {}", name.file, name.path,
                  group == "/" ? "root" : "group", names.empty() ? "(empty)" : join(names, ", "))};
}

}  // namespace

Handle open_dataset(hid_t file, const DatasetName& name) {
  const hid_t id = H5Dopen2(file, name.path.c_str(), H5P_DEFAULT);
  if (id < 0) throw no_dataset(file, name);
  return {id, H5Dclose};
}

bool is_self_contained(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);  // later versions of HDF5 have more classes
  if (kind == H5T_VLEN || kind == H5T_REFERENCE) return false;
  if (kind == H5T_STRING) return H5Tis_variable_str(type) == 0;
  if (kind == H5T_ARRAY) return is_self_contained(Handle(H5Tget_super(type), H5Tclose));
  if (kind != H5T_COMPOUND) return true;
  const auto members = static_cast<unsigned>(std::max(0, H5Tget_nmembers(type)));
  for (unsigned m = 0; m < members; ++m) {
    if (!is_self_contained(Handle(H5Tget_member_type(type, m), H5Tclose))) return false;
  }
  return true;
}

namespace {

/// Returns whether the type is h5py's for numpy's bool: an enumeration of FALSE and TRUE in a byte.
/// Other enumerations are names, not numbers.
bool is_boolean(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2)
    return false;
  std::int8_t no = -1, yes = -1;
  return H5Tenum_valueof(type, "FALSE", &no) >= 0 && H5Tenum_valueof(type, "TRUE", &yes) >= 0 &&
         no == 0 && yes == 1;
}

/// Throws Error(bad_data) for impossible extents: a damaged file can claim any, and if their
/// product overflows the library reads out of bounds.
void require_possible_size(hid_t dataset, H5D_layout_t layout, const DatasetInfo& info,
                           const DatasetName& name) {
  index_t bytes = info.element_bytes;
  bool fits = bytes > 0, empty = false;
  for (const index_t extent : info.shape) {
    empty = empty || extent == 0;
    fits = fits && (extent == 0 || !__builtin_mul_overflow(bytes, extent, &bytes));
  }
  const hsize_t stored =
      layout == H5D_CONTIGUOUS ? H5Dget_storage_size(dataset) : 0;  // 0: never written
  require(
      fits && (stored == 0 || empty ||
               (info.self_contained ? static_cast<hsize_t>(bytes) == stored
                                    : static_cast<hsize_t>(bytes) <= stored)),
      ExitCode::bad_data,
      fmt::format("{} is damaged: {} of {} are not the {} bytes in its file; make the file again",
                  name.text(), info.shape_text(), info.type_text(), stored));
}

/// Returns whether the bits of a number, or the members of a compound type, lie inside its size.
bool has_possible_type(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_INTEGER || kind == H5T_FLOAT)
    return static_cast<std::size_t>(std::max(0, H5Tget_offset(type))) + H5Tget_precision(type) <=
           8 * bytes;
  for (int m = 0; kind == H5T_COMPOUND && m < H5Tget_nmembers(type); ++m) {
    const auto member = static_cast<unsigned>(m);
    const Handle inner(H5Tget_member_type(type, member), H5Tclose);
    if (H5Tget_member_offset(type, member) + H5Tget_size(inner) > bytes ||
        !has_possible_type(inner))
      return false;
  }
  return true;
}

}  // namespace

DatasetInfo inspect(hid_t dataset, const DatasetName& name) {
  const Handle space(h5_check(H5Dget_space(dataset), name.text()), H5Sclose);
  const Handle type(h5_check(H5Dget_type(dataset), name.text()), H5Tclose);
  require(H5Sget_simple_extent_type(space) != H5S_NULL, ExitCode::bad_data,
          name.text() + " has a null dataspace (no elements); name a dataset with elements");
  require(has_possible_type(type), ExitCode::bad_data,
          name.text() +
              " is damaged: its type has bits or members beyond its size; make the file "
              "again");
  const int rank = H5Sget_simple_extent_ndims(space);
  require(rank >= 0 && rank <= H5S_MAX_RANK, ExitCode::bad_data,
          name.text() + " has no simple dataspace");
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  DatasetInfo info;
  for (int d = 0; d < rank; ++d) {
    const hsize_t extent = extents[static_cast<std::size_t>(d)];
    require(extent < (hsize_t{1} << 62), ExitCode::bad_data,
            name.text() + " has an extent beyond 2^62");
    info.shape.push_back(static_cast<index_t>(extent));
  }
  const H5T_class_t type_class = H5Tget_class(type);
  info.element_bytes = static_cast<index_t>(H5Tget_size(type));
  info.kind = type_class == H5T_FLOAT                ? DatasetInfo::Kind::real
              : type_class == H5T_INTEGER            ? DatasetInfo::Kind::integer
              : is_boolean(type)                     ? DatasetInfo::Kind::boolean
              : real_part_of(type) != RealPart::none ? DatasetInfo::Kind::complex
                                                     : DatasetInfo::Kind::other;
  info.is_signed = type_class != H5T_INTEGER || H5Tget_sign(type) == H5T_SGN_2;
  info.self_contained = is_self_contained(type);
  if (info.kind == DatasetInfo::Kind::other || info.is_number()) info.other = type_name(type);
  const Handle creation(h5_check(H5Dget_create_plist(dataset), name.text()), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(creation);
  require_possible_size(dataset, layout, info, name);
  require_readable(dataset, creation, name);
  if (rank > 0 && layout == H5D_CHUNKED && H5Pget_chunk(creation, rank, extents.data()) == rank) {
    for (int d = 0; d < rank; ++d)
      info.chunk.push_back(
          narrow<index_t>(std::max<hsize_t>(1, extents[static_cast<std::size_t>(d)])));
  }
  return info;
}

DatasetInfo selected(DatasetInfo info, const DatasetName& name) {
  const auto ranges = resolve(name.selection, info.shape, name.text());
  for (std::size_t d = 0; d < ranges.size(); ++d) info.shape[d] = ranges[d].size();
  info.shape = kept(name.selection, info.shape);
  info.chunk = kept(name.selection, info.chunk);
  return info;
}

void require_matrix(const DatasetInfo& info, const DatasetName& name) {
  require(info.shape.size() == 2, ExitCode::bad_data,
          fmt::format("{} is {}-dimensional ({}) where a matrix is needed; give a 2-D dataset",
                      name.text(), info.shape.size(), info.shape_text()));
  require(info.reads_as_number(), ExitCode::bad_data,
          fmt::format("{} holds elements of {}: real or integer numbers are needed", name.text(),
                      info.type_text()));
}

Handle stored_type(const DatasetName& name) {
  const Handle file = open_file(name.file);
  const Handle dataset = open_dataset(file, name);
  const Handle type(h5_check(H5Dget_type(dataset), name.text()), H5Tclose);
  return {h5_check(H5Tcopy(type), name.text()), H5Tclose};
}

Handle complex_form(const DatasetName& name, index_t bytes) {
  const Handle stored = stored_type(name);
  const RealPart real = real_part_of(stored);
  require(real != RealPart::none, ExitCode::bad_data, name.text() + " holds no complex numbers");
  return complex_type(bytes == 8 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE,
                      member_name(stored, real == RealPart::first ? 0 : 1),
                      member_name(stored, real == RealPart::first ? 1 : 0));
}

bool is_stored_as(const DatasetName& name, Element element) {
  return H5Tequal(stored_type(name), owned_type(element)) > 0;
}

}  // namespace tessera::inline v1::io
