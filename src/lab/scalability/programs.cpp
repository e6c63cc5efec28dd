#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "kernels/matmul/checksum.hpp"
#include "kernels/matmul/variants.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels/sort/verify.hpp"
#include "kernels/stencil/variants.hpp"
#include "kernels/stencil/verify.hpp"
#include "kernels/transpose/checksum.hpp"
#include "kernels/transpose/variants.hpp"
#include "lab/scalability/scalability.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::scalability {
namespace {

using run::Values;
using run::Verdict;

constexpr std::uint64_t seed = 1;

template <class T>
machine::Buffer<T> random_matrix(index_t n, std::uint64_t stream) {
  machine::Buffer<T> x(checked_mul(n, n, "size of a matrix"));
  for (index_t i = 0; i < x.size(); ++i) x[i] = random_symmetric<T>(seed, stream, i);
  return x;
}

template <class T>
struct Product {
  explicit Product(index_t size)
      : n(size), a(random_matrix<T>(n, 1)), b(random_matrix<T>(n, 2)), c(n * n) {}
  [[nodiscard]] tessera::matmul::Gemm<T> gemm() {
    tessera::matmul::Gemm<T> g;
    g.a = matrix_view<const T>(a.data(), n, n);
    g.b = matrix_view<const T>(b.data(), n, n);
    g.c = matrix_view(c.data(), n, n);
    return g;
  }
  /// Returns |c x - a (b x)| relative to its rounding bound (Freivalds 1977).
  [[nodiscard]] double ratio() {
    machine::Buffer<double> x(n), ones(n), bx(n), bound(n), wanted(n), most(n), got(n), unused(n);
    for (index_t j = 0; j < n; ++j) x[j] = random_bits(seed, 3, j) % 2 == 0 ? 1 : -1;
    for (auto* zero : {&bx, &bound, &wanted, &most, &got, &unused})
      std::fill(zero->begin(), zero->end(), 0.0);
    std::fill(ones.begin(), ones.end(), 1.0);
    const auto row = [this](machine::Buffer<double>& v) { return matrix_view(v.data(), 1, n); };
    const auto constant = [this](const machine::Buffer<double>& v) {
      return matrix_view<const double>(v.data(), 1, n);
    };
    const auto g = gemm();
    using tessera::matmul::multiply_vectors, tessera::matmul::Op;
    multiply_vectors<T>(g.b, Op::none, {constant(x), constant(ones), row(bx), row(bound)});
    multiply_vectors<T>(g.a, Op::none, {constant(bx), constant(bound), row(wanted), row(most)});
    multiply_vectors<T>(matrix_view<const T>(c.data(), n, n), Op::none,
                        {constant(x), constant(ones), row(got), row(unused)});
    double worst = 0;
    for (index_t i = 0; i < n; ++i) {
      const double unit = std::numeric_limits<T>::epsilon() / 2 * most[i];
      const double off = std::abs(got[i] - wanted[i]) / unit;
      worst = !(off <= worst) ? off : worst;  // NaN is kept
    }
    return worst;
  }

  index_t n;
  machine::Buffer<T> a, b, c;
};

template <class T>
Program matmul_program(const Values& point) {
  auto data = std::make_shared<Product<T>>(point.integer("n"));
  const auto* kernel = find_variant(tessera::matmul::variants(), point.text("kernel"));
  const double n = static_cast<double>(data->n);
  Program program;
  program.prepare = [data] {
    std::fill(data->c.begin(), data->c.end(), std::numeric_limits<T>::quiet_NaN());
  };
  program.run = [data, kernel](int threads) {
    if (kernel->name == "cache_oblivious") {
      machine::parallel(threads, [&] { (*kernel)(data->gemm()); });
    } else {  // loops on one thread, or a library that manages threads
      const machine::DefaultThreads scope(threads);
      (*kernel)(data->gemm());
    }
  };
  program.check = [data] { return Verdict{"freivalds", data->ratio(), 16}; };
  program.work = 2 * n * n * n;
  program.rate_units = "GFLOP/s";
  program.ceiling = std::is_same_v<T, float> ? "fma_f32" : "fma_f64";
  return program;
}

template <class T>
Program transpose_program(const Values& point) {
  namespace kernels = tessera::transpose;
  struct Data {
    machine::Buffer<T> a, b;
    kernels::Records to;
    kernels::ConstRecords from;
  };
  const index_t n = point.integer("n");
  auto data = std::make_shared<Data>();
  data->a = random_matrix<T>(n, 1);
  data->b = machine::Buffer<T>(n * n);
  data->from = kernels::records(matrix_view<const T>(data->a.data(), n, n));
  const auto* kernel = find_variant(kernels::variants(), point.text("kernel"));
  const bool in_place = kernel->out_of_place == nullptr;
  data->to = kernels::records(matrix_view(data->b.data(), n, n));
  Program program;
  program.prepare = [data] { std::copy(data->a.begin(), data->a.end(), data->b.begin()); };
  program.run = [data, kernel, in_place, n](int threads) {
    kernels::Tuning tuning;
    tuning.threads = threads;
    if (in_place) {
      kernel->in_place(reinterpret_cast<std::byte*>(data->b.data()), n, n, sizeof(T), tuning);
    } else {
      kernel->out_of_place(data->from, data->to, tuning);
    }
  };
  program.check = [data] {
    const auto got = kernels::checksum(data->to, {0, 0, kernels::Indices::swapped}, seed);
    return Verdict{"hash", got == kernels::checksum(data->from, {}, seed) ? 0.0 : 1.0, 0};
  };
  program.work = 2.0 * sizeof(T) * static_cast<double>(n) * static_cast<double>(n);
  program.rate_units = "GB/s";
  program.ceiling = "copy";
  return program;
}

template <class T>
Program sort_program(const Values& point) {
  struct Data {
    explicit Data(index_t n) : input(n), keys(n), scratch(n) {}
    machine::Buffer<T> input, keys, scratch;
  };
  auto data = std::make_shared<Data>(point.integer("n"));
  const bool counts = point.text("kernel").starts_with("counting");
  tessera::sort::generate<T>(tessera::sort::input(counts ? "dense" : "uniform"), seed, 0,
                             data->input.size(), data->input.span());
  Program program;
  program.prepare = [data] {
    std::copy(data->input.begin(), data->input.end(), data->keys.begin());
  };
  program.run = [data, kernel = point.text("kernel")](int threads) {
    machine::parallel(threads, [&] {
      tessera::sort::sort_keys<T>(kernel, data->keys.span(), data->scratch.span());
    });
  };
  program.check = [data] {
    const auto keys = std::span<const T>(data->keys.span());
    const bool right = tessera::sort::is_sorted<T>(keys) &&
                       tessera::sort::content<T>(keys, seed) ==
                           tessera::sort::content<T>(std::span<const T>(data->input.span()), seed);
    return Verdict{"order and content", right ? 0.0 : 1.0, 0};
  };
  program.work = static_cast<double>(data->input.size());
  program.rate_units = "Mkeys/s";
  return program;
}

template <class T>
Program stencil_program(const Values& point) {
  namespace kernels = tessera::stencil;
  struct Data {
    kernels::Stencil stencil;
    kernels::Sides sides;
    Index3 extent;
    kernels::Field<T> field;
  };
  const index_t n = point.integer("n"), steps = point.integer("steps");
  auto data = std::make_shared<Data>();
  data->stencil = kernels::named_stencil(point.text("stencil"), 2);
  data->sides = kernels::all_sides({kernels::Boundary::clamp, 0});
  data->extent = {{1, n, n}};
  data->field = kernels::whole_field<T>(data->stencil, data->extent);
  const auto* kernel = find_variant(kernels::variants(), point.text("kernel"));
  const auto value = [n](Index3 p, std::uint64_t level) {
    return random_symmetric<T>(seed, level, p[1] * n + p[2]);
  };
  Program program;
  program.prepare = [data, value, n] {
    for (const index_t level : {0, 1}) {
      const auto view = data->field.level(level);
      for (index_t y = 0; y < n; ++y) {
        for (index_t x = 0; x < n; ++x)
          view({{0, y, x}}) = value({{0, y, x}}, static_cast<std::uint64_t>(level));
      }
    }
  };
  program.run = [data, kernel, steps](int threads) {
    if (data->extent[1] == 0) return;
    kernels::run(*kernel,
                 kernels::whole_sweep(data->stencil, data->sides, data->field, steps, threads));
  };
  program.check = [data, value, n, steps] {
    constexpr index_t samples = 4;
    index_t wrong = 0;
    for (index_t s = 0; s < samples && n > 0; ++s) {
      const Index3 at{
          {0, s * (n - 1) / (samples - 1), (samples - 1 - s) * (n - 1) / (samples - 1)}};
      const T wanted = kernels::recompute<T>(
          data->stencil, data->sides, data->extent, at, steps,
          [&](Index3 p) { return value(p, 0); }, [&](Index3 p) { return value(p, 1); });
      wrong += data->field.level(steps)(at) == wanted ? 0 : 1;
    }
    return Verdict{"recomputed points", static_cast<double>(wrong), 0};
  };
  program.work = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(steps);
  program.rate_units = "Gpoints/s";
  return program;
}

Program probe_program(const Values& point) {
  const auto* probe = find_variant(forkjoin::variants(), point.text("kernel"));
  const double n = static_cast<double>(point.integer("n"));
  const std::shared_ptr<forkjoin::Problem> problem =
      probe->make(point.integer("n"), point.integer("threshold"));
  Program program;
  program.prepare = [problem] { problem->prepare(); };
  program.run = [problem](int threads) { machine::parallel(threads, [&] { problem->run(); }); };
  program.check = [problem] {
    return Verdict{"result", static_cast<double>(problem->mistakes()), 0};
  };
  program.work = probe->work(n);
  program.rate_units = probe->rate_units;
  program.growth = probe->parallelism.name;
  program.theory = probe->parallelism.of(n);
  return program;
}

/// Returns the memory of a probe's data and of the temporaries of a thread that runs it alone,
/// bytes.
double bytes_of_probe(const std::string& kernel, double n) {
  if (kernel == "strassen") return (24 + 8.0 * 17 / 3) * n * n;  // 17 quarters, a level
  if (kernel == "matmul_temporaries") return (24 + 8.0 * 4 / 3) * n * n;
  if (kernel.starts_with("matmul")) return 24 * n * n;
  if (kernel == "lu") return (8 + 8.0 / 3) * n * n;
  if (kernel == "tableau") return 4 * n * n;
  if (kernel == "bfs") return 4.0 * (2 * forkjoin::bfs_degree + 3) * n;
  if (kernel == "fft") return 40 * n;
  if (kernel == "histogram" || kernel == "scan") return 8 * n;
  return kernel.find("sort") != std::string::npos ? 16 * n : 0;
}

/// Returns whether a probe's n is the edge of a square.
bool is_square(const std::string& kernel) {
  return kernel.starts_with("matmul") || kernel == "strassen" || kernel == "lu" ||
         kernel == "tableau";
}

}  // namespace

Values part_of(const Values& point, int parts) {
  const std::string& workload = point.text("workload");
  const std::string& kernel = point.text("kernel");
  const auto n = static_cast<double>(point.integer("n")), p = static_cast<double>(parts);
  const bool square =
      workload == "matmul" || workload == "transpose" || workload == "stencil" || is_square(kernel);
  constexpr double log_golden = 0.4812118;
  const double part = kernel == "fib" ? n - std::log(p) / log_golden
                      : square        ? n / std::sqrt(p)
                                      : n / p;
  Values result = point;
  result.set("n",
             std::to_string(static_cast<index_t>(std::max(std::min(n, 1.0), std::round(part)))));
  return result;
}

double bytes_of(const Values& point) {
  const std::string& workload = point.text("workload");
  const double n = static_cast<double>(point.integer("n"));
  const double element = point.text("type").ends_with("32") ? 4 : 8;
  if (workload == "matmul") return 3 * element * n * n;
  if (workload == "transpose" || workload == "stencil") return 2 * element * n * n;
  if (workload == "sort") return 3 * element * n;
  return bytes_of_probe(point.text("kernel"), n);
}

Program make_program(const Values& point) {
  const std::string& workload = point.text("workload");
  const std::string& type = point.text("type");
  const bool single = type == "f32";
  if (workload == "matmul")
    return single ? matmul_program<float>(point) : matmul_program<double>(point);
  if (workload == "transpose")
    return single ? transpose_program<float>(point) : transpose_program<double>(point);
  if (workload == "stencil")
    return single ? stencil_program<float>(point) : stencil_program<double>(point);
  if (workload == "forkjoin") return probe_program(point);
  if (type == "u32") return sort_program<std::uint32_t>(point);
  if (type == "u64") return sort_program<std::uint64_t>(point);
  return single ? sort_program<float>(point) : sort_program<double>(point);
}

run::Counted simulated_counts(const Values& point) {
  const std::string& workload = point.text("workload");
  const index_t n = point.integer("n");
  const bool counts = point.text("kernel").starts_with("counting");
  return run::simulated({.workload = workload,
                         .kernel = point.text("kernel"),
                         .element_bytes = point.text("type").ends_with("32") ? 4 : 8,
                         .m = n,
                         .n = n,
                         .k = n,
                         .tile = point.has("threshold") ? point.integer("threshold") : 0,
                         .steps = point.integer("steps"),
                         .stencil = point.text("stencil"),
                         .range = counts ? n : 0});
}

}  // namespace tessera::inline v1::scalability
