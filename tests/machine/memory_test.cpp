// Allocation, release and copying of memory.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "machine/buffer.hpp"
#include "machine/copy_rows.hpp"
#include "machine/fork_join.hpp"
#include "machine/pages.hpp"
#include "machine/workspace.hpp"

namespace tessera::machine {
namespace {

TEST(Buffer, IsAlignedAndMoves) {
  Buffer<double> a(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0u);
  Buffer<double> large((index_t{2} << 20) / 8);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % (2 << 20), 0u);
  double* const data = a.data();
  const Buffer<double> b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.size(), 1000);
}

TEST(Buffer, OfNothingIsNull) { EXPECT_EQ(Buffer<int>(0).data(), nullptr); }

TEST(Buffer, RefusesTheImpossibleWithTheMemoryCode) {
  try {
    const Buffer<double> b(index_t{1} << 58);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::memory);
  }
}

/// Returns the number of resident bytes of a buffer's whole pages.
index_t resident_bytes(unsigned char* data, index_t bytes) {
  constexpr index_t page = 4096;
  std::vector<unsigned char> there(static_cast<std::size_t>(ceil_div(bytes, page)));
  if (mincore(data, static_cast<std::size_t>(bytes), there.data()) != 0) return 0;  // not mapped
  return page * std::count_if(there.begin(), there.end(), [](auto one) { return one % 2 != 0; });
}

constexpr index_t mib = index_t{1} << 20;

/// Returns where a buffer of that size was, all of whose bytes were written.
unsigned char* filled_and_freed(index_t bytes) {
  Buffer<unsigned char> buffer(bytes);
  std::fill(buffer.begin(), buffer.end(), static_cast<unsigned char>(1));
  return buffer.data();
}

TEST(Buffer, ReusesThePagesOfAnEqualOne) {
  give_back_released();
  unsigned char* const first = filled_and_freed(5 * mib);
  EXPECT_EQ(resident_bytes(first, 5 * mib), 5 * mib);
  EXPECT_EQ(Buffer<unsigned char>(5 * mib).data(), first);
  give_back_released();
  EXPECT_EQ(resident_bytes(first, 5 * mib), 0);
}

TEST(Buffer, UsesAPartOfALargerOneAndReleasesTheRest) {
  give_back_released();
  unsigned char* const first = filled_and_freed(8 * mib);
  {
    const Buffer<unsigned char> part(3 * mib);
    EXPECT_EQ(part.data(), first);
    EXPECT_EQ(resident_bytes(first, 8 * mib), 3 * mib);
  }
  EXPECT_EQ(Buffer<unsigned char>(8 * mib).data(), first);
  give_back_released();
}

TEST(Buffer, ReleasesFreedOnesThatWouldRaiseThePeak) {
  give_back_released();
  unsigned char* const first = filled_and_freed(5 * mib);
  const Buffer<unsigned char> larger(9 * mib);
  EXPECT_EQ(resident_bytes(first, 5 * mib), 0);
  unsigned char* const second = filled_and_freed(5 * mib);
  EXPECT_EQ(resident_bytes(second, 5 * mib), 5 * mib);
  EXPECT_EQ(Buffer<unsigned char>(4 * mib).data(), second);
  give_back_released();
}

TEST(GiveBack, LeavesWhatLiesBesideOnTheSamePages) {
  constexpr index_t page = 4096, before = 100, bytes = 3 * page;
  Buffer<unsigned char> data(6 * page);
  for (const index_t shift : {index_t{0}, index_t{1}, page - before}) {
    std::fill(data.begin(), data.end(), static_cast<unsigned char>(7));
    unsigned char* const first = data.data() + before + shift;
    give_back(first, bytes);
    EXPECT_EQ(std::count(data.data(), first, 7), first - data.data());
    EXPECT_EQ(std::count(first + bytes, data.end(), 7), data.end() - (first + bytes));
    EXPECT_GE(std::count(first, first + bytes, 0), 2 * page);
  }
}

TEST(CopyRows, BringsEveryByteAndNoMore) {
  constexpr std::byte untouched{0xa5};
  for (const auto& [rows, cols] : {std::pair<index_t, index_t>{0, 5},
                                   {1, 1},
                                   {3, 63},
                                   {5, 64},
                                   {2, 65},
                                   {700, 1000},
                                   {2, 600001}}) {
    for (const index_t shift : {0, 1, 37}) {  // within a line
      const index_t from_ld = cols + 3, to_ld = cols + 70;
      std::vector<std::byte> from(static_cast<std::size_t>(rows * from_ld + 64)),
          to(static_cast<std::size_t>(rows * to_ld + 64), untouched);
      for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<std::byte>(i * 7 / 5 % 251);
      auto want = to;
      for (index_t i = 0; i < rows; ++i)
        std::copy_n(from.begin() + i * from_ld, cols, want.begin() + shift + i * to_ld);
      copy_rows({from.data(), rows, cols, from_ld}, {to.data() + shift, rows, cols, to_ld}, 3);
      EXPECT_TRUE(to == want) << rows << " x " << cols << " " << shift;
    }
  }
}

TEST(Workspace, PartsAreSeparateAlignedAndComeBack) {
  constexpr index_t bytes = 100000;
  std::vector<unsigned char> memory(bytes + 200, 7);
  Workspace workspace(memory.data() + 99, bytes);
  struct Taken {
    unsigned char* data;
    index_t bytes;
    unsigned char mark;
  };
  std::vector<Taken> taken;
  const auto give = [&](std::size_t at) {
    const Taken one = taken[at];
    EXPECT_EQ(std::count(one.data, one.data + one.bytes, one.mark), one.bytes);
    EXPECT_TRUE(workspace.give(one.data));
    taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(at));
  };
  int refused = 0;
  for (index_t step = 0; step < 3000; ++step) {
    const std::uint64_t random = random_bits(5, 1, step);
    const auto wanted = static_cast<index_t>(random % 9000);
    auto* const data = static_cast<unsigned char*>(workspace.take(wanted));
    if (data == nullptr) {
      ++refused;
      give(random / 9000 % taken.size());
      continue;
    }
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0U);
    EXPECT_GE(data, memory.data() + 99);
    EXPECT_LE(data + wanted, memory.data() + 99 + bytes);
    taken.push_back({data, wanted, static_cast<unsigned char>(random >> 50)});
    std::fill_n(data, wanted, taken.back().mark);
  }
  EXPECT_GT(refused, 100);
  while (!taken.empty()) give(taken.size() / 2);
  EXPECT_LE(workspace.used(), bytes);
  void* const all = workspace.take(bytes - 256);  // free parts are joined again
  EXPECT_NE(all, nullptr);
  EXPECT_TRUE(workspace.give(all));
  EXPECT_EQ(std::count(memory.begin(), memory.begin() + 99, 7), 99);
  EXPECT_EQ(std::count(memory.end() - 101, memory.end(), 7), 101);
  EXPECT_FALSE(workspace.give(memory.data()));
  EXPECT_EQ(Workspace(nullptr, 0).take(1), nullptr);
  EXPECT_EQ(Workspace(memory.data(), 100).take(1), nullptr);
}

TEST(Workspace, TeamsAllocateFromItAsTheirFirstThread) {
  std::vector<unsigned char> memory(1 << 20);
  Workspace workspace(memory.data(), 1 << 20);
  std::atomic<int> inside = 0, outside = 0;
  const auto allocate_here = [&] {
    const Buffer<unsigned char> buffer(100);
    const bool is_in = buffer.data() >= memory.data() && buffer.data() < memory.data() + (1 << 20);
    ++(is_in ? inside : outside);
  };
  {
    const Workspace::Scope scope(&workspace);
    parallel(3, [&] { parallel_for(0, 50, 1, [&](index_t, index_t) { allocate_here(); }); });
    parallel(3, [&] { fork_for(0, 50, 1, [&](index_t, index_t) { allocate_here(); }); });
    on_each_thread(3, [&](int, int) { allocate_here(); });
  }
  EXPECT_EQ(inside, 103);
  allocate_here();
  on_each_thread(3, [&](int, int) { allocate_here(); });
  EXPECT_EQ(outside, 4);
}

TEST(WithoutMemory, BuffersHaveTheirSizesAlone) {
  index_t size = 0;
  {
    const WithoutMemory scope;
    Buffer<double> all(index_t{1} << 50);
    const Buffer<double> moved = std::move(all);
    size = moved.size();
  }
  EXPECT_EQ(size, index_t{1} << 50);
  Buffer<double> there(3);
  there[2] = 1;
}

}  // namespace
}  // namespace tessera::machine
