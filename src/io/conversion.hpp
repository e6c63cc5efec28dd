#pragma once
// How the library makes numbers of others: by functions of ours, which round to nearest, ties to
// even, and give the same bits in every version of it, in chunks, compounds and virtual datasets
// alike.

#include <optional>
#include <string>

#include "io/h5.hpp"
#include "io/number_bits.hpp"

namespace tessera::io {

/// Puts our functions in the place of the library's own for all integers and floats. Called once,
/// by quiet_errors().
void register_conversions();

/// The parts of a number of that type; nothing for other types, and such that no function of ours
/// takes.
[[nodiscard]] std::optional<NumberBits> number_bits_of(hid_t type);

/// Why a transfer ended.
struct Refusal {
  std::string value;        ///< the number
  bool is_integer = false;  ///< it comes from an integer
};

/// The property list of transfers that turn no number into another: an integer in memory takes no
/// fraction, no NaN and nothing beyond its range, a float no integer that it does not have. Floats
/// are rounded, and take nothing beyond their range, which would become infinite.
class Transfer {
 public:
  Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  operator hid_t() const { return list_; }  // NOLINT: as of a Handle
  /// Whether it failed for a number that the target cannot hold. Throws Error(bad_data) if it
  /// failed for another reason; name: what was read.
  [[nodiscard]] bool refused(herr_t result, const std::string& name) const;
  /// Throws Error(bad_data) with the number if it failed. position: "" or " at [3, 4]".
  void check(herr_t result, hid_t to, const std::string& name,
             const std::string& position = "") const;

 private:
  Handle list_;
  std::optional<Refusal> refusal_;
};

}  // namespace tessera::io
