// Ratios of Tessera's kernels to plain work on the same machine, for tests/bench/guard.py:
// bench_guard [--seconds S] [--row NAME]... prints a line of JSON a row,
// {"row": "product f64", "ratios": [...]}: seconds of the plain work over Tessera's, one a round.
// Products and stencils are compared with multiply-adds in registers, transposes with a copy of
// as many bytes, sorts with std::sort of a part a thread. --slow NAME=X lets Tessera's side of a
// row take 1 + X times as long: a loss that must be found.

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstring>
#include <map>

#include "base/random.hpp"
#include "bench/bench.hpp"
#include "bench/clones.hpp"
#include "bench/options.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/variants.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels/stencil/variants.hpp"
#include "kernels/transpose/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::bench {
namespace {

struct Row {
  std::string name;
  Candidate ours, plain;
};

/// Adds products in registers: 16 chains of vectors that the compiler chooses.
template <class T>
TESSERA_CLONES("avx512f", "avx2,fma", "default")
void multiply_add(index_t steps, T* sums) {
  constexpr int lanes = 1024 / sizeof(T);
  T x[lanes];
  for (int i = 0; i < lanes; ++i) x[i] = sums[i % 8];
  const T factor = T(1) - T(1) / T(1 << 20);
  for (index_t step = 0; step < steps; ++step)
    for (int i = 0; i < lanes; ++i) x[i] = x[i] * factor + T(1e-3);
  for (int i = 0; i < lanes; ++i) sums[i % 8] += x[i];
}

template <class T>
Candidate flops(double wanted, int threads) {
  const auto steps = static_cast<index_t>(wanted / threads / (2 * 1024 / sizeof(T)));
  return {"", [=] {
            machine::on_each_thread(threads, [&](int, int) {
              T sums[8] = {T(1)};
              multiply_add(steps, sums);
              require(sums[0] != T(0), ExitCode::internal, "a sum vanished");
            });
          }};
}

/// Copies as many bytes, each thread its part.
Candidate copies(std::byte* to, const std::byte* from, index_t bytes, int threads) {
  return {"", [=] {
            machine::on_each_thread(threads, [&](int thread, int team) {
              const index_t begin = bytes * thread / team, end = bytes * (thread + 1) / team;
              std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
            });
          }};
}

template <class T>
machine::Buffer<T> random_values(index_t count, std::uint64_t stream) {
  machine::Buffer<T> x(count);
  for (index_t i = 0; i < count; ++i) x[i] = random_symmetric<T>(1, stream, i);
  return x;
}

/// Owns what the rows use.
struct Memory {
  machine::Buffer<std::byte> from{index_t{1} << 28}, to{index_t{1} << 28};
  std::vector<machine::Buffer<double>> doubles;
  std::vector<machine::Buffer<float>> floats;
  std::vector<stencil::Field<double>> fields;
  machine::Buffer<std::uint64_t> keys{index_t{1} << 22}, unsorted{index_t{1} << 22},
      part{index_t{1} << 20};
};

template <class T>
Row product(const std::string& name, index_t n, int calls, int threads,
            std::vector<machine::Buffer<T>>& kept) {
  kept.push_back(random_values<T>(n * n, 1));
  kept.push_back(random_values<T>(n * n, 2));
  kept.push_back(random_values<T>(n * n, 3));
  const std::size_t last = kept.size() - 1;
  const auto ours = [&kept, last, n, calls, threads] {
    const matmul::Gemm<T> gemm{.a = matrix_view(std::as_const(kept[last - 2]).data(), n, n),
                               .b = matrix_view(std::as_const(kept[last - 1]).data(), n, n),
                               .c = matrix_view(kept[last].data(), n, n)};
    for (int call = 0; call < calls; ++call)
      machine::parallel(matmul::useful_threads<T>(n, n, n, threads), [&] { matmul::best()(gemm); });
  };
  const double work = 2.0 * std::pow(static_cast<double>(n), 3) * calls;
  return {name, {"", ours}, flops<T>(work, threads)};
}

template <class T>
Row transposed(const std::string& name, index_t rows, index_t cols, int threads, Memory& memory) {
  auto* const a = reinterpret_cast<T*>(memory.from.data());
  auto* const b = reinterpret_cast<T*>(memory.to.data());
  const auto from = transpose::records(matrix_view<const T>(a, rows, cols));
  const auto to = transpose::records(matrix_view(b, cols, rows));
  const auto ours = [=] {
    transpose::best(from, to).out_of_place(from, to, transpose::Tuning{.threads = threads});
  };
  return {name,
          {"", ours},
          copies(memory.to.data(), memory.from.data(), rows * cols * index_t{sizeof(T)}, threads)};
}

Row swept(const std::string& name, Index3 extent, int dims, index_t steps, int threads,
          Memory& memory) {
  const stencil::Stencil heat = stencil::named_stencil("heat", dims);
  memory.fields.push_back(stencil::whole_field<double>(heat, extent));
  const auto sweep = stencil::whole_sweep(heat, stencil::all_sides({stencil::Boundary::clamp}),
                                          memory.fields.back(), steps, threads);
  // Its passes over memory advance several steps, which caches and arithmetic bound.
  const double work = 8.0 * static_cast<double>(extent.volume() * steps);
  return {
      name, {"", [=] { stencil::run(stencil::best(sweep), sweep); }}, flops<double>(work, threads)};
}

Row sorted(const std::string& name, const std::string& input, int threads, Memory& memory) {
  sort::generate<std::uint64_t>(sort::input(input), 1, 0, memory.unsorted.size(),
                                memory.unsorted.span());
  const auto fresh = [&memory] {
    std::copy(memory.unsorted.begin(), memory.unsorted.end(), memory.keys.begin());
    std::copy_n(memory.unsorted.begin(), memory.part.size(), memory.part.begin());
  };
  const auto ours = [&memory, threads] {
    sort::sort_keys<std::uint64_t>("auto", memory.keys.span(), threads);
  };
  const auto plain = [&memory, threads] {
    machine::on_each_thread(threads, [&](int thread, int team) {
      const index_t size = memory.part.size();
      std::sort(memory.part.data() + size * thread / team,
                memory.part.data() + size * (thread + 1) / team);
    });
  };
  return {name, {"", ours, fresh}, {"", plain, fresh}};
}

std::vector<Row> all_rows(Memory& memory) {
  const int threads = machine::default_threads();
  memory.fields.reserve(2);
  machine::parallel(threads, [&] {
    machine::parallel_for(0, memory.from.size(), 1 << 20, [&](index_t begin, index_t end) {
      std::memset(memory.from.data() + begin, 1, static_cast<std::size_t>(end - begin));
      std::memset(memory.to.data() + begin, 2, static_cast<std::size_t>(end - begin));
    });
  });
  return {product<double>("product f64", 1000, 1, threads, memory.doubles),
          product<float>("product f32", 1000, 1, threads, memory.floats),
          product<double>("small product f64", 96, 200, 1, memory.doubles),
          transposed<double>("transpose f64", 4000, 4000, threads, memory),
          transposed<float>("transpose f32", 5000, 3000, threads, memory),
          swept("stencil 2-D f64", {{1, 3000, 3000}}, 2, 16, threads, memory),
          swept("stencil 3-D f64", {{200, 200, 200}}, 3, 8, threads, memory),
          sorted("sort u64", "uniform", threads, memory)};
}

/// Lets a candidate take 1 + more times as long.
void slow_down(Candidate& candidate, double more) {
  candidate.run = [run = candidate.run, more] {
    const Timer timer;
    run();
    const double until = (1 + more) * timer.seconds();
    while (timer.seconds() < until) continue;
  };
}

/// Returns plain / ours of each round until the seconds are spent, at least five.
std::vector<double> ratios(const Row& row, double seconds) {
  std::vector<double> found;
  std::mt19937 random;
  const Timer total;
  for (int round = -1; round < 5 || total.seconds() < seconds; ++round) {
    double times[2] = {};
    const auto first = static_cast<int>(random() % 2);
    for (const int which : {first, 1 - first}) {
      const Candidate& candidate = which == 0 ? row.ours : row.plain;
      candidate.prepare();
      const Timer timer;
      candidate.run();
      times[which] = timer.seconds();
    }
    if (round >= 0) found.push_back(times[1] / times[0]);
  }
  return found;
}

int run(int argc, char** argv) {
  double seconds = 1;
  std::vector<std::string> wanted;
  std::map<std::string, double> slow;
  CLI::App app("ratios of Tessera's kernels to plain work");
  app.add_option("--seconds", seconds, "of a row")->check(CLI::PositiveNumber);
  app.add_option("--row", wanted, "rows, by name");
  app.add_option_function<std::vector<std::string>>(
      "--slow",
      [&](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
          const auto at = text.find('=');
          if (at == std::string::npos) throw CLI::ValidationError("--slow", "NAME=X, not " + text);
          slow[text.substr(0, at)] = std::stod(text.substr(at + 1));
        }
      },
      "NAME=X: Tessera's side takes 1 + X times as long");
  if (const auto code = leave_after(app, argc, argv)) return static_cast<int>(*code);
  Memory memory;
  std::vector<Row> rows = all_rows(memory);
  for (const auto& [name, more] : slow) {
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&key = name](const Row& r) { return r.name == key; });
    if (row == rows.end()) {
      fmt::print(stderr, "bench_guard: error: unknown row '{}'\n", name);
      return static_cast<int>(ExitCode::usage);
    }
    slow_down(row->ours, more);
  }
  for (const Row& row : rows) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), row.name) == wanted.end())
      continue;
    fmt::print("{{\"row\": \"{}\", \"ratios\": [{:.5g}]}}\n", row.name,
               fmt::join(ratios(row, seconds), ", "));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) { return tessera::bench::run(argc, argv); }
