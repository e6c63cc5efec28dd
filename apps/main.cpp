#include <array>

#include "command.hpp"
#include "lab/locality/stand_in.hpp"
#include "run/counting.hpp"

namespace {

using namespace tessera::apps;

#define TESSERA_ROW(name) tessera::run::CommandRow{#name, name##_command},
constexpr std::array rows{TESSERA_COMMANDS(TESSERA_ROW)};
#undef TESSERA_ROW

}  // namespace

int main(int argc, char** argv) {
  tessera::run::use_simulator(tessera::locality::simulator());
  return tessera::run::run_program({rows, general_help}, argc, argv);
}
