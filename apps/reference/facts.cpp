#include "facts.hpp"

#include <fmt/core.h>

#include <array>

#include "base/error.hpp"
#include "commands/command.hpp"
#include "run/provenance.hpp"

namespace tessera::apps {
namespace {

constexpr std::array codes{
    ExitText{0, "Success: the result is right."},
    ExitText{1, "compare, rerun: a regression. doctor: a problem was found."},
    ExitText{2, "compare, rerun: the measurements are ambiguous."},
    ExitText{64, "Usage: an option or a combination of options is wrong."},
    ExitText{65, "Bad input data: a file is damaged, or a number does not fit the type."},
    ExitText{66, "Missing input: a file or dataset does not exist."},
    ExitText{70, "Internal error: report it with the message."},
    ExitText{71, "Insufficient memory, planned or met."},
    ExitText{73, "Cannot create an output, or no space is left."},
    ExitText{74, "I/O error, or a file changed during the run."},
    ExitText{75, "Stalled: no progress for --stall-limit seconds."},
    ExitText{76, "Verification failed: the result or the file is wrong."},
    ExitText{85, "Stopped early with a checkpoint: rerun with --resume auto."},
};

constexpr std::array names{
    Variable{"OMP_NUM_THREADS", "Threads of a rank where --threads is 0."},
    Variable{"TESSERA_ISA",
             "Limit the instruction set: baseline, avx2 or avx512; on aarch64 baseline, sve256 or "
             "sve512."},
    Variable{"TESSERA_LAUNCHER", "Launcher of jobs: mpirun, a path to one, or srun."},
    Variable{"TESSERA_MACHINE_FILE",
             "File of the measured peak rates (default ~/.cache/tessera/HOST.toml)."},
    Variable{"TESSERA_CUDA_LIBRARY",
             "libtessera_cuda.so to load (default: installed with the program)."},
    Variable{"TESSERA_NCCL", "NCCL library to load (default libnccl.so.2)."},
    Variable{"TESSERA_POWERCAP",
             "Folder of the processors' energy counters (default /sys/class/powercap)."},
    Variable{"TESSERA_PYTHON", "Python with h5py for report, compare, rerun and export."},
    Variable{"TESSERA_REQUEUES", "Most times that a batch script requeues its job (default 100)."},
    Variable{"TESSERA_SHOW_COMMAND", "Print the launch commands of jobs/env.sh."},
};

struct Page {
  std::string_view command;
  const char* page;
};
#define TESSERA_PAGE(name, page) Page{#name, page},
constexpr std::array pages{TESSERA_COMMANDS(TESSERA_PAGE)};
#undef TESSERA_PAGE

}  // namespace

std::span<const ExitText> exit_texts() { return codes; }
std::span<const Variable> variables() { return names; }

std::string page_of(std::string_view command) {
  for (const Page& page : pages)
    if (page.command == command) return page.page;
  throw Error(ExitCode::internal, fmt::format("the manual has no page about {}", command));
}

std::string program_title() { return "tessera " + run::version(); }

}  // namespace tessera::apps
