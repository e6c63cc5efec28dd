#include "io/dataset.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.hpp"
#include "io/schema.hpp"

namespace tessera::io {

DatasetName parse_dataset_name(std::string_view text, std::string_view option) {
  const auto colon = text.rfind(":/");
  require(colon != std::string_view::npos && colon > 0 && colon + 2 < text.size(), ExitCode::usage,
          fmt::format("--{} '{}' does not name a dataset; write file.h5:/path/to/dataset", option, text));
  const std::string path(text.substr(colon + 1));
  require(
      !path.ends_with('/') && path.find("//") == std::string::npos, ExitCode::usage,
      fmt::format("--{} '{}' has an empty name in its path; write file.h5:/path/to/dataset", option, text));
  return {std::string(text.substr(0, colon)), path};
}

std::string DatasetInfo::type_text() const {
  if (kind == Kind::other) return fmt::format("{} bytes of another kind", element_bytes);
  return fmt::format("{}{}", kind == Kind::real ? 'f' : is_signed ? 'i' : 'u', 8 * element_bytes);
}

std::string DatasetInfo::shape_text() const {
  return shape.empty() ? "a scalar" : fmt::format("{}", fmt::join(shape, " x "));
}

Handle open_file(const std::string& file) {
  quiet_errors();
  struct stat status {};
  if (stat(file.c_str(), &status) != 0 || access(file.c_str(), R_OK) != 0) {
    const int reason = errno;
    throw Error(ExitCode::missing_input,
                fmt::format("cannot read '{}': {}; check the path", file, std::strerror(reason)));
  }
  require(!S_ISDIR(status.st_mode), ExitCode::missing_input,
          fmt::format("cannot read '{}': it is a directory; name a file in it", file));
  require(S_ISREG(status.st_mode), ExitCode::bad_data,  // to open a pipe would wait for its writer
          fmt::format("'{}' is no HDF5 file but a pipe or device; give a file", file));
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (id < 0) {
    const std::string words = h5_words();
    const bool is_hdf5 = H5Fis_hdf5(file.c_str()) > 0;
    throw Error(
        ExitCode::bad_data,
        is_hdf5 ? fmt::format("'{}' is a damaged or unreadable HDF5 file ({}); make it again", file, words)
                : fmt::format("'{}' is not an HDF5 file ({}); give one written by h5py or the like", file,
                              words));
  }
  return {id, H5Fclose};
}

void require_complete(hid_t file, const std::string& name) {
  if (H5Lexists(file, schema::group, H5P_DEFAULT) <= 0) return;
  const Handle group(h5_check(H5Gopen2(file, schema::group, H5P_DEFAULT), ExitCode::bad_data, name),
                     H5Gclose);
  const std::string state = read_text_attribute(group, schema::state);
  require(state == schema::state_complete, ExitCode::bad_data,
          fmt::format("'{}' is an output of Tessera in state '{}'; make it again", name, state));
}

Handle open_dataset(hid_t file, const DatasetName& name) {
  const hid_t id = H5Dopen2(file, name.path.c_str(), H5P_DEFAULT);
  if (id < 0) {
    std::vector<std::string> names;
    H5Literate(
        file, H5_INDEX_NAME, H5_ITER_INC, nullptr,
        [](hid_t, const char* link, const H5L_info_t*, void* list) -> herr_t {
          static_cast<std::vector<std::string>*>(list)->push_back(std::string("/") + link);
          return 0;
        },
        &names);
    throw Error(ExitCode::missing_input,
                fmt::format("'{}' has no dataset '{}'; at its root are: {}", name.file, name.path,
                            names.empty() ? "nothing" : join(names, ", ")));
  }
  return {id, H5Dclose};
}

DatasetInfo inspect(hid_t dataset, const DatasetName& name) {
  const Handle space(h5_check(H5Dget_space(dataset), ExitCode::bad_data, name.text()), H5Sclose);
  const Handle type(h5_check(H5Dget_type(dataset), ExitCode::bad_data, name.text()), H5Tclose);
  const int rank = H5Sget_simple_extent_ndims(space);
  require(rank >= 0 && rank <= H5S_MAX_RANK, ExitCode::bad_data, name.text() + " has no simple shape");
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  DatasetInfo info;
  for (int d = 0; d < rank; ++d) {
    const hsize_t extent = extents[static_cast<std::size_t>(d)];
    require(extent < (hsize_t{1} << 62), ExitCode::bad_data, name.text() + " has an extent beyond 2^62");
    info.shape.push_back(static_cast<index_t>(extent));
  }
  const H5T_class_t type_class = H5Tget_class(type);
  info.element_bytes = static_cast<index_t>(H5Tget_size(type));
  info.kind = type_class == H5T_FLOAT     ? DatasetInfo::Kind::real
              : type_class == H5T_INTEGER ? DatasetInfo::Kind::integer
                                          : DatasetInfo::Kind::other;
  info.is_signed = type_class != H5T_INTEGER || H5Tget_sign(type) == H5T_SGN_2;
  return info;
}

void require_matrix(const DatasetInfo& info, const DatasetName& name) {
  require(info.shape.size() == 2, ExitCode::bad_data,
          fmt::format("{} is {}-dimensional ({}) where a matrix is needed; give a 2-D dataset", name.text(),
                      info.shape.size(), info.shape_text()));
  require(info.kind != DatasetInfo::Kind::other, ExitCode::bad_data,
          fmt::format("{} holds elements of {}; real or integer numbers are needed", name.text(),
                      info.type_text()));
}

template <class T>
void read_box(const DatasetName& name, const layout::Box& box, MatrixView<T> to) {
  if (box.empty()) return;
  const Handle file = open_file(name.file);
  const Handle dataset = open_dataset(file, name);
  const Handle space(h5_check(H5Dget_space(dataset), ExitCode::bad_data, name.text()), H5Sclose);
  constexpr index_t piece_bytes =
      index_t{1} << 30;  // one call moves no more: larger ones have failed in HDF5 and MPI-IO
  const index_t row_bytes = box.cols.size() * static_cast<index_t>(sizeof(T));
  const index_t rows_at_once = std::max<index_t>(1, piece_bytes / row_bytes);
  for (index_t i = 0; i < box.rows.size(); i += rows_at_once) {
    const index_t rows = std::min(rows_at_once, box.rows.size() - i);
    const hsize_t start[2] = {static_cast<hsize_t>(box.rows.begin + i), static_cast<hsize_t>(box.cols.begin)};
    const hsize_t count[2] = {static_cast<hsize_t>(rows), static_cast<hsize_t>(box.cols.size())};
    h5_check_rc(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr),
                ExitCode::bad_data, name.text() + " has no block " + layout::text(box));
    const hsize_t memory_extents[2] = {count[0], static_cast<hsize_t>(to.ld)};
    const hsize_t memory_start[2] = {0, 0};
    const Handle memory(H5Screate_simple(2, memory_extents, nullptr), H5Sclose);
    H5Sselect_hyperslab(memory, H5S_SELECT_SET, memory_start, nullptr, count, nullptr);
    h5_check_rc(H5Dread(dataset, native_type(element_of<T>), memory, space, H5P_DEFAULT, &to(i, 0)),
                ExitCode::bad_data, "cannot read " + name.text());
  }
}

template void read_box<float>(const DatasetName&, const layout::Box&, MatrixView<float>);
template void read_box<double>(const DatasetName&, const layout::Box&, MatrixView<double>);

}  // namespace tessera::io
