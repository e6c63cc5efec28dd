// Device kernels of the transpose on resident data: the ladder with both timings of its paper, the
// vendor library, and the vectorised kernel for all record sizes. Bytes count one read plus one
// write; shares are of the device's copy in the same run. All transposed records are checked.

#include <cublas_v2.h>

#include <functional>

#include "base/timer.hpp"
#include "bench.hpp"
#include "kernels/transpose/cuda.hpp"
#include "machine/device_times.hpp"

namespace tessera::transpose {
namespace {

namespace cuda = gpu::cuda;

struct Shape {
  index_t rows, cols;
  [[nodiscard]] index_t records() const { return rows * cols; }
  [[nodiscard]] std::string text() const { return fmt::format("{} x {}", rows, cols); }
};

/// Operands and results that together exceed the caches, in two blocks of memory.
class Pool {
 public:
  explicit Pool(index_t bytes) : words_(bytes / 8), in_(words_), out_(words_) {
    // Finite numbers as f32 and as f64: the vendor's transpose multiplies by one and would quiet a
    // NaN.
    constexpr std::uint64_t positive = 0x3FFFFFFF'3FFFFFFF, normal = 0x20000000'20000000;
    machine::Buffer<std::uint64_t> words(words_);
#pragma omp parallel for
    for (index_t i = 0; i < words_; ++i) words[i] = (random_bits(1, 1, i) & positive) | normal;
    cuda::upload(in_.data(), words.data(), static_cast<std::size_t>(words_));
  }

  /// Returns matrix `set` of that shape.
  [[nodiscard]] ConstRecords in(const Shape& s, index_t bytes, std::size_t set) const {
    return {at(in_, s, bytes, set), s.rows, s.cols, s.cols, bytes};
  }
  [[nodiscard]] Records out(const Shape& s, index_t bytes, std::size_t set) const {
    return {at(out_, s, bytes, set), s.rows, s.cols, s.cols, bytes};
  }

 private:
  [[nodiscard]] std::byte* at(const cuda::DeviceBuffer<std::uint64_t>& pool, const Shape& s,
                              index_t bytes, std::size_t set) const {
    const index_t size = round_up(s.records() * bytes, 256);
    const index_t there = words_ * 8 / size;
    return reinterpret_cast<std::byte*>(pool.data()) + static_cast<index_t>(set) % there * size;
  }
  index_t words_;
  cuda::DeviceBuffer<std::uint64_t> in_, out_;
};

/// Movement of a matrix: run(set, stream) reads one of its operands and writes one of its results.
struct Way {
  std::string name;
  Makes makes;
  std::function<void(const ConstRecords&, const Records&, int repeats, index_t stride,
                     DeviceStream)>
      run;
  enum class Loop {
    none,
    moves,
    moves_or_stays
  } loop = Loop::none;  ///< supported inside the kernel
};

void check(cublasStatus_t rc) {
  require(rc == CUBLAS_STATUS_SUCCESS, ExitCode::internal,
          std::string("cublas failed: ") + cublasGetStatusString(rc));
}

/// Transposes column-major, which equals transposing row-major.
void geam(cublasHandle_t handle, const ConstRecords& a, const Records& b, DeviceStream stream) {
  check(cublasSetStream(handle, stream));
  const auto m = narrow<int>(a.rows), n = narrow<int>(a.cols);
  const auto call = [&]<class T>(auto function, T one, T zero) {
    T* const result = reinterpret_cast<T*>(b.data);
    check(function(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, reinterpret_cast<const T*>(a.data),
                   narrow<int>(a.ld), &zero, result, narrow<int>(b.ld), result, narrow<int>(b.ld)));
  };
  if (a.bytes == 8)
    call(cublasDgeam, 1.0, 0.0);
  else
    call(cublasSgeam, 1.0f, 0.0f);
}

void device_copy(const ConstRecords& a, const Records& b, DeviceStream stream) {
  cuda::check(cudaMemcpyAsync(b.data, a.data, static_cast<std::size_t>(a.rows * a.stride()),
                              cudaMemcpyDeviceToDevice, stream),
              "cudaMemcpyAsync");
}

Way step_way(const LadderRow& row) {
  return {row.name, row.makes,
          [step = row.step](const ConstRecords& a, const Records& b, int repeats, index_t stride,
                            DeviceStream stream) {
            run_step(step, a, b, {repeats, stride}, stream);
          },
          Way::Loop::moves_or_stays};
}

class Bench {
 public:
  explicit Bench(bool quick)
      : quick_(quick),
        repetitions_(quick ? 5 : 9),
        pool_(quick ? index_t{1} << 30 : index_t{3} * 8001 * 12345 * 8 + 1024) {
    check(cublasCreate(&handle_));
  }
  ~Bench() { cublasDestroy(handle_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void ladder_of(const Shape& shape, index_t bytes) {
    std::vector<Way> ways{copy_way()};
    for (const LadderRow& row : ladder()) ways.push_back(step_way(row));
    ways.push_back(
        {"cuda_vectorized", Makes::transpose,
         [](const ConstRecords& a, const Records& b, int repeats, index_t, DeviceStream stream) {
           if (repeats == 1) return cuda_vectorized(a, b, {}, stream);
           VectorPlan plan = vector_plan(a, b, machine::gpus().devices.front().multiprocessors);
           plan.repeats = repeats;
           run_vectorized(a, b, plan, stream);
         },
         Way::Loop::moves});
    if (bytes == 4 || bytes == 8) ways.push_back(geam_way(bytes));
    double copy = 0, copy_inside = 0;
    for (const Way& way : ways) {
      const double seconds = by_launches(way, shape, bytes);
      if (copy == 0) copy = seconds;
      std::vector<std::string> row{way.name,
                                   fmt::format("{} B", bytes),
                                   shape.text(),
                                   human_seconds(seconds),
                                   rate(shape, bytes, seconds),
                                   fmt::format("{:.3f}", copy / seconds)};
      row.insert(row.end(), 3, "");
      if (way.loop != Way::Loop::none) {
        const double moving = by_loop(way, shape, bytes, true);
        if (copy_inside == 0) copy_inside = moving;
        row[6] = rate(shape, bytes, moving);
        row[7] = fmt::format("{:.3f}", copy_inside / moving);
      }
      if (way.loop == Way::Loop::moves_or_stays)
        row[8] = rate(shape, bytes, by_loop(way, shape, bytes, false));
      row.push_back(verdict(way, shape, bytes));
      ladder_table_.add(row);
    }
  }

  /// Runs the vectorised kernel only.
  void size_of(const Shape& shape, index_t bytes) {
    const Way way{"cuda_vectorized", Makes::transpose,
                  [](const ConstRecords& a, const Records& b, int, index_t, DeviceStream stream) {
                    cuda_vectorized(a, b, {}, stream);
                  }};
    const auto [copy, seconds] = beside_copy(way, shape, bytes);
    sizes_table_.add({fmt::format("{} B", bytes), shape.text(), rate(shape, bytes, copy),
                      fmt::format("{:.3f}", copy / seconds), verdict(way, shape, bytes)});
  }

  void print() const {
    fmt::print("{}\n{}", ladder_table_.text(), sizes_table_.text());
    if (!right_) fmt::print("WRONG results above\n");
  }
  [[nodiscard]] bool right() const { return right_; }

 private:
  static Way copy_way() {
    return {"device copy", Makes::copy,
            [](const ConstRecords& a, const Records& b, int, index_t, DeviceStream stream) {
              device_copy(a, b, stream);
            }};
  }

  [[nodiscard]] Way geam_way(index_t bytes) const {
    return {bytes == 8 ? "cublasDgeam" : "cublasSgeam", Makes::transpose,
            [this](const ConstRecords& a, const Records& b, int, index_t, DeviceStream stream) {
              geam(handle_, a, b, stream);
            }};
  }

  [[nodiscard]] static std::string rate(const Shape& s, index_t bytes, double seconds) {
    return fmt::format("{:.0f}", 2e-9 * static_cast<double>(s.records() * bytes) / seconds);
  }
  [[nodiscard]] static Shape result_of(const Way& way, const Shape& s, bool inside_tiles) {
    return way.makes == Makes::copy || inside_tiles ? s : Shape{s.cols, s.rows};
  }
  void run(const Way& way, const Shape& s, index_t bytes, std::size_t set, int repeats,
           index_t stride, DeviceStream stream) const {
    const Shape to = result_of(way, s, way.name == "cuda_fine_grained");
    way.run(pool_.in(s, bytes, set), pool_.out(to, bytes, set), repeats, stride, stream);
  }

  /// Returns the seconds per launch, over consecutive launches on rotating operands.
  [[nodiscard]] double by_launches(const Way& way, const Shape& s, index_t bytes) const {
    const int launches = quick_ ? 5 : 10;
    std::size_t set = 0;
    return gpu::median_seconds(
               [&](std::size_t, DeviceStream stream) {
                 for (int r = 0; r < launches; ++r) run(way, s, bytes, set++, 1, 0, stream);
               },
               repetitions_) /
           launches;
  }
  /// Returns the seconds of a copy and of `way`, in alternating launches.
  [[nodiscard]] std::pair<double, double> beside_copy(const Way& way, const Shape& s,
                                                      index_t bytes) const {
    const int launches = quick_ ? 5 : 10;
    std::size_t set = 0;
    const auto many = [&](const Way& what) {
      return [&, launches](std::size_t, DeviceStream stream) {
        for (int r = 0; r < launches; ++r) run(what, s, bytes, set++, 1, 0, stream);
      };
    };
    const Way copy = copy_way();
    const auto [first, second] = gpu::median_seconds_in_turn(many(copy), many(way), repetitions_);
    return {first / launches, second / launches};
  }
  /// Returns the seconds per repetition inside one launch; every block either moves on by a tenth
  /// of the matrix or stays at its tile, served by caches (which the paper's GPUs lacked).
  [[nodiscard]] double by_loop(const Way& way, const Shape& s, index_t bytes, bool moving) const {
    constexpr int repeats = 10;
    const index_t tiles = ceil_div(s.rows, 32) * ceil_div(s.cols, 32);
    return gpu::median_seconds(
               [&](std::size_t set, DeviceStream stream) {
                 run(way, s, bytes, set, repeats, moving ? tiles / repeats + 1 : 0, stream);
               },
               repetitions_) /
           repeats;
  }

  /// Compares every record of the first result with the definition.
  [[nodiscard]] std::string verdict(const Way& way, const Shape& s, index_t bytes) {
    if (way.makes != Makes::transpose) return "";
    const cuda::Stream stream;
    const auto size = static_cast<std::size_t>(s.records() * bytes);
    const Shape turned{s.cols, s.rows};
    cuda::check(cudaMemsetAsync(pool_.out(turned, bytes, 0).data, 0xA5, size, stream),
                "cudaMemsetAsync");
    run(way, s, bytes, 0, 1, 0, stream);
    const machine::Buffer<std::byte>& want = reference(s, bytes);
    if (got_.size() < s.records() * bytes)
      got_ = cuda::PinnedBuffer<std::byte>(s.records() * bytes);
    cuda::check(cudaMemcpyAsync(got_.data(), pool_.out(turned, bytes, 0).data, size,
                                cudaMemcpyDeviceToHost, stream),
                "cudaMemcpyAsync");
    stream.wait();
    const bool same = same_bytes(got_.data(), want.data(), static_cast<index_t>(size));
    right_ = right_ && same;
    return same ? "right" : "WRONG";
  }
  [[nodiscard]] static bool same_bytes(const std::byte* x, const std::byte* y, index_t size) {
    constexpr index_t piece = index_t{1} << 20;
    bool same = true;
#pragma omp parallel for reduction(&& : same)
    for (index_t at = 0; at < size; at += piece)
      same = same &&
             std::memcmp(x + at, y + at, static_cast<std::size_t>(std::min(piece, size - at))) == 0;
    return same;
  }
  [[nodiscard]] const machine::Buffer<std::byte>& reference(const Shape& s, index_t bytes) {
    const std::string key = fmt::format("{} {}", s.text(), bytes);
    if (key == reference_key_) return reference_;
    const index_t size = s.records() * bytes;
    machine::Buffer<std::byte> source(size);
    reference_ = machine::Buffer<std::byte>(size);
    cuda::check(cudaMemcpy(source.data(), pool_.in(s, bytes, 0).data,
                           static_cast<std::size_t>(size), cudaMemcpyDeviceToHost),
                "cudaMemcpy");
    cache_oblivious({source.data(), s.rows, s.cols, s.cols, bytes},
                    {reference_.data(), s.cols, s.rows, s.rows, bytes}, {});
    reference_key_ = key;
    return reference_;
  }

  bool quick_;
  int repetitions_;
  Pool pool_;
  cublasHandle_t handle_ = nullptr;
  machine::Buffer<std::byte> reference_;
  cuda::PinnedBuffer<std::byte> got_;
  std::string reference_key_;
  bool right_ = true;
  Table ladder_table_{{"kernel", "record", "shape", "median", "GB/s", "of copy", "loop inside GB/s",
                       "of copy inside", "same tile GB/s", "checked"}};
  Table sizes_table_{{"record", "shape", "copy GB/s", "cuda_vectorized of copy", "checked"}};
};

/// Times a matrix in host memory, transposed on the device: at once, and in pieces if the device is
/// not to hold it. Bytes are those over the bus.
void from_host(bool quick) {
  const index_t n = quick ? 8192 : 16384, bytes = n * n * 8;
  machine::Buffer<double> a(n * n), b(n * n);
#pragma omp parallel for
  for (index_t i = 0; i < n * n; ++i) {
    a[i] = random_symmetric<double>(1, 0, i);
    b[i] = 0;  // touches the pages
  }
  const ConstRecords from{reinterpret_cast<const std::byte*>(a.data()), n, n, n, 8};
  const Records to{reinterpret_cast<std::byte*>(b.data()), n, n, n, 8};
  const Variant& kernel = *find_variant(variants(), "cuda_vectorized");
  Table table({"from the host, f64", "shape", "median", "GB/s", "there", "kernels", "back"});
  for (const index_t memory : {index_t{0}, bytes / 2}) {
    std::vector<double> samples;
    machine::DeviceTimes times;
    for (int r = -1; r < 5; ++r) {
      (void)machine::take_device_times();
      const Timer timer;
      kernel.out_of_place(from, to, {.device_memory = memory});
      if (r >= 0) samples.push_back(timer.seconds());
      times = machine::take_device_times();
    }
    const double median = summarize(samples).median;
    table.add({memory == 0 ? "at once" : "in pieces, half of one matrix on the device",
               Shape{n, n}.text(), human_seconds(median),
               human_number(2 * static_cast<double>(bytes) / median / 1e9),
               human_seconds(times.to_device), human_seconds(times.kernels),
               human_seconds(times.from_device)});
  }
  fmt::print("{}", table.text());
}

int run(bool quick) {
  if (!gpu::announce()) return gpu::skipped;
  Bench bench(quick);
  const Shape square{8192, 8192}, in_off{8000, 12345}, out_off{12345, 8000}, both_off{8001, 12345};
  for (const index_t bytes : {4, 8})
    for (const Shape& shape : {Shape{1024, 1024}, Shape{4096, 4096}, square, in_off})
      bench.ladder_of(shape, bytes);
  for (const index_t bytes : {1, 2, 4, 8, 16}) {
    for (const Shape& shape :
         {Shape{1024, 1024}, Shape{4096, 4096}, square, in_off, out_off, both_off}) {
      if (shape.records() * bytes <= (quick ? index_t{8} * 4096 * 4096 : index_t{8} * 8001 * 12345))
        bench.size_of(shape, bytes);
    }
  }
  bench.print();
  cuda::release_kept();
  from_host(quick);
  return bench.right() ? 0 : 1;
}

}  // namespace
}  // namespace tessera::transpose

int main(int argc, char** argv) { return tessera::transpose::run(tessera::gpu::quick(argc, argv)); }
