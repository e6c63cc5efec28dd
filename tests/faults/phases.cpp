// Linked into a copy of the program in front of mpi::enter_phase and mpi::together (ld --wrap):
// makes one rank fail when it first enters a phase.
//
//   FAULT_KIND   throw, bad_alloc, abort, segv, kill, term, exit, hang; list: only logs the phases
//   FAULT_PHASE  the phase's name
//   FAULT_RANK   the rank
//   FAULT_LOG    file for a line with the time (CLOCK_MONOTONIC, s) of the fault; for list, the
//                phases' names

#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/launcher.hpp"
#include "mpi/runtime.hpp"

#define ENTER_PHASE "_ZN7tessera2v13mpi11enter_phaseEPKc"
#define TOGETHER "_ZN7tessera2v13mpi8togetherERKNS1_12CommunicatorEPKcRKSt8functionIFvvEE"

namespace tessera::faults {

using Work = std::function<void()>;

// Linker names of the program's functions and of their wrappers.
void real_enter_phase(const char* name) asm("__real_" ENTER_PHASE);
void real_together(const mpi::Communicator& comm, const char* name,
                   const Work& work) asm("__real_" TOGETHER);
void enter_phase(const char* name) asm("__wrap_" ENTER_PHASE);
void together(const mpi::Communicator& comm, const char* name,
              const Work& work) asm("__wrap_" TOGETHER);

namespace {

bool inside_together = false;  // the work fails, not its start

const char* setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void log(const char* text) {
  if (std::FILE* const file = std::fopen(setting("FAULT_LOG"), "a"); file != nullptr) {
    std::fprintf(file, "%s\n", text);
    std::fclose(file);
  }
}

void log_time() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  char text[64];
  std::snprintf(text, sizeof text, "%ld.%09ld", static_cast<long>(now.tv_sec), now.tv_nsec);
  log(text);
}

[[noreturn]] void hang() {
  for (;;) pause();
}

void go_wrong(const char* kind) {
  log_time();
  if (std::strcmp(kind, "throw") == 0) throw std::runtime_error("a fault was injected");
  if (std::strcmp(kind, "bad_alloc") == 0) throw std::bad_alloc();
  if (std::strcmp(kind, "abort") == 0) std::abort();
  if (std::strcmp(kind, "segv") == 0) std::raise(SIGSEGV);
  if (std::strcmp(kind, "kill") == 0) std::raise(SIGKILL);
  if (std::strcmp(kind, "term") == 0) std::raise(SIGTERM);
  if (std::strcmp(kind, "exit") == 0) _exit(1);
  if (std::strcmp(kind, "hang") == 0) hang();
}

void enter(const char* name) {
  static bool done = false;
  const char* const kind = setting("FAULT_KIND");
  if (done || mpi::launcher_rank() != std::atoi(setting("FAULT_RANK"))) return;
  if (std::strcmp(kind, "list") == 0) return log(name);
  if (std::strcmp(name, setting("FAULT_PHASE")) != 0) return;
  done = true;
  go_wrong(kind);
}

}  // namespace

void enter_phase(const char* name) {
  real_enter_phase(name);
  if (!inside_together) enter(name);
}

void together(const mpi::Communicator& comm, const char* name, const Work& work) {
  inside_together = true;
  real_together(comm, name, [&] {
    inside_together = false;
    enter(name);
    work();
  });
}

}  // namespace tessera::faults
