#include "kernels/sort/records.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/hash.hpp"
#include "kernels/sort/cycles.hpp"
#include "kernels/sort/permute.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

using Bytes = std::vector<std::byte>;
using Order64 = std::vector<std::uint64_t>;

constexpr std::byte sentinel{0xa5};

std::byte byte_of(std::uint64_t x) { return static_cast<std::byte>(mix64(x) >> 56); }

Order64 identity(index_t n) {
  Order64 order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}
Order64 shuffled(index_t n) {
  Order64 order = identity(n);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[mix64(i) % i]);
  return order;
}

/// Returns n rows of arbitrary bytes, followed by sentinels.
Bytes make_rows(index_t n, index_t bytes) {
  Bytes rows(static_cast<std::size_t>(n * bytes) + 64, sentinel);
  for (index_t i = 0; i < n * bytes; ++i)
    rows[static_cast<std::size_t>(i)] = byte_of(static_cast<std::uint64_t>(i));
  return rows;
}
Bytes gathered(const Bytes& rows, index_t bytes, const Order64& order) {
  Bytes result(rows.size(), sentinel);
  for (std::size_t j = 0; j < order.size(); ++j)
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(order[j]) * bytes, bytes,
                result.begin() + static_cast<std::ptrdiff_t>(j) * bytes);
  return result;
}

TEST(PermuteInPlace, TakesEveryRowToItsPlace) {
  for (const index_t n : {0, 1, 2, 3, 255, 256, 257, 5000, 100003}) {
    std::vector<Order64> orders{identity(n), shuffled(n)};
    orders.emplace_back(orders.front().rbegin(), orders.front().rend());
    for (const index_t by : {index_t{1}, n / 3})  // one cycle, or few
      if (by < n)
        std::rotate_copy(orders[0].begin(), orders[0].begin() + by, orders[0].end(),
                         std::back_inserter(orders.emplace_back()));
    Order64 few = identity(n);  // most rows stay
    for (std::size_t i = 1; i + 100 < few.size(); i += 100) std::swap(few[i], few[i + 99]);
    orders.push_back(few);
    for (std::size_t o = 0; o < orders.size(); ++o) {
      for (const index_t bytes : {0, 1, 4, 8, 15, 16, 17, 32, 100, 300}) {
        if (n > 5000 && bytes > 100) continue;
        const Bytes before = make_rows(n, bytes);
        for (const int threads : {1, 3}) {
          Bytes rows = before;
          machine::parallel(threads, [&] { permute_in_place({rows.data(), bytes, n}, orders[o]); });
          ASSERT_EQ(rows, gathered(before, bytes, orders[o]))
              << "n " << n << " bytes " << bytes << " order " << o;
        }
      }
    }
  }
}

TEST(PermuteInPlace, ClosesCyclesThatNoLeaderIsOn) {
  constexpr index_t n = 20000, bytes = 12;
  Order64 others = identity(n);  // rows that are not leaders
  std::erase_if(others, [](std::uint64_t row) {
    const auto at = static_cast<index_t>(row);
    return leader_of(at / leader_step, n) == at;
  });
  for (const std::size_t length :
       {std::size_t{7}, std::size_t{8192}, std::size_t{8193}, others.size()}) {
    Order64 order = identity(n);
    for (std::size_t begin = 0; begin < others.size(); begin += length) {
      const std::size_t end = std::min(others.size(), begin + length);
      for (std::size_t j = begin; j < end; ++j)
        order[others[j]] = others[j + 1 < end ? j + 1 : begin];
    }
    const Bytes before = make_rows(n, bytes);
    for (const int threads : {1, 3}) {
      Bytes rows = before;
      machine::parallel(threads, [&] { permute_in_place({rows.data(), bytes, n}, order); });
      ASSERT_EQ(rows, gathered(before, bytes, order)) << length;
    }
  }
}

struct Case {
  index_t bytes;
  RowKey key;
  std::uint64_t values;  // of each byte of a key
};

void expect_sorted(index_t n, const Case& c) {
  Bytes before = make_rows(n, c.bytes);
  for (index_t i = 0; i < n; ++i) {
    for (index_t b = 0; b < c.key.bytes; ++b) {
      std::byte& byte = before[static_cast<std::size_t>(i * c.bytes + c.key.begin + b)];
      byte = static_cast<std::byte>(255 - std::to_integer<std::uint64_t>(byte) % c.values);
    }
  }
  Order64 order = identity(n);
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
    const auto key = [&](std::uint64_t row) {
      return before.data() + static_cast<index_t>(row) * c.bytes + c.key.begin;
    };
    const int difference = std::memcmp(key(a), key(b), static_cast<std::size_t>(c.key.bytes));
    return c.key.order == Order::ascending ? difference < 0 : difference > 0;
  });
  for (const int threads : {1, 2, 3}) {
    Order64 got(order.size());
    argsort_records(before.data(), c.bytes, c.key, got, threads);
    ASSERT_EQ(got, order) << "n " << n << " key " << c.key.begin << " + " << c.key.bytes
                          << " values " << c.values;
  }
}

TEST(ArgsortRecords, IsStableByTheBytesOfTheKey) {
  for (const index_t n : {0, 1, 2, 3, 17, 1000, 30011}) {
    for (const Order order : {Order::ascending, Order::descending}) {
      for (const std::uint64_t values : {1U, 2U, 3U, 256U}) {
        expect_sorted(n, {100, {0, 10, order}, values});
        expect_sorted(n, {24, {3, 21, order}, values});
        expect_sorted(n, {9, {2, 5, order}, values});
        expect_sorted(n, {8, {0, 8, order}, values});
        expect_sorted(n, {5, {5, 0, order}, values});
      }
    }
  }
}

TEST(ArgsortRecords, GoesOnWhereManyBeginAlike) {
  Bytes before = make_rows(20000, 32);  // a common beginning of 16 bytes, then 8 of few values,
                                        // then arbitrary
  for (index_t i = 0; i < 20000; ++i) {
    for (index_t b = 0; b < 24; ++b) {
      std::byte& byte = before[static_cast<std::size_t>(i * 32 + b)];
      byte = b < 16 ? std::byte{7} : byte & (b == 16 ? std::byte{1} : std::byte{0});
    }
  }
  Order64 order = identity(20000);
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
    return std::memcmp(before.data() + a * 32, before.data() + b * 32, 32) < 0;
  });
  for (const int threads : {1, 3}) {
    Order64 got(order.size());
    argsort_records(before.data(), 32, {0, 32}, got, threads);
    ASSERT_EQ(got, order);
  }
}

TEST(ArgsortRecords, SeesWhatASampleDoesNot) {
  constexpr index_t n = 30000, bytes = 16;  // of which every seventh row is sampled
  for (const RowKey key :
       {RowKey{0, 10}, RowKey{0, 10, Order::descending}, RowKey{0, 8}, RowKey{0, 7}}) {
    for (const bool first_bits_differ : {false, true}) {
      Bytes before = make_rows(n, bytes);
      const auto byte = [&](index_t row, index_t b) -> std::byte& {
        return before[static_cast<std::size_t>(row * bytes + b)];
      };
      for (index_t i = 0; i < n; ++i) {
        byte(i, 0) &= std::byte{0x1f};
        const index_t alike = i % 7 == 1 ? 6 : i % 7 == 2 ? 9 : i % 7 == 3 ? 10 : 0;  // bytes
        for (index_t b = 0; b < alike; ++b) byte(i, b) = byte(i - i % 7, b);
      }
      if (first_bits_differ) byte(n - 1, 0) |= std::byte{0x80};
      Order64 order = identity(n);
      std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
        const int difference =
            std::memcmp(&byte(static_cast<index_t>(a), 0), &byte(static_cast<index_t>(b), 0),
                        static_cast<std::size_t>(key.bytes));
        return key.order == Order::ascending ? difference < 0 : difference > 0;
      });
      for (const int threads : {1, 3}) {
        Order64 got(order.size());
        argsort_records(before.data(), bytes, key, got, threads);
        ASSERT_EQ(got, order) << key.bytes;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::sort
