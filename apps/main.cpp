#include "commands/command.hpp"
#include "lab/locality/simulated_counters.hpp"
#include "run/counting.hpp"

int main(int argc, char** argv) {
  tessera::run::use_simulator(tessera::locality::simulator());
  return tessera::run::run_program({tessera::apps::command_rows(), tessera::apps::general_help},
                                   argc, argv);
}
