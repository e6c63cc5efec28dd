#pragma once
// All tiles of the vectorised device kernel, as types.

#include <gtest/gtest.h>

#include <utility>

#include "kernels/transpose/turn_tile.hpp"
#include "kernels/transpose/vector_plan.hpp"

namespace tessera::transpose {

template <class... Parts>
struct Joined;
template <class... A, class... B, class... More>
struct Joined<::testing::Types<A...>, ::testing::Types<B...>, More...>
    : Joined<::testing::Types<A..., B...>, More...> {};
template <class... A>
struct Joined<::testing::Types<A...>> {
  using Types = ::testing::Types<A...>;
};

template <int bytes, std::size_t... number>
auto tiles_of(std::index_sequence<number...>)
    -> ::testing::Types<TurnTile<bytes, tilings<bytes>[number].in, tilings<bytes>[number].out,
                                 tilings<bytes>[number].threads>...>;
template <int bytes>
using TilesOf = decltype(tiles_of<bytes>(std::make_index_sequence<tilings<bytes>.size()>{}));

using EveryTile = Joined<TilesOf<1>, TilesOf<2>, TilesOf<4>, TilesOf<8>, TilesOf<16>>::Types;

}  // namespace tessera::transpose
