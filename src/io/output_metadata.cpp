// Checks of the metadata of a written output.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "io/checksum.hpp"
#include "io/dataset.hpp"
#include "io/output_file.hpp"
#include "io/schema.hpp"

namespace tessera::inline v1::io {
/// Checks that the library describes the dataset's bytes as they were written.
void OutputFile::confirm_storage(hid_t dataset, const Dataset& wanted) const {
  const auto confirm = [&](bool holds) {
    require(holds, ExitCode::io,
            fmt::format("'{}' differs from the data written to it (its metadata); check the device",
                        file_));
  };
  const bool chunked = wanted.storage.is_chunked();
  confirm(H5Dget_offset(dataset) ==
          (chunked || wanted.offset < 0 ? HADDR_UNDEF : static_cast<haddr_t>(wanted.offset)));
  if (chunked) confirm(storage_of(dataset, wanted.path) == wanted.storage);
  if (chunked || wanted.offset < 0) return;
  const Handle type(h5_check(H5Dget_type(dataset), ExitCode::io, file_), H5Tclose);
  if (!is_self_contained(type)) return;  // they have other sizes in memory
  hsize_t bytes = H5Tget_size(type);
  for (const index_t extent : wanted.shape) bytes *= static_cast<hsize_t>(extent);
  confirm(H5Dget_storage_size(dataset) == bytes);
}

/// Reopens the file and compares the metadata that the library wrote.
void OutputFile::confirm_metadata() const {
  const auto confirm = [&](bool holds) {
    require(holds, ExitCode::io,
            fmt::format("'{}' differs from the data written to it (its metadata); check the device",
                        file_));
  };
  try {
    const Handle in = open_file(partial_);
    for (const Dataset& d : datasets_) {
      const Handle dataset = open_dataset(in, {partial_, d.path});
      confirm(read_text_attribute(dataset, schema::checksum) == checksum_text(d.sum));
      confirm(extents_of(dataset) == d.shape);
      confirm_storage(dataset, d);
    }
    const Handle group(h5_check(H5Gopen2(in, schema::group, H5P_DEFAULT), ExitCode::io, file_),
                       H5Gclose);
    confirm(read_text_attribute(group, schema::state) == schema::state_complete);
  } catch (const Error& error) {
    if (error.code() == ExitCode::io) throw;
    confirm(false);
  }
}

}  // namespace tessera::inline v1::io
