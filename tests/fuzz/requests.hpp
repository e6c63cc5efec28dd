#pragma once
// The harness of the option reader, for the fuzzer and for the corpus of what it once found.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "command.hpp"

namespace tessera::fuzz {

/// A request as the fuzzer writes it: a line with the command's name, a line an argument, and
/// behind a line
/// "===" the text of the TOML file that --config names.
struct Input {
  std::string command;
  std::vector<std::string> arguments;
  std::string toml;
  bool has_toml = false;
};
[[nodiscard]] Input read_input(const std::uint8_t* data, std::size_t size);
[[nodiscard]] std::string to_text(const Input& input);

/// Those whose requests are planned here; the others' options are parsed only.
[[nodiscard]] const std::vector<apps::Command>& commands();
[[nodiscard]] const apps::Command& command_of(const std::string& name);

/// Reads the request, and plans what it asks for (nothing is computed or written). Right is an
/// answer, or one Error of one line with a code that blames the request; everything else ends the
/// process.
void check_request(const Input& input);

/// The parsers of single values: selections, sides, weights, intervals, probes, sizes.
void check_values(const Input& input);

}  // namespace tessera::fuzz
