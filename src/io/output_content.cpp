// What rank 0 writes through HDF5: coordinates and other datasets that accompany outputs; elements
// with parts of variable length, and references.

#include <fmt/core.h>

#include <optional>

#include "base/progress.hpp"
#include "io/carried_rows.hpp"
#include "io/content.hpp"
#include "io/coordinates.hpp"
#include "io/home_file.hpp"
#include "io/output_file.hpp"
#include "io/references.hpp"
#include "io/small_copy.hpp"

namespace tessera::inline v1::io {
namespace {

/// Writes the rows of a carried dataset to the output's, and returns their checksum.
std::uint64_t write_rows(hid_t source, hid_t to, const RowOrder& order,
                         const std::function<void(std::span<std::byte>)>& translate) {
  CarriedRows reading(source, order.memory);
  const std::vector<index_t> shape = extents_of(to);
  std::vector<hsize_t> start(shape.size(), 0), count(shape.begin(), shape.end());
  const Handle space(H5Dget_space(to), H5Sclose);
  std::uint64_t sum = 0;
  Progress progress("rows of variable length", static_cast<double>(order.rows));
  for_rounds(reading, order, [&](index_t first, index_t n) {
    translate(reading.data());
    sum += content_checksum(to, reading.type(), reading.data(), first * reading.row_elements());
    start[0] = static_cast<hsize_t>(first);
    count[0] = static_cast<hsize_t>(n);
    const hsize_t elements = static_cast<hsize_t>(n * reading.row_elements());
    const Handle memory(H5Screate_simple(1, &elements, nullptr), H5Sclose);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    if (elements > 0)
      h5_check_rc(H5Dwrite(to, reading.type(), memory, space, H5P_DEFAULT, reading.data().data()),
                  ExitCode::cannot_create, path_of(to) + " cannot be written");
    progress.update(static_cast<double>(first + n));
  });
  return sum;
}

/// Returns the checksum of a dataset, read in bounded memory.
std::uint64_t sum_of(hid_t dataset, index_t memory) {
  CarriedRows reading(dataset, memory);
  std::uint64_t sum = 0;
  for_rounds(reading, unchanged_order(extents_of(dataset).front(), memory),
             [&](index_t first, index_t) {
               sum += content_checksum(dataset, reading.type(), reading.data(),
                                       first * reading.row_elements());
             });
  return sum;
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

void OutputFile::write_rows_of(std::size_t which, const DatasetName& from, const RowOrder& order) {
  Dataset& output = datasets_[which];
  const Handle input = open_file(from.file), source = open_dataset(input, from);
  bound_cache(input, order.memory);
  const std::string what = fmt::format("'{}:{}' cannot be written", file_, output.path);
  {
    Handle out = owned_file(
        h5_check(H5Fopen(partial_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), ExitCode::io, what));
    bound_cache(out, order.memory);
    const Handle dataset(
        h5_check(H5Dopen2(out, output.path.c_str(), H5P_DEFAULT), ExitCode::io, what), H5Dclose);
    const bool refers = are_references(Handle(H5Dget_type(source), H5Tclose));
    std::optional<References> references;
    if (refers) references.emplace(from, specs_);
    output.sum = write_rows(source, dataset, order, [&](std::span<std::byte> data) {
      if (references) references->translate(out, data);
    });
    index_t row_elements = 1;
    for (std::size_t d = 1; d < output.shape.size(); ++d) row_elements *= output.shape[d];
    output.written = order.rows * row_elements;
    close_written(out, ExitCode::cannot_create, what);
  }
  const Handle out = open_file(partial_);
  bound_cache(out, order.memory);
  require(sum_of(open_dataset(out, {partial_, output.path}), order.memory) == output.sum,
          ExitCode::io,
          fmt::format("'{}' differs from the data written to it ({}); check the device", file_,
                      output.path));
}

}  // namespace tessera::inline v1::io
