#include "base/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>

#include "base/error.hpp"
#include "base/lines.hpp"
#include "base/text.hpp"

namespace tessera::inline v1 {
namespace {

bool numeric(const std::string& cell) {
  if (cell.empty()) return true;
  const auto c = static_cast<unsigned char>(cell[0]);
  return std::isdigit(c) != 0 || (cell.size() > 1 && (c == '-' || c == '+' || c == '.')) ||
         cell == "-" || cell == "nan";
}

/// Returns the unit of time, or the percent sign, at the end of a cell such as "1.5 ms"; empty if
/// there is none.
std::string unit_of(const std::string& cell) {
  for (const char* unit : {" s", " ms", " us", " ns", " %"}) {
    const std::size_t length = std::string_view(unit).size();
    if (cell.size() > length && cell.ends_with(unit) &&
        cell.find_first_not_of("0123456789. ") == cell.size() - length + 1)
      return unit;
  }
  return "";
}

/// Returns the digits after the decimal point, with the point; -1 if the cell is not a number.
int digits_after_point(const std::string& cell) {
  if (cell.find_first_not_of("0123456789.") != std::string::npos) return -1;
  const auto point = cell.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(cell.size() - point);
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  TESSERA_EXPECTS(cells.size() == headings_.size());
  rows_.push_back(std::move(cells));
}

std::size_t Table::cells_width(std::size_t column) const {
  std::size_t most = 0;
  for (const auto& row : rows_) most = std::max(most, row[column].size());
  return most;
}

std::vector<std::size_t> Table::widths(const Lines& heads) const {
  std::vector<std::size_t> result(headings_.size());
  for (std::size_t c = 0; c < result.size(); ++c) {
    result[c] = cells_width(c);
    for (const auto& line : heads) result[c] = std::max(result[c], line[c].size());
  }
  return result;
}

std::size_t Table::width(const Lines& heads, std::size_t gap) const {
  const auto all = widths(heads);
  return std::accumulate(all.begin(), all.end(), gap * (all.size() - 1));
}

/// Returns the headings in lines of at most the width of the column's cells, or of the longest
/// word; the last line is the one next to the cells.
Table::Lines Table::broken_headings() const {
  std::vector<std::vector<std::string>> broken;
  std::size_t most = 0;
  for (std::size_t c = 0; c < headings_.size(); ++c) {
    std::size_t width = cells_width(c);
    const auto words = split(headings_[c], ' ');
    for (const std::string& word : words) width = std::max(width, word.size());
    std::vector<std::string>& lines = broken.emplace_back();
    for (const std::string& word : words) {
      if (lines.empty() || lines.back().size() + 1 + word.size() > width)
        lines.push_back(word);
      else
        lines.back() += " " + word;
    }
    most = std::max(most, lines.size());
  }
  Lines heads(most, std::vector<std::string>(broken.size()));
  for (std::size_t c = 0; c < broken.size(); ++c)
    for (std::size_t l = 0; l < broken[c].size(); ++l)
      heads[most - broken[c].size() + l][c] = broken[c][l];
  return heads;
}

std::string Table::text() const { return text({headings_}, usual_gap); }

std::string Table::text(const Lines& heads, std::size_t gap) const {
  std::string out;
  const auto columns = widths(heads);
  const auto append = [&](const std::vector<std::string>& cells, const std::vector<bool>& right) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string pad(columns[c] - cells[c].size(), ' ');
      out += std::string(c > 0 ? gap : 0, ' ') + (right[c] ? pad + cells[c] : cells[c] + pad);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  };
  std::vector<bool> right;
  std::vector<std::string> ruler;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    right.push_back(
        std::all_of(rows_.begin(), rows_.end(), [&](const auto& row) { return numeric(row[c]); }));
    ruler.emplace_back(columns[c], '-');
  }
  for (const auto& line : heads) append(line, right);
  append(ruler, right);
  for (const auto& row : rows_) append(row, right);
  return out;
}

/// Returns the table with the cells of the last column in lines of at most this width.
Table Table::with_last_column_of(std::size_t columns) const {
  Table table(headings_);
  for (const auto& row : rows_) {
    std::vector<std::string> cells = row;
    for (const std::string& line : split(filled(row.back(), columns), '\n')) {
      cells.back() = line;
      table.add(cells);
      cells.assign(cells.size(), "");
    }
  }
  return table;
}

std::string Table::within(std::size_t columns) const {
  if (width() <= columns) return text();
  constexpr std::size_t sentence = 24;  // columns, at least
  const std::size_t last = widths({headings_}).back(), others = width() - last;
  if (last > sentence && others + sentence <= columns)
    return with_last_column_of(columns - others).text();
  const Lines heads = broken_headings();
  return text(heads, width(heads, usual_gap) <= columns ? usual_gap : 1);
}

bool Table::is_constant(std::size_t column) const {
  return std::all_of(rows_.begin(), rows_.end(),
                     [&](const auto& row) { return row[column] == rows_.front()[column]; });
}

void Table::remove(std::size_t column) {
  headings_.erase(headings_.begin() + static_cast<std::ptrdiff_t>(column));
  for (auto& row : rows_) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
}

void Table::move_unit(std::size_t column) {
  const std::string unit = unit_of(rows_.front()[column]);
  if (unit.empty() || !std::all_of(rows_.begin(), rows_.end(),
                                   [&](const auto& row) { return unit_of(row[column]) == unit; }))
    return;
  headings_[column] += "," + unit;
  for (auto& row : rows_) row[column].resize(row[column].size() - unit.size());
}

void Table::align_points(std::size_t column) {
  int most = 0;
  for (const auto& row : rows_) {
    const int digits = digits_after_point(row[column]);
    if (digits < 0) return;
    most = std::max(most, digits);
  }
  for (auto& row : rows_)
    row[column] +=
        std::string(static_cast<std::size_t>(most - digits_after_point(row[column])), ' ');
}

std::string Table::fitted(std::size_t settings, std::size_t columns) const {
  if (rows_.empty()) return text();
  Table table = *this;
  for (std::size_t c = headings_.size(); c-- > 0;) {
    if (is_constant(c) && rows_.front()[c] == "-") {
      table.remove(c);
      settings -= c < settings ? 1 : 0;
    } else if (c >= settings) {
      table.move_unit(c);
      table.align_points(c);
    }
  }
  if (table.width() <= columns) return table.text();
  std::vector<std::string> common;
  for (std::size_t c = 0; c < settings; ++c)
    if (table.is_constant(c)) common.push_back(table.headings_[c] + " " + table.rows_.front()[c]);
  for (std::size_t c = settings; c-- > 0;)
    if (table.is_constant(c)) table.remove(c);
  if (table.width() > columns)
    for (auto& row : table.rows_)
      row.back().resize(std::min(row.back().find(" ("), row.back().size()));
  return wrapped(common, columns) + (common.empty() ? "" : "\n") + table.within(columns);
}

std::size_t terminal_columns() { return columns_of(STDOUT_FILENO); }

}  // namespace tessera::inline v1
