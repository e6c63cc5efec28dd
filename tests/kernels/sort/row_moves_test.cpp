#include "kernels/sort/row_moves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/hash.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::byte sentinel{0xa5};
const std::vector<index_t> sizes{0, 1, 3, 4, 7, 8, 12, 15, 16, 17, 24, 100};

Bytes make_rows(index_t n, index_t bytes) {
  Bytes rows(static_cast<std::size_t>(n * bytes));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::byte>(mix64(i) >> 56);
  return rows;
}
Bytes row_of(const Bytes& rows, index_t bytes, std::uint64_t row) {
  const auto first = rows.begin() + static_cast<std::ptrdiff_t>(row) * bytes;
  return {first, first + bytes};
}

TEST(GatherRows, BringsThemInTheOrderOfAList) {
  for (const index_t bytes : sizes) {
    for (const std::size_t count : {0U, 1U, 5U, 1000U}) {
      const Bytes rows = make_rows(301, bytes);
      std::vector<std::uint64_t> places(count);
      for (std::size_t j = 0; j < count; ++j) places[j] = mix64(j) % 301;
      Bytes to(count * static_cast<std::size_t>(bytes) + 16, sentinel);
      gather_rows(rows.data(), bytes, places, to.data());
      for (std::size_t j = 0; j < count; ++j)
        ASSERT_EQ(row_of(to, bytes, j), row_of(rows, bytes, places[j])) << bytes << " " << j;
      EXPECT_EQ(std::count(to.end() - 16, to.end(), sentinel), 16);
    }
  }
}

TEST(GroupRows, KeepTheirOrderInsideOfABucket) {
  for (const int threads : {1, 3}) {
    for (const index_t n : {0, 1, 7, 1000, 200003}) {
      for (const std::size_t buckets : {1U, 2U, 300U, 5000U}) {
        std::vector<std::uint16_t> group(static_cast<std::size_t>(n));
        for (std::size_t j = 0; j < group.size(); ++j)
          group[j] = static_cast<std::uint16_t>(mix64(j) % buckets * (mix64(j + 7) % 2));
        std::vector<Bytes> from, to;
        std::vector<MovedColumn> columns;
        for (const index_t bytes : n > 1000 ? std::vector<index_t>{4, 8, 12, 16} : sizes) {
          from.push_back(make_rows(n, bytes));
          to.emplace_back(from.back().size() + 16, sentinel);
        }
        for (std::size_t c = 0; c < from.size(); ++c)
          columns.push_back({from[c].data(), to[c].data(),
                             n == 0 ? 4 : static_cast<index_t>(from[c].size()) / n});
        std::vector<index_t> begin(buckets + 1);
        machine::parallel(threads, [&] { group_rows(group, columns, begin); });
        std::vector<std::uint64_t> order(group.size());
        for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
        std::stable_sort(order.begin(), order.end(),
                         [&](auto a, auto b) { return group[a] < group[b]; });
        ASSERT_EQ(begin.front(), 0);
        ASSERT_EQ(begin.back(), n);
        for (std::size_t b = 0; b < buckets; ++b)
          ASSERT_EQ(begin[b + 1] - begin[b], std::count(group.begin(), group.end(), b));
        for (std::size_t c = 0; c < columns.size(); ++c) {
          Bytes want(to[c].size(), sentinel);
          gather_rows(from[c].data(), columns[c].bytes, order, want.data());
          ASSERT_EQ(to[c], want) << n << " " << columns[c].bytes;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::sort
