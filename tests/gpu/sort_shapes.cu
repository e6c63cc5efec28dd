#include "sort_shapes.hpp"

#include "kernels/sort/cuda_radix.cuh"

namespace tessera::sort {
namespace {

using onesweep::Match;
using onesweep::Shape;
using onesweep::Tally;

template <class Key, class Value, class S>
void run(const DeviceBlock<Key, Value>& block, DeviceStream stream) {
  onesweep::sort<S>(block, stream);
}

template <class Key, class Value, class... S>
std::vector<Candidate<Key, Value>> candidates() {
  const auto text = [](int threads, int items, int blocks, unsigned look_back, Match match,
                       Tally tally) {
    return std::to_string(threads) + " x " + std::to_string(items) + ", " + std::to_string(blocks) +
           " a MP, back " + std::to_string(look_back) +
           (match == Match::instruction ? ", match.any" : "") +
           (tally == Tally::atomics ? ", atomics" : "");
  };
  return {{text(S::threads, S::items, S::blocks, S::look_back, S::match, S::tally),
           run<Key, Value, S>, onesweep::bytes<S, Key, Value>}...};
}

}  // namespace

template <>
std::vector<Candidate<std::uint32_t, NoValue>> shapes() {
  return candidates<std::uint32_t, NoValue, Shape<384, 26, 2>, Shape<512, 22, 2>, Shape<512, 24, 2>,
                    Shape<512, 22, 2, 16>, Shape<512, 22, 2, 8, Match::instruction>,
                    Shape<512, 22, 2, 8, Match::votes, Tally::atomics>>();
}
template <>
std::vector<Candidate<std::uint64_t, NoValue>> shapes() {
  return candidates<std::uint64_t, NoValue, Shape<384, 18, 2>, Shape<384, 20, 2>, Shape<512, 14, 2>,
                    Shape<384, 18, 2, 16>>();
}
template <>
std::vector<Candidate<std::uint32_t, std::uint32_t>> shapes() {
  return candidates<std::uint32_t, std::uint32_t, Shape<384, 24, 2>, Shape<512, 36, 1>,
                    Shape<640, 30, 1>, Shape<768, 24, 1>>();
}
template <>
std::vector<Candidate<std::uint64_t, std::uint32_t>> shapes() {
  return candidates<std::uint64_t, std::uint32_t, Shape<384, 12, 2>, Shape<384, 18, 2>,
                    Shape<512, 24, 1>, Shape<640, 20, 1>, Shape<768, 16, 1>, Shape<768, 18, 1>,
                    Shape<768, 20, 1>>();
}
template <>
std::vector<Candidate<std::uint64_t, std::uint64_t>> shapes() {
  return candidates<std::uint64_t, std::uint64_t, Shape<512, 20, 1>, Shape<640, 16, 1>,
                    Shape<768, 14, 1>, Shape<768, 16, 1>>();
}

}  // namespace tessera::sort
