// Descriptions of tables as text, for other processes.

#include <fmt/core.h>

#include <array>
#include <sstream>

#include "io/columns.hpp"

namespace tessera::inline v1::io {
namespace {

using Key = Column::Key;

std::string counted_text(const std::string& word) {
  return fmt::format(" {} {}", word.size(), word);
}

std::string line_of(const Column& column) {
  const DatasetInfo& info = column.info;
  std::string line = fmt::format(
      "{} {} {} {} {} {} {} {}", static_cast<int>(column.key), static_cast<int>(column.use),
      static_cast<int>(info.kind), info.element_bytes, info.is_signed ? 1 : 0,
      info.self_contained ? 1 : 0, column.has_scales ? 1 : 0, info.shape.size());
  for (const index_t extent : info.shape) line += fmt::format(" {}", extent);
  line += fmt::format(" {}", info.chunk.size());
  for (const index_t extent : info.chunk) line += fmt::format(" {}", extent);
  for (const std::string* word :
       {&column.name, &column.path, &column.member, &info.other, &column.obstacle})
    line += counted_text(*word);
  return line + "\n";
}

std::string parse_text(std::istringstream& words) {
  std::size_t length = 0;
  words >> length;
  words.get();
  std::string text(words ? length : 0, '\0');
  words.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

Column parse_column(std::istringstream& words) {
  Column column;
  int key = 0, use = 0, kind = 0;
  std::size_t rank = 0;
  words >> key >> use >> kind >> column.info.element_bytes >> column.info.is_signed >>
      column.info.self_contained >> column.has_scales >> rank;
  column.key = static_cast<Key>(key);
  column.use = static_cast<Column::Use>(use);
  column.info.kind = static_cast<DatasetInfo::Kind>(kind);
  for (std::size_t d = 0; d < rank && words; ++d) words >> column.info.shape.emplace_back();
  words >> rank;
  for (std::size_t d = 0; d < rank && words; ++d) words >> column.info.chunk.emplace_back();
  for (std::string* word :
       {&column.name, &column.path, &column.member, &column.info.other, &column.obstacle})
    *word = parse_text(words);
  return column;
}

}  // namespace

std::string to_text(const TableInfo& table) {
  std::string text = fmt::format(
      "{} {} {} {} {} {}\n", table.is_group ? 1 : 0, table.columns.size(), table.members.size(),
      table.coordinates.size(), table.left_out.size(), table.parts.size());
  for (const auto* list : {&table.columns, &table.members, &table.coordinates})
    for (const Column& column : *list) text += line_of(column);
  for (const auto* list : {&table.left_out, &table.parts})
    for (const std::string& name : *list) text += counted_text(name);
  return text;
}

TableInfo parse_table(const std::string& text) {
  std::istringstream words(text);
  TableInfo table;
  std::array<std::size_t, 5> counts{};
  words >> table.is_group;
  for (std::size_t& count : counts) words >> count;
  std::size_t next = 0;
  for (auto* list : {&table.columns, &table.members, &table.coordinates})
    for (std::size_t c = counts[next++]; c > 0 && words; --c) list->push_back(parse_column(words));
  for (auto* list : {&table.left_out, &table.parts})
    for (std::size_t c = counts[next++]; c > 0 && words; --c) list->push_back(parse_text(words));
  require(!words.fail() && !table.columns.empty(), ExitCode::internal,
          "process that examines the input sent no result");
  return table;
}

}  // namespace tessera::inline v1::io
