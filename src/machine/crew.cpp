#include "machine/crew.hpp"

#include "machine/contention.hpp"

namespace tessera::inline v1::machine {
namespace {

/// Returns the number of polls, about a microsecond each, before a waiting thread sleeps. A wake-up
/// takes some tens of microseconds.
int looks() {
  constexpr int asleep_soon = 20, usual = 1000;
  return is_contended() ? asleep_soon : usual;
}

/// Yields to the sibling hardware thread.
void pause() {
  for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

}  // namespace

void Crew::run(const Loop& loop) {
  runs_ = true;
  loop_.store(&loop);
  calls_.fetch_add(2);
  calls_.notify_all();
  loop.call(loop.self, 0);
  loop_.store(nullptr);  // later arrivals find nullptr: both orders are sequentially consistent
  for (Patience patience; inside_.load() != 0; patience.wait()) pause();
  runs_ = false;
}

void Crew::serve(int thread) {
  for (unsigned seen = 0; is_open();) {
    wait_for_call(seen);
    seen = calls_.load();
    inside_.fetch_add(1);
    if (const Loop* const loop = loop_.load(); loop != nullptr) loop->call(loop->self, thread);
    inside_.fetch_sub(1);
  }
}

void Crew::close() {
  if ((calls_.fetch_or(closed) & closed) == 0) calls_.notify_all();
}

void Crew::wait_for_call(unsigned seen) const {
  for (int look = 0, last = looks(); look < last; ++look) {
    if (calls_.load() != seen) return;
    pause();
  }
  calls_.wait(seen);
}

}  // namespace tessera::inline v1::machine
