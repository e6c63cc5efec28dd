#pragma once
// The text of options of a call: "name=value name=value".

#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "kernels/variant.hpp"

namespace tessera::inline v1::c {

class Options {
 public:
  /// Throws Error(usage) naming `options` unless the text, or nullptr, has these names only, each
  /// once with a value. The text must outlive the object. Allocates nothing.
  Options(const char* text, std::initializer_list<const char*> names);

  /// Returns the value of a name; "" if it is not given.
  [[nodiscard]] std::string_view text(std::string_view name) const;
  /// Returns the number in low .. high that a name has, or `otherwise`.
  [[nodiscard]] index_t number(std::string_view name, index_t low, index_t high,
                               index_t otherwise) const;
  /// Returns the threads of a call: those that are given, unless 0, or `owned`.
  [[nodiscard]] int threads(int owned) const;

 private:
  static constexpr std::size_t most = 8;  // options of a function
  std::array<std::pair<std::string_view, std::string_view>, most> values_;
  std::size_t count_ = 0;
};

/// Throws Error(usage): an option has none of the known values.
[[noreturn]] void unknown_value(std::string_view option, std::string_view value,
                                const std::vector<std::string>& known);

/// Returns the kernel of the host that the options name; nullptr for none and auto. Throws
/// Error(usage) for others, and if the library of the kernel is missing.
template <class Row>
[[nodiscard]] const Row* kernel_of(std::span<const Row> table, const Options& options) {
  const std::string_view name = options.text("kernel");
  if (name.empty() || name == "auto") return nullptr;
  for (const Row& row : table)
    if (row.space == Space::host && row.name == name) return require_library(row), &row;
  std::vector<std::string> known{"auto"};
  for (const Row& row : table)
    if (row.space == Space::host) known.emplace_back(row.name);
  unknown_value("kernel", name, known);
}

/// Returns the algorithm that the options name, or `otherwise`. Throws Error(usage) for others.
template <class Info>
[[nodiscard]] auto algorithm_of(const std::vector<Info>& table, const Options& options,
                                decltype(Info::algorithm) otherwise) {
  const std::string_view name = options.text("algorithm");
  if (name.empty()) return otherwise;
  std::vector<std::string> known;
  for (const Info& row : table) {
    if (row.name == name) return row.algorithm;
    known.emplace_back(row.name);
  }
  unknown_value("algorithm", name, known);
}

}  // namespace tessera::inline v1::c
