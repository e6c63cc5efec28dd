#include "sort_shapes.hpp"

#include "kernels/sort/cuda_radix.cuh"

namespace tessera::sort {
namespace {

using onesweep::Match;
using onesweep::Shape;

template <class Key, class Value, class S>
void run(const DeviceBlock<Key, Value>& block, DeviceStream stream) {
  onesweep::sort<S>(block, stream);
}

template <class Key, class Value, class... S>
std::vector<Candidate<Key, Value>> candidates() {
  const auto text = [](int threads, int items, int blocks, unsigned look_back, Match match) {
    return std::to_string(threads) + " x " + std::to_string(items) + ", " + std::to_string(blocks) +
           " a MP, back " + std::to_string(look_back) + (match == Match::instruction ? ", match.any" : "");
  };
  return {{text(S::threads, S::items, S::blocks, S::look_back, S::match), run<Key, Value, S>,
           onesweep::bytes<S, Key, Value>}...};
}

}  // namespace

template <>
std::vector<Candidate<std::uint32_t, NoValue>> shapes() {
  return candidates<std::uint32_t, NoValue, Shape<256, 16, 4>, Shape<256, 20, 4>, Shape<256, 24, 3>,
                    Shape<384, 20, 2>, Shape<512, 12, 2>, Shape<512, 16, 2>, Shape<512, 20, 2>,
                    Shape<512, 16, 2, 1>, Shape<512, 16, 2, 16>, Shape<512, 16, 2, 8, Match::instruction>>();
}
template <>
std::vector<Candidate<std::uint64_t, NoValue>> shapes() {
  return candidates<std::uint64_t, NoValue, Shape<256, 12, 4>, Shape<256, 16, 3>, Shape<384, 12, 2>,
                    Shape<384, 15, 2>, Shape<512, 8, 2>, Shape<512, 12, 2>, Shape<1024, 8, 1>,
                    Shape<384, 12, 2, 1>, Shape<384, 12, 2, 16>, Shape<384, 12, 2, 8, Match::instruction>>();
}
template <>
std::vector<Candidate<std::uint32_t, std::uint32_t>> shapes() {
  return candidates<std::uint32_t, std::uint32_t, Shape<256, 16, 4>, Shape<256, 20, 3>, Shape<384, 16, 2>,
                    Shape<384, 20, 2>, Shape<512, 14, 2>, Shape<512, 18, 2>>();
}
template <>
std::vector<Candidate<std::uint64_t, std::uint64_t>> shapes() {
  return candidates<std::uint64_t, std::uint64_t, Shape<256, 12, 3>, Shape<256, 15, 3>, Shape<384, 10, 2>,
                    Shape<384, 12, 2>, Shape<512, 8, 2>, Shape<512, 11, 2>>();
}

}  // namespace tessera::sort
