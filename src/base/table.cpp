#include "base/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/error.hpp"
#include "base/lines.hpp"
#include "base/text.hpp"

namespace tessera {
namespace {

bool numeric(const std::string& cell) {
  if (cell.empty()) return true;
  const auto c = static_cast<unsigned char>(cell[0]);
  return std::isdigit(c) != 0 || (cell.size() > 1 && (c == '-' || c == '+' || c == '.')) ||
         cell == "-" || cell == "nan";
}

void append_padded(std::string& out, const std::string& cell, std::size_t width, bool right,
                   bool last) {
  const std::string pad(width - std::min(width, cell.size()), ' ');
  out += right ? pad + cell : cell + (last ? "" : pad);
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

std::string Table::text() const {
  std::string out, ruler;
  std::vector<std::size_t> widths(headings_.size());
  std::vector<char> right(headings_.size(), 1);
  for (std::size_t c = 0; c < headings_.size(); ++c) {
    widths[c] = headings_[c].size();
    for (const auto& row : rows_) {
      widths[c] = std::max(widths[c], row[c].size());
      if (!numeric(row[c])) right[c] = 0;
    }
    const bool last = c + 1 == headings_.size();
    append_padded(out, headings_[c], widths[c], right[c] != 0, last);
    ruler += std::string(widths[c], '-') + (last ? "" : "  ");
    if (!last) out += "  ";
  }
  out += '\n' + ruler + '\n';
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      append_padded(out, row[c], widths[c], right[c] != 0, c + 1 == row.size());
      if (c + 1 < row.size()) out += "  ";
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

bool Table::is_constant(std::size_t column) const {
  return std::all_of(rows_.begin(), rows_.end(),
                     [&](const auto& row) { return row[column] == rows_.front()[column]; });
}

std::size_t Table::width() const {
  std::size_t all = 0;
  for (std::size_t c = 0; c < headings_.size(); ++c) {
    std::size_t most = headings_[c].size();
    for (const auto& row : rows_) most = std::max(most, row[c].size());
    all += most + (c > 0 ? 2 : 0);
  }
  return all;
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
  for (std::size_t c = headings_.size(); c-- > settings;) {
    if (table.is_constant(c) && rows_.front()[c] == "-") {
      table.remove(c);
      continue;
    }
    table.move_unit(c);
    table.align_points(c);
  }
  if (table.width() <= columns) return table.text();
  std::vector<std::string> common;
  for (std::size_t c = 0; c < settings; ++c)
    if (is_constant(c)) common.push_back(headings_[c] + " " + rows_.front()[c]);
  for (std::size_t c = settings; c-- > 0;)
    if (is_constant(c)) table.remove(c);
  if (table.width() > columns)
    for (auto& row : table.rows_)
      row.back().resize(std::min(row.back().find(" ("), row.back().size()));
  return wrapped(common, columns) + (common.empty() ? "" : "\n") + table.text();
}

std::size_t terminal_columns() { return columns_of(STDOUT_FILENO); }

}  // namespace tessera
