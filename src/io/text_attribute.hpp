#pragma once
// Attributes that hold words, in the forms of all writers.

#include <optional>
#include <string>
#include <vector>

#include "io/h5.hpp"

namespace tessera::inline v1::io {

/// Returns the strings of an attribute, one or 1-D, of fixed or variable length; none if it does
/// not exist or holds something else.
[[nodiscard]] std::optional<std::vector<std::string>> texts_of(hid_t object,
                                                               const std::string& name);
/// As above, for a single string; empty if there is none.
[[nodiscard]] std::string text_of(hid_t object, const std::string& name);

/// Writes a list of strings in place of an existing attribute. Throws Error(io).
void write_texts(hid_t object, const std::string& name, const std::vector<std::string>& texts);

}  // namespace tessera::inline v1::io
