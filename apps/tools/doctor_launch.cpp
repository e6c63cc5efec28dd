// Checks of the launch of ranks and threads: OpenMP, mpirun, binding, Slurm.

#include <fmt/core.h>
#include <netdb.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.hpp"
#include "doctor.hpp"
#include "doctor_mpi.hpp"
#include "run/provenance.hpp"
#include "run/threads.hpp"
#include "spawn.hpp"

namespace tessera::apps::doctor {
namespace {

/// Returns the first number in OMP_NUM_THREADS; 0 if unset, -1 if it is not a number.
int threads_asked() {
  const auto text = variable("OMP_NUM_THREADS");
  if (!text) return 0;
  char* end = nullptr;
  const long value = std::strtol(text->c_str(), &end, 10);
  return value > 0 && value < 100000 && (*end == '\0' || *end == ',') ? static_cast<int>(value)
                                                                      : -1;
}

/// Returns whether a process may read a sibling's memory, as Open MPI's shared-memory transport
/// requires.
bool siblings_may_read() {
  static int word = 42;
  const auto hold = [] {
    pause();
    _exit(0);
  };
  const pid_t held = fork();
  if (held == 0) hold();
  const pid_t reader = fork();
  if (reader == 0) {
    int got = 0;
    iovec here{&got, sizeof got}, there{&word, sizeof word};
    _exit(process_vm_readv(held, &here, 1, &there, 1, 0) == sizeof got ? 0 : 1);
  }
  int status = 1;
  if (reader > 0) waitpid(reader, &status, 0);
  if (held > 0) {
    kill(held, SIGKILL);
    waitpid(held, nullptr, 0);
  }
  return held > 0 && reader > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Returns whether Open MPI's variables let ranks outnumber the cores.
bool may_oversubscribe() {
  return variable("OMPI_MCA_rmaps_base_oversubscribe") ||
         variable("PRTE_MCA_rmaps_default_mapping_policy");
}

/// Returns whether a variable of Open MPI 4 or 5 switches binding off.
bool is_unbound() {
  return variable("OMPI_MCA_hwloc_base_binding_policy").value_or("") == "none" ||
         variable("PRTE_MCA_hwloc_default_binding_policy").value_or("") == "none";
}

void look_at_mpirun(Findings& found) {
  const std::string library = run::mpi_library();
  const auto version = output_of_program({"mpirun", "--version"});
  if (!version) {
    found.push_back(
        {Level::hurts, "mpirun", "is not in the PATH; this program uses " + library,
         fmt::format(
             "apt-get install {}, or load the module of the MPI that Tessera was built with",
             mpi_library().package)});
    return;
  }
  const std::string_view launcher = family_of(*version), own = family_of(library);
  const std::string first =
      version->empty() ? "no version" : std::string(trim(split(*version, '\n').front()));
  if (launcher.empty() || (!own.empty() && launcher != own)) {
    found.push_back(
        {Level::hurts, "mpirun",
         fmt::format("of the PATH reports '{}', but this program uses {}: each rank would run as "
                     "the only one",
                     first, library),
         "put the mpirun of that library first in the PATH (deactivate conda environments and "
         "other modules)"});
    return;
  }
  found.push_back({Level::fine, "mpirun", fmt::format("{}; this program uses {}", first, library)});
}

}  // namespace

void look_at_openmp(const Surroundings& here, Findings& found) {
  const int asked = threads_asked();
  if (asked < 0) {
    found.push_back(
        {Level::hurts, "OpenMP",
         fmt::format("OMP_NUM_THREADS={} is not a number", *variable("OMP_NUM_THREADS")),
         fmt::format("export OMP_NUM_THREADS={}", here.cores)});
  } else if (asked > here.cores) {
    found.push_back({Level::hurts, "OpenMP",
                     fmt::format("OMP_NUM_THREADS={} on {} of this process: threads share cores",
                                 asked, counted(here.cores, "core")),
                     fmt::format("export OMP_NUM_THREADS={}, or give a rank more cores (mpirun {})",
                                 here.cores, bound(asked))});
  } else {
    found.push_back({Level::fine, "OpenMP",
                     asked == 0 ? "OMP_NUM_THREADS unset: a rank uses its share of the cores"
                                : fmt::format("OMP_NUM_THREADS={}", asked)});
  }
  if (const auto most = variable("OMP_THREAD_LIMIT");
      most && std::atoi(most->c_str()) < std::max(1, asked))
    found.push_back({Level::hurts, "OpenMP",
                     "OMP_THREAD_LIMIT=" + *most + " is below the requested threads",
                     "unset OMP_THREAD_LIMIT"});
  if (const auto stack = run::openmp_stack(); stack && *stack < run::least_stack)
    found.push_back(
        {Level::hurts, "OpenMP",
         "OMP_STACKSIZE=" + *variable("OMP_STACKSIZE") + " is too small for recursive tasks",
         "unset OMP_STACKSIZE, or export OMP_STACKSIZE=8M"});
  if (const auto dynamic = variable("OMP_DYNAMIC");
      dynamic && (*dynamic)[0] != 'f' && (*dynamic)[0] != 'F')
    found.push_back({Level::note, "OpenMP",
                     "OMP_DYNAMIC=" + *dynamic + ": a region may get fewer threads than requested",
                     "unset OMP_DYNAMIC"});
  if (variable("GOMP_CPU_AFFINITY"))
    found.push_back({Level::note, "OpenMP",
                     "GOMP_CPU_AFFINITY pins the threads of every rank to the same cores",
                     "unset GOMP_CPU_AFFINITY; let mpirun bind and set OMP_PROC_BIND=close"});
}

void look_at_launcher(const Surroundings&, Findings& found) {
  look_at_mpirun(found);
  if (geteuid() == 0 && is_open_mpi() &&
      (!variable("OMPI_ALLOW_RUN_AS_ROOT") || !variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")))
    found.push_back({Level::hurts, "root", "mpirun of Open MPI refuses to run as root",
                     "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  const MpiLibrary& library = mpi_library();
  const bool reads = !library.peer_reads.empty() &&
                     variable(std::string(library.peer_reads).c_str()).value_or("cma") == "cma";
  if (reads && !siblings_may_read())
    found.push_back({Level::hurts, "containers",
                     "ranks may not read each other's memory (\"Read -1, expected N, errno = 1\")",
                     fmt::format("export {}={}, or docker run --cap-add=SYS_PTRACE",
                                 library.peer_reads, library.no_peer_reads)});
  const std::string temporary = variable("TMPDIR").value_or("/tmp");
  if (temporary.size() > 70)
    found.push_back(
        {Level::hurts, "TMPDIR",
         fmt::format("has {} characters: socket paths of mpirun are limited to about 108",
                     temporary.size()),
         "export TMPDIR=/tmp"});
  if (access(temporary.c_str(), W_OK | X_OK) != 0)
    found.push_back({Level::hurts, "TMPDIR",
                     "'" + temporary + "' is not writable: mpirun creates its session there",
                     "export TMPDIR=/tmp, or another folder of yours"});
  addrinfo* address = nullptr;
  if (getaddrinfo(run::host_name().c_str(), nullptr, nullptr, &address) != 0)
    found.push_back({Level::note, "host name",
                     "'" + run::host_name() + "' has no address: launchers may wait for it",
                     fmt::format("echo 127.0.1.1 {} | sudo tee -a /etc/hosts", run::host_name())});
  if (address != nullptr) freeaddrinfo(address);
}

void look_at_binding(const Surroundings& here, Findings& found) {
  const int threads = std::max(1, here.threads > 0 ? here.threads : threads_asked());
  if (here.ranks == 0) {
    found.push_back(
        {Level::note, "binding",
         std::string(is_open_mpi()
                         ? "by default, mpirun binds each of up to two ranks to one core, "
                           "which all its threads share; "
                         : "") +
             "`tessera doctor --ranks R --threads T` prints the options for a job",
         ""});
    return;
  }
  const index_t wanted = index_t{here.ranks} * threads;
  const std::string job = fmt::format("{} x {} on {}", counted(here.ranks, "rank"),
                                      counted(threads, "thread"), counted(here.cores, "core"));
  const std::string unbound = fmt::format("mpirun -n {} {}, or at most {}", here.ranks,
                                          mpi_library().crowded, counted(here.cores, "rank"));
  const auto bound_line = [&](int cores) {
    return fmt::format("OMP_NUM_THREADS={} mpirun -n {} {}", cores, here.ranks, bound(cores));
  };
  if (is_open_mpi() && here.ranks > here.cores && !may_oversubscribe()) {
    found.push_back(
        {Level::hurts, "slots", job + ": \"There are not enough slots available\"", unbound});
  } else if (wanted > here.cores) {
    const int share = here.cores / here.ranks;
    found.push_back(
        {Level::hurts, "binding",
         job + ": threads share cores" +
             (is_open_mpi() ? ", and binding aborts (\"binding more processes than cpus\")" : ""),
         share > 0 ? bound_line(share) : unbound});
  } else if (is_open_mpi() && threads > 1 && here.ranks <= 2 && !is_unbound()) {
    found.push_back({Level::hurts, "binding",
                     job + ": by default, mpirun binds each rank to one core",
                     bound_line(threads)});
  } else {
    found.push_back({Level::fine, "binding", job + ": " + bound_line(threads)});
  }
}

void look_at_slurm(const Surroundings& here, Findings& found) {
  if (!variable("SLURM_JOB_ID")) {
    const bool there = std::system("command -v sbatch >/dev/null 2>&1") == 0;
    found.push_back(
        {Level::fine, "Slurm", there ? "available; not inside a job" : "not installed"});
    return;
  }
  found.push_back({Level::fine, "Slurm", "job " + *variable("SLURM_JOB_ID")});
  const auto cores = variable("SLURM_CPUS_PER_TASK");
  if (cores && *cores != "1" && !variable("SRUN_CPUS_PER_TASK"))
    found.push_back(
        {Level::hurts, "Slurm",
         "srun of Slurm 22.05 and later ignores sbatch's --cpus-per-task: one core a rank",
         "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK, or start by mpirun"});
  if (cores && threads_asked() == 0)
    found.push_back({Level::note, "Slurm",
                     "OMP_NUM_THREADS is unset in a job with --cpus-per-task=" + *cores,
                     "export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK"});
  const MpiLibrary& library = mpi_library();
  if (const auto type = variable("SLURM_MPI_TYPE").value_or("none");
      type == "none" || (type == "pmi2" && library.srun != "pmi2"))
    found.push_back(
        {Level::note, "Slurm",
         fmt::format("srun defaults to --mpi={}: {} fails to start", type, library.family),
         fmt::format("srun --mpi={}, or mpirun inside the job", library.srun)});
  if (variable("SLURM_GPUS_PER_TASK"))
    found.push_back(
        {Level::note, "Slurm",
         "--gpus-per-task hides the GPUs of other ranks and breaks direct copies between them",
         "use --gpus-per-node: ranks select GPUs of a node by local rank"});
  if (here.ranks == 0 && variable("SLURM_NTASKS") && here.cores < 2 && cores && *cores != "1")
    found.push_back({Level::hurts, "Slurm",
                     "this process may use one core of the " + *cores + " requested",
                     "srun --cpus-per-task=$SLURM_CPUS_PER_TASK --cpu-bind=cores"});
}

}  // namespace tessera::apps::doctor
