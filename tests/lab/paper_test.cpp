// GPUs on paper: known answers of the literature, and random shapes against a slow count.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "base/error.hpp"
#include "kernels/memory/device_words.hpp"
#include "kernels/stencil/stencil.hpp"
#include "lab/paper/report.hpp"
#include "lab/paper/steps.hpp"

namespace tessera::paper {
namespace {

PaperGpu h100() { return parse_device("paper:h100"); }

Request request(const char* workload, const std::string& kernel, index_t m, index_t n,
                index_t bytes = 4) {
  Request r;
  r.problem.workload = workload;
  r.problem.kernel = kernel;
  r.problem.m = m;
  r.problem.n = n;
  r.problem.k = n;
  r.problem.element_bytes = bytes;
  r.problem.stencil = "box3x3";
  r.walk = {.bytes = 4 * n, .rounds = 2, .offset = 0, .lane_stride = 1, .bins = 256, .ways = 4};
  return r;
}

double segments(const Report& r, Kind kind) {
  const Traffic t = r.meter.all(Space::global, kind);
  return t.per_request(t.segments);
}
double passes(const Report& r, Kind kind) {
  const Traffic t = r.meter.all(Space::shared, kind);
  return t.per_request(t.passes);
}

TEST(Pieces, AreTheDifferentSectorsOfTheActiveLanes) {
  Addresses at;
  for (index_t lane = 0; lane < lanes; ++lane) at[static_cast<std::size_t>(lane)] = 4 * lane;
  EXPECT_EQ(pieces_of(at, ~Mask{0}, 32), 4);
  EXPECT_EQ(pieces_of(at, ~Mask{0}, 128), 1);
  EXPECT_EQ(pieces_of(at, Mask{1} | Mask{1} << 31, 32), 2);
  for (index_t& address : at) address += 4;
  EXPECT_EQ(pieces_of(at, ~Mask{0}, 32), 5);
  EXPECT_EQ(pieces_of(at, ~Mask{0}, 128), 2);
  at.fill(64);
  EXPECT_EQ(pieces_of(at, ~Mask{0}, 32), 1);
}

TEST(Passes, AreTheLongestQueueOfABank) {
  const auto strided = [](index_t stride, index_t bytes) {
    Addresses at;
    for (index_t lane = 0; lane < lanes; ++lane)
      at[static_cast<std::size_t>(lane)] = lane * stride * bytes;
    return at;
  };
  const auto of = [&](index_t stride, index_t bytes, Kind kind = Kind::load) {
    return passes_of(strided(stride, bytes), ~Mask{0}, bytes, kind);
  };
  EXPECT_EQ(of(0, 4), 1);  // broadcast
  EXPECT_EQ(of(1, 4), 1);
  EXPECT_EQ(of(2, 4), 2);
  EXPECT_EQ(of(3, 4), 1);
  EXPECT_EQ(of(8, 4), 8);
  EXPECT_EQ(of(32, 4), 32);
  EXPECT_EQ(of(33, 4), 1);
  EXPECT_EQ(of(1, 8), 2);  // two half warps
  EXPECT_EQ(of(32, 8), 32);
  EXPECT_EQ(of(33, 8), 2);
  EXPECT_EQ(of(1, 16), 4);
  EXPECT_EQ(of(0, 4, Kind::atomic), 32);
  EXPECT_EQ(of(1, 4, Kind::atomic), 1);
}

/// A slow count: sets of segments, and words by bank, from a list of byte addresses.
struct Slow {
  static index_t segments(const std::vector<index_t>& at, index_t piece) {
    std::set<index_t> pieces;
    for (const index_t address : at) pieces.insert(address / piece);
    return static_cast<index_t>(pieces.size());
  }
  static index_t passes(const std::vector<index_t>& at) {
    std::map<index_t, std::set<index_t>> banks_words;
    for (const index_t address : at) banks_words[address / 4 % 32].insert(address / 4);
    std::size_t most = 0;
    for (const auto& [bank, queue] : banks_words) most = std::max(most, queue.size());
    return static_cast<index_t>(most);
  }
};

TEST(Access, IsCountedAsBySetsForRandomAddresses) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 2000; ++turn) {
    Addresses at{};
    std::vector<index_t> active_at;
    const Mask active = turn % 3 == 0 ? ~Mask{0} : static_cast<Mask>(random()) | 1;
    const auto range = static_cast<std::uint32_t>(1 << (3 + turn % 10));
    for (index_t lane = 0; lane < lanes; ++lane) {
      const index_t address = 4 * static_cast<index_t>(random() % range);
      at[static_cast<std::size_t>(lane)] = address;
      if ((active >> lane & 1) != 0) active_at.push_back(address);
    }
    for (const index_t piece : {32, 64, 128})
      EXPECT_EQ(pieces_of(at, active, piece), Slow::segments(active_at, piece));
    EXPECT_EQ(passes_of(at, active, 4, Kind::load), Slow::passes(active_at));
  }
}

TEST(Ladder, HasTheTransactionsAndConflictsOfThePaper) {
  const struct {
    const char* kernel;
    double loads, stores, shared_loads, shared_stores;
  } right[] = {{"cuda_copy", 4, 4, 0, 0},           {"cuda_copy_shared", 4, 4, 1, 1},
               {"cuda_naive", 4, 32, 0, 0},         {"cuda_coalesced", 4, 4, 32, 1},
               {"cuda_conflict_free", 4, 4, 1, 1},  {"cuda_fine_grained", 4, 4, 1, 1},
               {"cuda_coarse_grained", 4, 4, 1, 1}, {"cuda_diagonal", 4, 4, 1, 1}};
  for (const auto& row : right) {
    const Report r = run(h100(), request("transpose", row.kernel, 128, 256));
    EXPECT_EQ(segments(r, Kind::load), row.loads) << row.kernel;
    EXPECT_EQ(segments(r, Kind::store), row.stores) << row.kernel;
    EXPECT_EQ(passes(r, Kind::load), row.shared_loads) << row.kernel;
    EXPECT_EQ(passes(r, Kind::store), row.shared_stores) << row.kernel;
    EXPECT_EQ(r.meter.all(Space::global, Kind::load).requests, 128 * 256 / 32) << row.kernel;
    EXPECT_EQ(r.memory_bytes, 2.0 * 128 * 256 * 4) << row.kernel;
    EXPECT_EQ(r.meter.ways(), 1) << row.kernel;
  }
  EXPECT_EQ(paper_kernels("transpose").size(), std::size(right));
}

TEST(Ladder, HasSegmentsOf128BytesOnAGtx580) {
  const PaperGpu gpu = parse_device("paper:gtx580");
  EXPECT_EQ(segments(run(gpu, request("transpose", "cuda_naive", 64, 64)), Kind::load), 1);
  EXPECT_EQ(segments(run(gpu, request("transpose", "cuda_naive", 64, 64)), Kind::store), 32);
  EXPECT_EQ(segments(run(gpu, request("transpose", "cuda_coalesced", 64, 64)), Kind::store), 1);
}

TEST(Ladder, TransposesAnyShapeOfBothWidths) {
  for (const std::string& kernel : paper_kernels("transpose")) {
    for (const auto& [m, n] : {std::array<index_t, 2>{1, 1}, {7, 5}, {31, 33}, {32, 64}, {65, 97}})
      for (const index_t bytes : {4, 8})
        EXPECT_GT(run(h100(), request("transpose", kernel, m, n, bytes)).operations + 1, 0);
  }
}

/// Requests of a naive transpose, counted from the addresses of each warp, without a simulator.
TEST(Ladder, NaiveOfRandomShapesIsCountedAsByHand) {
  std::mt19937 random(3);
  for (int turn = 0; turn < 12; ++turn) {
    const auto m = static_cast<index_t>(1 + random() % 90),
               n = static_cast<index_t>(1 + random() % 90);
    const index_t ld_a = (n + 3) / 4 * 4, ld_b = (m + 3) / 4 * 4;
    index_t load_requests = 0, load_segments = 0, store_segments = 0;
    for (index_t i0 = 0; i0 < m; i0 += 32) {
      for (index_t j0 = 0; j0 < n; j0 += 32) {
        for (index_t i = i0; i < std::min(m, i0 + 32); ++i) {
          std::vector<index_t> from, to;
          for (index_t j = j0; j < std::min(n, j0 + 32); ++j) {
            from.push_back(4 * (i * ld_a + j));
            to.push_back(4 * (j * ld_b + i));
          }
          ++load_requests;
          load_segments += Slow::segments(from, 32);
          store_segments += Slow::segments(to, 32);
        }
      }
    }
    const Report r = run(h100(), request("transpose", "cuda_naive", m, n));
    EXPECT_EQ(r.meter.all(Space::global, Kind::load).requests, load_requests);
    EXPECT_EQ(r.meter.all(Space::global, Kind::load).segments, load_segments) << m << " " << n;
    EXPECT_EQ(r.meter.all(Space::global, Kind::store).segments, store_segments) << m << " " << n;
  }
}

const ArrayTraffic& array(const Report& r, const std::string& name) {
  for (const ArrayTraffic& one : r.meter.arrays())
    if (one.name == name) return one;
  throw std::runtime_error("no array " + name);
}

TEST(Product, NaiveBroadcastsAAndReadsBInLines) {
  Request q = request("matmul", "cuda_naive", 64, 128);
  q.problem.k = 32;
  const Report r = run(h100(), q);
  const Traffic a = array(r, "a").of(Kind::load), b = array(r, "b").of(Kind::load);
  EXPECT_EQ(a.per_request(a.segments), 1);
  EXPECT_EQ(b.per_request(b.segments), 4);
  EXPECT_EQ(b.requests, 64 * 128 / 32 * 32);
  EXPECT_EQ(r.operations, 2.0 * 64 * 128 * 32);
  EXPECT_EQ(r.meter.flight_bytes(), 5 * 32);
}

TEST(Product, TilesReadEachElementOnceABlock) {
  // Tiles of 4 x 4, six along a width of 23 and seven in a row: threads beyond the edge load, too.
  Request q = request("matmul", "cuda_tiled", 4, 28);
  q.problem.k = 23;
  q.problem.tile = 4;
  EXPECT_EQ(16 * array(run(h100(), q), "a").of(Kind::load).requests, 672);
  q = request("matmul", "cuda_tiled", 96, 96);
  q.problem.k = 96;
  for (const index_t tile : {16, 32}) {
    q.problem.tile = tile;
    const Report r = run(h100(), q);
    for (const char* operand : {"a", "b"})
      EXPECT_EQ(array(r, operand).of(Kind::load).lanes, 96 * 96 * 96 / tile) << tile;
    EXPECT_EQ(r.meter.launch.threads, tile * tile);
    EXPECT_EQ(r.meter.launch.shared_bytes, 2 * tile * (tile + 1) * 4);
    EXPECT_EQ(array(r, "tile of b").of(Kind::load).passes,
              array(r, "tile of b").of(Kind::load).requests);
  }
}

TEST(Product, RegisterTilesAskLessOfSharedMemory) {
  Request q = request("matmul", "cuda_register", 128, 128);
  const Report r = run(h100(), q);
  q.problem.kernel = "cuda_tiled";
  const Report tiled = run(h100(), q);
  EXPECT_EQ(array(r, "a").of(Kind::load).lanes, 128 * 128 * 128 / 64);
  EXPECT_EQ(array(r, "b").of(Kind::load).lanes, 128 * 128 * 128 / 64 / 4);  // vectors of four
  // Of 8 x 8 elements a thread loads 16 words a step in four vectors; one element of C takes two.
  EXPECT_EQ(r.meter.all(Space::shared, Kind::load).requests, 128 * 128 / 64 * 128 / 32 * 4);
  EXPECT_EQ(tiled.meter.all(Space::shared, Kind::load).requests, 128 * 128 * 128 / 32 * 2);
  EXPECT_EQ(r.operations, tiled.operations);
  // A vector takes four passes, and serves 16 multiply-adds where a word serves a half.
  EXPECT_EQ(8 * r.meter.all(Space::shared, Kind::load).passes,
            tiled.meter.all(Space::shared, Kind::load).passes);
  const Traffic c = r.meter.all(Space::global, Kind::store);
  EXPECT_EQ(c.requests, 128 * 128 / 32 / 4);
}

TEST(Product, IsRightForShapesThatAreNoMultiples) {
  for (const std::string& kernel : paper_kernels("matmul")) {
    for (const index_t bytes : {4, 8}) {
      const bool vectors = kernel == "cuda_register";  // rows of whole vectors of 16 bytes
      Request q = request("matmul", kernel, 33, vectors ? 92 : 47, bytes);
      q.problem.k = vectors ? 20 : 5;
      q.block = 64;
      EXPECT_EQ(run(h100(), q).meter.all(Space::global, Kind::store).lanes, 33 * q.problem.n)
          << kernel;
      q.problem.n = 47;
      if (vectors) {
        EXPECT_THROW((void)run(h100(), q), Error);
      }
    }
  }
}

TEST(Stencil, IsRightAndLoadsEveryTap) {
  for (const std::string& kernel : paper_kernels("stencil")) {
    for (const char* name : {"box3x3", "star2", "heat"}) {
      for (const auto& [m, n] : {std::array<index_t, 2>{1, 1}, {37, 129}, {16, 64}}) {
        for (const index_t bytes : {4, 8}) {
          Request q = request("stencil", kernel, m, n, bytes);
          q.problem.stencil = name;
          const index_t r = stencil::named_stencil(name, 2).radius[2];
          EXPECT_EQ(run(h100(), q).meter.all(Space::global, Kind::store).lanes,
                    (m + 2 * r) * (n + 2 * r))  // each ghost once
              << kernel;
        }
      }
    }
  }
  const Report r = run(h100(), request("stencil", "cuda_naive", 64, 64));
  EXPECT_EQ(r.meter.all(Space::global, Kind::load).lanes, 9 * 64 * 64);
  // Rows begin at lines: of three taps in a row the outer two touch a fifth sector.
  EXPECT_NEAR(segments(r, Kind::load), (5 + 4 + 5) / 3.0, 1e-12);
  // Two warps a row, each with an outer column; four of the warps have points of an outer row, and
  // each of these has a corner.
  EXPECT_EQ(r.meter.all(Space::global, Kind::store).requests, 2 * 64 + 2 * 64 + 4 + 4);
  Request any = request("stencil", "cuda_naive", 64, 64);
  any.problem.stencil = "star2";  // 9 taps, each with 3 coordinates and a weight in memory
  const Report loaded = run(h100(), any);
  EXPECT_EQ(loaded.meter.all(Space::global, Kind::load).lanes, 9 * 5 * 64 * 64);
  EXPECT_EQ(array(loaded, "tap places").of(Kind::load).segments, 9 * 3 * 2 * 64);
  const Report tiled = run(h100(), request("stencil", "cuda_tiled", 64, 64));
  EXPECT_EQ(tiled.meter.all(Space::global, Kind::load).lanes, 2 * 8 * 34 * 10);
  EXPECT_EQ(passes(tiled, Kind::load), 1);
}

TEST(Memory, IsRightInEveryKernelAndSize) {
  for (const std::string& kernel : paper_kernels("memory")) {
    for (const index_t n : {4, 1000, 4096, 70000})
      EXPECT_GE(run(h100(), request("memory", kernel, 1, n / 4 * 4)).operations, 0) << kernel;
  }
}

TEST(Memory, StridesCostSectorsAndPasses) {
  for (const index_t stride : {1, 2, 4, 8, 32}) {
    Request q = request("memory", "cuda_copy_stride", 1, 1 << 15);
    q.walk.lane_stride = stride;
    EXPECT_EQ(segments(run(h100(), q), Kind::load), std::min<index_t>(32, 4 * stride)) << stride;
    q.problem.kernel = "cuda_shared_stride";
    q.problem.n = 512;
    EXPECT_EQ(passes(run(h100(), q), Kind::load), stride) << stride;
  }
  Request q = request("memory", "cuda_copy_offset", 1, 1 << 12);
  q.walk.offset = 1;
  EXPECT_EQ(segments(run(h100(), q), Kind::load), 5);
}

TEST(Memory, SequentialAddressingKeepsWarpsWhole) {
  const auto lanes_of = [](const char* kernel) {
    return run(h100(), request("memory", kernel, 1, 1 << 14)).meter.active_lanes();
  };
  EXPECT_GT(lanes_of("cuda_reduce_sequential"), lanes_of("cuda_reduce_interleaved") + 2);
  // An interleaved step of distance 16 and more conflicts: threads 32 apart add words 32 apart.
  EXPECT_EQ(
      passes(run(h100(), request("memory", "cuda_reduce_sequential", 1, 1 << 12)), Kind::load), 1);
}

TEST(Memory, ManyLoadsAThreadLeaveTheSumToFewBlocks) {
  const index_t n = index_t{1} << 22;  // four words a load: 3.9 loads for each of 528 x 512 threads
  const Traffic loads =
      array(run(h100(), request("memory", "cuda_reduce", 1, n)), "from").of(Kind::load);
  EXPECT_EQ(loads.requests, n / 4 / 32);
  EXPECT_EQ(loads.segments, 16 * loads.requests);
  const Traffic sums =
      array(run(h100(), request("memory", "cuda_reduce", 1, n)), "result").of(Kind::atomic);
  EXPECT_EQ(sums.requests, 4 * 132);  // one a block, four blocks a multiprocessor
}

TEST(Memory, AtomicsOfOneBinAreServedOneByOne) {
  Request q = request("memory", "cuda_histogram_shared", 1, 1 << 14);
  q.walk.bins = 1;
  const Traffic one = array(run(h100(), q), "bins").of(Kind::atomic);
  EXPECT_EQ(one.passes, 32 * one.requests);
  q.walk.bins = 4096;
  const Traffic many = array(run(h100(), q), "bins").of(Kind::atomic);
  EXPECT_LT(many.per_request(many.passes), 5);  // 32 balls into 32 banks: about 3.5 in the fullest
}

TEST(Divergence, HasTheAnswersOfTheQuiz) {
  const auto ways = [](const char* kernel) {
    return run(h100(), request("memory", kernel, 1, 1 << 14)).meter.ways();
  };
  EXPECT_EQ(ways("switch_x_mod_32"), 32);
  EXPECT_EQ(ways("switch_x_mod_64"), 32);
  EXPECT_EQ(ways("switch_y_64x16"), 1);
  EXPECT_EQ(ways("switch_y_16x16"), 2);
  EXPECT_EQ(ways("switch_x_mod_2"), 2);
  EXPECT_EQ(ways("switch_x_div_8"), 4);
  EXPECT_EQ(ways("switch_x_div_32"), 1);
  for (const index_t n : {1, 2, 5, 32}) {
    Request q = request("memory", "cuda_divergence", 1, 4096);
    q.walk.ways = n;
    EXPECT_EQ(run(h100(), q).meter.ways(), n);
    EXPECT_NEAR(run(h100(), q).meter.active_lanes(), 32.0 / static_cast<double>(n), 8) << n;
  }
}

TEST(Divergence, OfABorderIsInItsWarpsAlone) {
  const index_t high = 64;  // rows of 1024 pixels
  const Report r = run(h100(), request("memory", "switch_border", 1, high * 1024));
  EXPECT_EQ(r.meter.warps(), high * 32);
  EXPECT_EQ(r.meter.divergent_warps(), 2 * (high - 2));
  EXPECT_EQ(r.meter.most_ways(), 2);
}

TEST(Bounds, FollowFromTheFigures) {
  const PaperGpu gpu = h100();
  const Report r = run(gpu, request("transpose", "cuda_copy", 1024, 1024));
  EXPECT_EQ(r.flight, r.resident_warps * 4 * 128);  // four loads of a line before the first store
  EXPECT_NEAR(gpu.bytes_in_flight(), 479 / 1.98e9 * 3.35e12 / 132, 1);
  EXPECT_EQ(r.bounds.front().by, r.flight_share() < 1 ? "latency" : "memory");
  EXPECT_NEAR(r.bounds.front().seconds,
              8 * 1024.0 * 1024 / 3.35e12 / std::min(1.0, r.flight_share()), 1e-9);
  const Report naive = run(gpu, request("transpose", "cuda_naive", 1024, 1024));
  EXPECT_EQ(naive.bound().by, "L2");
  EXPECT_EQ(naive.l2_bytes, (4 + 32) * 1024.0 * 1024);
  const Report conflicts = run(gpu, request("transpose", "cuda_coalesced", 1024, 1024));
  EXPECT_EQ(conflicts.bound().by, "shared memory");
  const Report tiled = run(gpu, request("matmul", "cuda_tiled", 128, 128));
  EXPECT_NEAR(tiled.intensity(), 2.0 * 128 / (3 * 4), 1e-12);
  EXPECT_EQ(r.intensity(), 0);
  const PaperGpu old = parse_device("paper:gtx580");  // a pass takes two clocks there
  EXPECT_NEAR(run(old, request("transpose", "cuda_coalesced", 64, 64)).bounds[1].seconds,
              2 * 33 * 64 * 64 / 32 / (16 * 1.544e9), 1e-12);
}

TEST(Devices, AreReadByNameOrFromAFile) {
  EXPECT_EQ(parse_device("paper").name, "h100");
  EXPECT_EQ(parse_device("paper:v100").multiprocessor.threads, 2048);
  for (const char* wrong : {"gpu", "paper:", "paper:h10", "paper:none.toml"})
    EXPECT_THROW((void)parse_device(wrong), Error) << wrong;
}

TEST(Steps, WalkATileThreadByThread) {
  Request r = request("matmul", "cuda_tiled", 4, 4);
  r.problem.tile = 2;
  Steps steps(8, 32, 20000);
  const Report report = run(h100(), r, &steps);
  EXPECT_EQ(report.meter.launch.blocks, 4);
  EXPECT_EQ(report.meter.witness, nullptr);
  const std::string text = steps.text();
  for (const char* line :
       {"    1  load    a          0:[0,0]  1:[0,1]  2:[1,0]  3:[1,1]\n",
        "    4  store   tile of b  0:[0,0]  1:[0,1]  2:[1,0]  3:[1,1]\n          barrier\n",
        "    5  load    tile of a  0:[0,0]  1:[0,0]  2:[1,0]  3:[1,0]\n",
        "   10  load    b          0:[2,0]  1:[2,1]  2:[3,0]  3:[3,1]\n",
        "   17  store   c          0:[0,0]  1:[0,1]  2:[1,0]  3:[1,1]\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
  EXPECT_TRUE(text.ends_with("3:[1,1]\n")) << text;  // without a barrier
  const auto& marks = steps.diagram().marks();
  EXPECT_EQ(marks.size(), 272u);
  std::set<std::string> fetched;
  for (const locality::Mark& mark : marks)
    if (mark.fetched) fetched.insert(steps.arrays()[mark.array].array.name);
  EXPECT_EQ(fetched, (std::set<std::string>{"a", "b", "c"}));  // shared memory has no cache
}

TEST(Steps, OfManyThreadsAreCutShort) {
  Request r = request("transpose", "cuda_conflict_free", 64, 64);
  Steps steps(4, 32, 100);
  (void)run(h100(), r, &steps);
  EXPECT_FALSE(steps.diagram().exact());
  const std::string text = steps.text();
  EXPECT_NE(text.find("7:[0,7]  ...  31:[0,31]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("more instructions\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera::paper
