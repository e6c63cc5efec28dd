#include "io/guest.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <hdf5_hl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/note.hpp"
#include "base/option_names.hpp"
#include "io/dataset.hpp"
#include "io/geometry.hpp"
#include "io/partials.hpp"
#include "io/raw_file.hpp"
#include "io/schema.hpp"

namespace tessera::inline v1::io {
namespace {

/// Returns whether the library locks files, which users can disable.
bool locks_are_used() {
  const char* const use = std::getenv("HDF5_USE_FILE_LOCKING");
  return use == nullptr || (std::strcmp(use, "FALSE") != 0 && std::strcmp(use, "0") != 0);
}

std::string stamp_of(const struct stat& status) {
  return fmt::format("{} {} {} {}.{:09}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

/// Returns whether an object of that name exists. Throws Error(cannot_create) unless its path
/// consists of hard links through groups, so that it is in this file.
bool is_there(hid_t file, const std::string& path, const std::string& name) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0) return false;
    H5L_info_t info{};
    h5_check_rc(H5Lget_info(file, part.c_str(), &info, H5P_DEFAULT), name);
    require(info.type == H5L_TYPE_HARD, not_created,
            fmt::format("'{}' of '{}' is a soft or external link, through which outputs are not "
                        "written; name its target",
                        part, name));
    if (end == std::string::npos) return true;
    const Handle object(h5_check(H5Oopen(file, part.c_str(), H5P_DEFAULT), name), H5Oclose);
    require(
        H5Iget_type(object) == H5I_GROUP, not_created,
        fmt::format("'{}' of '{}' is not a group and cannot contain a dataset; name another path",
                    part, name));
  }
}

herr_t keep_scale(hid_t, unsigned, hid_t scale, void* kept) {
  H5Iinc_ref(scale);
  *static_cast<Handle*>(kept) = Handle(scale, H5Dclose);
  return 1;  // stops at the first one
}

/// Returns whether other datasets refer to this scale; they would lose it.
bool is_scale_of_others(hid_t dataset) {
  return H5DSis_scale(dataset) > 0 && has_attribute(dataset, "REFERENCE_LIST");
}

void require_place(hid_t file, const DatasetSpec& spec, const std::string& name,
                   Guest::Existing existing) {
  if (!is_there(file, spec.path, name)) return;
  const Handle object(h5_check(H5Oopen(file, spec.path.c_str(), H5P_DEFAULT), name), H5Oclose);
  require(H5Iget_type(object) == H5I_DATASET, not_created,
          fmt::format("'{}:{}' is a {}, which an output cannot replace; name another path", name,
                      spec.path, H5Iget_type(object) == H5I_GROUP ? "group" : "type"));
  require(existing == Guest::Existing::replace, not_created,
          fmt::format("'{}' has a dataset '{}'; pass {} to replace that one, or another name", name,
                      spec.path, option_or("--overwrite", "Existing::replace")));
  require(
      !is_scale_of_others(object), not_created,
      fmt::format(
          "'{}:{}' is a dimension scale of other datasets, which would lose it; name another path",
          name, spec.path));
}

/// Removes the names of a replaced dataset from Tessera's VTK image.
void leave_image(hid_t file, hid_t dataset) {
  const char* const fields = "/VTKHDF/PointData";
  if (H5Lexists(file, "/VTKHDF", H5P_DEFAULT) <= 0 || H5Lexists(file, fields, H5P_DEFAULT) <= 0)
    return;
  const Handle group(H5Gopen2(file, fields, H5P_DEFAULT), H5Gclose);
  if (group < 0) return;
  for (const std::string& name : image_names(group, dataset))
    h5_check_rc(H5Ldelete(group, name.c_str(), H5P_DEFAULT), not_created,
                "fields of the VTK image cannot be removed");
}

/// Removes a dataset, and keeps the scales of dimensions whose extents match the new one's.
void take_out(hid_t file, const DatasetSpec& spec, DatasetPlace& place) {
  {
    const Handle dataset(
        h5_check(H5Dopen2(file, spec.path.c_str(), H5P_DEFAULT), not_created, spec.path), H5Dclose);
    const std::vector<index_t> shape = inspect(dataset, {"", spec.path}).shape;
    place.scales.resize(spec.shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto dimension = static_cast<unsigned>(d);
      Handle scale;
      do {
        scale.reset();
        H5DSiterate_scales(dataset, dimension, nullptr, keep_scale, &scale);
        if (scale < 0) break;
        h5_check_rc(H5DSdetach_scale(dataset, scale, dimension), not_created, spec.path);
        const bool fits = shape.size() == spec.shape.size() && shape[d] == spec.shape[d];
        if (fits && place.scales[d] < 0) place.scales[d] = std::move(scale);
      } while (true);
    }
    leave_image(file, dataset);
  }
  h5_check_rc(H5Ldelete(file, spec.path.c_str(), H5P_DEFAULT), not_created,
              fmt::format("'{}' cannot be replaced", spec.path));
}

}  // namespace

Guest::Guest(std::string file, std::string name, std::span<const DatasetSpec> specs,
             Existing existing)
    : file_(std::move(file)), name_(std::move(name)) {
  require_writable();
  take_lock();
  lock_out_writers();
  const Handle in = open_file(file_);
  if (H5Lexists(in, schema::group, H5P_DEFAULT) > 0) {
    const Handle group(h5_check(H5Gopen2(in, schema::group, H5P_DEFAULT), name_), H5Gclose);
    require(has_attribute(group, schema::schema_version) &&
                read_integer_attribute(group, schema::schema_version) == schema::output_version,
            not_created,
            fmt::format("'{}' holds datasets of another version of Tessera, to which this version "
                        "cannot add; name another file",
                        name_));
  }
  for (const DatasetSpec& spec : specs) require_place(in, spec, name_, existing);
}

Guest::FileLock::~FileLock() {
  if (descriptor < 0) return;
  if (!sibling.empty())
    discard_partial(sibling);  // a run that obtains it afterwards checks that the file still exists
  close(descriptor);
}

void Guest::require_writable() const {
  struct stat status {};
  const bool known = stat(file_.c_str(), &status) == 0;
  require(known, not_created,
          fmt::format("status of '{}' cannot be read: {}", name_, std::strerror(errno)));
  const bool protects =
      (status.st_mode & 0222) == 0;  // for everybody; root could write nevertheless
  require(
      !protects && access(file_.c_str(), W_OK) == 0, not_created,
      fmt::format(
          "'{}' is write-protected: a dataset cannot be added; name another file, or run chmod u+w",
          name_));
  const std::string folder = directory_of(file_);
  const int reason = access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  require(reason == 0, not_created,
          fmt::format("'{}' cannot be extended: its folder '{}', in which it is copied, is not "
                      "writable ({}); name another file",
                      name_, folder, std::strerror(reason)));
  if (status.st_nlink > 1)
    note(
        fmt::format("note: '{}' is one of {} hard links to a file: the others keep its old content",
                    name_, status.st_nlink));
}

void Guest::take_lock() {
  const std::string lock = hidden_name(file_, ".lock");
  for (bool held = false; !held;) {
    const int descriptor = open(lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) return;  // making the copy will report it
    const bool alone = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    struct stat mine {
    }, there{};
    held = alone && fstat(descriptor, &mine) == 0 && stat(lock.c_str(), &there) == 0 &&
           mine.st_ino == there.st_ino;
    if (held) {
      runs_.descriptor = descriptor;
      runs_.sibling = lock;
      note_partial(lock);
    } else {
      close(descriptor);
    }
    require(alone, ExitCode::io,
            fmt::format("'{}' is in use by another run that adds to it; wait for that run, or name "
                        "another file",
                        name_));
  }
}

void Guest::lock_out_writers() {
  writers_.descriptor = open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  require(writers_.descriptor >= 0, not_created,
          fmt::format("'{}' cannot be opened: {}", name_, std::strerror(errno)));
  const bool written = locks_are_used() && flock(writers_.descriptor, LOCK_SH | LOCK_NB) != 0 &&
                       errno == EWOULDBLOCK;
  require(!written, ExitCode::io,
          fmt::format("'{}' is open for writing in another program; try again when it is closed",
                      name_));
  struct stat status {};
  require(fstat(writers_.descriptor, &status) == 0, ExitCode::io,
          fmt::format("status of '{}' cannot be read", name_));
  state_ = stamp_of(status);
}

std::string Guest::state_of(const std::string& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0 ? stamp_of(status) : std::string();
}

void Guest::copy_to(const std::string& partial) {
  copy_.emplace(file_, partial, FileCopy::Owner::must_stay);
}

bool Guest::step() {
  if (copy_ && !copy_->step()) copy_.reset();
  return !is_copied();
}

Handle Guest::open_copy(const std::string& partial, std::span<const DatasetSpec> specs,
                        std::vector<DatasetPlace>& places) const {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  set_data_alignment(access);
  Handle out = owned_file(h5_check(H5Fopen(partial.c_str(), H5F_ACC_RDWR, access), not_created,
                                   fmt::format("'{}' cannot be extended", name_)));
  for (std::size_t s = 0; s < specs.size(); ++s) {
    places[s].of_others = true;
    if (is_there(out, specs[s].path, name_)) take_out(out, specs[s], places[s]);
  }
  return out;
}

void Guest::publish(const std::string& partial) const {
  require(state_of(file_) == state_, not_created,
          fmt::format("'{}' was concurrently modified and is left unchanged; rerun the command",
                      name_));
  copy_ownership(file_, partial, FileCopy::Owner::must_stay);
  publish_file(partial, file_);
}

}  // namespace tessera::inline v1::io
