// Sorting in runs through an emulated device in host memory, whose streams progress in any order
// that their events allow.

#include "kernels/sort/device_runs.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <optional>

#include "base/random.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

/// Deferred work: a stream's items run in order, streams in random order subject to their events.
class Streams {
 public:
  enum Name : std::size_t { sending, sorting, bringing, count };
  struct Event {
    Name stream{};
    std::size_t after = 0;  ///< items completed there
  };

  void add(Name stream, std::function<void()> work) {
    asked_[stream].push_back({std::nullopt, std::move(work)});
    ++asked_ever_[stream];
  }
  [[nodiscard]] Event record(Name stream) const { return {stream, asked_ever_[stream]}; }
  void wait(Name stream, Event event) {
    asked_[stream].push_back({event, nullptr});
    ++asked_ever_[stream];
  }
  void run(std::uint64_t seed) {
    for (index_t step = 0; !idle(); ++step) {
      const auto name = random_bits(seed, 1, step) % count;
      auto& next = asked_[name];
      if (next.empty()) continue;
      const auto& event = next.front().waits;
      if (event && done_[event->stream] < event->after) continue;
      if (next.front().work) next.front().work();
      next.pop_front();
      ++done_[name];
    }
  }

 private:
  struct Asked {
    std::optional<Event> waits;
    std::function<void()> work;
  };
  [[nodiscard]] bool idle() const {
    return asked_[0].empty() && asked_[1].empty() && asked_[2].empty();
  }
  std::array<std::deque<Asked>, count> asked_;
  std::array<std::size_t, count> asked_ever_{}, done_{};
};

/// Operations of pass_runs, with the interface of the device's passage.
template <class Item>
class Passage {
 public:
  Passage(const DeviceRuns& runs, const std::vector<Item>& from, std::vector<Item>& to,
          Streams& streams)
      : runs_(runs), from_(from), to_(to), streams_(streams) {
    for (Place& place : places_) place.items.assign(static_cast<std::size_t>(runs.run), Item{});
  }
  void wait_for_place(index_t run) { streams_.wait(Streams::sending, place(run).free); }
  void send(index_t run, index_t at, index_t n) {
    streams_.add(Streams::sending, [=, this] {
      std::copy_n(from_.begin() + runs_.begin(run) + at, n, place(run).items.begin() + at);
    });
    traffic += 'i';
  }
  void sort(index_t run, index_t n) {
    streams_.wait(Streams::sorting, streams_.record(Streams::sending));
    streams_.add(Streams::sorting,
                 [=, this] { std::sort(place(run).items.begin(), place(run).items.begin() + n); });
    place(run).sorted = streams_.record(Streams::sorting);
  }
  void wait_for_sorted(index_t run) { streams_.wait(Streams::bringing, place(run).sorted); }
  void bring(index_t run, index_t at, index_t n) {
    streams_.add(Streams::bringing, [=, this] {
      std::copy_n(place(run).items.begin() + at, n, to_.begin() + runs_.begin(run) + at);
    });
    traffic += 'o';
  }
  void leave(index_t run) { place(run).free = streams_.record(Streams::bringing); }

  std::string traffic;  ///< in order of submission

 private:
  struct Place {
    std::vector<Item> items;
    Streams::Event sorted{}, free{};
  };
  Place& place(index_t run) { return places_[static_cast<std::size_t>(run % passing_runs)]; }
  const DeviceRuns& runs_;
  const std::vector<Item>& from_;
  std::vector<Item>& to_;
  Streams& streams_;
  std::array<Place, passing_runs> places_;
};

template <class Item>
std::vector<Item> draw(index_t n, std::uint64_t range) {
  std::vector<Item> items;
  for (index_t i = 0; i < n; ++i) {
    const std::uint64_t key = random_bits(9, 2, i) % range;
    if constexpr (std::is_same_v<Item, Pair>)
      items.push_back({key, static_cast<std::uint64_t>(i)});
    else
      items.push_back(static_cast<Item>(key));
  }
  return items;
}

template <class Item>
struct DeviceRunsOf : testing::Test {};
using Items = testing::Types<std::uint32_t, std::uint64_t, Pair>;
TYPED_TEST_SUITE(DeviceRunsOf, Items);

TYPED_TEST(DeviceRunsOf, BecomeTheSortedWholeWhateverWaitsForWhat) {
  using Item = TypeParam;
  for (const std::uint64_t range : {1U, 5U, 1000000000U}) {
    for (const index_t n : {1, 2, 99, 1000, 4001}) {
      for (const index_t run : {1000, 400, 333}) {
        const DeviceRuns runs{n, std::min(n, run)};
        const std::vector<Item> items = draw<Item>(n, range);
        std::vector<Item> want = items;
        std::stable_sort(want.begin(), want.end());
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
          std::vector<Item> back(items.size()), result(items.size());
          Streams streams;
          Passage<Item> passage(runs, items, back, streams);
          pass_runs(runs, 128, passage);
          streams.run(seed);
          machine::parallel(2, [&] { merge_device_runs(runs, back.data(), result.data()); });
          ASSERT_EQ(result, want) << "n " << n << " run " << run << " seed " << seed;
        }
      }
    }
  }
}

TEST(DeviceRuns, TravelBothWaysAtATime) {
  const DeviceRuns runs{5000, 1000};
  const auto items = draw<std::uint32_t>(runs.n, 1000);
  std::vector<std::uint32_t> back(items.size());
  Streams streams;
  Passage<std::uint32_t> passage(runs, items, back, streams);
  pass_runs(runs, 250, passage);
  EXPECT_EQ(passage.traffic,
            "iiii"
            "iiii"
            "ioioioio"
            "ioioioio"
            "ioioioio"
            "oooo"
            "oooo");
}

TEST(DeviceRuns, AreAsFewAsTheDeviceHolds) {
  const auto bytes = [](index_t run, index_t places) { return (places + 1) * 8 * run + 1000; };
  const auto passing = [&](index_t run) { return bytes(run, passing_runs); };
  const auto plan = [&](index_t n, index_t limit) { return plan_device_runs(n, limit, bytes); };
  constexpr index_t n = 10000000;
  EXPECT_EQ(plan(0, 1000).count(), 0);
  EXPECT_EQ(plan(n, bytes(n, 1)).count(), 1);
  EXPECT_EQ(plan(n, bytes(n, 1) - 1).count(), 2);
  EXPECT_EQ(plan(n, bytes(n / 2, 2) - 1).count(), 3);
  EXPECT_EQ(plan(n, passing(ceil_div(n, index_t{3})) - 1).count(), 4);
  for (const index_t limit :
       {passing(1 << 16), index_t{5000000}, index_t{33333333}, index_t{100000000}}) {
    const DeviceRuns runs = plan(n, limit);
    EXPECT_LE(passing(runs.run), limit);
    EXPECT_GT(passing(ceil_div(n, runs.count() - 1)), limit) << "fewer runs would do";
    index_t sum = 0;
    for (index_t r = 0; r < runs.count(); ++r) {
      EXPECT_EQ(runs.begin(r), sum);
      EXPECT_GT(runs.size(r), 0);
      sum += runs.size(r);
    }
    EXPECT_EQ(sum, n);
  }
  EXPECT_THROW((void)plan(n, passing(1 << 16) - 1), Error);
}

}  // namespace
}  // namespace tessera::sort
