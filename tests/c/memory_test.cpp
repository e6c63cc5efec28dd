// Memory of functions of one process: what repeated calls allocate, and what is left after a call.

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "machine/fork_join.hpp"
#include "tessera.h"

namespace {

constexpr std::int64_t n = 300, points = 100000;

/// Keeps arguments of the calls, each of which it makes by the default options.
class Calls {
 public:
  using Call = std::function<int()>;
  std::vector<std::pair<std::string, Call>> products, others;

  Calls() {
    for (const int order : {TESSERA_ROW_MAJOR, TESSERA_COL_MAJOR}) {
      for (const int type : {TESSERA_F32, TESSERA_F64, TESSERA_C64, TESSERA_C128}) {
        for (const std::int64_t m : {std::int64_t{1}, std::int64_t{64}, n})
          add_matrices(order, type, m);
      }
    }
    products.emplace_back("a long product", [this] {  // partial sums along k
      return tessera_matmul(TESSERA_ROW_MAJOR, TESSERA_F64, TESSERA_NO_TRANS, TESSERA_TRANS, 10, 10,
                            10000, nullptr, a.data(), 10000, b.data(), 10000, nullptr, c.data(), 10,
                            nullptr);
    });
    products.emplace_back("rearrange", [this] {
      const std::int64_t extents[] = {40, 50, 60}, from[] = {1, 40, 2000};
      return tessera_rearrange(TESSERA_F64, 3, extents, a.data(), from, b.data(), nullptr, nullptr);
    });
    others.emplace_back("sort", [this] {
      shuffle();
      return tessera_sort(TESSERA_F64, TESSERA_ASCENDING, points, a.data(), nullptr);
    });
    others.emplace_back("argsort", [this] {
      shuffle();
      return tessera_argsort(TESSERA_F64, TESSERA_ASCENDING, points, a.data(), places.data(),
                             nullptr);
    });
    others.emplace_back("advance", [this] {
      const tessera_stencil heat{2, "heat", nullptr, nullptr, nullptr, 0};
      const std::int64_t extents[] = {n, n};
      return tessera_advance(&heat, TESSERA_F64, extents, c.data(), nullptr, 6, nullptr);
    });
    others.emplace_back("a wrong call", [] {
      const int code = tessera_sort(TESSERA_F64, TESSERA_ASCENDING, 1, nullptr, nullptr);
      return code == TESSERA_USAGE ? TESSERA_OK : TESSERA_INTERNAL;
    });
  }

 private:
  void add_matrices(int order, int type, std::int64_t m) {
    const std::string name = std::to_string(m) + " x " + std::to_string(m) + " of type " +
                             std::to_string(type) + " in order " + std::to_string(order);
    products.emplace_back("matmul " + name, [=, this] {
      return tessera_matmul(order, type, TESSERA_NO_TRANS, TESSERA_TRANS, m, m, m, nullptr,
                            a.data(), n + 1, b.data(), n + 2, nullptr, c.data(), n + 3, nullptr);
    });
    for (const double beta : {0.0, 2.0}) {
      products.emplace_back("transpose " + name, [=, this] {
        return tessera_transpose(order, type, TESSERA_TRANS, m, m, beta == 0 ? 1 : 3, a.data(),
                                 n + 1, beta, b.data(), n + 2, nullptr);
      });
    }
  }
  void shuffle() {
    std::uint32_t state = 1;
    for (double& x : a) x = state = state * 1664525 + 1013904223;
  }

  std::vector<double> a = std::vector<double>(2 * (n + 3) * (n + 3), 1), b = a, c = a;
  std::vector<std::uint64_t> places = std::vector<std::uint64_t>(points);
};

TEST(Memory, RepeatedProductsAndTransposesAllocateNothing) {
  tessera::machine::set_default_threads(1);
  const Calls calls;
  for (const auto& [name, call] : calls.products) {
    SCOPED_TRACE(name);
    for (int k = 0; k < 2; ++k) ASSERT_EQ(call(), TESSERA_OK);
    const std::size_t before = tessera::allocated_bytes();
    for (int k = 0; k < 3; ++k) ASSERT_EQ(call(), TESSERA_OK);
    EXPECT_EQ(tessera::allocated_bytes() - before, 0U);
  }
}

/// Returns the bytes that malloc has given out, of all threads' if there is one arena.
std::size_t live_bytes() {
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

TEST(Memory, IsAfterACallWhatItWasBefore) {
  tessera::machine::set_default_threads(1);
  const Calls calls;
  for (const auto* list : {&calls.products, &calls.others}) {
    for (const auto& [name, call] : *list) {
      SCOPED_TRACE(name);
      for (int k = 0; k < 20; ++k) ASSERT_EQ(call(), TESSERA_OK);  // also malloc's own lists
      const std::size_t before = live_bytes();
      for (int k = 0; k < 3; ++k) ASSERT_EQ(call(), TESSERA_OK);
      EXPECT_EQ(live_bytes(), before);
    }
  }
}

std::int64_t resident_bytes() {
  long total = 0, resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%ld %ld", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
}

TEST(Memory, IsReturnedToTheSystemOnRequest) {
  constexpr std::int64_t mib = 1 << 20, keys = 2 * mib;
  std::vector<double> a(keys);
  const auto sort = [&] {
    std::uint32_t state = 7;
    for (double& x : a) x = state = state * 1664525 + 1013904223;
    ASSERT_EQ(tessera_sort(TESSERA_F64, TESSERA_ASCENDING, keys, a.data(), nullptr), TESSERA_OK);
  };
  sort();
  ASSERT_EQ(tessera_release_memory(), TESSERA_OK);
  const std::int64_t before = resident_bytes();
  sort();
  const std::int64_t after = resident_bytes();
  EXPECT_LE(after - before, 16 * mib + 4 * mib);  // the scratch memory is kept
  ASSERT_EQ(tessera_release_memory(), TESSERA_OK);
  EXPECT_LE(resident_bytes() - before, 2 * mib);
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_ARENA_MAX, 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
