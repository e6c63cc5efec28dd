// Extracts sort keys from stored rows, in place where their representation allows it.

#include "workloads/sort/external/table_keys.hpp"

#include "dist/sort/column_words.hpp"
#include "io/plain_rows.hpp"

namespace tessera::inline v1::workloads::sort {

using dist::sort::KeyColumn;
using machine::Buffer;

TableKeys::TableKeys(const std::string& file, const std::vector<Holder>& holders) : file_(file) {
  for (const Holder& holder : holders) {
    const SortColumn& key = *holder.key;
    keys_.push_back({&key, holder.column, key.in_rows(file)});
  }
}

index_t TableKeys::row_bytes() const {
  index_t bytes = 0;
  for (const RowKey& key : keys_) bytes += key.in_row.offset() ? 0 : key.in_row.key_bytes();
  return bytes;
}

void TableKeys::prepare(index_t rows) {
  for (RowKey& key : keys_) {
    if (!key.in_row.offset())
      key.converted = Buffer<std::byte>(checked_mul(rows, key.in_row.key_bytes(), "a key column"));
  }
}

std::vector<KeyColumn> TableKeys::of_rows(const std::vector<std::byte*>& columns, index_t n) {
  std::vector<KeyColumn> result;
  for (RowKey& key : keys_) {
    const std::byte* const rows = columns[key.column];
    if (const std::optional<index_t> offset = key.in_row.offset()) {
      result.push_back({key.by->form, rows + *offset, key.by->order, key.in_row.row_bytes()});
    } else {
      key.in_row.convert(rows, n, key.converted.data());
      result.push_back({key.by->form, key.converted.data(), key.by->order});
    }
  }
  return result;
}

std::vector<std::uint64_t> TableKeys::sample(index_t n, index_t pages, index_t in_page,
                                             std::size_t most) const {
  const layout::BlockMap map(n, pages);
  const auto rows = [&](index_t p) { return layout::Range{map.begin(p), map.begin(p) + in_page}; };
  std::vector<io::Column> holders;
  std::vector<Buffer<std::byte>> stored, converted;
  std::vector<std::byte*> to;
  std::vector<KeyColumn> columns;
  for (const RowKey& key : keys_) {
    holders.push_back(key.by->column);
    holders.back().member.clear();
    holders.back().info.element_bytes = key.in_row.element_bytes();
    to.push_back(stored.emplace_back(in_page * key.in_row.row_bytes()).data());
    columns.push_back({key.by->form,
                       converted.emplace_back(in_page * key.in_row.key_bytes()).data(),
                       key.by->order});
  }
  const std::optional<io::PlainRows> place = io::PlainRows::stored(file_, holders);
  for (index_t p = 0; place && p < pages; ++p) place->will_read(rows(p));
  std::vector<std::uint64_t> sample;
  for (index_t p = 0; p < pages; ++p) {
    if (place) place->read(rows(p), to, in_page, [](layout::Range) {});
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      if (!place) io::read_stored(file_, holders[k], rows(p), to[k]);
      keys_[k].in_row.convert(to[k], in_page, converted[k].data());
    }
    const auto words = row_words(columns, {0, in_page}, most);
    sample.insert(sample.end(), words.begin(), words.end());
  }
  return sample;
}

}  // namespace tessera::inline v1::workloads::sort
