// Device products of random shapes against cuBLAS, in turn: kernels on a stream that is held until
// all of them are queued, so that times are the device's alone.

#include "matmul_shapes.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "bench.hpp"
#include "kernels/matmul/cuda_mixed.hpp"
#include "kernels/matmul/cuda_tensor.hpp"

namespace tessera::matmul {
namespace {

struct Shape {
  index_t m, n, k;
};
struct Ops {
  const char* name;
  Op a, b;
};
constexpr Ops pairs[] = {
    {"NN", Op::none, Op::none}, {"TN", Op::transpose, Op::none}, {"NT", Op::none, Op::transpose}};

/// Returns the shape of that number: sides log-uniform in 16..8192, no multiples of 8.
Shape shape_of(int number) {
  const auto side = [&](std::uint64_t which) {
    for (index_t attempt = 0;; ++attempt) {
      const double u =
          (random_symmetric<double>(43, 3 * static_cast<std::uint64_t>(number) + which, attempt) +
           1) /
          2;
      const auto length = static_cast<index_t>(std::lround(16 * std::pow(512.0, u)));
      if (length % 8 != 0) return length;
    }
  };
  return {side(0), side(1), side(2)};
}

/// Operands and results, one after the other in memory larger than the second-level cache, so that
/// every product finds its operands in device memory.
template <class T>
class Arena {
 public:
  explicit Arena(index_t count, std::uint64_t stream)
      : values_(gpu::random_on_device<T>(count, stream)) {}
  T* take(index_t count) {
    constexpr index_t line = 256 / static_cast<index_t>(sizeof(T));
    if (at_ + count > values_.size()) at_ = 0;
    T* const here = values_.data() + at_;
    at_ += round_up(count, line);
    return here;
  }

 private:
  gpu::cuda::DeviceBuffer<T> values_;
  index_t at_ = 0;
};

template <class Problem>
using Run = void (*)(const Problem&, DeviceStream);

/// Holds a stream from construction until release().
class Hold {
 public:
  explicit Hold(DeviceStream stream) {
    gpu::cuda::check(cudaLaunchHostFunc(stream, wait, this), "cudaLaunchHostFunc");
  }
  void release() { released_.store(true); }

 private:
  static void wait(void* self) {
    while (!static_cast<Hold*>(self)->released_.load()) std::this_thread::yield();
  }
  std::atomic<bool> released_{false};
};

struct Times {
  double ours, vendor;
  [[nodiscard]] double ratio() const { return vendor / ours; }
};

/// Returns the median seconds of ours(make()) and vendor(make()), queued alternately.
template <class Make, class Ours, class Vendor>
Times times_in_turn(const Make& make, const Ours& ours, const Vendor& vendor, int repetitions) {
  constexpr int warmups = 2;
  const gpu::cuda::Stream stream;
  std::vector<gpu::cuda::Event> marks(static_cast<std::size_t>(2 * (repetitions + warmups) + 1));
  ours(make(), stream);  // loads the kernels
  vendor(make(), stream);
  stream.wait();
  Hold hold(stream);
  marks[0].record(stream);
  const auto is_ours = [](std::size_t at) { return at % 4 == 1 || at % 4 == 0; };
  for (std::size_t at = 1; at < marks.size(); ++at) {
    if (is_ours(at))
      ours(make(), stream);
    else
      vendor(make(), stream);
    marks[at].record(stream);
  }
  hold.release();
  stream.wait();
  std::vector<double> samples[2];
  for (std::size_t at = 2 * warmups + 1; at < marks.size(); ++at)
    samples[is_ours(at) ? 0 : 1].push_back(marks[at].seconds_since(marks[at - 1]));
  return {summarize(samples[0]).median, summarize(samples[1]).median};
}

/// Returns the largest difference between two results of (rows, cols), in units of sqrt(k) times
/// the precision of sums; infinity if an element was not written.
template <class C>
double difference(const C* x, const C* y, index_t rows, index_t cols, index_t k) {
  const index_t sampled = std::min<index_t>(rows * cols, index_t{1} << 21);
  double worst = 0;
  for (const index_t begin : {index_t{0}, rows * cols - sampled}) {
    std::vector<C> a(static_cast<std::size_t>(sampled)), b(a.size());
    const auto bring = [&](std::vector<C>& to, const C* from) {
      gpu::cuda::check(
          cudaMemcpy(to.data(), from + begin, to.size() * sizeof(C), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    };
    bring(a, x);
    bring(b, y);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
      if (std::isnan(d)) return std::numeric_limits<double>::infinity();
      worst = std::max(worst, d);
    }
  }
  return worst / (std::sqrt(static_cast<double>(k)) * std::numeric_limits<C>::epsilon());
}

/// A product by both sides: the problem, and the same with another result.
template <class Problem>
struct Both {
  Run<Problem> ours, vendor;
};

/// The operands and results of all products of a type. T: of the operands; C: of the sums.
template <class T, class C, class Problem>
class Products {
 public:
  /// Returns the next problem of that shape.
  Problem make(Shape s, Ops ops) {
    const auto matrix = [&](index_t rows, index_t cols, Op op) {
      if (op == Op::transpose) std::swap(rows, cols);
      return MatrixView<const T>{operands_.take(rows * cols), rows, cols, cols};
    };
    Problem g;
    g.a = matrix(s.m, s.k, ops.a);
    g.op_a = ops.a;
    g.b = matrix(s.k, s.n, ops.b);
    g.op_b = ops.b;
    g.c = {results_.take(s.m * s.n), s.m, s.n, s.n};
    return g;
  }
  /// Returns the difference of both results.
  double compare(Shape s, Ops ops, const Both<Problem>& run) {
    const Problem first = make(s, ops);
    Problem second = first;
    second.c = make(s, ops).c;
    const gpu::cuda::Stream stream;
    const auto poison = [&](const Problem& g) {
      gpu::cuda::check(
          cudaMemsetAsync(g.c.data, 0xFF, static_cast<std::size_t>(s.m * s.n) * sizeof(C), stream),
          "cudaMemset");
    };
    poison(first);
    poison(second);
    run.ours(first, stream);
    run.vendor(second, stream);
    stream.wait();
    return difference(first.c.data, second.c.data, s.m, s.n, s.k);
  }

 private:
  static constexpr index_t bytes = index_t{3} << 29;
  Arena<T> operands_{bytes / sizeof(T), 1};
  Arena<C> results_{bytes / sizeof(C), 2};
};

struct Measured {
  double ratio;
  Shape shape;
};

void add_row(Table& table, const char* type, const char* ops, std::vector<Measured> all,
             double difference) {
  double logs = 0;
  for (const Measured& one : all) logs += std::log(one.ratio);
  std::sort(all.begin(), all.end(),
            [](const Measured& x, const Measured& y) { return x.ratio < y.ratio; });
  std::vector<std::string> row{
      type, ops, fmt::format("{:.3f}", std::exp(logs / static_cast<double>(all.size())))};
  for (std::size_t i = 0; i < 3; ++i)
    row.push_back(fmt::format("{:.3f} ({} x {} x {})", all[i].ratio, all[i].shape.m, all[i].shape.n,
                              all[i].shape.k));
  row.push_back(std::to_string(
      std::count_if(all.begin(), all.end(), [](const Measured& x) { return x.ratio < 0.85; })));
  row.push_back(fmt::format("{:.1f}", difference));
  table.add(row);
}

template <class T, class C, class Problem>
void measure(Table& table, const char* type, int shapes, bool lines, const Both<Problem>& run) {
  Products<T, C, Problem> products;
  for (const Ops& ops : pairs) {
    std::vector<Measured> all;
    double most = 0;
    for (int number = 0; number < shapes; ++number) {
      const Shape s = shape_of(number);
      most = std::max(most, products.compare(s, ops, run));
      const double flops =
          2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
      const Times t = times_in_turn([&] { return products.make(s, ops); }, run.ours, run.vendor,
                                    flops > 1e11 ? 5 : 11);
      all.push_back({t.ratio(), s});
      if (lines)
        fmt::print("{} {} {} x {} x {}: {}, cublas {}, {:.3f}\n", type, ops.name, s.m, s.n, s.k,
                   human_seconds(t.ours), human_seconds(t.vendor), t.ratio());
    }
    add_row(table, type, ops.name, all, most);
  }
}

}  // namespace

void print_shapes(int shapes, bool lines) {
  Table table({"of cublas, random shapes", "ops", "mean", "lowest", "second", "third", "below 0.85",
               "difference"});
  const auto of_type = [&]<class T>(const char* type, T) {
    measure<T, T, Gemm<T>>(
        table, type, shapes, lines,
        {[](const Gemm<T>& g, DeviceStream stream) { cuda_tensor(g, {}, stream); },
         [](const Gemm<T>& g, DeviceStream stream) { cublas<T>(g, {}, stream); }});
  };
  const auto narrow = [&]<class T>(const char* type, T) {
    measure<T, float, MixedGemm<T>>(
        table, type, shapes, lines,
        {[](const MixedGemm<T>& g, DeviceStream stream) { cuda_narrow(g, stream); },
         [](const MixedGemm<T>& g, DeviceStream stream) { cublas_mixed(g, stream); }});
  };
  of_type("f32", float{});
  of_type("f64", double{});
  narrow("bf16", __nv_bfloat16{});
  narrow("f16", __half{});
  fmt::print("{}", table.text());
}

}  // namespace tessera::matmul
