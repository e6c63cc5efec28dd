#include <fmt/core.h>
#include <hdf5.h>

#include "io/dataset.hpp"
#include "io/h5.hpp"
#include "io/results.hpp"
#include "io/schema.hpp"

namespace tessera::inline v1::io {
namespace {

Handle open_group(hid_t parent, const std::string& name) {
  return {h5_check(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), ExitCode::bad_data,
                   fmt::format("'{}' of the results is not a group", name)),
          H5Gclose};
}

std::map<std::string, Value> attributes_of(hid_t group) {
  std::vector<std::string> names;
  H5Aiterate2(
      group, H5_INDEX_NAME, H5_ITER_INC, nullptr,
      [](hid_t, const char* name, const H5A_info_t*, void* list) -> herr_t {
        static_cast<std::vector<std::string>*>(list)->emplace_back(name);
        return 0;
      },
      &names);
  std::map<std::string, Value> result;
  for (const std::string& name : names) {
    const Handle attribute(H5Aopen(group, name.c_str(), H5P_DEFAULT), H5Aclose);
    const Handle type(H5Aget_type(attribute), H5Tclose);
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_INTEGER)
      result[name] = read_integer_attribute(group, name);
    else if (kind == H5T_FLOAT)
      result[name] = read_real_attribute(group, name);
    else
      result[name] = read_text_attribute(group, name);
  }
  return result;
}

template <class T>
std::vector<Value> numbers(hid_t dataset, hid_t type, std::size_t count) {
  std::vector<T> values(count);
  h5_check_rc(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              ExitCode::bad_data, "a column of the results cannot be read");
  return {values.begin(), values.end()};
}

std::vector<Value> column_values(hid_t dataset) {
  const Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
  const auto count =
      static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space)));
  if (H5Tget_class(type) == H5T_INTEGER) return numbers<index_t>(dataset, H5T_NATIVE_INT64, count);
  if (H5Tget_class(type) == H5T_FLOAT) return numbers<double>(dataset, H5T_NATIVE_DOUBLE, count);
  require(H5Tis_variable_str(type) > 0, ExitCode::bad_data,
          "a column of the results is neither numbers nor text");
  std::vector<char*> texts(count, nullptr);
  h5_check_rc(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()),
              ExitCode::bad_data, "a column of the results cannot be read");
  std::vector<Value> values;
  for (const char* text : texts) values.emplace_back(std::string(text == nullptr ? "" : text));
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, static_cast<void*>(texts.data()));
  return values;
}

TableRows table_of(hid_t run, const std::string& name) {
  TableRows table{name, {}};
  const Handle group = open_group(run, name);
  for (const std::string& column : links_by_creation(group)) {
    if (column == "row") continue;  // numbered anew by every write
    const Handle dataset(h5_check(H5Dopen2(group, column.c_str(), H5P_DEFAULT), ExitCode::bad_data,
                                  fmt::format("column '{}' of the results", column)),
                         H5Dclose);
    const std::string units =
        has_attribute(dataset, schema::units) ? read_text_attribute(dataset, schema::units) : "";
    std::vector<Value> values = column_values(dataset);
    table.rows.resize(std::max(table.rows.size(), values.size()));
    for (std::size_t r = 0; r < values.size(); ++r)
      table.rows[r].push_back({column, std::move(values[r]), units});
  }
  for (const Row& row : table.rows)
    require(row.size() == table.rows.front().size(), ExitCode::bad_data,
            fmt::format("columns of table '{}' differ in length", name));
  return table;
}

}  // namespace

std::vector<Run> read_runs(const std::string& file) {
  const QuietErrors quiet;
  const Handle in = open_file(file);
  std::vector<Run> runs;
  try {
    require(has_attribute(in, schema::schema_version), ExitCode::bad_data,
            "schema version is missing");
    for (const std::string& name : links_by_creation(in)) {
      const Handle group = open_group(in, name);
      Run run{name, attributes_of(group), {}};
      require(run.attributes.contains("workload"), ExitCode::bad_data,
              fmt::format("'{}' is not a run", name));
      for (const std::string& table : links_by_creation(group))
        run.tables.push_back(table_of(group, table));
      runs.push_back(std::move(run));
    }
  } catch (const Error& error) {
    throw Error(ExitCode::bad_data,
                fmt::format("'{}' is not a results file ({})", file, error.what()));
  }
  return runs;
}

}  // namespace tessera::inline v1::io
