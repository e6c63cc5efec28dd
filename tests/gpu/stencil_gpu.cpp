// Device kernels of stencils on resident fields, timed by events: points per second, bytes counted
// as one read and one write per point and step, and their share of a device copy in the same run.

#include <optional>

#include "bench.hpp"
#include "kernels/stencil/cuda_field.hpp"

namespace tessera::stencil {
namespace {

template <class T>
using Kernel = int (*)(const DeviceSweep<T>&, const Tuning&, DeviceStream);

template <class T>
struct Named {
  std::string name;
  Kernel<T> run;
  Tuning tuning = {};
};

/// Random field on the device.
template <class T>
class Setting {
 public:
  Setting(const Stencil& stencil, Index3 extent)
      : host_(whole_field<T>(stencil, extent)), extent_(extent) {
    const Sweep<T> sweep = whole_sweep(stencil, all_sides({Boundary::mirror}), host_, 1, 1);
    const index_t rows = extent[0] * extent[1];
#pragma omp parallel for
    for (index_t i = 0; i < rows; ++i) {
      T* row = sweep.level[0].row(i / extent[1], i % extent[1]);
      for (index_t x = 0; x < extent[2]; ++x)
        row[x] = static_cast<T>(random_symmetric<Arithmetic<T>>(1, 0, i * extent[2] + x));
    }
    device_.emplace(sweep);
    gpu::cuda::Staging staging({});
    device_->load(sweep, staging);
    (void)staging.finish();
    host_ = Field<T>();
  }

  /// Returns the seconds per step.
  double seconds(const Named<T>& kernel, index_t steps, int repetitions) {
    const DeviceSweep<T> sweep = device_->sweep(steps);
    return gpu::median_seconds(
               [&](std::size_t, DeviceStream stream) {
                 (void)kernel.run(sweep, kernel.tuning, stream);
               },
               repetitions) /
           static_cast<double>(steps);
  }
  [[nodiscard]] double points() const { return static_cast<double>(extent_.volume()); }

 private:
  Field<T> host_;
  Index3 extent_;
  std::optional<DeviceField<T>> device_;
};

/// Returns the bytes per second, read and written, of the driver's copy of a level's size.
double copy_rate(index_t bytes) {
  std::vector<gpu::cuda::DeviceBuffer<char>> from, to;
  for (index_t s = 0; s < gpu::sets; ++s) {
    from.emplace_back(bytes);
    to.emplace_back(bytes);
    gpu::cuda::check(cudaMemset(from.back().data(), 1, static_cast<std::size_t>(bytes)),
                     "cudaMemset");
  }
  const double seconds = gpu::median_seconds([&](std::size_t set, DeviceStream stream) {
    gpu::cuda::check(
        cudaMemcpyAsync(to[set].data(), from[set].data(), static_cast<std::size_t>(bytes),
                        cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync");
  });
  return 2 * static_cast<double>(bytes) / seconds;
}

std::string text_of(const Stencil& stencil, Index3 n) {
  const std::string plane = fmt::format("{}x{}", n[1], n[2]);
  return fmt::format("{} {}", stencil.name, n[0] > 1 ? fmt::format("{}x{}", n[0], plane) : plane);
}

template <class T>
void measure(Table& table, const Stencil& stencil, Index3 extent, index_t steps, int repetitions,
             const std::vector<Named<T>>& kernels) {
  const double copy = copy_rate(extent.volume() * static_cast<index_t>(sizeof(T)));
  Setting<T> setting(stencil, extent);
  for (const Named<T>& kernel : kernels) {
    const double seconds = setting.seconds(kernel, steps, repetitions);
    const double rate = 2 * static_cast<double>(sizeof(T)) * setting.points() / seconds;
    table.add({kernel.name, text_of(stencil, extent),
               sizeof(T) == 2   ? "f16"
               : sizeof(T) == 4 ? "f32"
                                : "f64",
               human_seconds(seconds), human_number(setting.points() / seconds / 1e9),
               human_number(rate / 1e9), fmt::format("{:.3f}", rate / copy)});
  }
}

template <class T>
void measure(Table& table, const char* name, int dims, Index3 extent, index_t steps,
             int repetitions, const std::vector<Named<T>>& kernels) {
  measure<T>(table, named_stencil(name, dims), extent, steps, repetitions, kernels);
}

template <class T>
std::vector<Named<T>> textbook() {
  return {{"cuda_naive", cuda_naive<T>},
          {"cuda_tiled", cuda_tiled<T>},
          {"cuda_column", cuda_column<T>},
          {"cuda_zigzag", cuda_zigzag<T>}};
}

/// Returns the streaming kernel by planes per block, the temporal one by steps per pass.
template <class T>
std::vector<Named<T>> blocked(int dims, bool quick) {
  std::vector<Named<T>> all{{"cuda_streaming", cuda_streaming<T>}};
  if (dims == 3 && !quick) {
    for (const index_t march : {16, 32, 64, 128})
      all.push_back(
          {fmt::format("cuda_streaming march {}", march), cuda_streaming<T>, {.march = march}});
  }
  const std::vector<index_t> steps = dims == 3        ? std::vector<index_t>{2, 3, 4}
                                     : sizeof(T) == 4 ? std::vector<index_t>{2, 3, 4, 6, 8}
                                                      : std::vector<index_t>{2, 3, 4, 6};
  for (const index_t most : steps)
    all.push_back(
        {fmt::format("cuda_temporal steps {}", most), cuda_temporal<T>, {.base_steps = most}});
  return all;
}

const std::vector<std::string> headings{"kernel",    "stencil", "type",   "a step",
                                        "Gpoints/s", "GB/s",    "of copy"};

template <class T>
void stars(Table& table, bool quick) {
  const auto both = [&](const char* name, int dims, Index3 extent, index_t steps) {
    auto kernels = quick ? std::vector<Named<T>>{} : textbook<T>();
    const auto more = blocked<T>(dims, quick);
    kernels.insert(kernels.end(), more.begin(), more.end());
    measure<T>(table, name, dims, extent, steps, quick ? 3 : 5, kernels);
  };
  both("heat", 2, {{1, 8192, 8192}}, 24);
  both("heat", 3, {{512, 512, 512}}, 12);
  if (!quick) {
    auto kernels = blocked<T>(3, true);
    kernels.push_back({"cuda_temporal", cuda_temporal<T>});
    for (const index_t n : {128, 256, 384, sizeof(T) == 8 ? 768 : 960})
      measure<T>(table, "heat", 3, {{n, n, n}}, 12, 3, kernels);
  }
}

template <class T>
void other_stars(Table& table) {
  const auto marches = [](std::initializer_list<index_t> list) {
    std::vector<Named<T>> all;
    for (const index_t march : list)
      all.push_back(
          {fmt::format("cuda_streaming march {}", march), cuda_streaming<T>, {.march = march}});
    return all;
  };
  for (const char* name : {"wave", "laplace", "advection", "star2", "star4"}) {
    measure<T>(table, name, 2, {{1, 8192, 8192}}, 4, 3, {{"cuda_streaming", cuda_streaming<T>}});
    measure<T>(table, name, 3, {{512, 512, 512}}, 4, 3, marches({16, 32, 64}));
  }
  for (const char* name : {"laplace"}) {
    measure<T>(table, name, 2, {{1, 8192, 8192}}, 24, 3, {{"cuda_temporal", cuda_temporal<T>}});
    measure<T>(table, name, 3, {{512, 512, 512}}, 12, 3, {{"cuda_temporal", cuda_temporal<T>}});
  }
}

/// Returns a full square of distinct weights.
Stencil square(index_t width) {
  std::vector<double> weights(static_cast<std::size_t>(width * width));
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = (1 + 0.01 * static_cast<double>(i)) / static_cast<double>(2 * weights.size());
  return make_stencil(fmt::format("square{}x{}", width, width), 2, {{1, width, width}}, weights);
}

template <class T>
void boxes(Table& table, bool quick) {
  const auto both = [&](const Stencil& stencil) {
    auto kernels = quick ? std::vector<Named<T>>{} : textbook<T>();
    kernels.push_back({"cuda_streaming", cuda_streaming<T>});
    measure<T>(table, stencil, {{1, 4096, 4096}}, 8, 5, kernels);
  };
  for (const char* name : {"box3x3", "box5x5", "box7x7", "box9x9", "life"})
    both(named_stencil(name, 2));
  for (const index_t width : {3, 5, 7, 9}) both(square(width));
}

/// Prints milliseconds by column width and threads per block; the first line is cuda_naive.
void columns(bool quick) {
  const std::vector<index_t> blocks{32, 64, 128, 256, 512, 1024};
  std::vector<std::string> head{"ms by threads"};
  for (const index_t block : blocks) head.push_back(std::to_string(block));
  Table table(head);
  Setting<float> setting(named_stencil("box9x9", 2), {{1, 4096, 4096}});
  const auto line = [&](const std::string& name, Kernel<float> kernel, index_t width) {
    std::vector<std::string> cells{name};
    for (const index_t block : blocks) {
      const double seconds =
          setting.seconds({name, kernel, {.column = width, .block = block}}, 2, 3);
      cells.push_back(fmt::format("{:.3f}", 1e3 * seconds));
    }
    table.add(cells);
  };
  line("naive", cuda_naive<float>, 0);
  for (const index_t width : {4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}) {
    if (quick && width != 32) continue;
    line(fmt::format("column {}", width), cuda_column<float>, width);
  }
  for (const index_t width : {32, 128})
    line(fmt::format("zigzag {}", width), cuda_zigzag<float>, width);
  fmt::print("box9x9 4096x4096 f32:\n{}", table.text());
}

int bench(bool quick) {
  if (!gpu::announce()) return gpu::skipped;
  Table table(headings);
  stars<Half>(table, quick);
  stars<float>(table, quick);
  stars<double>(table, quick);
  if (!quick) {
    other_stars<Half>(table);
    other_stars<float>(table);
    other_stars<double>(table);
  }
  boxes<Half>(table, quick);
  boxes<float>(table, quick);
  boxes<double>(table, quick);
  fmt::print("{}", table.text());
  columns(quick);
  return 0;
}

}  // namespace
}  // namespace tessera::stencil

int main(int argc, char** argv) { return tessera::stencil::bench(tessera::gpu::quick(argc, argv)); }
