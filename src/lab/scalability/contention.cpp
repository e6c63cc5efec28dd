// Contention: work and span ignore that cores share memory, caches and clock. Measures it with the
// kernel itself, as the time of as many serial copies as cores, each on its part of the problem,
// run concurrently against one alone (work time inflation, Olivier et al. 2012).

#include <algorithm>
#include <barrier>
#include <thread>

#include "base/statistics.hpp"
#include "base/timer.hpp"
#include "lab/scalability/scalability.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::scalability {
namespace {

/// Returns the mean seconds of the programs run concurrently, one thread each, by thread CPU time,
/// which excludes time taken by other processes.
double seconds_together(const std::vector<Program>& programs) {
  std::vector<double> seconds(programs.size());
  std::barrier start(static_cast<std::ptrdiff_t>(programs.size()));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    threads.emplace_back([&, i] {
      programs[i].prepare();
      start.arrive_and_wait();
      const index_t begin = machine::Recorder::thread_nanoseconds();
      programs[i].run(1);
      seconds[i] = 1e-9 * static_cast<double>(machine::Recorder::thread_nanoseconds() - begin);
      start.arrive_and_wait();  // otherwise the last program would run without contention
    });
  }
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  for (const double s : seconds) sum += s;
  return sum / static_cast<double>(programs.size());
}

/// Repeats the measurement until both 5 runs (or `repetitions`) and 50 ms of the programs are
/// reached, because contention varies from run to run; at most for a quarter of a second, in which
/// threads start and programs prepare, too.
Summary several_together(const std::vector<Program>& programs, index_t repetitions) {
  constexpr double long_enough = 0.05, too_long = 0.25;  // seconds
  constexpr index_t fewest = 5;
  std::vector<double> samples;
  const Timer timer;
  double total = 0;
  (void)seconds_together(programs);  // warms up
  for (index_t r = 0;
       r < std::max(fewest, repetitions) || (total < long_enough && timer.seconds() < too_long);
       ++r) {
    samples.push_back(seconds_together(programs));
    total += samples.back();
    mpi::heartbeat();
  }
  return summarize(samples);
}

}  // namespace

double contention(const run::Values& point, int threads, index_t repetitions) {
  if (threads <= 1) return 1;
  const run::Values part = part_of(point, threads);
  std::vector<Program> programs;
  programs.push_back(make_program(part));
  const double alone = several_together(programs, repetitions).median;
  while (static_cast<int>(programs.size()) < threads) programs.push_back(make_program(part));
  const double together = several_together(programs, repetitions).ci_high;  // conservative: the
                                                                            // bound must hold
  return alone > 0 ? std::max(1.0, together / alone) : 1;
}

}  // namespace tessera::inline v1::scalability
