// Memory of functions of one process: what repeated calls allocate, and what is left after a call.

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
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
      for (const int type : {TESSERA_F16, TESSERA_BF16}) add_product(order, type, n);
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
    add_product(order, type, m);
    for (const double beta : {0.0, 2.0}) {
      products.emplace_back("transpose " + name, [=, this] {
        return tessera_transpose(order, type, TESSERA_TRANS, m, m, beta == 0 ? 1 : 3, a.data(),
                                 n + 1, beta, b.data(), n + 2, nullptr);
      });
    }
  }
  void add_product(int order, int type, std::int64_t m) {
    products.emplace_back("matmul of type " + std::to_string(type), [=, this] {
      return tessera_matmul(order, type, TESSERA_NO_TRANS, TESSERA_TRANS, m, m, m, nullptr,
                            a.data(), n + 1, b.data(), n + 2, nullptr, c.data(), n + 3, nullptr);
    });
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

using Keys = std::vector<double>;
Keys made_keys(std::size_t count, int kind) {
  Keys keys(count);
  std::uint64_t state = 1 + static_cast<std::uint64_t>(kind);
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto random = static_cast<double>(state >> 33);
    const auto place = static_cast<double>(i), all = static_cast<double>(count);
    switch (kind) {
      case 0:
        keys[i] = random;  // radix
        break;
      case 1:
        keys[i] = static_cast<double>(state >> 60);  // few values
        break;
      case 2:
        keys[i] = i % 1000 == 7 ? random : place;  // nearly in order
        break;
      case 3:
        keys[i] = std::fmod(place * 5, all);  // runs
        break;
      case 4:
        keys[i] = std::ldexp(random, static_cast<int>(state >> 58) * 8);  // uneven
        break;
      case 5:
        keys[i] = static_cast<double>(state >> 33) / 7 * (state >> 62 == 0 ? 1 : 0);  // equal ones
        break;
      default:
        keys[i] = all - place;  // reversed
    }
  }
  return keys;
}
constexpr int kinds_of_keys = 7;

/// Memory that is lent to the calls of this thread, between sentinels.
class LentMemory {
 public:
  explicit LentMemory(std::int64_t bytes) : memory_(static_cast<std::size_t>(bytes) + 2 * edge) {
    std::fill_n(memory_.begin(), edge, mark);
    std::fill_n(memory_.end() - edge, edge, mark);
    EXPECT_EQ(tessera_use_workspace(memory_.data() + edge, bytes), TESSERA_OK);
  }
  ~LentMemory() {
    EXPECT_EQ(tessera_use_workspace(nullptr, 0), TESSERA_OK);
    EXPECT_EQ(std::count(memory_.begin(), memory_.begin() + edge, mark), edge);
    EXPECT_EQ(std::count(memory_.end() - edge, memory_.end(), mark), edge);
  }

 private:
  static constexpr std::ptrdiff_t edge = 72;
  static constexpr unsigned char mark = 0x5a;
  std::vector<unsigned char> memory_;
};

/// Expects that repeated calls with lent memory of that size allocate nothing.
template <class F>
void expect_no_allocation(std::int64_t bytes, const F& call) {
  const LentMemory lent(bytes);
  call();
  const std::size_t before = tessera::allocated_bytes();
  for (int k = 0; k < 2; ++k) call();
  EXPECT_EQ(tessera::allocated_bytes() - before, 0U);
}

TEST(Memory, SortsInLentMemoryAllocateNothing) {
  for (const std::size_t count : {10U, 3000U, 300000U}) {
    for (int kind = 0; kind < kinds_of_keys; ++kind) {
      const Keys keys = made_keys(count, kind);
      Keys sorted = keys, want = keys;
      std::sort(want.begin(), want.end());
      std::vector<std::uint64_t> places(count);
      for (const char* options : {"threads=1", "threads=3"}) {
        SCOPED_TRACE(std::to_string(count) + " keys of kind " + std::to_string(kind) + ", " +
                     options);
        const auto size = static_cast<std::int64_t>(count);
        std::int64_t bytes = 0;
        ASSERT_EQ(tessera_sort_workspace_bytes(TESSERA_F64, size, options, &bytes), TESSERA_OK);
        expect_no_allocation(bytes, [&] {
          std::copy(keys.begin(), keys.end(), sorted.begin());
          ASSERT_EQ(tessera_sort(TESSERA_F64, TESSERA_ASCENDING, size, sorted.data(), options),
                    TESSERA_OK);
        });
        EXPECT_TRUE(sorted == want);
        ASSERT_EQ(tessera_argsort_workspace_bytes(TESSERA_F64, size, options, &bytes), TESSERA_OK);
        expect_no_allocation(bytes, [&] {
          ASSERT_EQ(tessera_argsort(TESSERA_F64, TESSERA_ASCENDING, size, keys.data(),
                                    places.data(), options),
                    TESSERA_OK);
        });
        for (std::size_t i = 0; i < count; ++i) sorted[i] = keys[places[i]];
        EXPECT_TRUE(sorted == want);
      }
    }
  }
}

TEST(Memory, SortsOfSmallKeysInLentMemoryAllocateNothing) {
  constexpr std::size_t count = 300000;
  std::vector<std::int16_t> keys(count), sorted(count), want;
  for (std::size_t i = 0; i < count; ++i) keys[i] = static_cast<std::int16_t>(i * 7919 % 60000);
  want = keys;
  std::sort(want.begin(), want.end());
  std::vector<std::uint64_t> places(count);
  for (const char* options : {"threads=1", "threads=3"}) {
    std::int64_t bytes = 0;
    ASSERT_EQ(tessera_sort_workspace_bytes(TESSERA_I16, count, options, &bytes), TESSERA_OK);
    expect_no_allocation(bytes, [&] {
      std::copy(keys.begin(), keys.end(), sorted.begin());
      ASSERT_EQ(tessera_sort(TESSERA_I16, TESSERA_ASCENDING, count, sorted.data(), options),
                TESSERA_OK);
    });
    EXPECT_TRUE(sorted == want);
    ASSERT_EQ(tessera_argsort_workspace_bytes(TESSERA_I16, count, options, &bytes), TESSERA_OK);
    expect_no_allocation(bytes, [&] {
      ASSERT_EQ(tessera_argsort(TESSERA_I16, TESSERA_ASCENDING, count, keys.data(), places.data(),
                                options),
                TESSERA_OK);
    });
    for (std::size_t i = 0; i < count; ++i) sorted[i] = keys[places[i]];
    EXPECT_TRUE(sorted == want);
  }
}

TEST(Memory, StencilsInLentMemoryAllocateNothing) {
  const std::int64_t extents[3] = {40, 50, 60};
  const std::vector<double> weights(27, 1.0 / 32);
  const std::int64_t shape[3] = {3, 3, 3};
  for (const char* boundary : {"clamp", "periodic", "constant", "reflect"}) {
    for (const int dims : {1, 2, 3}) {
      for (const bool named : {true, false}) {
        const tessera_stencil stencil{
            dims, named ? "star2" : nullptr, shape + 3 - dims, weights.data(), boundary, 2};
        for (const char* options : {"threads=1", "threads=3"}) {
          SCOPED_TRACE(std::string(boundary) + ", " + options);
          const std::int64_t* const box = extents + 3 - dims;
          std::vector<double> start(40 * 50 * 60), u, want;
          for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<double>(i % 17);
          want = start;
          ASSERT_EQ(tessera_advance(&stencil, TESSERA_F64, box, want.data(), nullptr, 5, options),
                    TESSERA_OK);
          u = start;
          std::int64_t bytes = 0;
          ASSERT_EQ(tessera_advance_workspace_bytes(&stencil, TESSERA_F64, box, options, &bytes),
                    TESSERA_OK);
          expect_no_allocation(bytes, [&] {
            std::copy(start.begin(), start.end(), u.begin());
            ASSERT_EQ(tessera_advance(&stencil, TESSERA_F64, box, u.data(), nullptr, 5, options),
                      TESSERA_OK);
          });
          EXPECT_TRUE(u == want);
        }
      }
    }
  }
}

TEST(Memory, CallsAllocateWhatLentMemoryLacks) {
  const Keys keys = made_keys(300000, 0);
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{200}, std::int64_t{1} << 20}) {
    Keys sorted = keys;
    const LentMemory lent(bytes);
    ASSERT_EQ(tessera_sort(TESSERA_F64, TESSERA_ASCENDING, 300000, sorted.data(), nullptr),
              TESSERA_OK);
    EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
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
