#include "run/limits.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.hpp"
#include "machine/fork_join.hpp"
#include "machine/topology.hpp"
#include "mpi/agreement.hpp"
#include "mpi/launcher.hpp"
#include "run/threads.hpp"

namespace tessera::inline v1::run {
namespace {

// Needs of Open MPI 4.1 on one node beyond the program's at start.
constexpr index_t mpi_bytes = index_t{128} << 20;      // 80 MiB suffice
constexpr index_t mpi_rank_bytes = index_t{16} << 20;  // shared with each other rank
constexpr int mpi_files = 20;                          // 10 suffice
constexpr int mpi_threads = 4;  // MPI's own, the watchdog's, the watch of contention, and one

/// Returns the bytes of address space that ulimit -v allows, or nothing without a limit.
std::optional<rlim_t> address_space_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return limit.rlim_cur;
}

void require_address_space(int ranks) {
  const auto limit = address_space_limit();
  if (!limit) return;
  const index_t free = machine::available_memory(), needed = mpi_bytes + ranks * mpi_rank_bytes;
  require(free >= needed, ExitCode::memory,
          fmt::format("{} of address space and memory are free (ulimit -v {}): MPI alone needs {}; "
                      "run ulimit -v unlimited",
                      human_bytes(free), *limit / 1024, human_bytes(needed)));
}

void require_files(int ranks) {
  std::vector<int> files;
  const auto wanted = static_cast<std::size_t>(mpi_files + ranks);
  while (files.size() < wanted && (files.empty() || files.back() >= 0))
    files.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const bool enough = files.back() >= 0;
  const int reason = errno;
  for (const int file : files) {
    if (file >= 0) close(file);
  }
  require(enough, ExitCode::memory,
          fmt::format("{} more files can be opened ({}): MPI alone needs {}; run ulimit -n 1024",
                      files.size() - 1, std::strerror(reason), wanted));
}

}  // namespace

std::string address_space_hint() {
  const auto limit = address_space_limit();
  return limit ? fmt::format(" (ulimit -v {}); run ulimit -v unlimited", *limit / 1024) : "";
}

ThreadTrial::ThreadTrial(int threads, index_t stack_bytes) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  all_run_ = stack_bytes == 0 ||
             pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(stack_bytes)) == 0;
  for (int t = 0; t < threads && all_run_; ++t) {
    pthread_t thread{};
    all_run_ = pthread_create(&thread, &attributes, wait, this) == 0;
    if (all_run_) threads_.push_back(thread);
  }
  pthread_attr_destroy(&attributes);
}

ThreadTrial::~ThreadTrial() {
  ended_ = true;
  ended_.notify_all();
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
}

void* ThreadTrial::wait(void* self) {
  static_cast<ThreadTrial*>(self)->ended_.wait(false);
  return nullptr;
}

void require_room_for_mpi() {
  const int ranks = mpi::launcher_node_ranks();
  require_address_space(ranks);
  require_files(ranks);
  require(ThreadTrial(mpi_threads).all_run(), ExitCode::memory,
          fmt::format("{} threads cannot run at once: MPI alone needs two; check ulimit -u, ulimit "
                      "-v and ulimit -s",
                      mpi_threads));
}

void require_teams(const mpi::Communicator& comm, int threads) {
  {  // Without the calling thread, with the watch of contention.
    const ThreadTrial trial(threads, openmp_stack().value_or(0));
    mpi::together(comm, "start threads", [&] {
      require(
          trial.all_run(), ExitCode::memory,
          fmt::format("{} threads per rank cannot run at once ({} on this node); use fewer "
                      "(--threads, OMP_NUM_THREADS), or check ulimit -u, ulimit -v and ulimit -s",
                      threads, counted(mpi::launcher_node_ranks(), "rank")));
    });
  }
  // Now, because OpenMP ends a program whose arrays leave no room for a thread.
  if (address_space_limit()) machine::on_each_thread(threads, [](int, int) {});
}

}  // namespace tessera::inline v1::run
