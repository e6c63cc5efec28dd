#pragma once
// What an output of ours says of itself.

#include <string>

#include "io/h5.hpp"

namespace tessera::io {

/// The attributes of a finished output file. Serial.
class Notes {
 public:
  /// Throws Error(missing_input) when there is no such file, Error(bad_data) when it is damaged,
  /// none of ours or was never finished.
  explicit Notes(const std::string& file);
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::string text(const std::string& name) const;
  [[nodiscard]] index_t integer(const std::string& name) const;
  /// The checksum of a dataset, as 16 digits.
  [[nodiscard]] std::string checksum(const std::string& path) const;

 private:
  std::string name_;
  Handle file_, group_;
};

}  // namespace tessera::io
