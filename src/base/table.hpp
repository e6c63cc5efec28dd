#pragma once
// Aligned text tables of results.

#include <string>
#include <vector>

namespace tessera {

/// A table with headings. A column is right-aligned if all its cells begin with a digit or sign,
/// otherwise left-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}
  void add(std::vector<std::string> cells);
  /// Returns a heading line, a ruler and one line per row; every line ends with '\n'.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tessera
