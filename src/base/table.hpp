#pragma once
// Aligned text tables of results.

#include <string>
#include <vector>

namespace tessera::inline v1 {

/// A table with headings. A column is right-aligned if all its cells begin with a digit or sign,
/// otherwise left-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}
  void add(std::vector<std::string> cells);
  /// Returns a heading line, a ruler and one line per row; every line ends with '\n'.
  [[nodiscard]] std::string text() const;
  /// Returns text(); if it is wider than this, sentences of the last column take several lines, or
  /// headings of several words do and then columns are separated by one space instead of two.
  [[nodiscard]] std::string within(std::size_t columns) const;
  /// Returns the table for a terminal of this many columns. The first `settings` columns are
  /// settings, the others measurements. Settings of one value for all rows are listed above where
  /// the table is wider; columns without any value ("-") are left out, a common unit of a
  /// measurement goes to its heading, and numbers are aligned at the decimal point. Where that is
  /// not enough, the last column (the verdict) loses its parentheses, and the rest is as within().
  [[nodiscard]] std::string fitted(std::size_t settings, std::size_t columns) const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  [[nodiscard]] bool is_constant(std::size_t column) const;
  /// Lines of headings: a cell per column each.
  using Lines = std::vector<std::vector<std::string>>;
  [[nodiscard]] std::size_t cells_width(std::size_t column) const;
  [[nodiscard]] std::vector<std::size_t> widths(const Lines& heads) const;
  [[nodiscard]] std::size_t width(const Lines& heads, std::size_t gap) const;
  [[nodiscard]] std::size_t width() const { return width({headings_}, usual_gap); }
  [[nodiscard]] Lines broken_headings() const;
  [[nodiscard]] Table with_last_column_of(std::size_t columns) const;
  [[nodiscard]] std::string text(const Lines& heads, std::size_t gap) const;
  void remove(std::size_t column);
  void move_unit(std::size_t column);
  void align_points(std::size_t column);

  static constexpr std::size_t usual_gap = 2;  ///< spaces between columns
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

/// Returns the columns of the terminal at standard output; otherwise those of COLUMNS, or 80.
[[nodiscard]] std::size_t terminal_columns();

}  // namespace tessera::inline v1
