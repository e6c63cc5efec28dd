#include <Halide.h>
#include <fmt/core.h>

#include <cstdlib>
#include <memory>

#include "stencil_peers.hpp"

namespace tessera::bench {
namespace {

/// Mean of size x size points, edges clamped, separable, scheduled by the auto-scheduler of
/// Mullapudi et al. 2016.
struct Blur {
  Halide::ImageParam in{Halide::Float(32), 2};
  Halide::Pipeline pipeline;

  Blur(int n, int size, int threads) {
    Halide::Var x("x"), y("y");
    const int r = size / 2;
    const Halide::Func clamped = Halide::BoundaryConditions::repeat_edge(in);
    Halide::Func rows("rows"), mean("mean");
    Halide::Expr column = clamped(x, y - r);
    for (int k = 1 - r; k <= r; ++k) column = column + clamped(x, y + k);
    rows(x, y) = column;
    Halide::Expr row = rows(x - r, y);
    for (int k = 1 - r; k <= r; ++k) row = row + rows(x + k, y);
    mean(x, y) = row * (1.0f / static_cast<float>(size * size));
    in.set_estimates({{0, n}, {0, n}});
    mean.set_estimates({{0, n}, {0, n}});
    pipeline = Halide::Pipeline(mean);
    Halide::load_plugin(TESSERA_HALIDE_PLUGIN);
    const Halide::Target target = Halide::get_jit_target_from_environment();
    pipeline.auto_schedule("Mullapudi2016", target, Halide::MachineParams(threads, 1 << 20, 40));
    pipeline.compile_jit(target);
  }
};

}  // namespace

std::function<void()> halide_box(const float* in, float* out, int n, int size, int threads) {
  // Halide creates its thread pool once, with the size from the environment.
  setenv("HL_NUM_THREADS", fmt::format("{}", threads).c_str(), 1);
  const auto blur = std::make_shared<Blur>(n, size, threads);
  return [=] {
    Halide::Buffer<float> from(const_cast<float*>(in), n, n), to(out, n, n);
    blur->in.set(from);
    blur->pipeline.realize(to);
  };
}

}  // namespace tessera::bench
