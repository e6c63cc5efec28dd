// Asynchronous file requests.

#include "io/async_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "io/raw_file.hpp"

namespace tessera::io {
namespace {

using Ticket = FileQueue::Ticket;

/// Blocks passing threads until it is opened: keeps a started request unfinished.
class Gate {
 public:
  void open() { promise_.set_value(); }
  void pass() const { open_.wait(); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> open_ = promise_.get_future().share();
};

bool is_ready(const Ticket& ticket) {
  return ticket.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

/// Returns the code of the Error that `call` throws; ok if it throws none.
template <class Call>
ExitCode code_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::ok;
}

TEST(FileQueue, DoesWhatItIsAskedForInThatOrderInOneThreadOfItsOwn) {
  std::vector<int> order;
  std::set<std::thread::id> threads;
  FileQueue queue;
  for (int i = 0; i < 1000; ++i) {
    const Ticket ticket = queue.ask([&order, &threads, i] {
      order.push_back(i);
      threads.insert(std::this_thread::get_id());
    });
    if (i % 100 == 0) queue.wait(ticket);
  }
  queue.wait(queue.last());
  std::vector<int> want(1000);
  std::iota(want.begin(), want.end(), 0);
  EXPECT_EQ(order, want);
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST(FileQueue, ReturnsBeforeTheRequestHasEnded) {
  Gate gate;
  FileQueue queue;
  const Ticket first = queue.ask([&] { gate.pass(); });
  const Ticket second = queue.ask([] {});
  EXPECT_FALSE(is_ready(first));
  EXPECT_FALSE(is_ready(second));
  gate.open();
  queue.wait(second);
  EXPECT_TRUE(is_ready(first));
}

TEST(FileQueue, WaitsForNothingWhereNothingWasAskedFor) {
  FileQueue queue;
  EXPECT_FALSE(queue.last().valid());
  queue.wait(queue.last());
  queue.finish();
  queue.cancel();
  EXPECT_EQ(queue.take_traffic().waited, 0);
}

TEST(FileQueue, LastIsOfAllThatWasAskedForUntilThen) {
  int done = 0;
  Gate gate;
  FileQueue queue;
  for (int i = 0; i < 50; ++i) (void)queue.ask([&done] { ++done; });
  const Ticket until_then = queue.last();
  (void)queue.ask([&] { gate.pass(); });
  queue.wait(until_then);
  EXPECT_EQ(done, 50);
  gate.open();
}

TEST(FileQueue, TellsWhoWaitsWhatARequestThrewAndRunsNoneAfterIt) {
  bool ran = false;
  FileQueue queue;
  const Ticket right = queue.ask([] {});
  const Ticket wrong = queue.ask([] { throw Error(ExitCode::io, "the device is gone"); });
  const Ticket after = queue.ask([&ran] { ran = true; });
  EXPECT_EQ(code_of([&] { queue.wait(wrong); }), ExitCode::io);
  EXPECT_EQ(code_of([&] { queue.wait(right); }), ExitCode::ok);
  EXPECT_EQ(code_of([&] { queue.wait(after); }), ExitCode::io);
  EXPECT_EQ(code_of([&] { queue.wait(queue.ask([&ran] { ran = true; })); }), ExitCode::io);
  EXPECT_EQ(code_of([&] { queue.wait(queue.last()); }), ExitCode::io);
  queue.finish();
  EXPECT_FALSE(ran);
}

TEST(FileQueue, TellsErrorsOfAnyKind) {
  FileQueue queue;
  const Ticket ticket = queue.ask([] { throw std::bad_alloc(); });
  EXPECT_THROW(queue.wait(ticket), std::bad_alloc);
  EXPECT_THROW(queue.wait(ticket), std::bad_alloc) << "whoever asks again hears it again";
}

TEST(FileQueue, LetsGoOfWhatARequestHoldsBeforeItsTicketIsReady) {
  FileQueue queue;
  for (const bool fails : {false, true}) {
    auto memory = std::make_shared<std::array<char, 100>>();
    const std::weak_ptr<void> watched = memory;
    const Ticket ticket = queue.ask([memory, fails] {
      if (fails) throw Error(ExitCode::io, "full");
    });
    memory.reset();
    ticket.wait();
    EXPECT_TRUE(watched.expired());
  }
}

TEST(FileQueue, CancelDropsWhatHasNotBegun) {
  Gate begun, gate;
  bool ended = false, ran = false;
  auto memory = std::make_shared<int>();
  const std::weak_ptr<void> watched = memory;
  FileQueue queue;
  const Ticket first = queue.ask([&] {
    begun.open();
    gate.pass();
    ended = true;
  });
  const Ticket second = queue.ask([&ran, held = std::move(memory)] { ran = true; });
  begun.pass();
  auto other = std::async(std::launch::async, [&] {
    queue.cancel();
    return ended;
  });
  EXPECT_EQ(code_of([&] { second.get(); }), ExitCode::stopped_early) << "at once";
  EXPECT_TRUE(watched.expired());
  EXPECT_FALSE(is_ready(first));
  gate.open();
  EXPECT_TRUE(other.get()) << "what had begun has ended when cancel() returns";
  EXPECT_EQ(code_of([&] { queue.wait(first); }), ExitCode::ok);
  EXPECT_EQ(code_of([&] { queue.wait(queue.ask([&ran] { ran = true; })); }),
            ExitCode::stopped_early);
  EXPECT_FALSE(ran);
}

TEST(FileQueue, EndsWithAllThatItWasAskedFor) {
  std::atomic<int> done = 0;
  Ticket last;
  {
    FileQueue queue;
    for (int i = 0; i < 200; ++i) last = queue.ask([&done] { ++done; });
  }
  EXPECT_EQ(done, 200);
  EXPECT_NO_THROW(last.get()) << "tickets outlive the queue";
}

TEST(FileQueue, EndsWithoutAWordWhereNobodyWaitsForAnError) {
  std::atomic<int> done = 0;
  EXPECT_NO_THROW({
    FileQueue queue;
    (void)queue.ask([&done] { ++done; });
    (void)queue.ask([] { throw Error(ExitCode::io, "full"); });
    (void)queue.ask([&done] { ++done; });
  });
  EXPECT_EQ(done, 1);
}

TEST(FileQueue, DropsWhatHasNotBegunWhereAnExceptionEndsIt) {
  Gate begun, asked, gate;
  std::atomic<int> done = 0;
  Ticket dropped;
  auto ended = std::async(std::launch::async, [&] {
    return code_of([&] {
      FileQueue queue;
      (void)queue.ask([&] {
        begun.open();
        gate.pass();
        ++done;
      });
      begun.pass();
      dropped = queue.ask([&done] { ++done; });
      asked.open();
      throw Error(ExitCode::memory, "no room");
    });
  });
  asked.pass();
  EXPECT_EQ(code_of([&] { dropped.get(); }), ExitCode::stopped_early) << "at once";
  gate.open();
  EXPECT_EQ(ended.get(), ExitCode::memory);
  EXPECT_EQ(done, 1);
}

TEST(FileQueue, RunsAllWhereItIsMadeAndEndsWhileAnExceptionIsOnItsWay) {
  struct AtTheEnd {
    int& done;
    ~AtTheEnd() {
      FileQueue queue;
      for (int i = 0; i < 50; ++i) (void)queue.ask([this] { ++done; });
    }
  };
  int done = 0;
  EXPECT_THROW(
      {
        const AtTheEnd last{done};
        throw Error(ExitCode::io, "full");
      },
      Error);
  EXPECT_EQ(done, 50);
}

TEST(FileQueue, CountsBytesAndTheTimeThatSomebodyWaited) {
  FileQueue queue;
  queue.wait(queue.ask([&] {
    queue.count_read(100);
    queue.count_read(20);
    queue.count_written(3);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }));
  const FileTraffic traffic = queue.take_traffic();
  EXPECT_EQ(traffic.bytes_read, 120);
  EXPECT_EQ(traffic.bytes_written, 3);
  EXPECT_GT(traffic.waited, 0.01);
  const FileTraffic after = queue.take_traffic();
  EXPECT_EQ(after.bytes_read + after.bytes_written, 0);
  EXPECT_EQ(after.waited, 0);
}

TEST(FileQueue, CountsNoTimeWhereTheRequestHasEnded) {
  FileQueue queue;
  const Ticket ticket = queue.ask([] {});
  ticket.wait();
  queue.wait(ticket);
  EXPECT_EQ(queue.take_traffic().waited, 0);
}

TEST(FileQueue, GoesOnBesideAnotherOne) {
  Gate here, there;
  FileQueue reads, writes;
  const Ticket read = reads.ask([&] {
    here.open();
    there.pass();
  });
  const Ticket written = writes.ask([&] {
    there.open();
    here.pass();
  });
  const Ticket both = reads.ask([&writes, written] { writes.wait(written); });
  reads.wait(read);
  reads.wait(both);
  EXPECT_TRUE(is_ready(written));
}

TEST(FileQueue, AnErrorOfAQueueReachesTheOneThatWaitsForIt) {
  FileQueue reads, writes;
  const Ticket written = writes.ask([] { throw Error(ExitCode::cannot_create, "full"); });
  const Ticket read = reads.ask([written] { written.get(); });
  EXPECT_EQ(code_of([&] { reads.wait(read); }), ExitCode::cannot_create);
}

TEST(FileQueue, TakesRequestsOfItsOwnAndOfSeveralThreads) {
  std::atomic<int> done = 0;
  {
    FileQueue queue;
    (void)queue.ask([&] { (void)queue.ask([&done] { ++done; }); });
    queue.wait(queue.last());
    std::vector<std::future<void>> askers;
    for (int t = 0; t < 4; ++t) {
      askers.push_back(std::async(std::launch::async, [&] {
        for (int i = 0; i < 500; ++i) {
          const Ticket ticket = queue.ask([&done] { ++done; });
          if (i % 50 == 0) queue.wait(ticket);
        }
      }));
    }
    for (auto& asker : askers) asker.get();
  }
  EXPECT_EQ(done, 2001);
}

TEST(FileQueue, WritesAndReadsThousandsOfTinyPieces) {
  namespace fs = std::filesystem;
  constexpr index_t pieces = 20000;
  const auto path =
      (fs::temp_directory_path() / ("async_file_test_" + std::to_string(getpid()))).string();
  fs::remove(path);
  create_new_file(path);
  std::vector<index_t> found(pieces, -1);
  {
    const RawFile file(path, RawFile::Mode::read_write);
    FileQueue writes, reads;
    for (index_t p = 0; p < pieces; ++p) {
      const Ticket written = writes.ask([&, p] {
        file.write_at(p * index_t{sizeof p}, std::as_bytes(std::span(&p, 1)));
        writes.count_written(index_t{sizeof p});
      });
      (void)reads.ask([&, p, written] {
        written.get();
        index_t& to = found[static_cast<std::size_t>(p)];
        file.read_at(p * index_t{sizeof p}, std::as_writable_bytes(std::span(&to, 1)));
        reads.count_read(index_t{sizeof p});
      });
    }
    reads.wait(reads.last());
    EXPECT_EQ(writes.take_traffic().bytes_written, pieces * index_t{sizeof(index_t)});
    EXPECT_EQ(reads.take_traffic().bytes_read, pieces * index_t{sizeof(index_t)});
  }
  fs::remove(path);
  std::vector<index_t> want(pieces);
  std::iota(want.begin(), want.end(), index_t{0});
  EXPECT_EQ(found, want);
}

}  // namespace
}  // namespace tessera::io
