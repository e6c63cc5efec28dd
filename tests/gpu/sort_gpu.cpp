// Device sorts on resident data, timed by events: a line per variant, type, input and size, with
// its rate relative to the vendor's sort in the same run and as a share of the bound by copying the
// items as often. An argsort creates its positions itself, the vendor's in a preceding kernel.
// --quick: one size. --tune: the radix sort in other shapes.

#include "bench.hpp"
#include "kernels/sort/inputs.hpp"
#include "machine/fork_join.hpp"
#include "sort_shapes.hpp"

namespace tessera::sort {
namespace {

namespace cuda = gpu::cuda;

template <class T>
void device_copy(T* to, const T* from, index_t n, cudaMemcpyKind kind, cudaStream_t stream) {
  if (n == 0) return;
  cuda::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(n) * sizeof(T), kind, stream),
              "cudaMemcpyAsync");
  cuda::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

/// Returns the bytes per second, read and written, of a copy on the device.
double copy_rate() {
  const index_t bytes = index_t{1} << 30;
  const cuda::DeviceBuffer<std::byte> from(bytes), to(bytes);
  const double seconds = gpu::median_seconds([&](std::size_t, DeviceStream stream) {
    cuda::check(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes),
                                cudaMemcpyDeviceToDevice, stream),
                "cudaMemcpyAsync");
  });
  return 2 * static_cast<double>(bytes) / seconds;
}

/// Original items, and space to sort copies of them.
template <class Key, class Value>
class Items {
 public:
  static constexpr bool valued = !std::is_same_v<Value, NoValue>;
  static constexpr index_t bytes = sizeof(Key) + (valued ? sizeof(Value) : 0);

  Items(index_t n, Payload payload)
      : n_(n),
        payload_(payload),
        host_(n),
        original_(n),
        keys_(n),
        spare_(n),
        original_values_(payload == Payload::values ? count() : 0),
        values_(count()),
        spare_values_(count()) {
    if constexpr (valued) {
      if (payload == Payload::positions) return;
      machine::Buffer<Value> positions(n);
      for (index_t i = 0; i < n; ++i) positions[i] = static_cast<Value>(i);
      device_copy(original_values_.data(), positions.data(), n, cudaMemcpyHostToDevice, stream_);
    }
  }
  void make(std::string_view name) {
    machine::parallel(machine::default_threads(),
                      [&] { generate<Key>(input(name), 1, 0, n_, host_.span()); });
    device_copy(original_.data(), host_.data(), n_, cudaMemcpyHostToDevice, stream_);
  }
  /// Returns the median of a few sorts, each of the original items.
  double seconds(const Candidate<Key, Value>& candidate) {
    const index_t work_bytes = candidate.bytes(n_);
    if (work_.size() < work_bytes) work_ = cuda::DeviceBuffer<std::byte>(work_bytes);
    std::vector<double> samples;
    for (int r = -1; r < 5; ++r) {
      device_copy(keys_.data(), original_.data(), n_, cudaMemcpyDeviceToDevice, stream_);
      device_copy(values_.data(), original_values_.data(), original_values_.size(),
                  cudaMemcpyDeviceToDevice, stream_);
      cuda::Stopwatch watch(stream_);
      candidate.sort({.keys = keys_.data(),
                      .spare_keys = spare_.data(),
                      .values = values_.data(),
                      .spare_values = spare_values_.data(),
                      .n = n_,
                      .payload = payload_,
                      .work = work_.data()},
                     stream_);
      const double seconds = watch.seconds();
      if (r >= 0) samples.push_back(seconds);
    }
    return summarize(samples).median;
  }
  /// Returns whether the last sort, by cuda_hybrid, divided the keys.
  [[nodiscard]] bool divided() const { return cuda_hybrid_divided(work_.data(), n_); }
  /// Returns an order-dependent sum of the last sort's result.
  std::uint64_t content() {
    device_copy(host_.data(), keys_.data(), n_, cudaMemcpyDeviceToHost, stream_);
    std::uint64_t sum = ordered_sum(host_.data());
    if constexpr (valued) {
      machine::Buffer<Value> values(n_);
      device_copy(values.data(), values_.data(), n_, cudaMemcpyDeviceToHost, stream_);
      sum += 31 * ordered_sum(values.data());
    }
    return sum;
  }
  /// Returns the bytes moved: every digit of 8 bits moves every item once, except positions in the
  /// first one, which are not read; the histograms read every key. With division every key moves
  /// three times and is read twice more.
  [[nodiscard]] double bytes_of_sort(bool divided) const {
    if (divided) return static_cast<double>(n_) * 8 * sizeof(Key);
    const double made = payload_ == Payload::positions ? sizeof(Value) : 0;
    return static_cast<double>(n_) * (2.0 * sizeof(Key) * bytes + sizeof(Key) - made);
  }

 private:
  [[nodiscard]] index_t count() const { return valued ? n_ : 0; }
  template <class T>
  [[nodiscard]] std::uint64_t ordered_sum(const T* data) const {
    std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (index_t i = 0; i < n_; ++i)
      sum += (static_cast<std::uint64_t>(data[i]) + 1) * (2 * static_cast<std::uint64_t>(i) + 1);
    return sum;
  }

  index_t n_;
  Payload payload_;
  machine::Buffer<Key> host_;
  cuda::Stream stream_;
  cuda::DeviceBuffer<Key> original_, keys_, spare_;
  cuda::DeviceBuffer<Value> original_values_, values_, spare_values_;
  cuda::DeviceBuffer<std::byte> work_;
};

struct Report {
  Table table{
      {"items", "input", "n", "sort", "median", "Gitems/s", "of cub", "GB/s", "of the bound"}};
  double copies;  // bytes per second
  bool agree = true;
};

template <class Key, class Value>
void measure(Report& report, const char* type, std::string_view input, Items<Key, Value>& items,
             index_t n, const std::vector<Candidate<Key, Value>>& candidates, bool compare) {
  items.make(input);
  double vendor = 0;
  std::uint64_t content = 0;
  for (const Candidate<Key, Value>& candidate : candidates) {  // the vendor's first
    const double seconds = items.seconds(candidate);
    if (vendor == 0) vendor = seconds;
    const double rate =
        items.bytes_of_sort(candidate.name == "cuda_hybrid" && items.divided()) / seconds;
    report.table.add({type, std::string(input), std::to_string(n), candidate.name,
                      human_seconds(seconds),
                      fmt::format("{:.2f}", static_cast<double>(n) / seconds / 1e9),
                      fmt::format("{:.3f}", vendor / seconds), fmt::format("{:.0f}", rate / 1e9),
                      fmt::format("{:.2f}", rate / report.copies)});
    if (!compare) continue;
    const std::uint64_t got = items.content();
    if (&candidate == &candidates.front()) content = got;
    if (got != content) {
      report.agree = false;
      fmt::print("{} {} {} {}: differs from the vendor's result\n", type, input, n, candidate.name);
    }
  }
}

template <class Key, class Value>
std::vector<Candidate<Key, Value>> chosen(index_t n, std::string_view input) {
  std::vector<Candidate<Key, Value>> list{
      {"cub", cub<Key, Value>, cub_bytes<Key, Value>},
      {"cuda_radix", cuda_radix<Key, Value>, cuda_radix_bytes<Key, Value>}};
  if constexpr (sizeof(Key) == 8 && !Items<Key, Value>::valued)
    list.push_back({"cuda_hybrid", cuda_hybrid<Key, Value>, cuda_hybrid_bytes<Key, Value>});
  const bool small = n <= index_t{1} << 26;
  if (small && input == "uniform")
    list.push_back({"cuda_merge", cuda_merge<Key, Value>, cuda_merge_bytes<Key, Value>});
  if (small && input == "zipf" && !Items<Key, Value>::valued)
    list.push_back({"cuda_counting", cuda_counting<Key, Value>, cuda_counting_bytes<Key, Value>});
  return list;
}

template <class Key, class Value>
void compare_with_vendor(Report& report, const char* type, index_t n, Payload payload) {
  Items<Key, Value> items(n, payload);
  const bool small = n <= index_t{1} << 26;
  for (const std::string_view input : {"uniform", "entropy_0.544", "all_equal", "sorted", "zipf"}) {
    if (input == "zipf" && (n != index_t{1} << 26 || Items<Key, Value>::valued)) continue;
    measure(report, type, input, items, n, chosen<Key, Value>(n, input),
            small || input == "uniform");
  }
}

template <class Key, class Value>
void tune(Report& report, const char* type, index_t n, Payload payload) {
  Items<Key, Value> items(n, payload);
  std::vector<Candidate<Key, Value>> candidates{{"cub", cub<Key, Value>, cub_bytes<Key, Value>}};
  for (auto& candidate : shapes<Key, Value>()) candidates.push_back(candidate);
  for (const std::string_view input : {"uniform", "entropy_0.544"})
    measure(report, type, input, items, n, candidates, input == "uniform");
}

template <class F>
void for_types(const F& f) {
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  f("u32", U32{}, NoValue{}, Payload::values);
  f("u64", U64{}, NoValue{}, Payload::values);
  f("u32+u32", U32{}, U32{}, Payload::values);
  f("u64+u64", U64{}, U64{}, Payload::values);
  f("argsort u64, u32", U64{}, U32{}, Payload::positions);
  f("argsort u64, u64", U64{}, U64{}, Payload::positions);
}

int run(bool quick, bool tunes) {
  if (!gpu::announce()) return gpu::skipped;
  Report report{.copies = copy_rate()};
  fmt::print("copy on the device: {:.0f} GB/s read and written\n", report.copies / 1e9);
  for (const int log_n : {22, 26, 28}) {
    if (quick ? log_n != 26 : tunes && log_n != 28) continue;
    const index_t n = index_t{1} << log_n;
    for_types([&]<class Key, class Value>(const char* type, Key, Value, Payload payload) {
      if (tunes)
        tune<Key, Value>(report, type, n, payload);
      else
        compare_with_vendor<Key, Value>(report, type, n, payload);
    });
  }
  fmt::print("{}", report.table.text());
  return report.agree ? 0 : 1;
}

bool has(int argc, char** argv, std::string_view option) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == option) return true;
  }
  return false;
}

}  // namespace
}  // namespace tessera::sort

int main(int argc, char** argv) {
  return tessera::sort::run(tessera::gpu::quick(argc, argv),
                            tessera::sort::has(argc, argv, "--tune"));
}
