#pragma once
// Text for humans: quantities with units, suggestions of known names, lists.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1 {

/// Formats bytes in binary units: "1.5 GiB", "312 B".
[[nodiscard]] std::string human_bytes(double bytes);
template <std::integral I>
[[nodiscard]] std::string human_bytes(I bytes) {
  return human_bytes(static_cast<double>(bytes));
}
/// Formats a duration: "2.35 days", "11.2 h", "1.23 s", "45.6 ms", "7.8 us".
[[nodiscard]] std::string human_seconds(double seconds);
/// Formats a number to about three significant digits: "12.3", "0.0456", "1234"; with an exponent
/// below 1e-3 and from 1e7 on.
[[nodiscard]] std::string human_number(double value);
/// Returns the count with its noun: "1 rank", "2 ranks".
[[nodiscard]] std::string counted(index_t count, std::string_view what);

/// Returns the text on one line without control characters, which it escapes as "\n", "\x1b".
[[nodiscard]] std::string printable(std::string_view text);

[[nodiscard]] std::string join(const std::vector<std::string>& words, std::string_view separator);
/// Returns the words separated by commas, in lines of at most `columns` where the words allow.
[[nodiscard]] std::string wrapped(const std::vector<std::string>& words, std::size_t columns);
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);

/// Returns the Levenshtein (1966) distance in which a transposition of neighbours counts as one
/// edit (Damerau 1964).
[[nodiscard]] index_t edit_distance(std::string_view a, std::string_view b);
/// Returns the candidate nearest to the word, or "" if each differs in more than about a third of
/// the word's letters.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);
/// Returns "; did you mean 'x'?", or "; known: a, b, c" if no candidate is near.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     const std::vector<std::string>& candidates);

/// Parses a number of bytes such as "64MiB", "1.5G", "4096" or "32 kB" (K M G T P E with or without
/// i: powers of 1024; kB MB GB TB PB EB: powers of 1000). Throws Error(usage).
[[nodiscard]] index_t parse_bytes(std::string_view text);

/// Returns the current UTC time in ISO 8601: "2026-01-31T12:00:00Z".
[[nodiscard]] std::string utc_now();

}  // namespace tessera::inline v1
