// Divergence on paper: the probe, whose lanes take branches by their number, and the questions of
// the literature, each a switch that some threads answer otherwise than their neighbours.

#include <algorithm>

#include "kernels/memory/device_words.hpp"
#include "lab/paper/kernels.hpp"
#include "lab/paper/warp.hpp"

namespace tessera::inline v1::paper {
namespace {

using memory::DeviceWord;

/// Every thread takes the steps of the branch that branch_of(thread) names, on its own word.
template <class Branch>
void run_branches(Meter& meter, const Request& r, index_t threads, const Branch& branch_of) {
  const index_t blocks = ceil_div(r.problem.n, threads), n = blocks * threads;
  Array<DeviceWord> out =
      global_array(meter, "out", std::vector<DeviceWord>(static_cast<std::size_t>(n)));
  const auto word = [&](const Thread& t) { return t.block * threads + t.number; };
  const auto result = [&](index_t branch, const Thread& t) {
    return memory::power(memory::step_of(static_cast<int>(branch)),
                         r.walk.rounds)(memory::word_at(word(t)));
  };
  launch(meter, blocks, threads, [&](Block& block) {
    block.phase([&](Warp& warp) {
      Register<DeviceWord> x;
      warp.choose(branch_of, [&](index_t branch) {
        warp.each([&](const Thread& t) { x[t] = result(branch, t); });
        warp.operations(2 * r.walk.rounds);
      });
      warp.store(out, word, [&](const Thread& t) { return x[t]; });
    });
  });
  for (index_t i = 0; i < n; ++i) {
    const Thread t{i / threads, i % threads, i % threads % lanes};
    require_right(out.values[static_cast<std::size_t>(i)] == result(branch_of(t), t),
                  r.problem.kernel);
  }
}

void divergence(Meter& meter, Request& r) {
  run_branches(meter, r, 256, [&](const Thread& t) { return t.lane % r.walk.ways; });
}

constexpr index_t most_threads = 1024;

template <index_t modulus>
void by_remainder(Meter& meter, Request& r) {
  run_branches(meter, r, most_threads, [](const Thread& t) { return t.number % modulus; });
}
template <index_t divisor>
void by_quotient(Meter& meter, Request& r) {
  run_branches(meter, r, most_threads, [](const Thread& t) { return t.number / divisor; });
}
/// The branch is the row of the thread in a block of that shape.
template <index_t wide, index_t high>
void by_row(Meter& meter, Request& r) {
  run_branches(meter, r, wide * high, [](const Thread& t) { return t.number / wide; });
}
/// The branch is taken by the pixels on the border of an image, 1024 pixels wide, in blocks of one
/// row.
void by_border(Meter& meter, Request& r) {
  const index_t high = ceil_div(r.problem.n, most_threads);
  run_branches(meter, r, most_threads, [&](const Thread& t) {
    const bool border =
        t.number == 0 || t.number == most_threads - 1 || t.block == 0 || t.block == high - 1;
    return index_t{border ? 1 : 0};
  });
}
/// The branch is a random one of --ways.
void by_data(Meter& meter, Request& r) {
  run_branches(meter, r, most_threads, [&](const Thread& t) {
    return memory::bin_of(memory::word_at(t.block * most_threads + t.number), r.walk.ways);
  });
}

}  // namespace

std::vector<PaperKernel> branch_kernels() {
  return {{"memory", "cuda_divergence", 14, 14, divergence},
          {"memory", "switch_x_mod_32", 14, 14, by_remainder<32>},
          {"memory", "switch_x_mod_64", 14, 14, by_remainder<64>},
          {"memory", "switch_y_64x16", 14, 14, by_row<64, 16>},
          {"memory", "switch_y_16x16", 14, 14, by_row<16, 16>},
          {"memory", "switch_x_mod_2", 14, 14, by_remainder<2>},
          {"memory", "switch_x_div_8", 14, 14, by_quotient<8>},
          {"memory", "switch_x_div_32", 14, 14, by_quotient<32>},
          {"memory", "switch_border", 14, 14, by_border},
          {"memory", "switch_data", 14, 14, by_data}};
}

}  // namespace tessera::inline v1::paper
