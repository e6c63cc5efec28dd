#pragma once
// What the attributes of a dataset say of its numbers: packed values and missing ones, by the
// conventions for climate and forecast data (CF 1.11, 2.5.1 and 8.1) and those of netCDF
// (_Unsigned, valid_range).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/dataset.hpp"

namespace tessera::io {

/// How stored numbers become values, and which are none.
struct Packing {
  /// As what stored numbers are compared: 64 bits of each.
  enum class Stored : std::int8_t { integer, natural, real };
  /// What becomes of numbers that are missing; mask: 0, for those who mind which they are.
  enum class Fill : std::int8_t { refuse, value, mask };

  Stored stored = Stored::real;
  bool turned = false;  ///< numbers have a sign where their type has none, or the reverse
  int shift = 0;        ///< bits of i64 that such a number does not have
  bool in_f64 = true, scaled = false;
  double scale = 1, offset = 0;
  std::vector<std::uint64_t> missing;      ///< stored numbers; NaN counts as one
  bool has_low = false, has_high = false;  ///< numbers below and above are missing
  bool bounds_values = false;              ///< the bounds are of values, not of stored numbers
  std::uint64_t low = 0, high = 0;         ///< bits as `missing`, or of f64
  Fill fill = Fill::refuse;
  double filled = 0;  ///< NaN: also in what is written

  [[nodiscard]] bool masks() const { return !missing.empty() || has_low || has_high; }
};

/// What the attributes say; nullptr where stored numbers are values and none is missing. Throws
/// Error(bad_data) where an attribute is not understood. Serial.
[[nodiscard]] std::shared_ptr<const Packing> packing_of(const DatasetName& name, Packing::Fill fill,
                                                        double filled);

/// For other ranks.
[[nodiscard]] std::string to_text(const Packing& packing);
[[nodiscard]] Packing parse_packing(const std::string& text);

/// to[i] = 1 where a number of the dataset is missing, 0 where there is one.
void read_missing(const DatasetName& name, std::span<const layout::Range> slab,
                  std::span<std::uint32_t> to);
/// The same of numbers of stored_bits_type(), which is what each_piece() of a file are read as.
void tell_missing(std::span<const std::uint64_t> bits, const Packing& packing,
                  std::span<std::uint32_t> to);
[[nodiscard]] hid_t stored_bits_type(const Packing& packing);

/// Of numbers in their order those that are missing: how many, and which is the first.
struct Missing {
  index_t count = 0, first = -1;
};
[[nodiscard]] Missing missing_in(const DatasetName& name, std::span<const layout::Range> slab);

/// to[0 : count] = the values of a slab, a range a dimension, of a dataset with packing, the last
/// dimension fastest. Throws Error(bad_data) where one is missing and to be refused, or is finite
/// and not so in T.
template <class T>
void read_values(const DatasetName& name, std::span<const layout::Range> slab, std::span<T> to);

}  // namespace tessera::io
