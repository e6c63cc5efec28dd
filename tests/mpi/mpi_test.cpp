#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include "layout/matrix_layout.hpp"
#include "machine/buffer.hpp"
#include "machine/topology.hpp"
#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "mpi/exchange.hpp"
#include "mpi/exchange_amounts.hpp"
#include "mpi/phases.hpp"
#include "mpi/probes.hpp"
#include "mpi/progress.hpp"
#include "mpi/runtime.hpp"
#include "mpi/transfer.hpp"

namespace tessera::mpi {
namespace {

TEST(Runtime, GivesEveryRankItsPartOfTheLastCaches) {
  const machine::Caches mine = machine::caches();
  machine::share_last_caches(1);
  const index_t whole = machine::caches().l3;
  const int ranks = Communicator::world().node().size();
  machine::share_last_caches(ranks);
  EXPECT_EQ(mine.l3, machine::caches().l3);
  EXPECT_EQ(mine.l3, std::min(whole, whole * mine.l3_instances / ranks));
}

TEST(Communicator, BroadcastsTextsOfAnyLength) {
  const Communicator comm = Communicator::world();
  for (const unsigned length : {0U, 1U, 1015U, 1016U, 1017U, 5000U}) {
    std::string text(length, 'x');
    if (!text.empty()) text.back() = 'y';
    EXPECT_EQ(comm.broadcast(comm.is_root() ? text : std::string("other"), 0), text);
  }
}

TEST(Communicator, ReducesAndGathers) {
  const Communicator comm = Communicator::world();
  const index_t p = comm.size();
  EXPECT_EQ(comm.sum(index_t{comm.rank()}), p * (p - 1) / 2);
  EXPECT_EQ(comm.max(index_t{comm.rank()}), p - 1);
  EXPECT_EQ(comm.min(static_cast<double>(comm.rank())), 0);
  EXPECT_EQ(comm.sum(std::uint64_t{1} << 63), p % 2 == 0 ? 0u : std::uint64_t{1} << 63);
  const auto all = comm.all_gather(index_t{10 * comm.rank()});
  for (index_t r = 0; r < p; ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], 10 * r);
  std::vector<double> values{1.0, static_cast<double>(comm.rank())};
  comm.sum(values);
  EXPECT_EQ(values,
            (std::vector<double>{static_cast<double>(p), static_cast<double>(p * (p - 1) / 2)}));
  const auto texts = comm.gather(std::string(static_cast<std::size_t>(comm.rank()), 'x'), 0);
  EXPECT_EQ(texts.size(), comm.is_root() ? static_cast<std::size_t>(p) : 0u);
  if (comm.is_root()) {
    EXPECT_EQ(texts.back().size(), static_cast<std::size_t>(p - 1));
  }
  const std::vector<double> mine{1.0 * comm.rank(), -1.0};
  const auto gathered = comm.gather(mine, 0);
  if (comm.is_root()) {
    EXPECT_EQ(gathered[gathered.size() - 2], static_cast<double>(p - 1));
  }
}

TEST(Communicator, BroadcastsTextOfAnyLength) {
  const Communicator comm = Communicator::world();
  EXPECT_EQ(
      comm.broadcast(comm.is_root() ? std::string("hello") : std::string("something longer"), 0),
      "hello");
  EXPECT_EQ(comm.broadcast(std::string(), 0), "");
}

TEST(Communicator, BroadcastsOfAnyLengthFromAnyRankArriveWhole) {
  const Communicator comm = Communicator::world();
  const int p = comm.size();
  const auto value = [](std::size_t i, int root) {
    return static_cast<unsigned char>(i * 7 + i / 251 + static_cast<std::size_t>(root));
  };
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{65535}, std::size_t{65536}, std::size_t{65537},
        std::size_t{100003}, std::size_t{1} << 20, (std::size_t{5} << 20) + 3}) {
    for (int root = 0; root < p;
         ++root) {  // in sequence: no broadcast may receive data of the next one
      std::vector<unsigned char> data(length + 1, 0xee);
      for (std::size_t i = 0; comm.rank() == root && i < length; ++i) data[i] = value(i, root);
      comm.broadcast(std::span(data).first(length), root);
      bool right = data[length] == 0xee;
      for (std::size_t i = 0; i < length; ++i) right = right && data[i] == value(i, root);
      EXPECT_TRUE(right) << length << " bytes from " << root;
    }
  }
}

TEST(Communicator, SumsOfAnyLengthAreThoseOfEveryElement) {
  const Communicator comm = Communicator::world();
  const index_t p = comm.size();
  for (const index_t length : {0, 1, 100, 8192, 8193, 100003}) {
    std::vector<index_t> values(static_cast<std::size_t>(length) + 1, -1);
    for (index_t i = 0; i < length; ++i)
      values[static_cast<std::size_t>(i)] = i * 1000003 + comm.rank();
    comm.sum(std::span(values).first(static_cast<std::size_t>(length)));
    bool right = values.back() == -1;
    for (index_t i = 0; i < length; ++i)
      right = right && values[static_cast<std::size_t>(i)] == p * i * 1000003 + p * (p - 1) / 2;
    EXPECT_TRUE(right) << length;
  }
}

TEST(Communicator, GathersBlocksOfAnyLengthInTheOrderOfTheRanks) {
  const Communicator comm = Communicator::world();
  const auto p = static_cast<std::size_t>(comm.size());
  const std::initializer_list<std::size_t> lengths{0,    1,    4095,
                                                   4096, 4097, 100003};  // long ones by recursive
                                                                         // doubling
  for (const std::size_t length : lengths) {
    const std::vector<unsigned char> mine(length, static_cast<unsigned char>(comm.rank() + 1));
    std::vector<unsigned char> all(length * p + 1, 0xee);
    comm.all_gather(std::as_bytes(std::span(mine)),
                    std::as_writable_bytes(std::span(all).first(length * p)));
    bool right = all.back() == 0xee;
    for (std::size_t i = 0; i < length * p; ++i) right = right && all[i] == i / length + 1;
    EXPECT_TRUE(right) << length;
  }
}

TEST(Communicator, SplitsByColor) {
  const Communicator comm = Communicator::world();
  const Communicator half = comm.split(comm.rank() % 2, comm.rank());
  EXPECT_EQ(half.rank(), comm.rank() / 2);
  EXPECT_EQ(comm.node().size(), comm.size());  // the tests run on one node
}

TEST(Communicator, KeepsTheLinesOfAGrid) {
  const Communicator comm = Communicator::world();
  const index_t cols = comm.size() % 2 == 0 ? 2 : 1, rows = comm.size() / cols;
  const GridLines& lines = comm.grid_lines(rows, cols);
  EXPECT_EQ(lines.row.size(), cols);
  EXPECT_EQ(lines.col.size(), rows);
  EXPECT_EQ(lines.row.rank(), comm.rank() % cols);
  EXPECT_EQ(lines.col.rank(), comm.rank() / cols);
  const Communicator copy = comm;
  EXPECT_EQ(&copy.grid_lines(rows, cols), &lines);
  EXPECT_EQ(comm.grid_lines(cols, rows).row.size(), rows);
  EXPECT_EQ(lines.row.sum(index_t{1}), cols) << "another grid leaves them as they are";
}

TEST(Communicator, MessagesOfSeveralSizesArriveInOrder) {
  const Communicator comm = Communicator::world();
  const int to = (comm.rank() + 1) % comm.size(),
            from = (comm.rank() + comm.size() - 1) % comm.size();
  std::vector<int> first_in(3), second_in(100000);
  std::vector<int> first_out(3, comm.rank()), second_out(100000, -comm.rank());
  std::vector<Request> requests;
  requests.push_back(comm.receive(std::as_writable_bytes(std::span(first_in)), from, 7));
  requests.push_back(comm.receive(std::as_writable_bytes(std::span(second_in)), from, 7));
  requests.push_back(comm.send(std::as_bytes(std::span(first_out)), to, 7));
  requests.push_back(comm.send(std::as_bytes(std::span(second_out)), to, 7));
  wait_all(requests);
  EXPECT_EQ(first_in[2], from);
  EXPECT_EQ(second_in.back(), -from);
}

TEST(Agreement, EveryRankThrowsTheOneFailure) {
  const Communicator comm = Communicator::world();
  const int guilty = comm.size() - 1;
  try {
    together(comm, "test", [&] {
      if (comm.rank() == guilty)
        throw Error(ExitCode::io, "the disk of rank " + std::to_string(guilty));
    });
    FAIL() << "no error came";
  } catch (const AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::io);
    EXPECT_EQ(std::string(error.what()), "the disk of rank " + std::to_string(guilty));
  }
  together(comm, "test", [] {});  // all ranks reach this collective
}

TEST(Agreement, SettlesChecksAndValuesAtOnce) {
  const Communicator comm = Communicator::world();
  Agreement good(comm, "test");
  EXPECT_TRUE(good.check([] {}));
  const std::size_t most = good.largest(10 * comm.rank()), least = good.largest(-(5 + comm.rank()));
  const std::size_t of_root = good.of_root(comm.is_root() ? -0.5 : 1e300);
  good.settle();
  EXPECT_EQ(good.root_value(of_root), -0.5);
  EXPECT_EQ(good.value(most), 10 * (comm.size() - 1));
  EXPECT_EQ(good.least(least), 5);
  Agreement bad(comm, "test");
  int ran = 0;
  const bool guilty = comm.rank() + 1 == comm.size();
  EXPECT_EQ(bad.check([&] { require(!guilty, ExitCode::io, "the first"); }), !guilty);
  bad.check([&] {
    ++ran;
    throw Error(ExitCode::usage, "the second");
  });
  EXPECT_EQ(ran, guilty ? 0 : 1);
  try {
    bad.settle();
    FAIL();
  } catch (const AgreedError& error) {  // the most severe code, on every rank
    EXPECT_EQ(error.code(), ExitCode::io);
    EXPECT_EQ(std::string(error.what()), "the first");
  }
  together(comm, "test", [] {});
}

TEST(Agreement, WhatFailsAlikeTakesNoMessage) {
  EXPECT_THROW(alike("test", [] { throw Error(ExitCode::usage, "all know"); }), AgreedError);
  alike("test", [] {});
}

TEST(Agreement, OutOfMemoryAnywhereIsCode71) {
  const Communicator comm = Communicator::world();
  try {
    on_root(comm, "test", [] { throw std::bad_alloc(); });
    FAIL();
  } catch (const AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::memory);
  }
}

TEST(Check, ThrowsWithTheLibrarysWords) {
  EXPECT_THROW(check(MPI_ERR_TRUNCATE, "MPI_Recv"), Error);
  check(MPI_SUCCESS, "MPI_Recv");
}

TEST(Redistribute, MovesEveryElementBetweenLayouts) {
  const Communicator comm = Communicator::world();
  const auto p = static_cast<index_t>(comm.size());
  for (const auto& [rows, cols] :
       {std::pair<index_t, index_t>{17, 23}, {1, 40}, {40, 1}, {3, 2}, {0, 5}}) {
    const layout::MatrixLayout home = layout::row_blocks(rows, cols, p);
    layout::MatrixLayout need =
        layout::grid_blocks(layout::BlockMap(rows, 1), layout::BlockMap(cols, p), {1, p});
    const layout::Box mine = home.of(comm.rank()), want = need.of(comm.rank());
    machine::Buffer<double> from(mine.area()), to(want.area() + 2);
    for (index_t i = 0; i < mine.area(); ++i) {
      from[i] = static_cast<double>((mine.rows.begin + i / std::max<index_t>(1, cols)) * cols +
                                    i % std::max<index_t>(1, cols));
    }
    std::fill(to.begin(), to.end(), -1.0);
    const auto view = matrix_view(to.data() + 1, want.rows.size(), want.cols.size());
    redistribute<double>(comm, home,
                         matrix_view<const double>(from.data(), mine.rows.size(), mine.cols.size()),
                         need, view);
    for (index_t i = 0; i < view.rows; ++i) {
      for (index_t j = 0; j < view.cols; ++j) {
        EXPECT_EQ(view(i, j),
                  static_cast<double>((want.rows.begin + i) * cols + want.cols.begin + j));
      }
    }
    EXPECT_EQ(to[0], -1);  // elements outside are unchanged
    EXPECT_EQ(to[want.area() + 1], -1);
  }
}

TEST(Redistribute, ReplicatesWhereSeveralRanksNeedTheSame) {
  const Communicator comm = Communicator::world();
  const auto p = static_cast<index_t>(comm.size());
  const layout::MatrixLayout home = layout::row_blocks(9, 4, p);
  const layout::MatrixLayout need{
      9, 4, std::vector<layout::Box>(static_cast<std::size_t>(p), {{0, 9}, {0, 4}})};
  machine::Buffer<float> from(home.of(comm.rank()).area()), to(36);
  std::fill(from.begin(), from.end(), static_cast<float>(comm.rank()));
  redistribute<float>(comm, home,
                      matrix_view<const float>(from.data(), home.of(comm.rank()).rows.size(), 4),
                      need, matrix_view(to.data(), 9, 4));
  for (index_t r = 0; r < p; ++r) {
    const layout::Range rows = home.of(r).rows;
    for (index_t i = rows.begin; i < rows.end; ++i) EXPECT_EQ(to[i * 4 + 3], static_cast<float>(r));
  }
}

TEST(Transfer, EmptyBlocksNeedNoMemory) {
  copy_block<float>({nullptr, 3, 0, 0}, {nullptr, 3, 0, 0});
  copy_block<double>({nullptr, 0, 3, 3}, {nullptr, 0, 3, 3});
}

TEST(Communicator, SumsBeforeAndGathersSeveral) {
  const Communicator comm = Communicator::world();
  const index_t p = comm.size(), r = comm.rank();
  std::vector<index_t> values{1, r};
  comm.sum_before(values);
  EXPECT_EQ(values, (std::vector<index_t>{r, r * (r - 1) / 2}));
  values = {1, r};
  comm.sum(values);
  EXPECT_EQ(values, (std::vector<index_t>{p, p * (p - 1) / 2}));
  const std::vector<std::uint32_t> mine{static_cast<std::uint32_t>(r), 7};
  const auto all = comm.all_gather(std::span<const std::uint32_t>(mine));
  for (index_t q = 0; q < p; ++q) EXPECT_EQ(all[static_cast<std::size_t>(2 * q)], q);
  EXPECT_EQ(all.back(), 7U);
  std::vector<index_t> to;
  for (index_t q = 0; q < p; ++q) to.push_back(100 * r + q);
  const auto from = comm.all_to_all(to);
  for (index_t q = 0; q < p; ++q) EXPECT_EQ(from[static_cast<std::size_t>(q)], 100 * q + r);
}

TEST(Exchange, GivesEveryPairItsOwnAmount) {
  const Communicator comm = Communicator::world();
  exchange_amounts(comm, [](index_t, index_t) { return 0; });
  exchange_amounts(comm, [](index_t from, index_t to) { return (from * 7 + to * 3) % 5; });
  exchange_amounts(comm, [](index_t from, index_t to) { return from == 0 && to == 1 ? 1000 : 0; });
  exchange_amounts(comm, [](index_t from, index_t to) { return 100000 * (from + 1) + to; });
}

TEST(Exchange, TakesSeveralRoundsForLargeAmounts) {
  const Communicator comm = Communicator::world();
  const index_t round = round_bytes / 4 / comm.size();  // elements per round and peer
  exchange_amounts(comm, [&](index_t from, index_t to) { return to == 0 ? 2 * round + from : 3; });
}

TEST(Communicator, FindsTheRanksOfAPart) {
  const Communicator comm = Communicator::world();
  const int reversed = comm.size() - comm.rank();
  const Communicator part = comm.split(comm.rank() % 2, reversed);
  EXPECT_EQ(comm.ranks_of(part), part.all_gather(index_t{comm.rank()}));
}

TEST(ProgressThread, MessagesTravelWhileNobodyElseCallsMpi) {
  const Communicator comm = Communicator::world();
  const int next = (comm.rank() + 1) % comm.size(),
            last = (comm.rank() + comm.size() - 1) % comm.size();
  const std::vector<double> out(std::size_t{1} << 20, comm.rank());
  std::vector<double> in(out.size(), -1);
  Request request = comm.receive(std::as_writable_bytes(std::span(in)), last, 7);
  request.join(comm.send(std::as_bytes(std::span(out)), next, 7));
  for (double pause = 0.25; !request.parts().empty() && pause < 16; pause *= 2) {
    ProgressThread progress(request);
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    progress.stop();
  }
  EXPECT_TRUE(request.parts().empty()) << "a look of this thread's before each pause moves little";
  EXPECT_EQ(in, std::vector<double>(out.size(), last));
  request.wait();
}

TEST(Probes, MeasureAPairOfRanksOnEveryRank) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) GTEST_SKIP() << "one rank";
  const std::vector<index_t> sizes{1, 100, 1 << 17};
  const std::pair last{comm.size() - 2, comm.size() - 1};
  for (const std::pair<int, int>& pair : {std::pair{0, comm.size() - 1}, last}) {
    const std::vector<double> seconds = measure_pair(comm, pair, sizes, 0.002);
    ASSERT_EQ(seconds.size(), sizes.size());
    for (const double one : seconds) {
      EXPECT_GT(one, 0);
      EXPECT_EQ(comm.max(one), comm.min(one));
    }
  }
}

TEST(OnRootAlone, AllRanksThrowWhatTheRootThrows) {
  const Communicator comm = Communicator::world();
  int ran = 0;
  on_root_alone(comm, "work", [&] { ++ran; });
  EXPECT_EQ(ran, comm.is_root() ? 1 : 0);
  try {
    on_root_alone(comm, "work", [] { throw Error(ExitCode::bad_data, "no good"); });
    FAIL() << "no error";
  } catch (const AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_data);
  }
}

TEST(Probes, GivePlausibleCosts) {
  const Communicator comm = Communicator::world();
  if (comm.size() < 2) GTEST_SKIP() << "needs two ranks";
  const MessageCosts costs = measure_messages(comm, 0.03);
  EXPECT_GT(costs.bandwidth, 1e6);
  EXPECT_GT(costs.all_to_all_bandwidth, 1e6);
  EXPECT_GT(*std::min_element(costs.shift_bandwidth.begin(), costs.shift_bandwidth.end()), 1e6);
  EXPECT_GT(costs.latency_seconds, 1e-8);
}

}  // namespace
}  // namespace tessera::mpi
