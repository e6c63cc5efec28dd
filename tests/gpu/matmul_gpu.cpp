// Device kernels of matmul on resident data, timed by events over rotating operands: a line per
// kernel and size, with its rate as a share of the vendor library's in the same run.

#include "base/timer.hpp"
#include "bench.hpp"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_mixed.hpp"
#include "kernels/matmul/cuda_pieces.hpp"
#include "matmul_errors.hpp"
#include "matmul_shapes.hpp"

namespace tessera::matmul {
namespace {

template <class T>
struct Named {
  const char* name;
  void (*run)(const Gemm<T>&, const Tuning&, DeviceStream);
  index_t largest;  // larger n would only waste the node's time
};

struct Shape {
  index_t m, n, k;
};

template <class T>
std::vector<Gemm<T>> problems(Shape shape, std::vector<gpu::cuda::DeviceBuffer<T>>& storage) {
  std::vector<Gemm<T>> made;
  std::uint64_t stream = 0;
  const auto matrix = [&](index_t rows, index_t cols) {
    storage.push_back(gpu::random_on_device<T>(rows * cols, stream++));
    return MatrixView<T>{storage.back().data(), rows, cols, cols};
  };
  for (index_t set = 0; set < gpu::sets; ++set) {
    const auto a = matrix(shape.m, shape.k), b = matrix(shape.k, shape.n),
               c = matrix(shape.m, shape.n);
    made.push_back({T{1}, a, Op::none, b, Op::none, T{0}, c});
  }
  return made;
}

/// Prints a line per kernel; its repetitions alternate with the vendor's.
template <class T>
void measure(Table& table, const char* type, Shape shape, const std::vector<Named<T>>& kernels) {
  std::vector<gpu::cuda::DeviceBuffer<T>> storage;
  const std::vector<Gemm<T>> made = problems<T>(shape, storage);
  const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                       static_cast<double>(shape.k);
  for (const Named<T>& kernel : kernels) {
    if (shape.m > kernel.largest) continue;
    const auto [vendor, ours] = gpu::median_seconds_in_turn(
        [&](std::size_t set, DeviceStream stream) { cublas<T>(made[set], {}, stream); },
        [&](std::size_t set, DeviceStream stream) { kernel.run(made[set], {}, stream); });
    table.add({kernel.name, type, fmt::format("{} x {} x {}", shape.m, shape.n, shape.k),
               human_seconds(ours), human_number(flops / ours / 1e12),
               human_number(flops / vendor / 1e12), fmt::format("{:.3f}", vendor / ours)});
  }
}

/// Measures operands narrower than the sums; tf32 requires k along the rows of both.
template <class T>
void measure_mixed(Table& table, const char* type, Shape shape) {
  if (kernels::device_code().architecture < 80) return;
  const Op op_b = sizeof(T) == 2 ? Op::none : Op::transpose;
  std::vector<gpu::cuda::DeviceBuffer<T>> operands;
  std::vector<gpu::cuda::DeviceBuffer<float>> results;
  std::vector<MixedGemm<T>> made;
  for (std::uint64_t set = 0; set < gpu::sets; ++set) {
    operands.push_back(gpu::random_on_device<T>(shape.m * shape.k, 2 * set));
    const MatrixView<const T> a{operands.back().data(), shape.m, shape.k, shape.k};
    operands.push_back(gpu::random_on_device<T>(shape.k * shape.n, 2 * set + 1));
    const index_t rows = op_b == Op::none ? shape.k : shape.n,
                  cols = op_b == Op::none ? shape.n : shape.k;
    const MatrixView<const T> b{operands.back().data(), rows, cols, cols};
    results.emplace_back(shape.m * shape.n);
    made.push_back(
        {1, a, Op::none, b, op_b, 0, {results.back().data(), shape.m, shape.n, shape.n}});
  }
  const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                       static_cast<double>(shape.k);
  const auto add = [&](const char* name, const auto& run) {
    const auto [vendor, ours] = gpu::median_seconds_in_turn(
        [&](std::size_t set, DeviceStream stream) { cublas_mixed(made[set], stream); },
        [&](std::size_t set, DeviceStream stream) {
          require(run(made[set], stream), ExitCode::internal, "the device takes no such product");
        });
    table.add({name, type, fmt::format("{} x {} x {}", shape.m, shape.n, shape.k),
               human_seconds(ours), human_number(flops / ours / 1e12),
               human_number(flops / vendor / 1e12), fmt::format("{:.3f}", vendor / ours)});
  };
  using Problem = MixedGemm<T>;
  if (kernels::device_code().wgmma)
    add("cuda_tensor", [](const Problem& g, DeviceStream stream) { return cuda_wgmma(g, stream); });
  add("mma.sync, large tile",
      [](const Problem& g, DeviceStream stream) { return cuda_mma(g, stream, MmaTile::large); });
  add("mma.sync, small tile",
      [](const Problem& g, DeviceStream stream) { return cuda_mma(g, stream, MmaTile::small); });
}

/// Page-locks host memory during its lifetime, and records the time taken.
class Locked {
 public:
  template <class T>
  explicit Locked(machine::Buffer<T>& buffer) : data_(buffer.data()) {
    const Timer timer;
    gpu::cuda::check(cudaHostRegister(data_, static_cast<std::size_t>(buffer.size()) * sizeof(T),
                                      cudaHostRegisterDefault),
                     "cudaHostRegister");
    seconds = timer.seconds();
  }
  ~Locked() { cudaHostUnregister(data_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  double seconds = 0;

 private:
  void* data_;
};

/// Products of operands in host memory, streamed through the device in pieces: comparison of the
/// transfer methods. The share is of the same kernel's rate on resident data. The first product
/// allocates its memory, the others find it.
class FromHost {
 public:
  FromHost(index_t n, index_t limit, int repetitions)
      : n_(n), limit_(limit), repetitions_(repetitions), a_(filled(1)), b_(filled(2)), c_(n * n) {
    std::fill(c_.begin(), c_.end(), 0.0);  // touches the pages
    measure_resident();
  }

  void run() {
    using Route = machine::StagingPlan::Route;
    add("chunks", {.route = Route::chunks});
    add("chunks, one step at a time", {.route = Route::chunks}, Passage::Overlap::no);
    for (const index_t mib : {16, 8, 4})
      add(fmt::format("chunks of {} MiB, 8 there and 16 back", mib),
          {.route = Route::chunks, .chunk_bytes = mib << 20, .chunks_there = 8, .chunks_back = 16});
    add("straight from pageable", {.route = Route::straight});
    const Locked a(a_), b(b_), c(c_);
    add(fmt::format("straight, locked before in {}",
                    human_seconds(a.seconds + b.seconds + c.seconds)),
        {});
    fmt::print("{}", table_.text());
  }

 private:
  machine::Buffer<double> filled(std::uint64_t stream) const {
    machine::Buffer<double> x(n_ * n_);
#pragma omp parallel for
    for (index_t i = 0; i < x.size(); ++i) x[i] = random_symmetric<double>(1, stream, i);
    return x;
  }
  [[nodiscard]] double flops() const {
    return 2.0 * static_cast<double>(n_) * static_cast<double>(n_) * static_cast<double>(n_);
  }

  void measure_resident() {
    const auto there = [&](const machine::Buffer<double>& x) {
      gpu::cuda::DeviceBuffer<double> y(x.size());
      gpu::cuda::upload(y.data(), x.data(), static_cast<std::size_t>(x.size()));
      return y;
    };
    const auto a = there(a_), b = there(b_);
    const gpu::cuda::DeviceBuffer<double> c(n_ * n_);
    const auto view = [&](const gpu::cuda::DeviceBuffer<double>& x) {
      return MatrixView<double>{x.data(), n_, n_, n_};
    };
    resident_ = gpu::median_seconds(
        [&](std::size_t, DeviceStream stream) {
          cuda_tensor({1, view(a), Op::none, view(b), Op::none, 0, view(c)}, {}, stream);
        },
        repetitions_);
  }

  void add(const std::string& name, const machine::StagingPlan& staging,
           Passage::Overlap overlap = Passage::Overlap::yes) {
    const MatrixView<const double> a{a_.data(), n_, n_, n_}, b{b_.data(), n_, n_, n_};
    const Gemm<double> g{1, a, Op::none, b, Op::none, 0, {c_.data(), n_, n_, n_}};
    const Pieces pieces = plan_pieces(pieces_request(g, {}), limit_);
    std::vector<double> samples;
    machine::DeviceTimes times;
    machine::cuda::release_kept();
    for (int r = -1; r < repetitions_; ++r) {
      const Timer timer;
      times = multiply_in_pieces<double>(cuda_tensor, g, {}, pieces, {staging, overlap});
      samples.push_back(timer.seconds());
    }
    const double first = samples.front();
    samples.erase(samples.begin());
    const double median = summarize(samples).median;
    const auto share = [](double x) { return fmt::format("{:.3f}", x); };
    table_.add({name, fmt::format("{} x {} x {}", pieces.m, pieces.n, pieces.k),
                human_seconds(first), human_seconds(median), human_number(flops() / median / 1e12),
                share(resident_ / median), human_seconds(times.to_device),
                human_seconds(times.kernels), human_seconds(times.from_device),
                share((times.to_device + times.kernels + times.from_device) / median),
                human_bytes(static_cast<double>(pieces.sent_bytes))});
  }

  index_t n_, limit_;
  int repetitions_;
  machine::Buffer<double> a_, b_, c_;
  double resident_ = 0;
  Table table_{{"from the host, f64", "tiles", "first", "median", "TFLOP/s", "of resident", "there",
                "kernels", "back", "sum of the three / median", "sent"}};
};

/// Prints the errors of reduced precision and of complex products, with their rates.
void print_errors() {
  for (const index_t n : {4096, 8192, 16384}) print_precisions(n);
  for (const index_t n : {4096, 8192, 16384}) print_bytes(n);
  for (const index_t n : {4096, 8192}) print_complex(n);
  machine::cuda::release_kept();
}

int run(bool quick) {
  Table table({"kernel", "type", "m x n x k", "median", "TFLOP/s", "cublas", "of cublas"});
  constexpr index_t all = index_t{1} << 20;
  for (const Shape shape :
       {Shape{1024, 1024, 1024}, Shape{2048, 2048, 2048}, Shape{4096, 4096, 4096},
        Shape{8192, 8192, 8192}, Shape{16384, 16384, 16384}, Shape{65536, 128, 128},
        Shape{1000, 1100, 1050}, Shape{5000, 3000, 7001}}) {
    if (quick && shape.n > 8192) continue;
    measure<float>(table, "f32", shape,
                   {{"cuda_register", cuda_register<float>, all},
                    {"cuda_tiled", cuda_tiled<float>, 4096},
                    {"cuda_column", cuda_column<float>, 4096},
                    {"cuda_zigzag", cuda_zigzag<float>, 4096},
                    {"cuda_naive", cuda_naive<float>, 4096}});
    measure<double>(table, "f64", shape,
                    {{"cuda_tensor", cuda_tensor, all},
                     {"cuda_register", cuda_register<double>, 8192},
                     {"cuda_tiled", cuda_tiled<double>, 4096},
                     {"cuda_naive", cuda_naive<double>, 4096}});
  }
  for (const index_t n : {2048, 4096, 8192}) {
    measure_mixed<__nv_bfloat16>(table, "bf16", {n, n, n});
    measure_mixed<__half>(table, "f16", {n, n, n});
    measure_mixed<float>(table, "tf32", {n, n, n});
  }
  fmt::print("{}", table.text());
  machine::cuda::release_kept();
  print_shapes(60, !quick);
  machine::cuda::release_kept();
  if (quick) FromHost(8192, index_t{1} << 30, 3).run();
  if (!quick) FromHost(32768, index_t{12} << 30, 3).run();
  print_errors();
  return 0;
}

}  // namespace
}  // namespace tessera::matmul

/// matmul_gpu [--quick | --errors]: the last table alone.
int main(int argc, char** argv) {
  if (!tessera::gpu::announce()) return tessera::gpu::skipped;
  if (argc > 1 && std::string_view(argv[1]) == "--errors") {
    tessera::matmul::print_errors();
    return 0;
  }
  return tessera::matmul::run(tessera::gpu::quick(argc, argv));
}
