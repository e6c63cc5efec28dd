#pragma once
// The keys of a table where they lie in its rows as these are stored.

#include <string>
#include <vector>

#include "dist/sort/key_words.hpp"
#include "io/stored_key.hpp"
#include "machine/buffer.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::workloads::sort {

class TableKeys {
 public:
  /// A dataset that holds a key, as one of the columns that are at hand.
  struct Holder {
    const SortColumn* key;
    std::size_t column;
  };
  /// Opens the file.
  TableKeys(const std::string& file, const std::vector<Holder>& holders);

  /// Bytes that a row's keys take beside it, where they have to be converted.
  [[nodiscard]] index_t row_bytes() const;
  /// No call will be for more rows than these.
  void prepare(index_t rows);
  /// The keys of n rows, whose columns begin there; until the next call.
  [[nodiscard]] std::vector<dist::sort::KeyColumn> of_rows(const std::vector<std::byte*>& columns,
                                                           index_t n);
  /// The first `most` words of a few rows of pages all over a table of n rows, page by page.
  [[nodiscard]] std::vector<std::uint64_t> sample(index_t n, index_t pages, index_t in_page,
                                                  std::size_t most) const;

 private:
  struct RowKey {
    const SortColumn* by;
    std::size_t column;
    io::StoredKey in_row;
    machine::Buffer<std::byte> converted = {};  // of the rows at hand
  };
  std::string file_;
  std::vector<RowKey> keys_;
};

}  // namespace tessera::workloads::sort
