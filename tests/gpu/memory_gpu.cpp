// Rates of all device probes, then measured choices: the best launch of read and reduction, and how
// much several streams overlap.

#include "bench.hpp"
#include "kernels/memory/cuda_probes.hpp"

namespace tessera::memory {
namespace {

struct Measured {
  double seconds, rate;
  DeviceCheck check;
};

Measured measure(DeviceProbe& probe, int repetitions) {
  (void)probe.run();
  std::vector<double> samples;
  for (int r = 0; r < repetitions; ++r) samples.push_back(probe.run());
  const double median = summarize(samples).median;
  return {median, probe.work() / median, probe.check()};
}

bool passed(const DeviceCheck& check) { return check.ratio <= check.tolerance; }

class Bench {
 public:
  explicit Bench(bool quick) : quick_(quick) {
    for (DeviceCeiling& c : device_ceilings()) ceilings_.push_back(std::move(c));
  }

  /// Prints one line per value of the parameter, or one for a probe without.
  void all() {
    for (const DeviceProbeVariant& row : device_probes()) {
      bool any = false;
      for (const DeviceParameter& p : device_parameters()) {
        if (!takes(row, p)) continue;
        any = true;
        for (const index_t value : values_of(row.name, p.name)) {
          DeviceWalk walk;
          walk.*p.member = value;
          add(row, walk, fmt::format("{} {}", p.name, value));
        }
      }
      if (!any) add(row, {}, "");
    }
    fmt::print("{}", table_.text());
  }

  /// Prints loads in flight by threads by blocks, as shares of the theoretical bandwidth.
  void tuning() {
    Table table({"loads", "threads", "blocks a multiprocessor", "read GB/s", "reduce GB/s",
                 "reduce/read", "of bus"});
    const DeviceProbeVariant& row = *find_variant(device_probes(), "cuda_reduce");
    const DeviceWalk walk = completed(row, {});
    const double bus = machine::gpus().devices.front().bus_bandwidth();
    for (const int loads : {1, 2, 4, 8}) {
      for (const auto& [threads, blocks] :
           {std::pair{256, 8}, {512, 2}, {512, 4}, {1024, 2}, {512, 8}, {512, 16}}) {
        const StreamTuning tuning{loads, threads, blocks};
        const double read = measure(*cuda_read(walk, tuning), 5).rate;
        const double reduce = measure(*cuda_reduce(walk, tuning), 5).rate;
        table.add({std::to_string(loads), std::to_string(threads), std::to_string(blocks),
                   human_number(read / 1e9), human_number(reduce / 1e9),
                   fmt::format("{:.3f}", reduce / read), fmt::format("{:.3f}", reduce / bus)});
      }
    }
    fmt::print("\n{}", table.text());
  }

  /// Prints the timeline of the first pieces.
  void timeline() const {
    const DeviceProbeVariant& row = *find_variant(device_probes(), "cuda_streams");
    const auto probe = make_probe(row, completed(row, {.streams = 4}));
    (void)probe->run();
    (void)probe->run();
    Table table({"piece", "stream", "what", "begin us", "end us"});
    for (const DeviceSpan& span : probe->spans()) {
      if (span.piece < 5)
        table.add({std::to_string(span.piece), std::to_string(span.stream), span.what,
                   fmt::format("{:.1f}", span.begin * 1e6), fmt::format("{:.1f}", span.end * 1e6)});
    }
    fmt::print("\n{}", table.text());
  }

  [[nodiscard]] int failures() const { return failures_; }

 private:
  [[nodiscard]] std::vector<index_t> values_of(std::string_view name,
                                               std::string_view parameter) const {
    if (parameter == "issue") return {0, 1};
    if (parameter == "host-rounds") return {0, 16};
    if (parameter == "page") return {128, 2 << 20};
    if (parameter == "passes")
      return quick_ ? std::vector<index_t>{1} : std::vector<index_t>{1, 10};
    if (name == "cuda_read_constant") return {0, 1, 2, 4, 8, 16, 32};
    if (name == "cuda_copy_offset")
      return quick_ ? std::vector<index_t>{0, 1, 8}
                    : std::vector<index_t>{0, 1, 2, 4, 7, 8, 16, 31, 32};
    if (name == "cuda_copy_stride")
      return quick_ ? std::vector<index_t>{1, 8} : std::vector<index_t>{1, 2, 3, 4, 8, 16, 32};
    if (name == "cuda_shared_stride") return {0, 1, 2, 3, 4, 8, 16, 17, 32, 33};
    if (name.starts_with("cuda_histogram"))
      return quick_ ? std::vector<index_t>{1, 256} : std::vector<index_t>{1, 16, 256, 4096};
    if (name == "cuda_streams") return {1, 2, 3, 4, 8};
    return {1, 2, 4, 8, 16, 32};
  }

  void add(const DeviceProbeVariant& row, const DeviceWalk& walk, const std::string& parameter) {
    const auto probe = make_probe(row, completed(row, walk));
    if (!probe) return;  // cuda_mma_f64 with code older than 8.0
    const Measured found = measure(*probe, quick_ ? 3 : 7);
    const bool races = row.result == Result::races;
    if (!races && !passed(found.check)) ++failures_;
    double top = 0;
    for (const DeviceCeiling& c : ceilings_) {
      if (c.name == row.ceiling) top = c.value * 1e9;
    }
    const double unit = row.units[0] == 'M' ? 1e6 : 1e9;
    table_.add({std::string(row.name), parameter, human_seconds(found.seconds),
                human_number(found.rate / unit), row.units,
                top > 0 ? fmt::format("{:.3f}", found.rate / top) : "-",
                races                 ? fmt::format("race, {} wrong", found.check.wrong)
                : passed(found.check) ? "passed"
                                      : fmt::format("WRONG: {}", found.check.ratio)});
  }

  bool quick_;
  std::vector<DeviceCeiling> ceilings_;
  Table table_{{"kernel", "parameter", "median", "rate", "units", "of ceiling", "check"}};
  int failures_ = 0;
};

int run(bool quick) {
  if (!gpu::announce()) return gpu::skipped;
  machine::use_gpu(0);
  Bench bench(quick);
  bench.all();
  if (!quick) bench.tuning();
  bench.timeline();
  return bench.failures() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::memory

int main(int argc, char** argv) { return tessera::memory::run(tessera::gpu::quick(argc, argv)); }
