// Comparison of stencils with one sweep over memory (one read, one streaming store) and with other
// libraries. bash tests/bench.sh stencil [--quick] [--only 2d|3d|box]

#include <fmt/core.h>
#include <omp.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "base/element.hpp"
#include "base/random.hpp"
#include "base/simd/vector.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "bench/bench.hpp"
#include "bench/clones.hpp"
#include "bench/options.hpp"
#include "kernels/stencil/variants.hpp"
#include "machine/fork_join.hpp"
#include "stencil_peers.hpp"

namespace tessera::bench {
namespace {

using namespace stencil;

struct Options {
  bool quick = false;
  std::string only;
};

/// Copies out[0:bytes] = in[0:bytes] with streaming stores, each thread its part: the roofline of
/// one sweep.
void copy_through(const void* in, void* out, index_t bytes, int threads) {
  machine::on_each_thread(threads, [&](int thread, int team) {
    using Vector = simd::Vector<double, 16>;
    const index_t lines = bytes / 64;
    const index_t from = lines * thread / team, to = lines * (thread + 1) / team;
    const auto* source = static_cast<const Vector*>(in);
    auto* target = static_cast<Vector*>(out);
    for (index_t i = from * 4; i < to * 4; i += 4) {
      const Vector a = source[i], b = source[i + 1], c = source[i + 2], d = source[i + 3];
      simd::stream(target + i, a);
      simd::stream(target + i + 1, b);
      simd::stream(target + i + 2, c);
      simd::stream(target + i + 3, d);
    }
    simd::fence_streams();
  });
}

/// Textbook loop for the compiler to vectorise: heat in two dimensions, clamped ghosts unchanged.
template <class T>
TESSERA_CLONES("avx512f", "avx2", "default")
void textbook_rows(const T* in, T* out, index_t stride_z, index_t stride_y, index_t rows, index_t n,
                   T centre) {
  for (index_t y = 0; y < rows; ++y) {
    const T* u = in + y * stride_y;
    T* v = out + y * stride_y;
    if (stride_z == 0) {
      for (index_t x = 0; x < n; ++x) {
        v[x] = centre * u[x] + T(0.125) * (u[x - 1] + u[x + 1] + u[x - stride_y] + u[x + stride_y]);
      }
    } else {
      for (index_t x = 0; x < n; ++x) {
        v[x] = centre * u[x] + T(0.125) * (u[x - 1] + u[x + 1] + u[x - stride_y] + u[x + stride_y] +
                                           u[x - stride_z] + u[x + stride_z]);
      }
    }
  }
}

template <class T>
void textbook(const Sweep<T>& sweep, index_t steps) {
  const Index3 n = sweep.extent();
  const T centre = static_cast<T>(1 - 0.25 * sweep.stencil.dims);
  for (index_t step = 0; step < steps; ++step) {
    const GridView<T> in = sweep.level[step % 2], out = sweep.level[(step + 1) % 2];
    machine::on_each_thread(sweep.threads, [&](int thread, int team) {
      const bool flat = n[0] == 1;
      const index_t all = flat ? n[1] : n[0];
      const index_t from = all * thread / team, to = all * (thread + 1) / team;
      if (flat)
        return textbook_rows<T>(in.row(0, from), out.row(0, from), 0, in.stride[1], to - from, n[2],
                                centre);
      for (index_t z = from; z < to; ++z) {
        textbook_rows<T>(in.row(z, 0), out.row(z, 0), in.stride[0], in.stride[1], n[1], n[2],
                         centre);
      }
    });
  }
}

template <class T>
void fill(const Sweep<T>& sweep) {
  const Index3 n = sweep.extent();
  machine::parallel(sweep.threads, [&] {
    machine::parallel_for(0, n[0] * n[1], 64, [&](index_t begin, index_t end) {
      for (index_t row = begin; row < end; ++row) {
        for (auto level : sweep.level) {
          T* u = level.row(row / n[1], row % n[1]);
          for (index_t x = 0; x < n[2]; ++x) u[x] = random_symmetric<T>(1, 0, row * n[2] + x);
        }
      }
    });
  });
}

struct Row {
  Candidate candidate;
  index_t steps;
};

void report(const std::string& title, double points, const std::vector<Row>& rows, int repetitions,
            double budget) {
  std::vector<Candidate> candidates;
  // Idle threads of another library spin for a while on the next candidate's processors.
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  for (const Row& row : rows) candidates.push_back({row.candidate.name, row.candidate.run, pause});
  const auto times = interleaved(candidates, repetitions, budget);
  const auto rate = [&](std::size_t i) {
    return points * static_cast<double>(rows[i].steps) / times[i].median * 1e-9;
  };
  std::vector<std::string> headings{"candidate", "steps", "median", "q1..q3", "Gpoints/s"};
  for (const Row& row : rows) headings.push_back("/ " + row.candidate.name);
  headings.resize(std::min<std::size_t>(headings.size(), 8));
  Table table(headings);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> cells{rows[i].candidate.name, std::to_string(rows[i].steps),
                                   human_seconds(times[i].median),
                                   human_seconds(times[i].q1) + ".." + human_seconds(times[i].q3),
                                   fmt::format("{:.2f}", rate(i))};
    for (std::size_t j = 0; cells.size() < headings.size(); ++j)
      cells.push_back(fmt::format("{:.2f}", rate(i) / rate(j)));
    table.add(cells);
  }
  fmt::print("\n{}\n{}", title, table.text());
  std::fflush(stdout);
}

template <class T>
Row one_sweep_roofline(const Sweep<T>& sweep) {
  const auto bytes = sweep.extent().volume() * static_cast<index_t>(sizeof(T));
  const void* in = sweep.level[0].data;
  void* out = sweep.level[1].data;
  return {{"one_sweep", [=, threads = sweep.threads] { copy_through(in, out, bytes, threads); }},
          1};
}

template <class T>
void heat(Index3 extent, int dims, index_t deep, const Options& options, int threads) {
  const Stencil stencil = named_stencil("heat", dims);
  Field<T> field = whole_field<T>(stencil, extent);
  const auto sides = all_sides({Boundary::clamp});
  const Sweep<T> many = whole_sweep(stencil, sides, field, deep, threads);
  const Sweep<T> few = whole_sweep(stencil, sides, field, 2, threads);
  fill(many);
  std::vector<Row> rows{one_sweep_roofline(many)};
  rows.push_back({{"textbook", [=] { textbook(few, few.steps); }}, few.steps});
  for (const Variant& variant : variants()) {
    if (variant.space == Space::device) continue;
    const Sweep<T>& sweep = variant.name == "cache_oblivious" ? many : few;
    if (options.quick && variant.name != "naive" && variant.name != "cache_oblivious") continue;
    rows.push_back(
        {{std::string(variant.name), [=, &variant] { run(variant, sweep); }}, sweep.steps});
    if (variant.name == "naive") std::swap(rows[1], rows.back());
  }
  const std::string shape = dims == 2 ? fmt::format("{}x{}", extent[1], extent[2])
                                      : fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
  report(fmt::format("heat {} {}, {} threads", shape, name(element_of<T>), threads),
         static_cast<double>(extent.volume()), rows, options.quick ? 3 : 7, options.quick ? 6 : 40);
}

void box_blur(index_t n, const Options& options, int threads) {
  machine::Buffer<float> in(n * n), out(n * n);
  for (index_t i = 0; i < n * n; ++i) in[i] = random_symmetric<float>(1, 0, i);
  std::memset(out.data(), 0, static_cast<std::size_t>(n * n) * 4);
  for (const int size : {3, 5, 7, 9}) {
    const Stencil stencil = named_stencil(fmt::format("box{}x{}", size, size), 2);
    Field<float> field = whole_field<float>(stencil, {{1, n, n}});
    const Sweep<float> sweep =
        whole_sweep(stencil, all_sides({Boundary::clamp}), field, 1, threads);
    fill(sweep);
    std::vector<Row> rows{one_sweep_roofline(sweep)};
    const auto add = [&](const std::string& label, std::function<void()> f) {
      if (f) rows.push_back({{label, std::move(f)}, 1});
    };
    const auto side = static_cast<int>(n);
    add("opencv", opencv_box(in.data(), out.data(), side, size, threads));
    add("halide", halide_box(in.data(), out.data(), side, size, threads));
    add("auto", [&] { run(best(sweep), sweep); });
    if (!options.quick) add("naive", [&] { run(variants()[0], sweep); });
    report(fmt::format("box blur {0}x{0}, {1}x{1} f32, {2} threads", size, n, threads),
           static_cast<double>(n * n), rows, options.quick ? 9 : 25, options.quick ? 1 : 6);
  }
}

int main_of(const Options& options) {
  const int threads = machine::default_threads();
  const auto wanted = [&](const char* what) {
    return options.only.empty() || options.only == what;
  };
  if (wanted("2d")) {
    heat<double>({{1, 8192, 8192}}, 2, options.quick ? 48 : 96, options, threads);
    heat<float>({{1, 8192, 8192}}, 2, options.quick ? 48 : 96, options, threads);
  }
  if (wanted("3d")) {
    heat<double>({{512, 512, 512}}, 3, options.quick ? 24 : 48, options, threads);
    heat<float>({{512, 512, 512}}, 3, options.quick ? 24 : 48, options, threads);
  }
  if (wanted("box")) {
    box_blur(4096, options, threads);
    box_blur(8192, options, threads);
  }
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Options options;
  CLI::App app("ours against one sweep over memory, a textbook loop, OpenCV and Halide");
  app.add_flag("--quick", options.quick, "fewer candidates, less time a row");
  app.add_option("--only", options.only, "2d, 3d or box")
      ->check(CLI::IsMember({"2d", "3d", "box"}));
  if (const auto code = tessera::bench::leave_after(app, argc, argv))
    return static_cast<int>(*code);
  return tessera::bench::main_of(options);
}
