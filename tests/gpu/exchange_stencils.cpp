// Resident fields: one box on one GPU against a box on each, periodic along the slowest dimension.

#include "dist/stencil/on_devices.hpp"
#include "dist/stencil/samples.hpp"
#include "exchange_bench.hpp"
#include "machine/fork_join.hpp"

namespace tessera::exchange_bench {
namespace {

namespace ds = dist::stencil;
using ds::Overlap;

/// Weak scaling: a box on every GPU, split along dimension d.
struct Weak {
  int dims;
  Index3 box;
  index_t steps, halo_steps;
};

struct Timed {
  double seconds = 0, interior = 0, edges = 0;  ///< per step
  double exchange = 0;                          ///< exchange only
  double halo = 0;  ///< share of the box's points received in an exchange
  bool right = true;
};

ds::Scheme problem_of(const Weak& weak, index_t boxes) {
  const int d = 3 - weak.dims;
  ds::Scheme scheme{tessera::stencil::named_stencil("heat", weak.dims), {}, weak.box};
  scheme.global[d] *= boxes;
  for (auto& side : scheme.sides[static_cast<std::size_t>(d)])
    side.kind = tessera::stencil::Boundary::periodic;
  return scheme;
}

template <class T>
void fill(ds::DistributedField<T>& u) {
  const Index3 size = u.box().size();
#pragma omp parallel for
  for (index_t row = 0; row < size[0] * size[1]; ++row) {
    T* at = u.now().row(row / size[1], row % size[1]);
    for (index_t x = 0; x < size[2]; ++x) at[x] = random_symmetric<T>(1, 0, row * size[2] + x);
  }
}

/// Times packing, sending, receiving and unpacking without overlapping work.
template <class T>
double exchange_alone(const DeviceExchange& exchange, ds::DistributedField<T>& u, int repetitions) {
  const auto* const kernels = tessera::stencil::resident_kernels<T>();
  ds::DeviceHalo<T> halo(exchange, u.scheme(), u.grid(), u.halo_steps(), 1, *kernels);
  const auto sweep = tessera::stencil::device_sweep(u.sweep(u.halo_steps(), 1));
  const auto shape = tessera::stencil::device_shape(sweep.line, index_t{sizeof(T)});
  const device::Allocation memory(shape.count * index_t{sizeof(T)}, device::Home::device);
  T* const level[1] = {reinterpret_cast<T*>(memory.data()) + shape.origin};
  const device::Stream stream;
  return median_seconds(exchange.comm(), repetitions, [&] {
    halo.pack(u.halo_steps(), level, sweep.stride, stream);
    stream.wait();
    halo.travel();
    halo.unpack(level, sweep.stride, stream);
    stream.wait();
  });
}

template <class T>
ds::DistributedField<T> field_of(const Communicator& comm, const Weak& weak) {
  const index_t boxes = comm.size();
  const ds::Scheme scheme = problem_of(weak, boxes);
  layout::GridLayout grid{scheme.global, {{1, 1, 1}}, boxes};
  grid.parts[3 - weak.dims] = boxes;
  ds::DistributedField<T> u(scheme, grid, comm.rank(), weak.halo_steps);
  fill(u);
  return u;
}

template <class T>
Timed timed(const DeviceExchange& exchange, const Weak& weak, ds::DistributedField<T>& u,
            Overlap overlap, int repetitions) {
  const Communicator& comm = exchange.comm();
  ds::DeviceStencil<T> there(exchange, u,
                             {.threads = machine::default_threads(), .overlap = overlap});
  there.put(u);
  Timed result;
  mpi::Phases phases;
  {
    const index_t steps = ds::sample_steps(u.scheme().stencil, weak.halo_steps + 1);
    ds::Samples<T> samples(comm, u, steps, 3);
    there.advance(steps, phases);
    u.keep_elsewhere([&](const Box3& part) { there.get(u, part); });
    samples.record(u);
    u.keep_elsewhere({});
    result.right = samples.wrong() == 0;
  }
  phases = {};
  int runs = 0;
  const double seconds = median_seconds(comm, repetitions, [&] {
    there.advance(weak.steps, phases);
    ++runs;
  });
  const auto steps = static_cast<double>(weak.steps);
  result.seconds = seconds / steps;
  result.interior = comm.max(phases.of("interior")) / runs / steps;
  result.edges = comm.max(phases.of("edges")) / runs / steps;
  if (comm.size() == 1) return result;
  result.exchange = exchange_alone(exchange, u, repetitions);
  result.halo =
      2 * static_cast<double>(weak.halo_steps) / static_cast<double>(weak.box[3 - weak.dims]);
  return result;
}

std::string text_of(const Weak& weak) {
  const std::string plane = fmt::format("{}x{}", weak.box[1], weak.box[2]);
  return weak.dims == 3 ? fmt::format("{}x{}", weak.box[0], plane) : plane;
}

template <class T>
void rows_of(Bench& bench, const Weak& weak, Table& table) {
  const double points = static_cast<double>(weak.box.volume());
  const auto add = [&](const std::string& by, const std::string& overlap, double boxes,
                       const Timed& one, const Timed& t) {
    const bool several = boxes > 1;
    const auto time = [&](double seconds) {
      return several ? human_seconds(seconds) : std::string("-");
    };
    table.add({by, text_of(weak), sizeof(T) == 4 ? "f32" : "f64", std::to_string(weak.halo_steps),
               overlap, human_seconds(t.seconds),
               fmt::format("{:.0f}", boxes * points / t.seconds / 1e9),
               several ? fmt::format("{:.3f}", one.seconds * bench.sharing() / t.seconds) : "1",
               human_seconds(t.interior), time(t.edges), time(t.exchange),
               fmt::format("{:.4f}", t.halo), bench.verdict(t.right)});
  };
  Timed one;
  if (bench.comm.is_root()) {
    const DeviceExchange alone(Communicator::self(), DeviceTransport::ipc);
    auto u = field_of<T>(alone.comm(), weak);
    one = timed(alone, weak, u, Overlap::no, 5);
  }
  one.seconds = bench.comm.max(one.seconds);
  one.interior = bench.comm.max(one.interior);
  one.right = bench.comm.sum(index_t{one.right ? 0 : 1}) == 0;
  add("one GPU", "-", 1, one, one);
  auto u = field_of<T>(bench.comm, weak);
  for (const DeviceExchange& exchange : bench.transports) {
    const bool first = &exchange == &bench.transports.front();
    for (const Overlap overlap : {Overlap::yes, Overlap::no}) {
      if (overlap == Overlap::no && !first) continue;
      const Timed many = timed(exchange, weak, u, overlap, bench.quick ? 3 : 5);
      add(std::string(name(exchange.transport())), overlap == Overlap::yes ? "yes" : "no",
          bench.comm.size(), one, many);
    }
  }
}

}  // namespace

void stencils(Bench& bench) {
  Table table({"heat by", "box a rank", "type", "T", "overlap", "a step", "Gpoints/s",
               "of weak scaling", "interior a step", "edges a step", "an exchange alone",
               "halo of the box", "checked"});
  const index_t n2 = bench.quick ? 2048 : 16384, n3 = bench.quick ? 128 : 512;
  const auto plane = [&](index_t halo_steps) { return Weak{2, {{1, n2, n2}}, 48, halo_steps}; };
  const auto solid = [&](index_t halo_steps) { return Weak{3, {{n3, n3, n3}}, 24, halo_steps}; };
  for (const index_t halo_steps : {1, 8, 16}) rows_of<float>(bench, plane(halo_steps), table);
  for (const index_t halo_steps : {1, 6, 12}) rows_of<double>(bench, plane(halo_steps), table);
  for (const index_t halo_steps : {1, 2}) rows_of<float>(bench, solid(halo_steps), table);
  for (const index_t halo_steps : {1, 2}) rows_of<double>(bench, solid(halo_steps), table);
  bench.show(table);
}

}  // namespace tessera::exchange_bench
