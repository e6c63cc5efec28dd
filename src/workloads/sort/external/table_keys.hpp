#pragma once
// The keys of a table within its stored rows.

#include <string>
#include <vector>

#include "dist/sort/key_words.hpp"
#include "io/stored_key.hpp"
#include "machine/buffer.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {

class TableKeys {
 public:
  /// A dataset that holds a key, as one of the available columns.
  struct Holder {
    const SortColumn* key;
    std::size_t column;
  };
  /// Opens the file.
  TableKeys(const std::string& file, const std::vector<Holder>& holders);

  /// Returns the additional bytes of a row's keys that must be converted.
  [[nodiscard]] index_t row_bytes() const;
  /// Allocates for calls with at most this number of rows.
  void prepare(index_t rows);
  /// Returns the keys of n rows, given the beginnings of their columns; valid until the next call.
  [[nodiscard]] std::vector<dist::sort::KeyColumn> of_rows(const std::vector<std::byte*>& columns,
                                                           index_t n);
  /// Returns the first `most` words of `in_page` rows from each of `pages` pages spread over a
  /// table of n rows, page by page.
  [[nodiscard]] std::vector<std::uint64_t> sample(index_t n, index_t pages, index_t in_page,
                                                  std::size_t most) const;

 private:
  struct RowKey {
    const SortColumn* by;
    std::size_t column;
    io::StoredKey in_row;
    machine::Buffer<std::byte> converted = {};  // of the current rows
  };
  std::string file_;
  std::vector<RowKey> keys_;
};

}  // namespace tessera::inline v1::workloads::sort
