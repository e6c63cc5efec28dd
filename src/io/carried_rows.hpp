#pragma once
// Rows of a dataset with parts of variable length, read in any order in bounded memory.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/dataset.hpp"
#include "io/h5.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::io {

/// The rows of an input in the order of an output; each occurs at most once.
struct RowOrder {
  index_t rows = 0;
  /// Sets the numbers of the input's rows that follow each other in the output from `first` on.
  std::function<void(index_t first, std::span<std::uint64_t> numbers)> read;
  index_t memory = 0;  ///< bytes that carrying rows may take
};

/// Returns the bytes with which CarriedRows reads that number of rows in one round, HDF5's
/// included: a bound by the size of the file. Throws Error(bad_data).
[[nodiscard]] index_t carried_bytes(const DatasetName& name, index_t rows);

/// Bounds the memory that HDF5 holds for a file's metadata, which includes parts of variable
/// length, and for memory that it has freed, by a share of `memory`.
void bound_cache(hid_t file, index_t memory);

/// Reads rows of a dataset in rounds of as many as fit in memory, with their parts.
class CarriedRows {
 public:
  /// `memory`: bytes for rows, their parts, and HDF5. Throws Error(memory).
  CarriedRows(hid_t dataset, index_t memory);
  CarriedRows(const CarriedRows&) = delete;
  CarriedRows& operator=(const CarriedRows&) = delete;
  /// Reads rows that follow each other in the order from `first` on, at least one; returns how
  /// many. Throws Error(bad_data, memory).
  [[nodiscard]] index_t read(const RowOrder& order, index_t first);
  /// Returns the elements of the rows read last, in the dataset's type.
  [[nodiscard]] std::span<std::byte> data() const { return data_; }
  [[nodiscard]] hid_t type() const { return type_; }
  [[nodiscard]] index_t row_elements() const { return row_elements_; }

 private:
  struct Wanted {
    std::uint64_t row;    // of the input
    std::uint64_t place;  // in the round
  };
  static void* allocate(std::size_t bytes, void* self);
  [[nodiscard]] bool try_read(const RowOrder& order, index_t first, index_t n);
  [[nodiscard]] bool read_batch(std::span<const Wanted> wanted, std::byte* to);
  void select(std::span<const Wanted> wanted) const;
  /// Returns the bytes of a row without its parts: wanted, as read, in its place.
  [[nodiscard]] index_t fixed_bytes() const { return index_t{sizeof(Wanted)} + 2 * row_bytes_; }

  hid_t dataset_;
  Handle type_, space_, transfer_;
  std::vector<hsize_t> extents_;
  index_t row_elements_ = 1, row_bytes_ = 0;
  index_t most_ = 4096;  // rows of the next round; the first one shows how long their parts are
  machine::Buffer<std::byte> memory_;
  index_t used_ = 0;  // bytes of memory_
  bool is_full_ = false;
  std::span<std::byte> data_;
};

/// Reads all rows of an order; calls body(first, n) after every round.
void for_rounds(CarriedRows& reading, const RowOrder& order,
                const std::function<void(index_t first, index_t n)>& body);

/// Returns the order of all rows as they are.
[[nodiscard]] RowOrder unchanged_order(index_t rows, index_t memory);

}  // namespace tessera::inline v1::io
