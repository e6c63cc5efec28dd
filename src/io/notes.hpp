#pragma once
// Metadata that Tessera records in its outputs.

#include <string>

#include "io/h5.hpp"

namespace tessera::inline v1::io {

/// The attributes of a finished output file. Serial.
class Notes {
 public:
  /// Throws Error(missing_input) if the file does not exist, Error(bad_data) if it is damaged,
  /// unfinished or not an output of Tessera.
  explicit Notes(const std::string& file);
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::string text(const std::string& name) const;
  [[nodiscard]] index_t integer(const std::string& name) const;
  /// Returns the checksum of a dataset as 16 digits.
  [[nodiscard]] std::string checksum(const std::string& path) const;

 private:
  std::string name_;
  Handle file_, group_;
};

}  // namespace tessera::inline v1::io
