#pragma once
// A variant is one way to compute the same thing: one name in five places (file, function, table
// row, option value, HDF5 attribute). Each workload's variants.cpp holds the table; its first row
// is the reference.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class Space { host, device };
[[nodiscard]] std::string_view name(Space space);

/// What every row of every table says of itself; a workload's row derives from it and adds the
/// functions.
struct VariantInfo {
  std::string_view name;
  Space space;
  std::string_view about;  ///< one line for `tessera list`, with its source where there is one
  /// Of a row that needs a library which is loaded when the row is asked for: why there is none
  /// here, "" where there is one. nullptr: it needs none.
  const std::string& (*missing)() = nullptr;
  std::string_view remedy = {};  ///< how to get the library
};

/// Throws Error(usage) where the row's library is not here.
void require_library(const VariantInfo& row);

/// The row of that name, or nullptr.
template <class Row>
[[nodiscard]] const Row* find_variant(std::span<const Row> table, std::string_view name) {
  for (const Row& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

template <class Row>
[[nodiscard]] std::vector<VariantInfo> infos(std::span<const Row> table) {
  return {table.begin(), table.end()};
}

}  // namespace tessera
