#pragma once
// Which options a point uses: a variant declares those that it takes (Option::users).

#include "io/results.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::run {

/// Returns whether the point uses the option: always, or by its value of another option. What the
/// program chooses ("auto", or nothing named) may use any.
[[nodiscard]] bool uses(const Values& point, const Option& option);
/// Returns the point's value of a swept option for a table: a number or, of choices, a text. "-",
/// in numbers -1 or NaN, if the point does not use it.
[[nodiscard]] io::Value swept_value(const Values& point, const Option& option);

}  // namespace tessera::inline v1::run
