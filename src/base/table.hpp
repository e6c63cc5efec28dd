#pragma once
// Aligned text tables: the form in which results meet people.

#include <string>
#include <vector>

namespace tessera {

/// Columns with headings; numbers right-aligned (a cell that begins with a digit or sign), words
/// left-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}
  void add(std::vector<std::string> cells);
  /// Heading line, ruler, one line a row; every line ends with '\n'.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tessera
