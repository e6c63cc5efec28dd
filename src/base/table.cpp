#include "base/table.hpp"

#include <algorithm>
#include <cctype>

#include "base/error.hpp"

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
    out += '\n';
  }
  return out;
}

}  // namespace tessera
