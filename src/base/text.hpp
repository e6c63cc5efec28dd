#pragma once
// Words for people: quantities with units, the nearest known name, lists.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.hpp"

namespace tessera {

/// "1.5 GiB", "312 B".
[[nodiscard]] std::string human_bytes(double bytes);
template <std::integral I>
[[nodiscard]] std::string human_bytes(I bytes) {
  return human_bytes(static_cast<double>(bytes));
}
/// "1.23 s", "45.6 ms", "7.8 us".
[[nodiscard]] std::string human_seconds(double seconds);
/// Significant digits without an exponent where it reads well: "12.3", "0.0456", "1234".
[[nodiscard]] std::string human_number(double value);
/// "1 rank", "2 ranks".
[[nodiscard]] std::string counted(index_t count, std::string_view what);

/// The text on one line that a terminal takes for nothing else: control characters as "\n", "\x1b".
[[nodiscard]] std::string printable(std::string_view text);

[[nodiscard]] std::string join(const std::vector<std::string>& words, std::string_view separator);
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);

/// Levenshtein (1966) distance with transpositions of neighbours counted as one (Damerau 1964).
[[nodiscard]] index_t edit_distance(std::string_view a, std::string_view b);
/// The candidate nearest to the word, or "" if none is near (more than a third of its letters
/// wrong).
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);
/// "; did you mean 'x'?" or "; known: a, b, c" when nothing is near.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     const std::vector<std::string>& candidates);

/// Bytes of "64MiB", "1.5G", "4096", "32 kB" (K M G T with or without i are powers of 1024; kB MB
/// GB TB of 1000). Throws Error(usage).
[[nodiscard]] index_t parse_bytes(std::string_view text);

/// UTC, ISO 8601: "2026-01-31T12:00:00Z".
[[nodiscard]] std::string utc_now();

}  // namespace tessera
