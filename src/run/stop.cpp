#include "run/stop.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/progress.hpp"
#include "io/partials.hpp"
#include "mpi/launcher.hpp"
#include "run/answer.hpp"

namespace tessera::inline v1::run {
namespace {

std::atomic<bool> taken{false}, asked{false}, ending{false}, speaks{true};
// The launcher kills the other ranks as soon as one has ended: MPICH's and Intel MPI's mpirun.
std::atomic<bool> kills_the_rest{false};
std::atomic<int> waited_for{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void print(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

const char* name_of(int number) {
  return number == SIGINT ? "Ctrl-C" : number == SIGTERM ? "SIGTERM" : "SIGHUP";
}

/// Handles a signal also where the parent process had blocked it, which exec passes on.
void handle(int number, void (*handler)(int)) {
  std::signal(number, handler);
  sigset_t itself;
  sigemptyset(&itself);
  sigaddset(&itself, number);
  pthread_sigmask(SIG_UNBLOCK, &itself, nullptr);
}

/// Ends the process by the signal's default action, so that a parent shell sees it and leaves its
/// loop.
void end_by(int number) {
  if (ending.exchange(true)) return;  // another thread is in here
  const bool all_got_it =
      number == SIGINT && tcgetpgrp(STDERR_FILENO) == getpgrp();  // the terminal signals the whole
                                                                  // foreground group
  if (const int child = waited_for; child > 0 && !all_got_it) kill(child, number);
  const bool removed = io::remove_partials();
  answer_stopped(number);
  if (speaks) {
    clear_progress_line();
    print("tessera: error: the run was stopped by ");
    print(name_of(number));
    print(removed ? ": partial outputs are removed\n" : "\n");
  }
  constexpr int others_milliseconds = 500;  // for the other ranks to remove their partial files
  if (kills_the_rest) poll(nullptr, 0, others_milliseconds);
  handle(number, SIG_DFL);
  raise(number);
}

void ask(int number) {
  asked = true;
  if (number != SIGUSR1) std::signal(number, end_by);  // a second request ends at once
}

}  // namespace

void end_cleanly_on_signals() {
  speaks = !mpi::launcher().there;
  kills_the_rest = mpi::launcher().there && std::getenv("PMI_RANK") != nullptr;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL)
      handle(number, end_by);
  }
}

void end_with_us(int child) { waited_for = child; }

void take_stop_signals(CtrlC how) {
  handle(SIGUSR1, ask);
  handle(SIGTERM, ask);
  struct sigaction action {};
  const bool ignored = sigaction(SIGINT, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  if (how == CtrlC::asks && !ignored) handle(SIGINT, ask);
  taken = true;
}

bool stop_requested(const mpi::Communicator& comm) {
  return taken && comm.max(index_t{asked ? 1 : 0}) != 0;
}

bool stop_requested_here() { return asked; }

}  // namespace tessera::inline v1::run
