// Checks of cores and their availability, memory, process limits and shared memory.

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/text.hpp"
#include "doctor.hpp"
#include "machine/cpu_quota.hpp"
#include "machine/topology.hpp"

namespace tessera::apps::doctor {
namespace {

constexpr double mebi = 1024.0 * 1024.0;

void look_at_governor(const Surroundings& here, Findings& found) {
  std::map<std::string, int> governors;
  for (int cpu = 0;; ++cpu) {
    const auto name =
        here.read(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu));
    if (!name) break;
    ++governors[*name];
  }
  if (governors.empty() || (governors.size() == 1 && governors.begin()->first == "performance")) {
    found.push_back({Level::fine, "frequency",
                     governors.empty() ? "governor not visible" : "governor performance"});
    return;
  }
  std::vector<std::string> words;
  for (const auto& [name, count] : governors)
    words.push_back(fmt::format("{} on {}", name, counted(count, "cpu")));
  // Drivers with their own control follow the load under "powersave"; others keep the lowest clock.
  const std::string driver =
      here.read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver").value_or("");
  const bool steers = driver == "intel_pstate" || driver == "amd-pstate-epp";
  const bool low = governors.contains("powersave") && !steers;
  found.push_back(
      {low ? Level::hurts : Level::note, "frequency",
       fmt::format("governor {}: {}", join(words, ", "),
                   low ? "the lowest clock" : "clocks follow the load, timings are noisy"),
       "sudo cpupower frequency-set -g performance"});
}

void look_at_load(const Surroundings& here, Findings& found) {
  const double load = std::atof(here.read("/proc/loadavg").value_or("0").c_str());
  if (load > 0.5 * here.cores)
    found.push_back({Level::note, "load",
                     fmt::format("{:.1f} programs run on {}: timings will be noisy", load,
                                 counted(here.cores, "core")),
                     "measure on an idle machine, or compare interleaved medians"});
}

}  // namespace

void look_at_machine(const Surroundings& here, Findings& found) {
  const machine::Topology t = machine::topology();
  found.push_back(
      {Level::fine, "machine",
       fmt::format("{}, {} available (cpus {}), {}", t.processor, counted(t.cores, "core"),
                   t.cpu_list, counted(t.numa_nodes, "NUMA node"))});
  if (const auto share = machine::cpu_quota(here.root); share && *share < here.cores - 0.01) {
    const int whole = std::max(1, static_cast<int>(std::floor(*share)));
    found.push_back(
        {Level::hurts, "quota",
         fmt::format("the control group allows {:.3g} of {} cores: more threads are throttled",
                     *share, here.cores),
         fmt::format(
             "export OMP_NUM_THREADS={0} (ranks x threads = {0}), or raise the limit (docker run "
             "--cpus={1})",
             whole, here.cores)});
  }
  look_at_governor(here, found);
  look_at_load(here, found);
  const auto memory = static_cast<double>(machine::available_memory());
  const bool little = memory < 256 * mebi;
  found.push_back(
      {little ? Level::hurts : Level::fine, "memory", human_bytes(memory) + " available",
       little ? "end other programs, or raise the limit of the container or `ulimit -v unlimited`"
              : ""});
  if (const auto pages = here.read("/sys/kernel/mm/transparent_hugepage/enabled");
      pages && pages->find("[never]") != std::string::npos)
    found.push_back({Level::note, "huge pages", "are disabled: large arrays cause TLB misses",
                     "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"});
}

void look_at_limits(const Surroundings& here, Findings& found) {
  const bool network = here.exists("/dev/infiniband");
  struct Limit {
    int which;
    const char* name;
    const char* flag;
    double least;  ///< smaller values are problems
    const char* consequence;
    const char* cure;
  };
  const std::vector<Limit> limits{
      {RLIMIT_NOFILE, "open files", "-n", 1024, "mpirun and HDF5 run out of them",
       "ulimit -n 4096"},
      {RLIMIT_MEMLOCK, "locked memory", "-l", network ? 1e18 : 64 * 1024,
       network ? "InfiniBand cannot register buffers" : "pinned buffers may fail",
       "ulimit -l unlimited"},
      {RLIMIT_STACK, "stack", "-s", mebi, "recursion may end in a segmentation fault",
       "ulimit -s 8192"},
      {RLIMIT_AS, "address space", "-v", 4096 * mebi, "MPI and HDF5 map large ranges",
       "ulimit -v unlimited"},
      {RLIMIT_FSIZE, "file size", "-f", 1e18, "larger outputs fail with exit code 73",
       "ulimit -f unlimited"},
      {RLIMIT_NPROC, "processes", "-u", 64.0 + 4.0 * here.cores, "ranks and threads cannot start",
       "ulimit -u 4096"},
  };
  std::vector<std::string> fine;
  for (const Limit& limit : limits) {
    rlimit value{};
    if (getrlimit(static_cast<__rlimit_resource_t>(limit.which), &value) != 0) continue;
    const bool unlimited = value.rlim_cur == RLIM_INFINITY;
    const auto now = static_cast<double>(value.rlim_cur);
    const bool counts = limit.which == RLIMIT_NOFILE || limit.which == RLIMIT_NPROC;
    const std::string text = unlimited ? "unlimited"
                             : counts  ? fmt::format("{:.0f}", now)
                                       : human_bytes(now);
    if (unlimited || now >= limit.least) {
      fine.push_back(fmt::format("{} {}", limit.name, text));
      continue;
    }
    const bool hard =
        value.rlim_max != RLIM_INFINITY && static_cast<double>(value.rlim_max) < limit.least;
    found.push_back(
        {Level::hurts, "limits",
         fmt::format("{} (ulimit {}): {}: {}", limit.name, limit.flag, text, limit.consequence),
         limit.cure + std::string(hard ? " (the hard limit is as low: raise it in "
                                         "/etc/security/limits.conf or with docker run --ulimit)"
                                       : "")});
  }
  if (!fine.empty()) found.push_back({Level::fine, "limits", join(fine, ", ")});
}

void look_at_shared_memory(const Surroundings& here, Findings& found) {
  const std::string path = here.root + "/dev/shm";
  struct statvfs space {};
  if (!here.exists("/dev/shm") || statvfs(path.c_str(), &space) != 0) {
    found.push_back({Level::hurts, "/dev/shm",
                     "is missing: ranks of a node exchange messages through it",
                     "mount -t tmpfs tmpfs /dev/shm"});
    return;
  }
  const double block = static_cast<double>(space.f_frsize);
  const double size = block * static_cast<double>(space.f_blocks),
               left = block * static_cast<double>(space.f_bavail);
  const double wanted =
      (16 + 4.0 * std::max(here.ranks, here.cores)) * mebi;  // Open MPI: about 4 MiB a rank
  const std::string text = fmt::format("{} free of {}", human_bytes(left), human_bytes(size));
  if (left >= wanted) {
    found.push_back({Level::fine, "/dev/shm", text});
  } else if (size < wanted) {
    found.push_back({Level::hurts, "/dev/shm",
                     text + ": too small for the messages of a node's ranks",
                     "mount -o remount,size=1g /dev/shm, or docker run --shm-size=1g"});
  } else {
    found.push_back(
        {Level::hurts, "/dev/shm", text + ": full, possibly with files of killed jobs",
         "ls -l /dev/shm; remove vader_segment.* and unused files (fuser -v /dev/shm/*)"});
  }
}

}  // namespace tessera::apps::doctor
