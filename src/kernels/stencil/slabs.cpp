// Plans of sweeps in slabs: the least estimated time over the cut dimension, slabs and rounds.

#include "kernels/stencil/slabs.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/option_names.hpp"
#include "base/text.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::stencil {
namespace {

constexpr index_t most_places = 3;
constexpr double launch = 4e-6;  // seconds

/// Returns the box and the surrounding points that `steps` more steps read.
template <class T>
Box3 reach(const Sweep<T>& sweep, index_t steps) {
  Box3 box{{}, sweep.extent()};
  for (int d = 0; d < 3; ++d) {
    const index_t points = sweep.stencil.radius[d] * steps;
    if (sweep.edge(d, 0) == Edge::exchanged) box.low[d] -= points;
    if (sweep.edge(d, 1) == Edge::exchanged) box.high[d] += points;
  }
  return box;
}

/// Returns an upper bound of the elements of a level of any slab of at most `points` points along
/// d, in a round of `steps` steps: with halos on both sides. The first round has the widest ones.
template <class T>
index_t elements_of(const Sweep<T>& sweep, int d, index_t points, index_t steps) {
  DeviceSweep<T> slab =
      device_sweep(slab_sweep(sweep, {0, steps, reach(sweep, sweep.steps - steps)}));
  const index_t halo = sweep.stencil.radius[d] * steps;
  slab.line[d] = {};
  slab.line[d].begin = -halo;
  slab.line[d].end = points + halo;
  return device_shape(slab.line, static_cast<index_t>(sizeof(T))).count;
}

/// The cost model of candidate plans.
template <class T>
struct Planner {
  const Sweep<T>& sweep;
  index_t memory, pass_steps;
  SlabRates rates;
  int d;

  [[nodiscard]] index_t levels() const { return sweep.stencil.two_levels() ? 2 : 1; }
  [[nodiscard]] index_t points() const { return reach(sweep, sweep.steps).size()[d]; }
  [[nodiscard]] index_t level_bytes(index_t slabs, index_t steps) const {
    return elements_of(sweep, d, ceil_div(points(), slabs), steps) *
           static_cast<index_t>(sizeof(T));
  }
  [[nodiscard]] index_t places(index_t slabs, index_t rounds) const {
    return std::min(most_places, slabs * rounds);
  }
  /// Returns whether slabs fit into memory, and whether they are at least as thick as their
  /// neighbours' halos.
  [[nodiscard]] bool has_room(index_t slabs, index_t steps) const {
    return 2 * places(slabs, 1) * level_bytes(slabs, steps) <= memory;
  }
  [[nodiscard]] bool gives_halos(index_t slabs, index_t steps) const {
    return sweep.extent()[d] / slabs >= std::max<index_t>(1, sweep.stencil.radius[d] * steps);
  }
  /// Returns the fewest slabs that fit; 0 if none do.
  [[nodiscard]] index_t fewest(index_t steps) const {
    index_t low = 1,
            high = sweep.extent()[d] / std::max<index_t>(1, sweep.stencil.radius[d] * steps);
    if (high < 2 || !has_room(high, steps)) return 0;
    while (high - low > 1) {
      const index_t middle = low + (high - low) / 2;
      (has_room(middle, steps) ? high : low) = middle;
    }
    return high;
  }

  /// Returns the plan for these numbers of slabs and rounds with its cost, but without the list of
  /// rounds.
  [[nodiscard]] SlabPlan cost(index_t slabs, index_t rounds) const {
    SlabPlan plan;
    plan.d = d;
    plan.slabs = slabs;
    plan.places = places(slabs, rounds);
    const Box3 all = reach(sweep, sweep.steps);
    const auto plane = all.volume() / all.size()[d] * static_cast<index_t>(sizeof(T));
    const index_t radius = sweep.stencil.radius[d], longer = sweep.steps % rounds;
    double longest_beat = 0;
    const auto add = [&](index_t steps, index_t count) {
      const index_t sent = levels() * plane * (points() + 2 * slabs * radius * steps),
                    brought = levels() * plane * points(), passes = ceil_div(steps, pass_steps);
      const double computed = static_cast<double>(points() + slabs * radius * (steps - 1)) *
                              static_cast<double>(plane * (levels() + 1) * passes);
      const double seconds =
          std::max({static_cast<double>(std::max(sent, brought)) / rates.bus,
                    computed / rates.memory, launch * static_cast<double>(slabs * passes)});
      plan.sent_bytes += count * sent;
      plan.brought_bytes += count * brought;
      plan.seconds += static_cast<double>(count) * seconds;
      longest_beat = std::max(longest_beat, seconds / static_cast<double>(slabs));
      plan.elements =
          std::max(plan.elements, level_bytes(slabs, steps) / static_cast<index_t>(sizeof(T)));
    };
    if (longer > 0) add(sweep.steps / rounds + 1, longer);
    add(sweep.steps / rounds, rounds - longer);
    // One slab is sent, and one brought back, without overlap; for a periodic dimension in every
    // round.
    const bool wrapped = sweep.edge(d, 0) == Edge::wrapped;
    plan.seconds += 2 * longest_beat * static_cast<double>(wrapped ? rounds : 1);
    plan.device_bytes = 2 * plan.places * plan.elements * static_cast<index_t>(sizeof(T));
    return plan;
  }

  /// Returns the best plan: fewer rounds transfer less, more rounds have thinner halos; more slabs
  /// start computing sooner.
  [[nodiscard]] SlabPlan best() const {
    constexpr index_t enough = 64;
    SlabPlan best;
    for (index_t rounds = 1; rounds < enough || best.whole();) {
      const index_t most_steps = ceil_div(sweep.steps, rounds);
      index_t slabs = fewest(most_steps);
      for (int finer = 0; finer < 12 && slabs > 0 && gives_halos(slabs, most_steps); ++finer) {
        const SlabPlan plan = cost(slabs, rounds);
        if (plan.device_bytes <= memory && (best.whole() || plan.seconds < best.seconds)) {
          best = plan;
          best.rounds = lengths(rounds);
        }
        slabs = std::max(slabs + 1, slabs * 5 / 4);
      }
      if (most_steps <= 1) break;
      rounds = ceil_div(sweep.steps, most_steps - 1);
    }
    return best;
  }

  [[nodiscard]] std::vector<index_t> lengths(index_t rounds) const {
    std::vector<index_t> steps;
    for (index_t round = 0; round < rounds; ++round)
      steps.push_back(sweep.steps * (round + 1) / rounds - sweep.steps * round / rounds);
    return steps;
  }
};

template <class T>
SlabPlan whole(const Sweep<T>& sweep, index_t pass_steps, const SlabRates& rates) {
  const int d = 3 - sweep.stencil.dims;
  const Planner<T> planner{sweep, 0, pass_steps, rates, d};
  SlabPlan plan = planner.cost(1, 1);
  plan.rounds = planner.lengths(1);
  const auto size = static_cast<index_t>(sizeof(T));
  plan.elements = device_shape(device_sweep(sweep).line, size).count;
  plan.device_bytes = 2 * plan.elements * size;
  return plan;
}

}  // namespace

template <class T>
index_t steps_of_a_pass(const Sweep<T>& sweep, const DeviceKernel<T>& kernel,
                        const Tuning& tuning) {
  constexpr index_t longest = 16;
  index_t most = 1;
  Sweep<T> stretch = sweep;
  for (stretch.steps = 2; stretch.steps <= longest; ++stretch.steps) {
    if (kernel.passes(device_sweep(stretch), tuning).count == 1) most = stretch.steps;
  }
  return most;
}

template <class T>
std::optional<SlabPlan> plan_slabs(const Sweep<T>& sweep, index_t device_bytes, index_t pass_steps,
                                   const SlabRates& rates) {
  const SlabPlan at_once = whole(sweep, pass_steps, rates);
  if (at_once.device_bytes <= device_bytes) return at_once;
  for (int d = 3 - sweep.stencil.dims; d < 3; ++d) {
    // The memory between rows is transferred with them; here it would include parts of rows.
    if (d == 2 && sweep.stencil.dims > 1 && sweep.edge(2, 0) == Edge::wrapped) continue;
    const SlabPlan plan = Planner<T>{sweep, device_bytes, pass_steps, rates, d}.best();
    if (!plan.whole()) return plan;
  }
  return {};
}

SlabRates slab_rates() {
  SlabRates rates;
  const auto& devices = machine::gpus().devices;
  if (!devices.empty() && devices.front().bus_bandwidth() > 0)
    rates.memory = 0.85 * devices.front().bus_bandwidth();
  return rates;
}

template <class T>
SlabPlan plan_slabs(const Sweep<T>& sweep, const DeviceKernel<T>& kernel, const Tuning& tuning) {
  const index_t memory = machine::gpu_memory_limit(tuning.device_memory);
  const auto plan = plan_slabs(sweep, memory, steps_of_a_pass(sweep, kernel, tuning), slab_rates());
  require(plan.has_value(), ExitCode::memory,
          human_bytes(memory) +
              " of device memory is insufficient for slabs of this field; raise " +
              std::string(option_or("--device-memory", "Tuning::device_memory")) +
              ", use more ranks, or use a CPU kernel");
  return *plan;
}

template <class T>
std::vector<SlabTask> tasks_of(const Sweep<T>& sweep, const SlabPlan& plan) {
  std::vector<SlabTask> tasks;
  index_t left = sweep.steps;
  for (std::size_t round = 0; round < plan.rounds.size(); ++round) {
    left -= plan.rounds[round];
    const Box3 box = reach(sweep, left);
    const index_t points = box.size()[plan.d];
    for (index_t slab = 0; slab < plan.slabs; ++slab) {
      SlabTask task{round, plan.rounds[round], box, slab == 0, round + 1 == plan.rounds.size()};
      task.out.low[plan.d] = box.low[plan.d] + points * slab / plan.slabs;
      task.out.high[plan.d] = box.low[plan.d] + points * (slab + 1) / plan.slabs;
      tasks.push_back(task);
    }
  }
  return tasks;
}

template <class T>
Sweep<T> slab_sweep(const Sweep<T>& sweep, const SlabTask& task) {
  Sweep<T> slab = sweep;
  slab.steps = task.steps;
  for (GridView<T>& level : slab.level) level = level.box(task.out.low, task.out.size());
  for (int d = 0; d < 3; ++d) slab.origin[d] += task.out.low[d];
  return slab;
}

template <class T>
index_t last_read(const Sweep<T>& sweep, const SlabPlan& plan, const std::vector<SlabTask>& tasks,
                  std::size_t task) {
  const std::size_t round = tasks[task].round;
  if (round == 0) return -1;
  const auto before = (static_cast<index_t>(round) - 1) * plan.slabs;
  if (sweep.edge(plan.d, 0) == Edge::wrapped) return before + plan.slabs - 1;
  const index_t end =
      tasks[task].out.high[plan.d] + sweep.stencil.radius[plan.d] * tasks[task].steps;
  index_t last = before;
  for (index_t slab = 0; slab < plan.slabs; ++slab) {
    if (tasks[static_cast<std::size_t>(before + slab)].out.low[plan.d] < end) last = before + slab;
  }
  return last;
}

#define TESSERA_INSTANTIATE(T)                                                               \
  template index_t steps_of_a_pass(const Sweep<T>&, const DeviceKernel<T>&, const Tuning&);  \
  template std::optional<SlabPlan> plan_slabs(const Sweep<T>&, index_t, index_t,             \
                                              const SlabRates&);                             \
  template SlabPlan plan_slabs(const Sweep<T>&, const DeviceKernel<T>&, const Tuning&);      \
  template std::vector<SlabTask> tasks_of(const Sweep<T>&, const SlabPlan&);                 \
  template Sweep<T> slab_sweep(const Sweep<T>&, const SlabTask&);                            \
  template index_t last_read(const Sweep<T>&, const SlabPlan&, const std::vector<SlabTask>&, \
                             std::size_t);
TESSERA_INSTANTIATE(Half)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::stencil
