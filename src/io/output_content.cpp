// What rank 0 writes through HDF5: coordinates and other datasets that accompany outputs; elements
// with parts of variable length, and references.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/content.hpp"
#include "io/coordinates.hpp"
#include "io/output_file.hpp"
#include "io/references.hpp"
#include "io/small_copy.hpp"

namespace tessera::io {
namespace {

/// Returns the rows of the elements in another order.
std::vector<std::byte> gathered(const Elements& elements, index_t row_elements,
                                std::span<const std::uint64_t> rows) {
  const auto bytes = static_cast<std::size_t>(row_elements * elements.bytes());
  std::vector<std::byte> result(rows.size() * bytes);
  const auto count = bytes > 0 ? elements.data().size() / bytes : 0;
  require(bytes == 0 || std::ranges::all_of(rows, [&](std::uint64_t row) { return row < count; }),
          ExitCode::internal, "a row of the permutation is not in the input");
  for (std::size_t i = 0; i < rows.size() && bytes > 0; ++i)
    std::memcpy(result.data() + i * bytes, elements.data().data() + rows[i] * bytes, bytes);
  return result;
}

std::uint64_t sum_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const Elements elements(dataset, space);
  return content_checksum(dataset, elements.type(), elements.data(), 0);
}

}  // namespace

namespace {

/// Attaches the scales of a dataset that was copied whole.
void copy_scales(hid_t out, std::vector<DatasetSpec> specs, const AttributesOf& copy, hid_t source,
                 std::vector<std::string>& created) {
  if (!has_attribute(source, "DIMENSION_LIST")) return;
  const Handle type(H5Dget_type(source), H5Tclose);
  specs.push_back({copy.path, extents_of(source), type, {}});
  specs.back().coordinates = CoordinatesOf{copy.from};
  copy_coordinates(out, specs, specs.size() - 1, {}, created);
}

}  // namespace

std::vector<std::string> OutputFile::copy_company(hid_t out, const std::vector<DatasetSpec>& specs,
                                                  const std::vector<DatasetPlace>& places) {
  std::vector<std::string> created;
  for (std::size_t d = 0; d < specs.size(); ++d)
    copy_coordinates(out, specs, d, places[d], created);
  for (std::size_t d = 0; d < specs.size(); ++d) {
    for (const AttributesOf& copy : specs[d].copies) {
      const Handle input = open_file(copy.from.file);
      const Handle source = open_dataset(input, copy.from);
      copy_whole(source, out, copy.path, created);
      copy_scales(out, specs, copy, source, created);
    }
    if (!are_references(specs[d].type)) continue;
    specs_ = specs;
    References(specs[d].attributes.front().from, specs).copy_targets(out, created);
  }
  return created;
}

void OutputFile::write_rows_of(std::size_t which, const DatasetName& from,
                               std::span<const std::uint64_t> rows) {
  Dataset& output = datasets_[which];
  const Handle input = open_file(from.file), source = open_dataset(input, from);
  const Handle all(H5Dget_space(source), H5Sclose);
  const Elements elements(source, all);
  index_t row_elements = 1;
  for (std::size_t d = 1; d < output.shape.size(); ++d) row_elements *= output.shape[d];
  std::vector<std::byte> data = gathered(elements, row_elements, rows);
  const std::string what = fmt::format("'{}:{}' cannot be written", file_, output.path);
  {
    Handle out(h5_check(H5Fopen(partial_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), ExitCode::io, what),
               H5Fclose);
    const Handle dataset(
        h5_check(H5Dopen2(out, output.path.c_str(), H5P_DEFAULT), ExitCode::io, what), H5Dclose);
    if (are_references(elements.type())) References(from, specs_).translate(out, data);
    output.sum = content_checksum(dataset, elements.type(), data, 0);
    output.written = static_cast<index_t>(rows.size()) * row_elements;
    if (!data.empty())
      h5_check_rc(H5Dwrite(dataset, elements.type(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()),
                  ExitCode::cannot_create, what);
    close_written(out, ExitCode::cannot_create, what);
  }
  const Handle out = open_file(partial_);
  require(sum_of(open_dataset(out, {partial_, output.path})) == output.sum, ExitCode::io,
          fmt::format("'{}' differs from the data written to it ({}); check the device", file_,
                      output.path));
}

}  // namespace tessera::io
