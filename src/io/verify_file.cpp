#include "io/verify_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <sstream>

#include "io/checksum.hpp"
#include "io/content.hpp"
#include "io/dataset.hpp"
#include "io/schema.hpp"

namespace tessera::inline v1::io {
namespace {

herr_t collect_datasets(hid_t, const char* name, const H5O_info_t* info, void* list) {
  if (info->type == H5O_TYPE_DATASET)
    static_cast<std::vector<std::string>*>(list)->push_back(std::string("/") + name);
  return 0;
}

/// Returns the bytes needed to read a piece of `rows` rows.
index_t bytes_of_piece(hid_t dataset, const DatasetInfo& info, index_t rows, index_t row_bytes) {
  index_t chunks = info.chunk.empty() ? 0 : ceil_div(rows, info.chunk[0]) + 1;
  for (std::size_t d = 1; d < info.chunk.size(); ++d) {
    if (__builtin_mul_overflow(chunks, ceil_div(info.shape[d], info.chunk[d]), &chunks))
      chunks = std::numeric_limits<index_t>::max();
  }
  return bytes_to_read(dataset, info, chunks, rows * row_bytes);
}

/// Returns the checksum of the whole dataset, as defined for outputs of that version; reads it
/// along the first dimension in pieces of about 64 MiB, unconverted.
std::uint64_t dataset_checksum(hid_t dataset, const DatasetInfo& info, const DatasetName& name,
                               index_t version, const std::function<void(index_t)>& step) {
  const auto checksum_of = version < 2 ? checksum_version1 : checksum;
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const Handle space(H5Dget_space(dataset), H5Sclose);
  if (!info.self_contained) {
    const Elements elements(dataset, space);
    return content_checksum(dataset, type, elements.data(), 0);
  }
  std::vector<hsize_t> start(info.shape.size(), 0), count(info.shape.begin(), info.shape.end());
  index_t row = 1;
  for (std::size_t d = 1; d < info.shape.size(); ++d) row *= std::max<index_t>(1, info.shape[d]);
  const index_t rows = info.shape.empty() ? 1 : info.shape[0];
  if (std::find(info.shape.begin(), info.shape.end(), 0) != info.shape.end()) return 0;
  const index_t at_once =
      std::clamp<index_t>((index_t{64} << 20) / (row * info.element_bytes), 1, rows);
  const index_t bytes_at_once = bytes_of_piece(dataset, info, at_once, row * info.element_bytes);
  step(bytes_at_once);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(
      static_cast<std::size_t>(at_once * row * info.element_bytes));
  std::uint64_t sum = 0;
  for (index_t i = 0; i < rows; i += at_once) {
    const index_t now = std::min(at_once, rows - i);
    Handle memory(H5Screate(H5S_SCALAR), H5Sclose);
    if (!info.shape.empty()) {
      start[0] = static_cast<hsize_t>(i);
      count[0] = static_cast<hsize_t>(now);
      h5_check_rc(
          H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
          name.text());
      memory =
          Handle(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose);
    }
    if (i > 0) step(bytes_at_once);
    h5_check_rc(H5Dread(dataset, type, memory, space, H5P_DEFAULT, buffer.get()),
                ExitCode::bad_data, name.text() + " cannot be read");
    const auto bytes = static_cast<std::size_t>(now * row * info.element_bytes);
    sum +=
        checksum_of(std::span<const std::byte>(buffer.get(), bytes), info.element_bytes, i * row);
  }
  return sum;
}

}  // namespace

FileCheck check_file(const std::string& file, const std::function<void(index_t)>& step) {
  const Handle in = open_file(file);
  require(H5Aexists(in, schema::schema_version) <= 0, ExitCode::bad_data,
          "'" + file +
              "' is a results file of Tessera, whose tables have no checksums; see tessera report");
  require(H5Lexists(in, schema::group, H5P_DEFAULT) > 0, ExitCode::bad_data,
          "'" + file +
              "' was not written by Tessera: without the group /_tessera it has no checksums to "
              "verify");
  FileCheck result;
  const Handle group(h5_check(H5Gopen2(in, schema::group, H5P_DEFAULT), ExitCode::bad_data, file),
                     H5Gclose);
  result.state = read_text_attribute(group, schema::state);
  const index_t version = read_integer_attribute(group, schema::schema_version);
  require(
      version <= schema::output_version, ExitCode::bad_data,
      fmt::format(
          "'{}' was written by a newer Tessera (output version {}, this version reads up to {})",
          file, version, schema::output_version));
  std::vector<std::string> paths;
  // In creation order, so that a dataset is found by its original name before its hard links.
  // Foreign files to which datasets were added may not track that order.
  bool walked = false;
  for (const H5_index_t order : {H5_INDEX_CRT_ORDER, H5_INDEX_NAME}) {
    paths.clear();
    walked =
        walked || H5Ovisit2(in, order, H5_ITER_INC, collect_datasets, &paths, H5O_INFO_BASIC) >= 0;
    if (walked) break;
  }
  require(walked, ExitCode::bad_data,
          fmt::format("objects of '{}' cannot be listed ({})", file, h5_words()));
  for (const std::string& path : paths) {
    const DatasetName name{file, path};
    const Handle dataset = open_dataset(in, name);
    if (!has_attribute(dataset, schema::checksum)) continue;
    const DatasetInfo info = inspect(dataset, name);
    result.datasets.push_back(
        {path, info.shape_text(), read_text_attribute(dataset, schema::checksum),
         checksum_text(dataset_checksum(dataset, info, name, version, step))});
    step(0);
  }
  return result;
}

std::string to_text(const FileCheck& check) {
  const auto counted = [](const std::string& word) {
    return fmt::format("{} {}\n", word.size(), word);
  };
  std::string text = counted(check.state);
  for (const DatasetCheck& dataset : check.datasets)
    text += counted(dataset.path) + counted(dataset.shape) + counted(dataset.expected) +
            counted(dataset.found);
  return text;
}

FileCheck parse_check(const std::string& text) {
  std::istringstream in(text);
  const auto next = [&] {
    std::size_t length = 0;
    in >> length;
    in.get();
    if (length > text.size()) in.setstate(std::ios::failbit);
    std::string word(in ? length : 0, '\0');
    in.read(word.data(), static_cast<std::streamsize>(word.size()));
    return word;
  };
  FileCheck check;
  check.state = next();
  while (in && in.peek() == '\n' && in.get() &&
         in.peek() != std::istringstream::traits_type::eof()) {
    DatasetCheck dataset;
    for (std::string* word : {&dataset.path, &dataset.shape, &dataset.expected, &dataset.found}) {
      *word = next();
      if (word != &dataset.found) in.get();
    }
    check.datasets.push_back(std::move(dataset));
  }
  require(!in.fail(), ExitCode::internal, "process that examines the file sent no result");
  return check;
}

}  // namespace tessera::inline v1::io
