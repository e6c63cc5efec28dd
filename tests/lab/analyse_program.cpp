// A program for tests of tessera analyse: known functions do known shares of its work, by counts
// and not by clocks. analyse_program MILLIONS SERIAL THREADS [EXIT]: of MILLIONS million steps
// SERIAL percent are serial, the others are shared by THREADS threads; ends with EXIT.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

extern "C" {

[[gnu::noinline]] double serial_steps(long steps) {
  double x = 1;
  for (long i = 0; i < steps; ++i) x = x * 0.999999 + 1e-3;
  return x;
}

[[gnu::noinline]] double parallel_steps(long steps) {
  double x = 1;
  for (long i = 0; i < steps; ++i) x = x * 0.999998 + 1e-3;
  return x;
}

}  // extern "C"

int main(int count, char** words) {
  if (count < 4) return 64;
  const long steps = 1000000 * std::atol(words[1]), percent = std::atol(words[2]);
  const long threads = std::atol(words[3]);
  std::vector<double> sums(static_cast<std::size_t>(threads));
  const double serial = serial_steps(steps / 100 * percent);
  std::vector<std::thread> team;
  for (double& sum : sums)
    team.emplace_back([&sum, steps, percent, threads] {
      sum = parallel_steps(steps / 100 * (100 - percent) / threads);
    });
  for (std::thread& thread : team) thread.join();
  double all = serial;
  for (const double sum : sums) all += sum;
  const bool has_words = count > 5;  // further words are printed, whatever they are
  std::printf("%s %d\n", has_words ? words[5] : "done", all > 0);
  return count > 4 ? std::atoi(words[4]) : 0;
}
