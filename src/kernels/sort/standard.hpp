#pragma once
// std::sort of the mapped bits: the reference of the tests. A template for plain and traced items.

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/common.hpp"

namespace tessera::inline v1::sort {

template <class Item>
void standard(const Block<Item>& block) {
  on_bits(block, [](Item* data, Item*, index_t n) { std::sort(data, data + n); });
}

}  // namespace tessera::inline v1::sort
