#include <array>

#include "command.hpp"
#include "lab/locality/stand_in.hpp"
#include "run/counting.hpp"

namespace {

using namespace tessera::apps;

constexpr std::array<tessera::run::CommandRow, 16> rows{{{"matmul", matmul_command},
                                                         {"transpose", transpose_command},
                                                         {"stencil", stencil_command},
                                                         {"sort", sort_command},
                                                         {"locality", locality_command},
                                                         {"scalability", scalability_command},
                                                         {"memory", memory_command},
                                                         {"list", list_command},
                                                         {"machine", machine_command},
                                                         {"verify", verify_command},
                                                         {"report", report_command},
                                                         {"compare", compare_command},
                                                         {"rerun", rerun_command},
                                                         {"export", export_command},
                                                         {"doctor", doctor_command},
                                                         {"slurm", slurm_command}}};

}  // namespace

int main(int argc, char** argv) {
  tessera::run::use_simulator(tessera::locality::simulator());
  return tessera::run::run_program({rows, general_help}, argc, argv);
}
