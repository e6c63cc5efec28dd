#include "kernels/sort/survey.hpp"

#include "kernels/sort/common.hpp"

namespace tessera::sort {
namespace {

struct Partial {
  std::uint64_t min = ~std::uint64_t{0}, max = 0, all_or = 0, all_and = ~std::uint64_t{0};
  index_t descents = 0, ascents = 0;
};

Partial join(const Partial& a, const Partial& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max),  a.all_or | b.all_or,
          a.all_and & b.all_and,  a.descents + b.descents, a.ascents + b.ascents};
}

template <class Item>
Partial look(const Block<Item>& block, index_t begin, index_t end) {
  Partial seen;
  auto previous = block.map.to_bits(key_of(block.data[std::max<index_t>(begin, 1) - 1]));
  for (index_t i = begin; i < end; ++i) {
    const auto key = block.map.to_bits(key_of(block.data[i]));
    seen.min = std::min<std::uint64_t>(seen.min, key);
    seen.max = std::max<std::uint64_t>(seen.max, key);
    seen.all_or |= key;
    seen.all_and &= key;
    seen.descents += key < previous ? 1 : 0;
    seen.ascents += previous < key ? 1 : 0;
    previous = key;
  }
  return seen;
}

template <class Item>
Partial look_parallel(const Block<Item>& block, index_t begin, index_t end) {
  if (end - begin <= 8 * task_grain || team() == 1) return look(block, begin, end);
  const index_t middle = begin + (end - begin) / 2;
  Partial left, right;
  machine::fork_join([&] { left = look_parallel(block, begin, middle); },
                     [&] { right = look_parallel(block, middle, end); });
  return join(left, right);
}

}  // namespace

template <class Item>
Survey survey(const Block<Item>& block) {
  if (block.n == 0) return {};
  const Partial seen = look_parallel(block, 0, block.n);
  return {seen.min, seen.max, seen.all_or ^ seen.all_and, seen.descents, seen.ascents};
}

template Survey survey(const Block<std::uint32_t>&);
template Survey survey(const Block<std::uint64_t>&);
template Survey survey(const Block<Pair>&);

}  // namespace tessera::sort
