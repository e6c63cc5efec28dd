// Outputs that a stopped run leaves to a later one.

#include <fmt/core.h>
#include <unistd.h>

#include "base/text.hpp"
#include "io/dataset.hpp"
#include "io/output_file.hpp"
#include "io/schema.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::io {

void OutputFile::keep(const std::string& problem, const std::string& state) {
  const QuietErrors quiet;
  mpi::together(comm_, "keep", [&] { sync_written(); });
  std::vector<std::string> written;
  bool any = false;
  for (Dataset& dataset : datasets_) {
    dataset.sum = comm_.sum(dataset.sum);
    const index_t elements = comm_.sum(dataset.written);
    written.push_back(std::to_string(elements));
    any = any || elements > 0;
  }
  if (!any) return;
  mpi::on_root(comm_, "keep", [&] {
    const std::string what = fmt::format("partial output '{}' cannot be kept", file_);
    Handle out = owned_file(
        h5_check(H5Fopen(partial_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), ExitCode::io, what));
    write_sums(out);
    Handle group(h5_check(H5Gopen2(out, schema::group, H5P_DEFAULT), ExitCode::io, what), H5Gclose);
    write_attribute(group, schema::stopped_problem, problem);
    write_attribute(group, schema::stopped_state, state);
    write_attribute(group, schema::stopped_written, join(written, ","));
    if (is_guest()) write_attribute(group, schema::stopped_over, guest_->state());
    group.reset();
    close_written(out, ExitCode::io, what);
    if (has_scratch()) publish_file(scratch_, scratch_of(stopped_name(target_)));
    publish_file(partial_, stopped_name(target_));
  });
  published_ = true;
}

namespace {

/// Returns the state that keep() stored. Throws Error unless the file belongs to this problem and,
/// if it is a copy of a foreign file, to that file's current state.
std::string state_left(const Handle& file, const std::string& name, const std::string& target,
                       const std::string& problem) {
  const Handle group(h5_check(H5Gopen2(file, schema::group, H5P_DEFAULT), name), H5Gclose);
  require(!has_attribute(group, schema::stopped_over) ||
              read_text_attribute(group, schema::stopped_over) == Guest::state_of(target),
          ExitCode::bad_data, "file differs");
  require(read_integer_attribute(group, schema::schema_version) == schema::output_version &&
              read_text_attribute(group, schema::stopped_problem) == problem,
          ExitCode::bad_data, "problem differs");
  return read_text_attribute(group, schema::stopped_state);
}

}  // namespace

std::string OutputFile::left_of(const std::string& file, const std::string& problem) {
  const std::string target = behind_links(file), stopped = stopped_name(target);
  try {
    return is_own_file(stopped) ? state_left(open_file(stopped), stopped, target, problem) : "";
  } catch (const Error&) {
    return "";
  }
}

/// Adopts the file that keep() left; deletes any other file of its name.
bool OutputFile::adopt(const std::string& problem) {
  const std::string stopped = stopped_name(target_);
  if (!is_own_file(stopped)) {
    if (is_own_file(scratch_of(stopped))) unlink(scratch_of(stopped).c_str());
    return false;
  }
  try {
    require(!problem.empty(), ExitCode::bad_data, "problem is empty");
    const Handle in = open_file(stopped);
    const std::string state = state_left(in, stopped, target_, problem);
    const Handle group(
        h5_check(H5Gopen2(in, schema::group, H5P_DEFAULT), ExitCode::bad_data, stopped), H5Gclose);
    require(has_attribute(group, schema::stopped_over) == is_guest(), ExitCode::bad_data,
            "file differs");
    const auto written = split(read_text_attribute(group, schema::stopped_written), ',');
    require(written.size() == datasets_.size(), ExitCode::bad_data, "datasets differ");
    for (std::size_t d = 0; d < datasets_.size(); ++d) {
      const Handle dataset = open_dataset(in, {stopped, datasets_[d].path});
      require(inspect(dataset, {stopped, datasets_[d].path}).shape == datasets_[d].shape,
              ExitCode::bad_data, "shape differs");
      require(storage_of(dataset, datasets_[d].path) == datasets_[d].storage, ExitCode::bad_data,
              "storage differs");
      const haddr_t offset = H5Dget_offset(dataset);
      datasets_[d].offset = offset == HADDR_UNDEF ? -1 : static_cast<index_t>(offset);
      datasets_[d].sum = std::stoull(read_text_attribute(dataset, schema::checksum), nullptr, 16);
      datasets_[d].written = std::stoll(written[d]);
    }
    if (has_scratch()) adopt_scratch(scratch_of(stopped));
    kept_ = state;
  } catch (const std::exception&) {
    for (Dataset& dataset : datasets_) dataset.sum = 0, dataset.written = 0;
    unlink(stopped.c_str());
    unlink(scratch_of(stopped).c_str());
    return false;
  }
  publish_file(stopped, partial_);
  return true;
}

}  // namespace tessera::inline v1::io
