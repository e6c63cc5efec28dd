// The probes of memory on paper: copies, strides in shared memory, reductions in the steps of
// Harris (2007), histograms.

#include <algorithm>

#include "kernels/memory/device_words.hpp"
#include "lab/paper/kernels.hpp"
#include "lab/paper/warp.hpp"

namespace tessera::inline v1::paper {
namespace {

using memory::DeviceWord;
using memory::word_at;

constexpr index_t threads = 256, unroll = 4;  // loads in flight per thread

struct Vector {
  std::array<DeviceWord, 4> at;
};

std::vector<DeviceWord> words(index_t n) {
  std::vector<DeviceWord> all(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = word_at(i);
  return all;
}
std::vector<DeviceWord> filled(index_t n, DeviceWord value) {
  return std::vector<DeviceWord>(static_cast<std::size_t>(n), value);
}
std::vector<Vector> vectors(index_t n) {
  std::vector<Vector> all(static_cast<std::size_t>(n / 4));
  for (index_t i = 0; i < n / 4; ++i) {
    for (index_t k = 0; k < 4; ++k)
      all[static_cast<std::size_t>(i)].at[static_cast<std::size_t>(k)] = word_at(4 * i + k);
  }
  return all;
}

/// Copies count items; item i is at index_of(i) in both arrays.
template <class T, class Index>
void copy(Meter& meter, const Array<T>& from, Array<T>& to, index_t count, const Index& index_of) {
  launch(
      meter, std::max<index_t>(1, ceil_div(count, threads * unroll)), threads, [&](Block& block) {
        const auto item = [&](const Thread& t, std::size_t u) {
          return (t.block * unroll + static_cast<index_t>(u)) * threads + t.number;
        };
        block.phase([&](Warp& warp) {
          std::array<Register<T>, unroll> x;
          for (std::size_t u = 0; u < unroll; ++u)
            warp.where([&](const Thread& t) { return item(t, u) < count; },
                       [&] {
                         x[u] =
                             warp.load(from, [&](const Thread& t) { return index_of(item(t, u)); });
                       });
          for (std::size_t u = 0; u < unroll; ++u)
            warp.where([&](const Thread& t) { return item(t, u) < count; },
                       [&] {
                         warp.store(
                             to, [&](const Thread& t) { return index_of(item(t, u)); },
                             [&](const Thread& t) { return x[u][t]; });
                       });
        });
      });
}

void copy_vectors(Meter& meter, Request& r) {
  const index_t count = r.problem.n / 4;
  const Array<Vector> from = global_array(meter, "from", vectors(r.problem.n));
  Array<Vector> to = global_array(meter, "to", std::vector<Vector>(from.values.size()));
  copy(meter, from, to, count, [](index_t i) { return i; });
  for (std::size_t i = 0; i < to.values.size(); ++i)
    require_right(to.values[i].at == from.values[i].at, r.problem.kernel);
}

void copy_words(Meter& meter, const Request& r, index_t offset, index_t stride) {
  const index_t n = r.problem.n + offset, count = ceil_div(r.problem.n, stride);
  const Array<DeviceWord> from = global_array(meter, "from", words(n));
  Array<DeviceWord> to = global_array(meter, "to", filled(n, memory::untouched));
  copy(meter, from, to, count, [&](index_t i) { return offset + i * stride; });
  require_right(memory::wrong_copies(to.values.data(), n, offset, stride, count) == 0,
                r.problem.kernel);
}
void copy_offset(Meter& meter, Request& r) { copy_words(meter, r, r.walk.offset, 1); }
void copy_stride(Meter& meter, Request& r) { copy_words(meter, r, 0, r.walk.lane_stride); }

/// Adds up 16 words per round in every thread; words of adjacent threads are `stride` words apart.
void shared_stride(Meter& meter, Request& r) {
  constexpr index_t shared_words = 2048, at_once = 16;
  const index_t stride = r.walk.lane_stride, blocks = ceil_div(r.problem.n, threads);
  Array<DeviceWord> sums = global_array(meter, "sums", filled(blocks * threads, 0));
  launch(meter, blocks, threads, [&](Block& block) {
    Array<DeviceWord> shared = block.shared<DeviceWord>("words", shared_words);
    block.phase([&](Warp& warp) {
      for (index_t i = 0; i < shared_words; i += threads)
        warp.store(
            shared, [&](const Thread& t) { return i + t.number; },
            [&](const Thread& t) { return word_at(i + t.number); });
    });
    block.phase([&](Warp& warp) {
      Register<DeviceWord> sum;
      for (index_t round = 0; round < r.walk.rounds; ++round) {
        for (index_t u = 0; u < at_once; ++u) {
          const auto x = warp.load(
              shared, [&](const Thread& t) { return t.lane * stride + round % 4 * at_once + u; });
          warp.each([&](const Thread& t) { sum[t] += x[t]; });
        }
        warp.operations(at_once);
      }
      warp.store(
          sums, [](const Thread& t) { return t.block * threads + t.number; },
          [&](const Thread& t) { return sum[t]; });
    });
  });
  for (index_t i = 0; i < blocks * threads; ++i)
    require_right(sums.values[static_cast<std::size_t>(i)] ==
                      memory::shared_sum(i % lanes, stride, r.walk.rounds),
                  r.problem.kernel);
}

enum class ReduceStep { interleaved, sequential, first_add, shuffle };
constexpr bool adds_first(ReduceStep step) {
  return step == ReduceStep::first_add || step == ReduceStep::shuffle;
}

/// Adds words[t + apart] to words[t] in the threads that the condition selects.
void add_apart(Block& block, Array<DeviceWord>& shared, index_t apart, const auto& condition) {
  block.phase([&](Warp& warp) {
    warp.where(condition, [&] {
      const auto other = warp.load(shared, [&](const Thread& t) { return t.number + apart; });
      const auto mine = warp.load(shared, [](const Thread& t) { return t.number; });
      warp.operations(1);
      warp.store(
          shared, [](const Thread& t) { return t.number; },
          [&](const Thread& t) { return mine[t] + other[t]; });
    });
  });
}

/// Leaves the sum of the warp in its first lane: shuffles, no memory.
void add_lanes(Warp& warp, Register<DeviceWord>& value) {
  for (index_t apart = lanes / 2; apart > 0; apart /= 2) {
    const Register<DeviceWord> before = value;
    warp.each([&](const Thread& t) {
      const index_t other = t.lane + apart;
      if (other < lanes) value[t] += before[Thread{t.block, t.number + apart, other}];
    });
    warp.operations(1);
  }
}

/// Leaves the sum of a block of as many warps as it has values in its first thread.
void add_by_shuffles(Block& block, std::vector<Register<DeviceWord>>& value) {
  const auto warps = static_cast<index_t>(value.size());
  Array<DeviceWord> sums = block.shared<DeviceWord>("sums", lanes);
  block.phase([&](Warp& warp) {
    Register<DeviceWord>& mine = value[warp.number()];
    add_lanes(warp, mine);
    warp.where([](const Thread& t) { return t.lane == 0; },
               [&] {
                 warp.store(
                     sums, [](const Thread& t) { return t.number / lanes; },
                     [&](const Thread& t) { return mine[t]; });
               });
  });
  block.phase([&](Warp& warp) {
    if (warp.number() != 0) return;
    Register<DeviceWord> mine;
    warp.where([&](const Thread& t) { return t.lane < warps; },
               [&] { mine = warp.load(sums, [](const Thread& t) { return t.lane; }); });
    add_lanes(warp, mine);
    value.front() = mine;
  });
}

template <ReduceStep step>
void reduce_block(Block& block, const Array<DeviceWord>& from, Array<DeviceWord>& to, index_t n) {
  constexpr index_t each = adds_first(step) ? 2 * threads : threads;
  auto value = block.registers<DeviceWord>();
  block.phase([&](Warp& warp) {
    Register<DeviceWord>& mine = value[warp.number()];
    for (index_t part = 0; part < each; part += threads) {
      const auto at = [&](const Thread& t) { return t.block * each + part + t.number; };
      warp.where([&](const Thread& t) { return at(t) < n; },
                 [&] {
                   const auto x = warp.load(from, at);
                   warp.each([&](const Thread& t) { mine[t] += x[t]; });
                 });
    }
    if (adds_first(step)) warp.operations(1);
  });
  if constexpr (step == ReduceStep::shuffle) {
    add_by_shuffles(block, value);
  } else {
    Array<DeviceWord> shared = block.shared<DeviceWord>("words", threads);
    block.phase([&](Warp& warp) {
      warp.store(
          shared, [](const Thread& t) { return t.number; },
          [&](const Thread& t) { return value[warp.number()][t]; });
    });
    if constexpr (step == ReduceStep::interleaved) {
      for (index_t apart = 1; apart < threads; apart *= 2)
        add_apart(block, shared, apart,
                  [&](const Thread& t) { return t.number % (2 * apart) == 0; });
    } else {
      for (index_t apart = threads / 2; apart > 0; apart /= 2)
        add_apart(block, shared, apart, [&](const Thread& t) { return t.number < apart; });
    }
    block.phase([&](Warp& warp) {
      warp.where(
          [](const Thread& t) { return t.number == 0; },
          [&] { value[warp.number()] = warp.load(shared, [](const Thread&) { return 0; }); });
    });
  }
  block.phase([&](Warp& warp) {
    warp.where([](const Thread& t) { return t.number == 0; },
               [&] {
                 warp.store(
                     to, [](const Thread& t) { return t.block; },
                     [&](const Thread& t) { return value[warp.number()][t]; });
               });
  });
}

/// Launches the step on its partial sums until one word is left.
template <ReduceStep step>
void reduce(Meter& meter, Request& r) {
  constexpr index_t each = adds_first(step) ? 2 * threads : threads;
  const index_t n = r.problem.n, partial = std::max<index_t>(1, ceil_div(n, each));
  Array<DeviceWord> from = global_array(meter, "from", words(n));
  Array<DeviceWord> one = global_array(meter, "partial sums", filled(partial, 0)),
                    two = global_array(meter, "partial sums, 2", filled(partial, 0));
  Array<DeviceWord>*in = &from, *out = &one;
  for (index_t left = n; left > 1 || in == &from;) {
    const index_t blocks = std::max<index_t>(1, ceil_div(left, each));
    launch(meter, blocks, threads,
           [&](Block& block) { reduce_block<step>(block, *in, *out, left); });
    in = std::exchange(out, out == &one ? &two : &one);
    left = blocks;
  }
  require_right(in->values.front() == memory::sum_of_words(n), r.problem.kernel);
}

/// A launch whose threads walk along the vectors in steps of the whole grid.
struct Grid {
  index_t blocks, threads;
};

/// Returns the grid with a block for every of_threads vectors, but at most at_most blocks a
/// multiprocessor.
Grid grid_of(const Array<Vector>& from, const Request& r, index_t at_most, index_t of_threads) {
  const auto all = static_cast<index_t>(from.values.size());
  return {std::clamp<index_t>(ceil_div(all, of_threads), 1, at_most * r.multiprocessors),
          of_threads};
}

/// Calls count(vector) for the vectors of a warp.
void each_vector(Warp& warp, const Array<Vector>& from, const Grid& grid, const auto& count) {
  const auto all = static_cast<index_t>(from.values.size());
  for (index_t first = 0; first < all; first += grid.blocks * grid.threads) {
    const auto at = [&](const Thread& t) { return first + t.block * grid.threads + t.number; };
    warp.where([&](const Thread& t) { return at(t) < all; }, [&] { count(warp.load(from, at)); });
  }
}

/// Adds up many vectors in a thread, the sums of a block by shuffles and those of the grid by
/// atomics.
void reduce_streamed(Meter& meter, Request& r) {
  const Array<Vector> from = global_array(meter, "from", vectors(r.problem.n));
  Array<DeviceWord> result = global_array(meter, "result", filled(1, 0));
  const Grid grid = grid_of(from, r, 4, 512);
  launch(meter, grid.blocks, grid.threads, [&](Block& block) {
    auto value = block.registers<DeviceWord>();
    block.phase([&](Warp& warp) {
      Register<DeviceWord>& mine = value[warp.number()];
      each_vector(warp, from, grid, [&](const auto& x) {
        warp.each([&](const Thread& t) {
          for (const DeviceWord word : x[t].at) mine[t] += word;
        });
        warp.operations(4);
      });
    });
    add_by_shuffles(block, value);
    block.phase([&](Warp& warp) {
      warp.where([](const Thread& t) { return t.number == 0; },
                 [&] {
                   warp.add(
                       result, [](const Thread&) { return 0; },
                       [&](const Thread& t) { return value[warp.number()][t]; });
                 });
    });
  });
  require_right(result.values.front() == memory::sum_of_words(r.problem.n), r.problem.kernel);
}

/// Adds one to the bin of each word.
void count_words(Warp& warp, const Register<Vector>& x, Array<DeviceWord>& counts, index_t bins) {
  for (std::size_t k = 0; k < 4; ++k) {
    warp.operations(1);
    warp.add(
        counts, [&](const Thread& t) { return memory::bin_of(x[t].at[k], bins); },
        [](const Thread&) { return DeviceWord{1}; });
  }
}

/// Runs kernel(block, from, counts, grid) as the histogram's launch does.
void histogram(Meter& meter, const Request& r, const auto& kernel) {
  const Array<Vector> from = global_array(meter, "from", vectors(r.problem.n));
  Array<DeviceWord> counts = global_array(meter, "counts", filled(r.walk.bins, 0));
  const Grid grid = grid_of(from, r, 8, threads);
  launch(meter, grid.blocks, grid.threads,
         [&](Block& block) { kernel(block, from, counts, grid); });
  require_right(memory::wrong_counts(counts.values.data(), r.walk.bins, r.problem.n) == 0,
                r.problem.kernel);
}

void histogram_global(Meter& meter, Request& r) {
  histogram(meter, r, [&](Block& block, const auto& from, auto& counts, const Grid& grid) {
    block.phase([&](Warp& warp) {
      each_vector(warp, from, grid,
                  [&](const auto& x) { count_words(warp, x, counts, r.walk.bins); });
    });
  });
}

void histogram_shared(Meter& meter, Request& r) {
  const index_t bins = r.walk.bins;
  histogram(meter, r, [&](Block& block, const auto& from, auto& counts, const Grid& grid) {
    Array<DeviceWord> mine = block.shared<DeviceWord>("bins", bins);
    const auto each_bin = [&](Warp& warp, const auto& body) {
      for (index_t first = 0; first < bins; first += threads) {
        const auto bin = [&](const Thread& t) { return first + t.number; };
        warp.where([&](const Thread& t) { return bin(t) < bins; }, [&] { body(bin); });
      }
    };
    block.phase([&](Warp& warp) {
      each_bin(warp, [&](const auto& bin) {
        warp.store(mine, bin, [](const Thread&) { return DeviceWord{0}; });
      });
    });
    block.phase([&](Warp& warp) {
      each_vector(warp, from, grid, [&](const auto& x) { count_words(warp, x, mine, bins); });
    });
    block.phase([&](Warp& warp) {
      each_bin(warp, [&](const auto& bin) {
        const auto count = warp.load(mine, bin);
        warp.where([&](const Thread& t) { return count[t] != 0; },
                   [&] { warp.add(counts, bin, [&](const Thread& t) { return count[t]; }); });
      });
    });
  });
}

}  // namespace

std::vector<PaperKernel> memory_kernels() {
  return {{"memory", "cuda_copy", 32, 32, copy_vectors},
          {"memory", "cuda_copy_offset", 30, 30, copy_offset},
          {"memory", "cuda_copy_stride", 30, 30, copy_stride},
          {"memory", "cuda_shared_stride", 31, 31, shared_stride},
          {"memory", "cuda_reduce_interleaved", 12, 12, reduce<ReduceStep::interleaved>},
          {"memory", "cuda_reduce_sequential", 12, 12, reduce<ReduceStep::sequential>},
          {"memory", "cuda_reduce_first_add", 12, 12, reduce<ReduceStep::first_add>},
          {"memory", "cuda_reduce_shuffle", 20, 20, reduce<ReduceStep::shuffle>},
          {"memory", "cuda_reduce", 32, 32, reduce_streamed},
          {"memory", "cuda_histogram_global", 24, 24, histogram_global},
          {"memory", "cuda_histogram_shared", 16, 16, histogram_shared}};
}

}  // namespace tessera::inline v1::paper
