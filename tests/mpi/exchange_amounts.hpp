#pragma once
// Exchanges of numbers that tell the ranks, checked.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "mpi/exchange.hpp"

namespace tessera::mpi {

/// Exchanges an individual amount between every pair, some of them zero.
inline void exchange_amounts(const Communicator& comm,
                             const std::function<index_t(index_t, index_t)>& amount) {
  const index_t p = comm.size(), me = comm.rank();
  std::vector<index_t> to, from;
  std::vector<std::uint32_t> out;
  for (index_t r = 0; r < p; ++r) {
    to.push_back(amount(me, r));
    from.push_back(amount(r, me));
    for (index_t i = 0; i < to.back(); ++i)
      out.push_back(static_cast<std::uint32_t>((me * p + r) * 1000003 + i));
  }
  std::vector<std::uint32_t> in(
      static_cast<std::size_t>(std::accumulate(from.begin(), from.end(), index_t{0})) + 1, 77);
  exchange_items(comm, std::span<const std::uint32_t>(out), to, std::span(in).first(in.size() - 1),
                 from);
  std::size_t at = 0;
  for (index_t r = 0; r < p; ++r) {
    index_t wrong = 0;
    for (index_t i = 0; i < from[static_cast<std::size_t>(r)]; ++i)
      wrong += in[at++] == static_cast<std::uint32_t>((r * p + me) * 1000003 + i) ? 0 : 1;
    EXPECT_EQ(wrong, 0);
  }
  EXPECT_EQ(in.back(), 77U);
}

}  // namespace tessera::mpi
