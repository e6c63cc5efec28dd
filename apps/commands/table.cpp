#include <fmt/core.h>

#include <array>

#include "base/text.hpp"
#include "commands/command.hpp"
#include "reference/facts.hpp"
#include "run/help.hpp"

namespace tessera::apps {
namespace {

#define TESSERA_ROW(name, page) run::CommandRow{#name, name##_command},
constexpr std::array rows{TESSERA_COMMANDS(TESSERA_ROW)};
#undef TESSERA_ROW

}  // namespace

std::span<const run::CommandRow> command_rows() { return rows; }

std::string general_help(const std::vector<Command>& commands) {
  std::string out = program_title() +
                    ": process large HDF5 arrays on any number of MPI ranks\n\n"
                    "Usage: tessera COMMAND [OPTION]...\n\nCommands:\n";
  for (const Command& command : commands) {
    out += fmt::format("  {:<11} {}\n", command.options.command(),
                       run::wrapped(command.options.summary(), 14, 80));
  }
  std::vector<std::string> names;
  for (const Topic& topic : topics()) names.emplace_back(topic.name);
  out += "\n`tessera COMMAND -h` lists the most used options of a command, `--help` all.\n" +
         run::wrapped("`tessera help TOPIC` explains " + join(names, ", ") + ".", 0, 80) +
         "\n\nExit codes:\n";
  for (const ExitText& row : exit_texts()) out += fmt::format("  {:>2}  {}\n", row.code, row.text);
  return out +
         "\nExamples:\n"
         "  mpirun -n 4 tessera matmul --a a.h5:/A --b b.h5:/B --out c.h5:/C\n"
         "  tessera matmul --n 1024,2048 --kernel naive,cache_oblivious --results r.h5\n"
         "  tessera report r.h5\n"
         "  tessera verify c.h5\n";
}

}  // namespace tessera::apps
