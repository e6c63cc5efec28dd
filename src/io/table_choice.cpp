#include "io/table_choice.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/option_names.hpp"
#include "base/text.hpp"
#include "io/coordinates.hpp"

namespace tessera::inline v1::io {
namespace {

using Use = Column::Use;

/// Returns whether a word of --columns or --drop names the column, or all of its parts.
bool names(const std::string& word, const Column& column) {
  return column.name == word || column.name.starts_with(word + "/");
}

/// Throws Error(usage) unless every word names a column.
void require_columns(const std::vector<std::string>& words, const char* option,
                     const TableInfo& table) {
  std::vector<std::string> known;
  for (const Column& column : table.columns) known.push_back(column.name);
  for (const std::string& word : words) {
    const bool found = std::ranges::any_of(
        table.columns, [&](const Column& column) { return names(word, column); });
    require(
        found, ExitCode::usage,
        fmt::format("--{}: the table has no column '{}'{}", option, word, suggestion(word, known)));
  }
}

/// Returns the column of the first word of --by: "-name[0:4],b". nullptr if there is none.
const Column* first_key(const TableInfo& table, const std::string& by) {
  const Column* found = nullptr;
  for (const Column& column : table.columns) {
    const std::size_t sign = by.starts_with('-') || by.starts_with('+') ? 1 : 0;
    for (const std::size_t begin : {std::size_t{0}, sign}) {
      const std::string_view rest = std::string_view(by).substr(begin);
      const bool is_it = rest.starts_with(column.name) &&
                         (rest.size() == column.name.size() || rest[column.name.size()] == ',' ||
                          rest[column.name.size()] == '[');
      if (is_it && (found == nullptr || column.name.size() > found->name.size())) found = &column;
    }
  }
  return found;
}

index_t rows_of(const TableInfo& table, const std::string& by) {
  if (const Column* const key = first_key(table, by)) return key->rows();
  index_t most = 0;
  for (const Column& column : table.columns)
    if (!column.info.shape.empty() && column.use == Use::row) most = std::max(most, column.rows());
  return most;
}

bool shares(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::ranges::find_first_of(a, b) != a.end();
}

}  // namespace

void compare_dimensions(TableInfo& table, const DatasetName& name, const std::string& by) {
  const Column* const key = first_key(table, by);
  if (!table.is_group || key == nullptr || !key->has_scales) return;
  const Handle file = open_file(name.file);
  const auto scales_of = [&](const Column& column) {
    return scales_by_dimension(open_dataset(file, {name.file, column.path}));
  };
  const std::vector<std::vector<std::string>> of_key = scales_of(*key);
  if (of_key.empty() || of_key.front().empty()) return;
  const std::vector<std::string>& rows = of_key.front();
  for (auto* list : {&table.columns, &table.coordinates})
    for (Column& column : *list) {
      if (!column.has_scales || column.info.shape.empty()) continue;
      const std::vector<std::vector<std::string>> scales = scales_of(column);
      const bool across = std::any_of(scales.begin() + 1, scales.end(),
                                      [&](const auto& others) { return shares(others, rows); });
      const bool other = !scales.front().empty() && !shares(scales.front(), rows);
      column.use = across ? Use::across : other ? Use::unchanged : Use::row;
    }
}

void choose_columns(TableInfo& table, const DatasetName& name, const TableChoice& choice) {
  require(table.is_group || (choice.columns.empty() && choice.drop.empty()), ExitCode::usage,
          fmt::format("{} choose datasets of a group: {} is one dataset, whose rows stay whole; "
                      "leave them out",
                      option_or("--columns and --drop", "choice.columns and choice.drop"),
                      name.text()));
  require_columns(choice.columns, "columns", table);
  require_columns(choice.drop, "drop", table);
  const auto among = [](const std::vector<std::string>& words, const Column& column) {
    return std::ranges::any_of(words, [&](const std::string& word) { return names(word, column); });
  };
  for (Column& column : table.columns) {
    const bool chosen = choice.columns.empty() || among(choice.columns, column);
    if (!chosen || among(choice.drop, column)) column.use = Use::omitted;
  }
  const index_t rows = rows_of(table, choice.by);
  for (Column& column : table.columns) {
    const bool other = column.info.shape.empty() || column.rows() != rows;
    if (table.is_group && other && column.use == Use::row) column.use = Use::unchanged;
    const bool carried = column.use == Use::row || column.use == Use::unchanged;
    require(
        !carried || column.obstacle.empty(), ExitCode::bad_data,
        fmt::format("{}:{} holds {}, which cannot be carried; leave it out with {} {}", name.file,
                    column.path, column.obstacle, option_or("--drop", "choice.drop"), column.name));
  }
  require(std::ranges::find(table.columns, Use::row, &Column::use) != table.columns.end(),
          ExitCode::usage,
          fmt::format("{} has no other columns to carry; choose other {}", name.text(),
                      option_or("--columns or --drop", "choice.columns or choice.drop")));
  std::erase_if(table.coordinates, [&](const Column& column) {
    return column.use != Use::row || column.info.shape.empty() || column.rows() != rows ||
           !column.obstacle.empty();
  });
}

std::string note_of_others(const TableInfo& table, const DatasetName& name) {
  std::vector<std::string> unchanged, across;
  for (const Column& column : table.columns) {
    if (column.use == Use::unchanged)
      unchanged.push_back(fmt::format("{} ({})", column.name,
                                      column.info.shape.empty() ? "a scalar"
                                      : column.rows() == table.rows()
                                          ? "another dimension"
                                          : counted(column.rows(), "row")));
    if (column.use == Use::across) across.push_back(column.name);
  }
  if (unchanged.empty() && across.empty()) return "";
  std::string note = fmt::format("note: {} has {}", name.text(), counted(table.rows(), "row"));
  if (!unchanged.empty()) note += "; copied unchanged: " + join(unchanged, ", ");
  if (!across.empty())
    note += fmt::format("; left out, because the rows are along another dimension of them: {}",
                        join(across, ", "));
  return note;
}

}  // namespace tessera::inline v1::io
