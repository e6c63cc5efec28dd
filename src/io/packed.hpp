#pragma once
// Packed and missing values, by the attributes of a dataset: the conventions for climate and
// forecast data (CF 1.11, 2.5.1 and 8.1) and those of netCDF (_Unsigned, valid_range).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/dataset.hpp"

namespace tessera::inline v1::io {

/// The mapping of stored numbers to values, and which of them are missing.
struct Packing {
  /// The type in which stored numbers are compared, 64 bits each.
  enum class Stored : std::int8_t { integer, natural, real };
  /// Treatment of missing numbers; mask: 0, for callers of read_missing().
  enum class Fill : std::int8_t { refuse, value, mask };

  Stored stored = Stored::real;
  bool turned = false;  ///< the sign bit is used contrary to the stored type
  int shift = 0;        ///< bits by which the stored type is narrower than i64
  bool in_f64 = true, scaled = false;
  double scale = 1, offset = 0;
  std::vector<std::uint64_t> missing;      ///< stored numbers; all NaNs are equal
  bool has_low = false, has_high = false;  ///< numbers below or above are missing
  bool bounds_values = false;              ///< the bounds apply to values, not to stored numbers
  std::uint64_t low = 0, high = 0;         ///< bits as in `missing`, or of f64
  Fill fill = Fill::refuse;
  double filled = 0;  ///< NaN: also the output's fill value

  [[nodiscard]] bool masks() const { return !missing.empty() || has_low || has_high; }
};

/// Returns the packing by the attributes; nullptr if stored numbers are values and none can be
/// missing. Throws Error(bad_data) for an invalid attribute. Serial.
[[nodiscard]] std::shared_ptr<const Packing> packing_of(const DatasetName& name, Packing::Fill fill,
                                                        double filled);

/// Convert the packing to text and back, for other ranks.
[[nodiscard]] std::string to_text(const Packing& packing);
[[nodiscard]] Packing parse_packing(const std::string& text);

/// Sets to[i] = 1 if the i-th number of the slab is missing, otherwise 0.
void read_missing(const DatasetName& name, std::span<const layout::Range> slab,
                  std::span<std::uint32_t> to);
/// As read_missing, for numbers read as stored_bits_type().
void mark_missing(std::span<const std::uint64_t> bits, const Packing& packing,
                  std::span<std::uint32_t> to);
[[nodiscard]] hid_t stored_bits_type(const Packing& packing);

/// Missing numbers of a slab: their count, and the index of the first.
struct Missing {
  index_t count = 0, first = -1;
};
[[nodiscard]] Missing missing_in(const DatasetName& name, std::span<const layout::Range> slab);

/// Reads the values of a slab, one range per dimension, of a dataset with packing into to[0 :
/// count], the last dimension fastest. Throws Error(bad_data) if one is missing and the packing's
/// fill is `refuse`, or if a finite one is infinite in T.
template <class T>
void read_values(const DatasetName& name, std::span<const layout::Range> slab, std::span<T> to);

}  // namespace tessera::inline v1::io
