// bash tests/bench.sh matmul [--quick] [--threads 1,2] [--type f64,f32,c128,c64] [--n 256,1000]
// [--no-deep]
//
// Tessera against OpenBLAS and BLIS in one process, interleaved. Square products on 1 and 2
// threads, and small C with a deep k. Ratios are of rates, Tessera / peer: above 1 Tessera is
// faster; of medians and of lower quartiles. One thread is timed by its CPU time, which other users
// of the machine disturb least; more threads by wall time.

#include <CLI/CLI.hpp>
#include <cmath>
#include <map>

#include "base/element.hpp"
#include "base/random.hpp"
#include "bench/bench.hpp"
#include "bench/peers_matmul.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::bench {
namespace {

struct Case {
  index_t m, n, k;
  int threads;
};

struct Limits {
  bool quick;
  int repetitions;
  double seconds;  ///< a case ends near this
};

/// Ratios of medians and of lower quartiles.
struct Ratio {
  double median, quarter;
};
/// ratios[peer, type, threads, kind] of all shapes, for the final means.
using Ratios = std::map<std::string, std::vector<Ratio>>;

template <class T>
machine::Buffer<T> random_matrix(index_t rows, index_t cols, std::uint64_t stream) {
  machine::Buffer<T> x(rows * cols);
  for (index_t at = 0; at < x.size(); ++at) x[at] = random_symmetric<T>(1, stream, at);
  return x;
}

double size(double x) { return std::abs(x); }
template <class T>
double size(Complex<T> x) {
  return std::hypot(x.re, x.im);
}

/// Returns the largest difference of two results relative to the largest entry.
template <class T>
double difference(const machine::Buffer<T>& x, const machine::Buffer<T>& y) {
  double most = 0;
  double largest = 1e-300;
  for (index_t at = 0; at < x.size(); ++at) {
    most = std::max(most, size(x[at] - y[at]));
    largest = std::max(largest, size(x[at]));
  }
  return most / largest;
}

template <class T>
void ours(const matmul::Gemm<T>& g, int threads) {
  machine::parallel(matmul::useful_threads<T>(g.m(), g.n(), g.k(), threads),
                    [&] { matmul::best()(g); });
}

template <class T>
void measure(const Case& c, const std::vector<Blas>& blas, Limits limits, Ratios& ratios) {
  const std::string_view type = name(element_of<T>);
  constexpr double flops_each = is_complex<T> ? 8 : 2;
  const auto a = random_matrix<T>(c.m, c.k, 1);
  const auto b = random_matrix<T>(c.k, c.n, 2);
  machine::Buffer<T> result = random_matrix<T>(c.m, c.n, 3);
  machine::Buffer<T> reference = random_matrix<T>(c.m, c.n, 3);
  const auto problem = [&](machine::Buffer<T>& into) {
    return matmul::Gemm<T>{.a = matrix_view(a.data(), c.m, c.k),
                           .b = matrix_view(b.data(), c.k, c.n),
                           .c = matrix_view(into.data(), c.m, c.n)};
  };
  const double flops =
      flops_each * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
  const double sample = limits.quick ? 5e7 : 2e8;  // FLOP: one or two milliseconds
  const int calls = static_cast<int>(std::max(1.0, sample / flops));
  std::vector<Candidate> candidates;
  ours(problem(result), c.threads);
  const auto add = [&](std::string name, auto run) {
    candidates.push_back({std::move(name), [=, g = problem(reference)] {
                            for (int call = 0; call < calls; ++call) run(g);
                          }});
  };
  add("ours", [threads = c.threads](const matmul::Gemm<T>& g) { ours(g, threads); });
  for (const Blas& peer : blas) {
    peer.set_threads(c.threads);
    require(static_cast<int>(peer.get_threads()) == c.threads, ExitCode::internal,
            "a peer refuses its threads");
    peer(problem(reference));
    require(difference(result, reference) < (sizeof(Real<T>) == 8 ? 1e-10 : 1e-3),
            ExitCode::verification, "ours and " + peer.name + " differ");
    add(peer.name, peer);
  }
  const auto summaries = interleaved(
      candidates, limits.repetitions, limits.seconds, [](double mine) { return mine; },
      c.threads == 1 ? Clock::processor : Clock::wall);
  for (std::size_t p = 1; p < candidates.size(); ++p) {
    const double mine = summaries[0].median / calls;
    const double theirs = summaries[p].median / calls;
    fmt::print(
        "{:<9} {} {:>7} x {:>5} x {:>7}  threads {}  ours {:>10.6f} s  peer {:>10.6f} s  {:>7.1f} "
        "{:>7.1f} "
        "GFLOP/s  "
        "ratio {:.3f}  quarter {:.3f}\n",
        candidates[p].name, type, c.m, c.n, c.k, c.threads, mine, theirs, flops / mine / 1e9,
        flops / theirs / 1e9, theirs / mine, summaries[p].q1 / summaries[0].q1);
    ratios[fmt::format("{:<9} {} threads {} {}", candidates[p].name, type, c.threads,
                       c.k > 8 * c.m ? "deep" : "square")]
        .push_back({theirs / mine, summaries[p].q1 / summaries[0].q1});
  }
  std::fflush(stdout);
}

void print_means(const Ratios& ratios) {
  fmt::print(
      "\ngeometric means (and the lowest) of ours / peer, of medians and of lower quartiles\n");
  for (const auto& [what, values] : ratios) {
    const auto text = [&](double Ratio::*of) {
      double sum = 0;
      double lowest = values.front().*of;
      for (const Ratio& value : values) {
        sum += std::log(value.*of);
        lowest = std::min(lowest, value.*of);
      }
      return fmt::format("{:.3f} ({:.3f})", std::exp(sum / static_cast<double>(values.size())),
                         lowest);
    };
    fmt::print("{}  {}  {}\n", what, text(&Ratio::median), text(&Ratio::quarter));
  }
}

int run(int argc, char** argv) {
  CLI::App app("ours against OpenBLAS and BLIS");
  bool quick = false;
  bool no_deep = false;
  std::vector<int> threads{1, 2};
  std::vector<std::string> types{"f64", "f32", "c128", "c64"};
  std::vector<index_t> sizes{64, 100, 256, 480, 1000, 1024, 2047, 2048, 4032};
  app.add_flag("--quick", quick,
               "under 50 s: fewer rounds, no large shapes, no complex types unless named");
  app.add_flag("--no-deep", no_deep, "square shapes only");
  app.add_option("--threads", threads, "numbers of threads")->delimiter(',');
  app.add_option("--type", types, "f64, f32, c128, c64")->delimiter(',');
  app.add_option("--n", sizes, "square sizes; 0 for none")->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  if (quick && app.count("--type") == 0) types = {"f64", "f32"};

  const auto blas = peers();
  fmt::print("ours: {}", machine::name(machine::isa()));
  for (const Blas& peer : blas) fmt::print(", {}: {}", peer.name, peer.kernels);
  fmt::print("\n");
  Ratios ratios;
  const Limits limits = quick ? Limits{true, 40, 0.15} : Limits{false, 200, 3.0};
  const auto each_type = [&](const Case& c) {
    for (const std::string& type : types) {
      if (type == "f64") measure<double>(c, blas, limits, ratios);
      if (type == "f32") measure<float>(c, blas, limits, ratios);
      if (type == "c128") measure<Complex<double>>(c, blas, limits, ratios);
      if (type == "c64") measure<Complex<float>>(c, blas, limits, ratios);
    }
  };
  for (const int t : threads) {
    for (const index_t n : sizes) {
      if (n > 0 && !(quick && n > 1024)) each_type({n, n, n, t});
    }
  }
  for (const index_t n : {32, 128, 256}) {
    if (!no_deep && !(quick && n > 32)) each_type({n, n, 1000000, threads.back()});
  }
  print_means(ratios);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  try {
    tessera::bench::choose_kernels_of_peers(argv);
    return tessera::bench::run(argc, argv);
  } catch (const tessera::Error& error) {
    fmt::print(stderr, "bench_matmul: {}\n", error.what());
    return static_cast<int>(error.code());
  }
}
