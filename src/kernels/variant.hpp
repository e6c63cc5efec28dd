#pragma once
// The table entry that all workloads share. A variant is one implementation of a computation and
// has one name in five places: file, function, table row, option value and HDF5 attribute. Each
// workload's variants.cpp holds its table, whose first row is the reference.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v1 {

enum class Space { host, device };
[[nodiscard]] std::string_view name(Space space);

/// The fields common to the rows of every table; a workload's row derives from it and adds the
/// functions.
struct VariantInfo {
  std::string_view name;
  Space space;
  std::string_view about;  ///< one line for `tessera list`, with its source if it has one
  /// Returns why the library that the row loads on demand is missing, or "" if it is present.
  /// nullptr if the row needs no library.
  const std::string& (*missing)() = nullptr;
  std::string_view remedy = {};  ///< how to get the library
};

/// Throws Error(usage) if the library of the row is missing.
void require_library(const VariantInfo& row);

/// Returns the row with that name, or nullptr.
template <class Row>
[[nodiscard]] const Row* find_variant(std::span<const Row> table, std::string_view name) {
  for (const Row& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

/// Returns the entry with that name. Precondition: there is one.
[[nodiscard]] const VariantInfo& entry(std::span<const VariantInfo> table, std::string_view name);

template <class Row>
[[nodiscard]] std::vector<VariantInfo> infos(std::span<const Row> table) {
  return {table.begin(), table.end()};
}

}  // namespace tessera::inline v1
