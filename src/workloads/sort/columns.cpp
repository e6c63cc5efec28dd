// Parsing of --by and reading of the columns that it names.

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>

#include "base/text.hpp"
#include "kernels/sort/inputs.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {

using dist::sort::KeyForm;
using dist::sort::Order;
using io::Column;

namespace {

/// One word of --by: "time", "-energy", "name[0:4]", "0:10".
struct ColumnWord {
  Order order = Order::ascending;
  std::string name;
  std::optional<layout::Range> bytes;
};

std::optional<layout::Range> parse_bytes_range(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  layout::Range range;
  const auto number = [](std::string_view digits, index_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && end == digits.data() + digits.size() && value >= 0;
  };
  if (!number(text.substr(0, colon), range.begin) || !number(text.substr(colon + 1), range.end))
    return std::nullopt;
  return range;
}

ColumnWord parse_word(std::string_view text, const io::TableInfo& table) {
  text = trim(text);
  ColumnWord word;
  const auto& columns = table.is_group ? table.columns : table.members;
  const auto is_column = [&](std::string_view name) {
    return std::ranges::any_of(columns, [&](const Column& c) { return c.name == name; });
  };
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  const std::string_view unsigned_text = has_sign ? trim(text.substr(1)) : text;
  if (!is_column(text) || is_column(unsigned_text)) {  // unless the sign belongs to the name
    if (text.starts_with('-')) word.order = Order::descending;
    text = unsigned_text;
  }
  if (!table.is_group && (word.bytes = parse_bytes_range(text))) return word;
  const auto bracket = text.rfind('[');
  if (!is_column(text) && bracket != std::string_view::npos && text.ends_with(']'))
    word.bytes = parse_bytes_range(text.substr(bracket + 1, text.size() - bracket - 2));
  word.name = word.bytes ? text.substr(0, bracket) : text;
  return word;
}

/// Returns the column that the word names, or nullptr.
const Column* find_column(const ColumnWord& word, const io::TableInfo& table) {
  if (word.name.empty() && word.bytes && !table.is_group) return &table.columns.front();
  const auto& columns = table.is_group ? table.columns : table.members;
  const auto found = std::ranges::find(columns, word.name, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

const Column& column_named(const ColumnWord& word, const io::TableInfo& table) {
  if (const Column* column = find_column(word, table)) return *column;
  std::vector<std::string> names;
  for (const Column& column : table.is_group ? table.columns : table.members)
    names.push_back(column.name);
  throw Error(ExitCode::usage, fmt::format("--by: the table has no column '{}'{}", word.name,
                                           suggestion(word.name, names)));
}

/// Returns the words between the commas of --by; commas in a column's name do not separate.
std::vector<ColumnWord> words_of(std::string_view by, const io::TableInfo& table) {
  std::vector<ColumnWord> words;
  const auto comma = [&](std::size_t from) { return std::min(by.find(',', from), by.size()); };
  for (std::size_t begin = 0, end = 0; begin <= by.size(); begin = end + 1) {
    end = comma(begin);
    ColumnWord word = parse_word(by.substr(begin, end - begin), table);
    for (std::size_t later = end; later < by.size() && find_column(word, table) == nullptr;) {
      later = comma(later + 1);
      ColumnWord longer = parse_word(by.substr(begin, later - begin), table);
      if (find_column(longer, table) == nullptr) continue;
      word = std::move(longer);
      end = later;
    }
    words.push_back(std::move(word));
  }
  return words;
}

/// Throws Error(bad_data) if the bytes of rows are not their content.
void require_comparable(const Column& column, const std::string& file) {
  require(column.info.self_contained || column.holds_texts(), ExitCode::bad_data,
          fmt::format("{}:{} holds elements of {}, which are carried but cannot be compared; sort "
                      "by another column, or store them with a fixed size",
                      file, column.path, column.info.type_text()));
}

SortColumn by_bytes(const Column& column, layout::Range bytes, Order order,
                    const std::string& file) {
  require_comparable(column, file);
  require(
      !bytes.empty() && (column.holds_texts() || bytes.end <= column.row_bytes()), ExitCode::usage,
      fmt::format(
          "--by: bytes {}:{} of {}:{} are empty or outside its rows of {} bytes; give first:last+1",
          bytes.begin, bytes.end, file, column.path, column.row_bytes()));
  return {column, KeyForm::string(bytes.size()), bytes, order};
}

}  // namespace

SortColumn whole_column(const Column& column, Order order, const std::string& file) {
  require_comparable(column, file);
  if (column.holds_texts()) return {column, KeyForm::string(0), {}, order};
  if (column.key == Column::Key::text && column.info.shape.size() == 1)
    return by_bytes(column, {0, column.info.element_bytes}, order, file);
  return {column, KeyForm::of(io::element_of_numbers(column, file)), {}, order};
}

std::vector<SortColumn> columns_named(const std::string& by, const io::TableInfo& table,
                                      const std::string& file) {
  std::vector<SortColumn> result;
  for (const ColumnWord& word : words_of(by, table)) {
    const Column& column = column_named(word, table);
    result.push_back(word.bytes ? by_bytes(column, *word.bytes, word.order, file)
                                : whole_column(column, word.order, file));
  }
  for (std::size_t c = 0; c + 1 < result.size(); ++c) result[c].form = result[c].form.by_number();
  return result;
}

std::vector<SortColumn> missing_last(std::vector<SortColumn> columns, const std::string& file) {
  std::vector<SortColumn> result;
  for (SortColumn& one : columns) {
    if (one.form.number && one.column.member.empty() && one.column.info.shape.size() == 1) {
      const auto packing = io::packing_of({file, one.column.path}, io::Packing::Fill::refuse, 0);
      if (packing && packing->masks())
        result.push_back({one.column, KeyForm::of(Element::u32), {}, Order::ascending, packing});
    }
    result.push_back(std::move(one));
  }
  return result;
}

void measure_texts(const mpi::Communicator& comm, const std::string& file, index_t n,
                   std::vector<SortColumn>& by) {
  const layout::Range mine = layout::BlockMap(n, comm.size()).range(comm.rank());
  for (SortColumn& key : by) {
    if (!key.column.holds_texts() || !key.bytes.empty()) continue;
    index_t longest = 1;
    mpi::together(comm, "read",
                  [&] { longest = std::max(longest, io::longest_text(file, key.column, mine)); });
    key.bytes = {0, comm.max(longest)};
    key.form.bytes = key.bytes.end;
  }
}

void read_key(const std::string& file, const SortColumn& column, layout::Range rows,
              std::byte* to) {
  if (column.missing) {
    std::vector<std::uint32_t> missing(static_cast<std::size_t>(rows.size()));
    io::read_missing({file, column.column.path, {}, column.missing}, {&rows, 1}, missing);
    std::memcpy(to, missing.data(), missing.size() * sizeof(std::uint32_t));
  } else if (column.form.number)
    io::read_numbers(file, column.column, rows, *column.form.number, to);
  else
    io::read_bytes(file, column.column, rows, column.bytes, to);
}

void load(const Inputs& inputs, const Problem& problem, const SortColumn& column,
          layout::Range rows, std::byte* to) {
  if (!problem.generated()) {
    read_key(inputs.data->name().file, column, rows, to);
    return;
  }
  dispatch_element(*column.form.number, [&]<class T>(Type<T>) {
    const std::span<T> keys(reinterpret_cast<T*>(to), static_cast<std::size_t>(rows.size()));
    machine::parallel(problem.method.threads, [&] {
      tessera::sort::generate<T>(tessera::sort::input(problem.input), problem.seed, rows.begin,
                                 problem.n, keys);
    });
  });
}

template <class T>
tessera::sort::Content load_and_hash(const Inputs& inputs, const Problem& problem,
                                     layout::Range rows, T* to) {
  const SortColumn& column = problem.by.front();
  constexpr index_t piece = (index_t{512} << 10) / index_t{sizeof(T)};
  const int threads = problem.method.threads;
  std::atomic<std::uint64_t> hash = 0;
  const auto each_part = [&](layout::Range some, const auto& body) {
    machine::parallel(threads, [&] {
      machine::parallel_for(some.begin, some.end, piece, [&](index_t begin, index_t end) {
        const std::span<T> keys(to + (begin - rows.begin), static_cast<std::size_t>(end - begin));
        body(begin, keys);
        hash += tessera::sort::content<T>(keys, problem.seed).hash;
      });
    });
  };
  if (problem.generated()) {
    each_part(rows, [&](index_t begin, std::span<T> keys) {
      tessera::sort::generate<T>(tessera::sort::input(problem.input), problem.seed, begin,
                                 problem.n, keys);
    });
  } else {
    // By several threads, parts that keep all of them busy; by one, parts that stay in its cache.
    // Packed data at once: each part of a chunk would unpack the whole chunk again.
    const index_t part = threads > 1 ? threads * 16 * piece : piece;
    const index_t at_once =
        column.column.info.chunk.empty() ? part : std::max<index_t>(1, rows.size());
    io::read_numbers(inputs.data->name().file, column.column, rows, *column.form.number,
                     reinterpret_cast<std::byte*>(to), at_once,
                     [&](layout::Range some) { each_part(some, [](index_t, std::span<T>) {}); });
  }
  return {rows.size(), hash};
}
#define INSTANTIATE(T) \
  template tessera::sort::Content load_and_hash(const Inputs&, const Problem&, layout::Range, T*)
TESSERA_FOR_KEY_TYPES(INSTANTIATE)
#undef INSTANTIATE

std::string text_of(const SortColumn& column) {
  const std::string type = column.form.number ? std::string(name(*column.form.number))
                                              : fmt::format("{}B", column.form.bytes);
  return (column.order == Order::descending ? "-" : "") + type;
}

}  // namespace tessera::inline v1::workloads::sort
