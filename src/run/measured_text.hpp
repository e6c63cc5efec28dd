#pragma once
// Cells of a measured point for the tables on the terminal.

#include <optional>
#include <string>
#include <vector>

#include "run/session.hpp"

namespace tessera::inline v1::run {

/// Returns the value as text; "-" for -1 and NaN, which stand for "not applicable".
[[nodiscard]] std::string cell_text(const io::Value& value);
/// Formats bytes in the largest binary unit of which they are a multiple, exactly: "64 KiB",
/// "65537 B".
[[nodiscard]] std::string exact_bytes(index_t bytes);
/// Returns the columns of a point; "-" where one has no meaning.
[[nodiscard]] std::vector<std::string> setting_texts(const Measured& measured);
/// Returns the heading of intervals of medians of these repetitions: "95 % interval", or what
/// the range of fewer than six covers.
[[nodiscard]] std::string interval_heading(index_t repetitions);
/// Returns the interval of a median under that heading: with its own coverage if a run was stopped
/// after fewer repetitions.
[[nodiscard]] std::string interval_cell(const Summary& seconds, index_t repetitions);
/// Returns the joules of a repetition, the mean watts and the share of idle power; "-" where they
/// are unknown.
[[nodiscard]] std::vector<std::string> energy_cells(const NodesEnergy& energy);
/// Returns "passed" or "FAILED" with ratio and tolerance; "not checked" without a verdict.
[[nodiscard]] std::string verdict_text(const std::optional<Verdict>& verdict);

}  // namespace tessera::inline v1::run
