#include "kernels/memory/line_traffic.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "base/statistics.hpp"
#include "base/timer.hpp"
#include "kernels/memory/words.hpp"
#include "machine/affinity.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::memory {
namespace {

using Counter = std::atomic<index_t>;
constexpr index_t far_apart = 2 * line_bytes;  // some machines fetch pairs of lines
constexpr index_t closed = -1;
constexpr std::size_t runs = 15;
constexpr index_t updates = 1 << 14;  // of a thread in a run: some 100 us

/// Waits until the word has the value or is closed; yields where the other thread does not run.
/// Returns whether it has the value.
bool await(const Counter& word, index_t value) {
  constexpr int spins = 1 << 14;
  for (int spin = 1;; ++spin) {
    const index_t seen = word.load(std::memory_order_acquire);
    if (seen == value || seen == closed) return seen == value;
    if (spin % spins == 0) std::this_thread::yield();
  }
}

/// A word that two threads write in turns.
class PingPong {
 public:
  static constexpr index_t trips = 200;  // some 20 us: rarely interrupted
  static constexpr int most_batches = 200;

  std::vector<double> lead(double patience) {
    std::vector<double> samples;
    const Timer total;
    index_t at = 0;
    for (int batch = 0; batch < most_batches && (batch < 3 || total.seconds() < patience);
         ++batch) {
      const Timer timer;
      for (index_t trip = 0; trip < trips; ++trip) {
        word_.store(++at, std::memory_order_release);
        (void)await(word_, ++at);
      }
      samples.push_back(timer.seconds() / (2 * trips));
    }
    word_.store(closed, std::memory_order_release);
    return samples;
  }

  void answer() {
    for (index_t at = 1; await(word_, at); at += 2) word_.store(at + 1, std::memory_order_release);
  }

 private:
  alignas(far_apart) Counter word_ = 0;
};

StepTime summary_of(std::vector<double> samples) {
  const Summary all = summarize(std::move(samples));
  return {all.min, all.median};
}

using WordRef = std::atomic_ref<Word>;

void add(WordRef word) { word.fetch_add(1, std::memory_order_relaxed); }
void compare_exchange(WordRef word) {
  Word seen = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) {
  }
}

/// The span of a thread's updates, seconds since the team's start.
struct Span {
  double begin, end;
};
/// Returns whether all spans have half of the time in common: the threads ran at once.
bool at_once(const std::vector<Span>& spans) {
  double first = spans[0].begin, begin = first, end = spans[0].end, last = end;
  for (const Span& span : spans) {
    first = std::min(first, span.begin), begin = std::max(begin, span.begin);
    end = std::min(end, span.end), last = std::max(last, span.end);
  }
  return end - begin >= 0.5 * (last - first);
}

/// Times body(thread) on every thread of a team, from a common start; seconds per update over the
/// runs in which all threads ran at once. NaN if there was none within 1.5 seconds.
template <class Body>
StepTime team_time(int threads, const Body& body) {
  constexpr double patience = 1.5;
  std::vector<double> samples;
  const Timer total;
  while (samples.size() < runs && total.seconds() < patience) {
    Counter arrived = 0;
    std::vector<Span> spans(static_cast<std::size_t>(threads));
    const Timer timer;
    machine::on_each_thread(threads, [&](int thread, int team) {
      arrived.fetch_add(1);
      (void)await(arrived, team);
      Span& mine = spans[static_cast<std::size_t>(thread)];
      mine.begin = timer.seconds();
      body(thread);
      mine.end = timer.seconds();
    });
    double longest = 0;
    for (const Span& span : spans) longest = std::max(longest, span.end - span.begin);
    if (at_once(spans)) samples.push_back(longest / updates);
  }
  if (samples.empty()) return {NAN, NAN};
  return summary_of(std::move(samples));
}

}  // namespace

StepTime line_latency(int unit, int other, double patience) {
  PingPong game;
  std::vector<double> samples;
  std::thread answers([&] {
    machine::run_on({other});
    game.answer();
  });
  std::thread leads([&] {
    machine::run_on({unit});
    samples = game.lead(patience);
  });
  leads.join();
  answers.join();
  return summary_of(std::move(samples));
}

StepTime update_time(Update update, index_t apart, int threads) {
  machine::Buffer<Word> words(apart / word_bytes * threads + 1);
  std::fill(words.begin(), words.end(), 0);
  return team_time(threads, [&](int thread) {
    const WordRef word(words[thread * (apart / word_bytes)]);
    for (index_t i = 0; i < updates; ++i)
      update == Update::add ? add(word) : compare_exchange(word);
  });
}

}  // namespace tessera::inline v1::memory
