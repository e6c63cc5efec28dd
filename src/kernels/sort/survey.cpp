// Surveys of all keys in one fused parallel pass, and of a few stretches (glance).

#include "kernels/sort/survey.hpp"

#include <numeric>

#include "kernels/sort/common.hpp"
#include "kernels/sort/leaf.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {
namespace {

Survey join(const Survey& a, const Survey& b) {
  // Bits that are constant within the parts may differ between them.
  return {std::min(a.min, b.min), std::max(a.max, b.max), a.varying | b.varying | (a.min ^ b.min),
          a.descents + b.descents, a.ascents + b.ascents};
}

Survey look(const Block<Pair>& block, index_t begin, index_t end) {
  return look_plainly(block, begin, end);
}
template <class B>
Survey look(const Block<B>& block, index_t begin, index_t end) {
  return leaf_kernels<B>().survey(block.data + begin, end - begin,
                                  block.data[std::max<index_t>(begin, 1) - 1], block.map);
}

template <class Item>
Survey look_parallel(const Block<Item>& block) {
  constexpr index_t grain = 8 * task_grain;
  if (block.n <= grain || team() == 1) return look(block, 0, block.n);
  machine::List<Survey> parts(static_cast<std::size_t>(ceil_div(block.n, grain)));
  machine::parallel_for(0, static_cast<index_t>(parts.size()), 1, [&](index_t part, index_t) {
    parts[static_cast<std::size_t>(part)] =
        look(block, part * grain, std::min(block.n, (part + 1) * grain));
  });
  return std::accumulate(parts.begin() + 1, parts.end(), parts.front(), join);
}

}  // namespace

template <class Item>
Survey survey(const Block<Item>& block) {
  return block.n == 0 ? Survey{} : look_parallel(block);
}

template <class Item>
Glance glance(const Block<Item>& block) {
  constexpr index_t stretches = 128, length = 32;
  if (block.n <= stretches * length) return {survey(block), block.n};
  Survey seen = look(block, 0, length);
  for (index_t s = 1; s < stretches; ++s) {
    const index_t begin = s * (block.n - length) / (stretches - 1);
    seen = join(seen, look(Block<Item>{block.data + begin, nullptr, length, block.map}, 0, length));
  }
  return {seen, stretches * length};
}

template Glance glance(const Block<std::uint32_t>&);
template Glance glance(const Block<std::uint64_t>&);
template Glance glance(const Block<Pair>&);
template Survey survey(const Block<std::uint32_t>&);
template Survey survey(const Block<std::uint64_t>&);
template Survey survey(const Block<Pair>&);

}  // namespace tessera::inline v1::sort
