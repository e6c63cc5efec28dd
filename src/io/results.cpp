#include "io/results.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <hdf5_hl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>

#include "io/dataset.hpp"
#include "io/file_copy.hpp"
#include "io/partials.hpp"
#include "io/raw_file.hpp"
#include "io/schema.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr hsize_t chunk_rows = 256;

/// Scope guard: an advisory lock on a hidden file "<file>.lock". No effect on file systems without
/// locks, where a single job is safe nevertheless.
class FileLock {
 public:
  explicit FileLock(const std::string& file)
      : descriptor_(open(hidden_name(file, ".lock").c_str(),
                         O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    if (descriptor_ >= 0) flock(descriptor_, LOCK_EX);
  }
  ~FileLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

Handle value_type(const Value& value) {
  if (std::holds_alternative<index_t>(value)) return {H5Tcopy(H5T_NATIVE_INT64), H5Tclose};
  if (std::holds_alternative<double>(value)) return {H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose};
  return text_type();
}

Handle open_or_create_group(hid_t parent, const std::string& name) {
  const std::string what = "group '" + name + "' of the results cannot be created";
  if (H5Lexists(parent, name.c_str(), H5P_DEFAULT) > 0) {
    return {h5_check(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), ExitCode::io, what), H5Gclose};
  }
  const Handle list = creation_ordered(H5P_GROUP_CREATE);
  return {h5_check(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, list, H5P_DEFAULT), ExitCode::io,
                   what),
          H5Gclose};
}

Handle create_column(hid_t group, const std::string& name, hid_t type) {
  const hsize_t none = 0, unlimited = H5S_UNLIMITED;
  const Handle space(H5Screate_simple(1, &none, &unlimited), H5Sclose);
  const Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(list, 1, &chunk_rows);
  return {h5_check(H5Dcreate2(group, name.c_str(), type, space, H5P_DEFAULT, list, H5P_DEFAULT),
                   ExitCode::io, "column '" + name + "' of the results cannot be created"),
          H5Dclose};
}

/// Appends count values; returns the number of rows before.
hsize_t append_values(hid_t column, hid_t type, const void* values, hsize_t count) {
  Handle space(H5Dget_space(column), H5Sclose);
  hsize_t before = 0;
  H5Sget_simple_extent_dims(space, &before, nullptr);
  const hsize_t after = before + count;
  h5_check_rc(H5Dset_extent(column, &after), ExitCode::io,
              "a column of the results cannot be extended");
  space = Handle(H5Dget_space(column), H5Sclose);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &before, nullptr, &count, nullptr);
  const Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
  h5_check_rc(H5Dwrite(column, type, memory, space, H5P_DEFAULT, values), ExitCode::io,
              "a column of the results cannot be written");
  return before;
}

void append_column(hid_t column, const TableRows& table, std::size_t c) {
  const Handle type = value_type(table.rows.front()[c].value);
  std::vector<index_t> integers;
  std::vector<double> reals;
  std::vector<const char*> texts;
  for (const Row& row : table.rows) {
    const Value& value = row.at(c).value;
    if (const auto* integer = std::get_if<index_t>(&value)) integers.push_back(*integer);
    if (const auto* real = std::get_if<double>(&value)) reals.push_back(*real);
    if (const auto* text = std::get_if<std::string>(&value)) texts.push_back(text->c_str());
  }
  const void* values = !integers.empty() ? static_cast<const void*>(integers.data())
                       : !reals.empty()  ? static_cast<const void*>(reals.data())
                                         : static_cast<const void*>(texts.data());
  require(std::max({integers.size(), reals.size(), texts.size()}) == table.rows.size(),
          ExitCode::internal, "a column of the results changes its type");
  append_values(column, type, values, table.rows.size());
}

void append_table(hid_t run, const TableRows& table) {
  if (table.rows.empty()) return;
  const Handle group = open_or_create_group(run, table.table);
  const bool fresh = H5Lexists(group, "row", H5P_DEFAULT) <= 0;
  const Handle scale = fresh ? create_column(group, "row", H5T_NATIVE_INT64)
                             : Handle(H5Dopen2(group, "row", H5P_DEFAULT), H5Dclose);
  if (fresh)
    h5_check_rc(H5DSset_scale(scale, "row"), ExitCode::io,
                "row scale of the results cannot be created");
  hsize_t before = 0;
  H5Sget_simple_extent_dims(Handle(H5Dget_space(scale), H5Sclose), &before, nullptr);
  std::vector<index_t> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), static_cast<index_t>(before));
  append_values(scale, H5T_NATIVE_INT64, rows.data(), rows.size());
  for (std::size_t c = 0; c < table.rows.front().size(); ++c) {
    const Cell& cell = table.rows.front()[c];
    Handle column;
    if (fresh) {
      column = create_column(group, cell.column, value_type(cell.value));
      if (!cell.units.empty()) write_attribute(column, schema::units, cell.units);
      h5_check_rc(H5DSattach_scale(column, scale, 0), ExitCode::io,
                  "row scale of the results cannot be attached");
    } else {
      column = Handle(h5_check(H5Dopen2(group, cell.column.c_str(), H5P_DEFAULT), ExitCode::io,
                               "the results have no column '" + cell.column + "'"),
                      H5Dclose);
    }
    append_column(column, table, c);
  }
}

std::vector<std::string> group_names(hid_t file) {
  std::vector<std::string> names;
  H5Literate(
      file, H5_INDEX_NAME, H5_ITER_INC, nullptr,
      [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
        static_cast<std::vector<std::string>*>(list)->emplace_back(name);
        return 0;
      },
      &names);
  return names;
}

/// Opens a file that holds results, or nothing yet. Throws Error(bad_data) for other files: foreign
/// data gets no unrequested groups.
Handle open_results(const std::string& file) {
  Handle in = open_file(file);
  if (has_attribute(in, schema::schema_version)) {
    const index_t version = read_integer_attribute(in, schema::schema_version);
    require(version <= schema::version, ExitCode::bad_data,
            fmt::format("results '{}' were written by a newer Tessera (schema {}, this version "
                        "reads up to {}); name another file",
                        file, version, schema::version));
    return in;
  }
  const std::vector<std::string> names = group_names(in);
  require(names.empty(), ExitCode::bad_data,
          fmt::format("'{}' is not a results file (it holds '/{}'): results are added to new, "
                      "empty or results files only; name another",
                      file, names.empty() ? "" : names.front()));
  return in;
}

/// Creates a directory and its parents, and syncs their names to the device.
std::error_code make_folders(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (folder.empty() || fs::exists(folder, error)) return {};
  const fs::path above = (folder.has_filename() ? folder : folder.parent_path()).parent_path();
  if (!above.empty()) error = make_folders(above);
  if (error) return error;
  fs::create_directory(folder, error);
  if (!error) sync_directory(above.empty() ? "./" : above.string());
  return error;
}

/// Applies `change` to a copy of the file (to a new file if it does not exist), then renames the
/// copy.
void rewrite(const std::string& name, const std::function<void(hid_t out)>& change) {
  const QuietErrors quiet;
  const std::string file = behind_links(name);  // one lock for all names of a file
  const auto directory = directory_of(file);
  const std::error_code error = make_folders(directory);
  require(
      !error, ExitCode::cannot_create,
      fmt::format("folder '{}' of the results cannot be created: {}", directory, error.message()));
  const FileLock lock(file);
  remove_abandoned(file);
  const std::string partial = partial_name(file);
  try {
    const bool exists = file_exists(file);
    if (exists) {
      (void)open_results(file);  // reports damaged and foreign files
      copy_file(file, partial);
    }
    {
      const Handle list = creation_ordered(H5P_FILE_CREATE);
      Handle out = owned_file(
          h5_check(exists ? H5Fopen(partial.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                          : H5Fcreate(partial.c_str(), H5F_ACC_EXCL, list, H5P_DEFAULT),
                   ExitCode::cannot_create, fmt::format("results '{}' cannot be written", file)));
      write_attribute(out, schema::schema_version, index_t{schema::version});
      change(out);
      close_written(out, ExitCode::io, fmt::format("results '{}' cannot be written", file));
    }
    publish_file(partial, file);
  } catch (const std::filesystem::filesystem_error& e) {
    discard_partial(partial);
    throw Error(ExitCode::io,
                fmt::format("results '{}' cannot be copied: {}", file, e.code().message()));
  } catch (...) {
    discard_partial(partial);
    throw;
  }
}

void write_run(hid_t out, const std::string& run, const std::map<std::string, Value>& attributes,
               const std::vector<TableRows>& tables) {
  const Handle group = open_or_create_group(out, run);
  for (const auto& [name, value] : attributes) {
    std::visit([&, &key = name](const auto& v) { write_attribute(group, key, v); }, value);
  }
  for (const TableRows& table : tables) append_table(group, table);
}

}  // namespace

void append_results(const std::string& file, const std::string& run,
                    const std::map<std::string, Value>& attributes,
                    const std::vector<TableRows>& tables) {
  rewrite(file, [&](hid_t out) { write_run(out, run, attributes, tables); });
}

std::string append_new_run(const std::string& file, const std::string& workload,
                           const std::map<std::string, Value>& attributes,
                           const std::vector<TableRows>& tables) {
  std::string run;
  rewrite(file, [&](hid_t out) {
    run = next_run_name(group_names(out), workload);
    write_run(out, run, attributes, tables);
  });
  return run;
}

void require_place_for_results(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code error, gone;  // the working directory may have been deleted
  const fs::path whole = fs::absolute(directory_of(behind_links(file)) + "file", gone);
  fs::path folder = gone ? fs::path(".") : whole.lexically_normal().parent_path();
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  (void)fs::status(file, error);
  const int reason = gone                                       ? gone.value()
                     : error == std::errc::filename_too_long    ? ENAMETOOLONG
                     : !fs::is_directory(folder, error)         ? ENOTDIR
                     : access(folder.c_str(), W_OK | X_OK) != 0 ? errno
                                                                : 0;
  require(reason == 0, ExitCode::cannot_create,
          fmt::format("results '{}' cannot be written in '{}': {}; name another file", file,
                      folder.string(), std::strerror(reason)));
}

void replace_runs(const std::string& file, const std::vector<Run>& runs) {
  rewrite(file, [&](hid_t out) {
    std::vector<std::string> names = links_by_creation(out);
    for (const Run& run : runs) {
      if (H5Lexists(out, run.name.c_str(), H5P_DEFAULT) > 0)
        h5_check_rc(H5Ldelete(out, run.name.c_str(), H5P_DEFAULT), ExitCode::io,
                    fmt::format("{} of '{}' cannot be replaced", run.name, file));
      write_run(out, run.name, run.attributes, run.tables);
      if (std::find(names.begin(), names.end(), run.name) == names.end()) names.push_back(run.name);
    }
    // A link that is moved counts as the last one created: replaced runs regain their places.
    const char* aside = "moved";
    for (const std::string& name : names)
      for (const auto& [from, to] : {std::pair{name.c_str(), aside}, {aside, name.c_str()}})
        h5_check_rc(H5Lmove(out, from, out, to, H5P_DEFAULT, H5P_DEFAULT), ExitCode::io,
                    fmt::format("{} of '{}' cannot be moved", name, file));
  });
}

std::string next_run_name(const std::vector<std::string>& names, const std::string& workload) {
  int last = 0;
  for (const std::string& name : names) {
    if (name.starts_with(workload + "_"))
      last = std::max(last, std::atoi(name.c_str() + workload.size() + 1));
  }
  return fmt::format("{}_{:04d}", workload, last + 1);
}

std::vector<std::string> text_column(const std::string& file, const std::string& table,
                                     const std::string& column) {
  const QuietErrors quiet;
  std::vector<std::string> values;
  if (!file_exists(behind_links(file))) return values;
  const Handle in = open_results(file);
  const Handle type = text_type();
  for (const std::string& run : group_names(in)) {
    const std::string path = run + "/" + table;
    if (H5Lexists(in, run.c_str(), H5P_DEFAULT) <= 0 ||
        H5Lexists(in, path.c_str(), H5P_DEFAULT) <= 0 ||
        H5Lexists(in, (path + "/" + column).c_str(), H5P_DEFAULT) <= 0) {
      continue;
    }
    const Handle dataset(H5Dopen2(in, (path + "/" + column).c_str(), H5P_DEFAULT), H5Dclose);
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const auto count =
        static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space)));
    std::vector<char*> texts(count, nullptr);
    h5_check_rc(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()),
                ExitCode::bad_data,
                fmt::format("column '{}' of '{}' cannot be read", column, file));
    for (char* text : texts) values.emplace_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, static_cast<void*>(texts.data()));
  }
  return values;
}

}  // namespace tessera::inline v1::io
