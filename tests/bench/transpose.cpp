// Comparison of transposes: Tessera, memcpy, a streaming copy, OpenBLAS omatcopy, Eigen. Bytes
// count one read plus one write for all. OpenBLAS and Eigen transpose with one thread in any case.

#include <cblas.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Core>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/random.hpp"
#include "base/table.hpp"
#include "bench/bench.hpp"
#include "bench/options.hpp"
#include "kernels/transpose/in_place.hpp"
#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::bench {
namespace {

using transpose::Records;
using transpose::Tuning;

struct Shape {
  index_t rows, cols;
};

void omatcopy(index_t m, index_t n, const float* a, float* b) {
  cblas_somatcopy(CblasRowMajor, CblasTrans, narrow<int>(m), narrow<int>(n), 1.0F, a,
                  narrow<int>(n), b, narrow<int>(m));
}
void omatcopy(index_t m, index_t n, const double* a, double* b) {
  cblas_domatcopy(CblasRowMajor, CblasTrans, narrow<int>(m), narrow<int>(n), 1.0, a, narrow<int>(n),
                  b, narrow<int>(m));
}

/// Calls piece(to, from, bytes) for each thread's share, a multiple of a page.
template <class Copy>
void copy_by_threads(int threads, std::byte* to, const std::byte* from, index_t bytes,
                     const Copy& piece) {
  machine::on_each_thread(threads, [&](int thread, int team) {
    const index_t share = round_up(ceil_div(bytes, team), 4096);
    const index_t begin = std::min(bytes, share * thread);
    piece(to + begin, from + begin, std::min(bytes - begin, share));
  });
}

/// Returns whether b is the transpose of a.
template <class T>
bool is_transpose(const T* a, const T* b, const Shape& s) {
  std::atomic<bool> right = true;
  machine::on_each_thread(2, [&](int thread, int team) {
    for (index_t i = 64 * thread; i < s.rows; i += 64 * team) {
      for (index_t j = 0; j < s.cols; ++j) {
        for (index_t k = i; k < std::min(i + 64, s.rows); ++k) {
          if (a[k * s.cols + j] != b[j * s.rows + k]) right = false;
        }
      }
    }
  });
  return right;
}

constexpr index_t largest = index_t{8192} * 8192;  // elements

struct Bench {
  std::vector<int> teams{1, 2};
  std::vector<Shape> shapes;
  double budget = 0;  ///< seconds per row
  machine::Buffer<std::byte> a, b;
  Table table{{"shape", "type", "threads", "memcpy", "NT copy", "OpenBLAS", "Eigen", "tessera",
               "in place", "/memcpy", "/NT copy", "/OpenBLAS", "/Eigen", "in place/out"}};
  std::vector<std::string> penalties;
};

template <class T>
double row(Bench& bench, const Shape& s, int threads) {
  const index_t bytes = s.rows * s.cols * index_t{sizeof(T)};
  auto* const a = reinterpret_cast<T*>(bench.a.data());
  auto* const b = reinterpret_cast<T*>(bench.b.data());
  const auto from = transpose::records(matrix_view<const T>(a, s.rows, s.cols));
  const auto to = transpose::records(matrix_view(b, s.cols, s.rows));
  const Tuning tuning{.threads = threads};
  const auto& ours = transpose::best(from, to);
  const auto& leaves = transpose::leaf_set(machine::isa());
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  std::memset(b, 0xFF, static_cast<std::size_t>(bytes));
  ours.out_of_place(from, to, tuning);
  require(is_transpose(a, b, s), ExitCode::verification, "tessera's transpose is wrong");

  std::vector<Candidate> candidates{
      {"memcpy",
       [&] {
         copy_by_threads(threads, to.data, from.data, bytes,
                         [](std::byte* out, const std::byte* in, index_t size) {
                           std::memcpy(out, in, static_cast<std::size_t>(size));
                         });
       }},
      {"NT copy",
       [&] {
         copy_by_threads(threads, to.data, from.data, bytes,
                         [&](std::byte* out, const std::byte* in, index_t size) {
                           leaves.stream(out, in, size);
                           leaves.fence();
                         });
       }},
      {"OpenBLAS", [&] { omatcopy(s.rows, s.cols, a, b); }},
      {"Eigen",
       [&] {
         Eigen::Map<Matrix>(b, s.cols, s.rows) =
             Eigen::Map<const Matrix>(a, s.rows, s.cols).transpose();
       }},
      {"tessera", [&] { ours.out_of_place(from, to, tuning); }},
      {"in place", [&] { transpose::in_place(to.data, s.rows, s.cols, to.bytes, tuning); }},
  };
  const auto seconds = interleaved(candidates, 15, bench.budget);
  std::vector<double> rates;
  std::vector<std::string> cells{fmt::format("{}x{}", s.rows, s.cols),
                                 sizeof(T) == 4 ? "f32" : "f64", std::to_string(threads)};
  for (const Summary& summary : seconds) {
    rates.push_back(2e-9 * static_cast<double>(bytes) / summary.median);
    cells.push_back(fmt::format("{:.1f}", rates.back()));
  }
  for (const std::size_t peer : {0, 1, 2, 3})
    cells.push_back(fmt::format("{:.2f}", rates[4] / rates[peer]));
  cells.push_back(fmt::format("{:.2f}", rates[5] / rates[4]));
  bench.table.add(std::move(cells));
  return rates[4];
}

template <class T>
void rows_of(Bench& bench) {
  auto* const a = reinterpret_cast<T*>(bench.a.data());
  for (index_t k = 0; k < largest; ++k) a[k] = random_symmetric<T>(1, 1, k);
  for (const int threads : bench.teams) {
    double plain = 0;
    double power = 0;
    for (const Shape& s : bench.shapes) {
      const double rate = row<T>(bench, s, threads);
      if (s.rows == 8000) plain = rate;
      if (s.rows == 8192) power = rate;
    }
    if (plain == 0 || power == 0) continue;
    bench.penalties.push_back(fmt::format("{}, {} threads: {:.2f}", sizeof(T) == 4 ? "f32" : "f64",
                                          threads, plain / power));
  }
}

/// Parses "100x100000", at most `largest` elements.
std::optional<Shape> parse_shape(const std::string& text) {
  Shape s{};
  char rest = 0;
  const bool whole =
      std::sscanf(text.c_str(), "%" SCNd64 "x%" SCNd64 "%c", &s.rows, &s.cols, &rest) == 2;
  if (!whole || s.rows < 1 || s.cols < 1 || s.rows > largest / s.cols) return std::nullopt;
  return s;
}

int run(int argc, char** argv) {
  Bench bench;
  bool quick = false;
  std::vector<std::string> types{"f64", "f32"};
  std::vector<std::string> shapes{"1000x1000", "4000x4000",  "4096x4096", "8000x8000",
                                  "8192x8192", "100x100000", "100000x100"};
  CLI::App app("ours against memcpy, a non-temporal copy, OpenBLAS and Eigen");
  app.add_flag("--quick", quick, "less time a row");
  app.add_option("--types", types, "f64, f32")
      ->delimiter(',')
      ->check(CLI::IsMember({"f64", "f32"}));
  app.add_option("--shapes", shapes, "rows x columns")
      ->delimiter(',')
      ->check([](const std::string& text) {
        return parse_shape(text) ? std::string{}
                                 : "rows x columns of at most 8192 x 8192 elements, not " + text;
      });
  app.add_option("--threads", bench.teams, "numbers of threads")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  if (const auto code = leave_after(app, argc, argv)) return static_cast<int>(*code);
  for (const std::string& shape : shapes) bench.shapes.push_back(*parse_shape(shape));
  bench.budget = quick ? 0.6 : 6.0;
  bench.a = machine::Buffer<std::byte>(largest * index_t{sizeof(double)});
  bench.b = machine::Buffer<std::byte>(largest * index_t{sizeof(double)});
  for (const std::string& type : types)
    type == "f64" ? rows_of<double>(bench) : rows_of<float>(bench);
  fmt::print("Transpose, medians in GB/s; bytes = read once + written once; {} instructions\n{}",
             machine::name(machine::isa()), bench.table.text());
  if (!bench.penalties.empty()) {
    fmt::print("power-of-two penalty (rate at 8000 over rate at 8192): {}\n",
               fmt::join(bench.penalties, "; "));
  }
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) { return tessera::bench::run(argc, argv); }
