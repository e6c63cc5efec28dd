#pragma once
// Cells of a measured point for the tables on the terminal.

#include <optional>
#include <string>
#include <vector>

#include "run/session.hpp"

namespace tessera::run {

/// Returns the value as text; "-" for -1 and NaN, which stand for "not applicable".
[[nodiscard]] std::string cell_text(const io::Value& value);
/// Returns the columns of a point; "-" where one has no meaning.
[[nodiscard]] std::vector<std::string> setting_texts(const Measured& measured);
/// Returns "passed" or "FAILED" with ratio and tolerance; "not checked" without a verdict.
[[nodiscard]] std::string verdict_text(const std::optional<Verdict>& verdict);

}  // namespace tessera::run
