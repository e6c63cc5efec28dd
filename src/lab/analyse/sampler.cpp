// libtessera_sampler.so: preloaded into a program, samples each of its threads by its processor
// time. perf events interrupt where the system permits them, otherwise timers of the thread's
// clock. The handler is async-signal-safe: it copies the program counter into a shared file.

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "lab/analyse/samples.hpp"

namespace tessera::inline v1::analyse {
namespace {

// A signal that is ignored by default: a program that replaces itself (exec) has no handler for a
// sample on its way. Realtime signals are the program's.
constexpr int sampling_signal = SIGURG;
Samples* shared = nullptr;
std::string maps_file;
std::atomic<std::uint32_t> phase{0};
thread_local std::uint32_t own_number __attribute__((tls_model("initial-exec"))) = 0;

std::int64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::uint64_t program_counter(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return context.uc_mcontext.pc;
#else
#error "samples need the place of the program counter in a signal's context"
#endif
}

void take_sample(int, siginfo_t*, void* context) {
  const std::uint64_t place = shared->taken.fetch_add(1, std::memory_order_relaxed);
  if (place >= most_samples) return;
  rusage use{};
  getrusage(RUSAGE_THREAD, &use);
  shared->samples[place] = {program_counter(*static_cast<const ucontext_t*>(context)), now(),
                            own_number, phase.load(std::memory_order_relaxed),
                            static_cast<std::uint64_t>(use.ru_nvcsw)};
}

/// Returns the descriptor of an event of this thread's processor time, or -1: with that spent in
/// the kernel if this is permitted.
int open_event(pid_t thread) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = static_cast<std::uint64_t>(shared->period);
  attributes.disabled = 1;
  long event = -1;
  for (const unsigned user_only : {0U, 1U}) {
    attributes.exclude_kernel = user_only & 1U;
    event = syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event >= 0) break;
  }
  return static_cast<int>(event);
}

/// Samples of one thread while it lives.
class Sampling {
 public:
  Sampling() : thread_(static_cast<pid_t>(syscall(SYS_gettid))) {
    own_number = shared->threads.fetch_add(1);
    if (start_perf())
      shared->perf.fetch_add(1);
    else if (start_timer())
      shared->timers.fetch_add(1);
  }
  ~Sampling() {
    if (event_ >= 0) close(event_);
    if (has_timer_) timer_delete(timer_);
  }
  Sampling(const Sampling&) = delete;
  Sampling& operator=(const Sampling&) = delete;

 private:
  bool start_perf() {
    if (std::getenv(timers_variable) != nullptr) return false;
    event_ = open_event(thread_);
    if (event_ < 0) return false;
    const f_owner_ex owner{F_OWNER_TID, thread_};
    return fcntl(event_, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 &&
           fcntl(event_, F_SETSIG, sampling_signal) == 0 &&
           fcntl(event_, F_SETOWN_EX, &owner) == 0 && ioctl(event_, PERF_EVENT_IOC_ENABLE, 0) == 0;
  }

  bool start_timer() {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = sampling_signal;
    event._sigev_un._tid = thread_;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) != 0) return false;
    has_timer_ = true;
    const timespec period{0, shared->period};
    const itimerspec times{period, period};
    return timer_settime(timer_, 0, &times, nullptr) == 0;
  }

  pid_t thread_;
  int event_ = -1;
  timer_t timer_{};
  bool has_timer_ = false;
};

/// Maps the file that tessera analyse made; nullptr if there is none.
Samples* map_samples(const char* path) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const all = mmap(nullptr, sizeof(Samples), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return all == MAP_FAILED ? nullptr : static_cast<Samples*>(all);
}

void copy_maps() {
  const int from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  const int to = open(maps_file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  char part[4096];
  for (ssize_t count = 0; (count = read(from, part, sizeof part)) > 0;)
    if (write(to, part, static_cast<std::size_t>(count)) != count) break;
  close(from);
  close(to);
}

/// Samples the main thread; programs that this one starts are not sampled.
__attribute__((constructor)) void begin() {
  const char *const path = std::getenv(samples_variable), *const maps = std::getenv(maps_variable);
  if (path == nullptr || maps == nullptr) return;
  maps_file = maps;
  constexpr const char* mine = "TESSERA_SAMPLED_PROCESS";  // a program may start itself anew
  const std::string number = std::to_string(getpid());
  if (const char* const sampled = std::getenv(mine); sampled != nullptr && number != sampled)
    return;
  setenv(mine, number.c_str(), 1);
  shared = map_samples(path);
  if (shared == nullptr) return;
  struct sigaction action {};
  action.sa_sigaction = take_sample;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(sampling_signal, &action, nullptr);
  if (shared->begin == 0) shared->begin = now();
  copy_maps();   // again at the end; a program that is killed leaves these
  new Sampling;  // of the main thread: it ends with the process
}

__attribute__((destructor)) void end() {
  if (shared == nullptr) return;
  shared->end = now();
  copy_maps();
}

using Routine = void* (*)(void*);
struct Start {
  Routine routine;
  void* argument;
};

void* sampled(void* data) {
  const Start start = *static_cast<Start*>(data);
  delete static_cast<Start*>(data);
  const Sampling sampling;
  return start.routine(start.argument);
}

}  // namespace
}  // namespace tessera::inline v1::analyse

extern "C" {

/// Takes the place of the C library's: samples the new thread.
__attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                          const pthread_attr_t* attributes,
                                                          void* (*routine)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  using namespace tessera::analyse;
  if (shared == nullptr) return create(thread, attributes, routine, argument);
  auto* const start = new Start{routine, argument};
  const int status = create(thread, attributes, sampled, start);
  if (status != 0) delete start;
  return status;
}

/// Names the phase that samples belong to from now on; of the main thread.
__attribute__((visibility("default"))) void tessera_sampler_phase(const char* name) {
  using namespace tessera::analyse;
  if (shared == nullptr) return;
  const std::uint32_t used = shared->phases_used.load();
  std::uint32_t number = 0;
  while (number < used && std::strncmp(shared->phases[number], name, phase_length - 1) != 0)
    ++number;
  if (number == most_phases) return;
  if (number == used) {
    std::strncpy(shared->phases[number], name, phase_length - 1);
    shared->phases_used.store(used + 1);
  }
  phase.store(number, std::memory_order_relaxed);
}

}  // extern "C"
