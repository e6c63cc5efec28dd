#pragma once
// Number conversions of HDF5 transfers, by functions of Tessera that round to nearest, ties to
// even, and produce the same bits with every version of the library, in chunked, compound and
// virtual datasets alike.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "io/h5.hpp"
#include "io/number_bits.hpp"

namespace tessera::inline v1::io {

struct ConversionPlan;

/// Replaces the library's conversions between all integers and floats. Called once, by the
/// first QuietErrors.
void register_conversions();

/// Returns the format of a number type; none for other types, and for formats that decode() does
/// not read.
[[nodiscard]] std::optional<NumberBits> number_bits_of(hid_t type);

/// The conversion of numbers in memory that transfers from one type to another use. Thread-safe.
class NumberConversion {
 public:
  /// Returns none if a type is not a number's, or the library converts them.
  [[nodiscard]] static std::optional<NumberConversion> between(hid_t from, hid_t to);
  /// Converts n numbers; returns false if one cannot be represented.
  [[nodiscard]] bool convert(const std::byte* from, std::byte* to, std::size_t n) const;

 private:
  explicit NumberConversion(std::shared_ptr<const ConversionPlan> plan) : plan_(std::move(plan)) {}
  std::shared_ptr<const ConversionPlan> plan_;
};

/// The reason for the failure of a transfer.
struct Refusal {
  std::string value;        ///< the number
  bool is_integer = false;  ///< its source is an integer
};

/// Scope: transfers of this thread preserve numbers. An integer in memory accepts no fraction, no
/// NaN and nothing beyond its range, a float no integer that it cannot represent. Floats are
/// rounded, but values beyond the range, which would become infinite, are rejected.
class Transfer {
 public:
  Transfer();
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  /// Returns whether the transfer failed for a number that the target cannot hold. Throws
  /// Error(bad_data) if it failed for another reason; name: the dataset.
  [[nodiscard]] bool refused(herr_t result, const std::string& name) const;
  /// Throws Error(bad_data) with the number if the transfer failed. position: "" or " at [3, 4]".
  void check(herr_t result, hid_t to, const std::string& name,
             const std::string& position = "") const;

 private:
  mutable std::optional<Refusal> refusal_;  // set by the conversions
  std::optional<Refusal>* outer_;
};

}  // namespace tessera::inline v1::io
