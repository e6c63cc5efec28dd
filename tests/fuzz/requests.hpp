#pragma once
// Harness of the option parser, for the fuzzer and its corpus.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "commands/command.hpp"

namespace tessera::fuzz {

/// Request in the fuzzer's format: a line with the command's name, one line per argument, and after
/// a line "===" the text of the TOML file for --config.
struct Input {
  std::string command;
  std::vector<std::string> arguments;
  std::string toml;
  bool has_toml = false;
};
[[nodiscard]] Input read_input(const std::uint8_t* data, std::size_t size);
[[nodiscard]] std::string to_text(const Input& input);

/// Returns the commands whose requests are planned here; for others the options are parsed only.
[[nodiscard]] const std::vector<apps::Command>& commands();
[[nodiscard]] const apps::Command& command_of(const std::string& name);

/// Parses and plans the request without computing or writing. It may succeed, or throw one Error of
/// one line with a code that blames the request; everything else ends the process.
void check_request(const Input& input);

/// Runs the parsers of single values: selections, sides, weights, intervals, probes, sizes.
void check_values(const Input& input);

}  // namespace tessera::fuzz
