#include <fmt/format.h>

#include "command.hpp"
#include "run/provenance.hpp"

namespace tessera::apps {

std::string general_help(const std::vector<Command>& commands) {
  std::string out = fmt::format(
      "tessera {}: large matrices and arrays, from HDF5 to HDF5, on any number of ranks\n\n"
      "Examples:\n"
      "  mpirun -n 4 tessera matmul --a a.h5:/A --b b.h5:/B --out c.h5:/C\n"
      "  tessera matmul --n 1024,2048 --kernel naive,tiled,cache_oblivious --results r.h5\n"
      "  tessera report r.h5\n"
      "  tessera verify c.h5\n\n"
      "Commands:\n",
      run::version());
  for (const Command& command : commands) {
    out += fmt::format("  {:<11} {}\n", command.options.command(), command.options.summary());
  }
  return out +
         "\n`tessera COMMAND --help` shows its options. Exit codes: 0 right, 64 usage, 65 bad "
         "input data, 66 "
         "missing input,\n"
         "70 internal, 71 memory, 73 cannot create or no space, 74 I/O, 75 stalled, 76 "
         "verification "
         "failed, 85 stopped\n"
         "early: --resume auto goes on. compare, rerun: 1 slower, 2 ambiguous; doctor: 1 something "
         "hurts.\n";
}

}  // namespace tessera::apps
