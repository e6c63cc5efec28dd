// Device kernels on resident data: strides, alignments and walks that staging never produces.

#include "kernels/transpose/cuda.hpp"

#include <gtest/gtest.h>

#include "kernels/transpose/records_test.hpp"
#include "machine/cuda.hpp"
#include "machine/gpu.hpp"

namespace tessera::transpose {
namespace {

namespace cuda = machine::cuda;

class Device : public ::testing::Test {
 protected:
  void SetUp() override {
    if (machine::gpus().devices.empty()) GTEST_SKIP() << machine::gpus().reason;
  }
};

/// Copy of a fenced matrix on the device, including the fences.
class There {
 public:
  explicit There(Fenced& host)
      : host_(host), storage_(static_cast<index_t>(host.storage().size())) {
    cuda::upload(storage_.data(), host.storage().data(), host.storage().size());
  }
  [[nodiscard]] Records view() const {
    Records there = host_.view();
    there.data = storage_.data() + (there.data - host_.storage().data());
    return there;
  }
  void bring_back() {
    cuda::check(cudaMemcpy(host_.storage().data(), storage_.data(), host_.storage().size(),
                           cudaMemcpyDeviceToHost),
                "cudaMemcpy");
  }

 private:
  Fenced& host_;
  cuda::DeviceBuffer<std::byte> storage_;
};

struct Case {
  index_t rows, cols, bytes;
  index_t pad_a = 0, pad_b = 0;    ///< elements between rows
  index_t skew_a = 0, skew_b = 0;  ///< offset from a multiple of 64, bytes
};

/// Runs run(a, b, stream) on the device and checks b, of the shape of a's transpose or of a.
template <class Run>
void expect_right(const Case& c, Makes makes, const Run& run, const std::string& what) {
  SCOPED_TRACE(what + " " + std::to_string(c.rows) + "x" + std::to_string(c.cols) + " of " +
               std::to_string(c.bytes) + " bytes, pads " + std::to_string(c.pad_a) + ", " +
               std::to_string(c.pad_b) + ", skews " + std::to_string(c.skew_a) + ", " +
               std::to_string(c.skew_b));
  Fenced a(c.rows, c.cols, c.cols + c.pad_a, c.bytes, c.skew_a);
  const bool copies = makes == Makes::copy;
  Fenced b(copies ? c.rows : c.cols, copies ? c.cols : c.rows, (copies ? c.cols : c.rows) + c.pad_b,
           c.bytes, c.skew_b);
  a.fill(7);
  b.fill(8);
  There from(a), to(b);
  const cuda::Stream stream;
  run(from.view(), to.view(), stream);
  stream.wait();
  to.bring_back();
  EXPECT_EQ(b.spoiled(), 0);
  if (!copies) {
    EXPECT_EQ(differences(a.view(), b.view()), 0);
    return;
  }
  for (index_t i = 0; i < c.rows; ++i) {
    EXPECT_EQ(std::memcmp(a.view().at(i, 0), b.view().at(i, 0),
                          static_cast<std::size_t>(c.cols * c.bytes)),
              0);
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const index_t bytes : {1, 2, 4, 8, 16}) {
    for (const auto& [rows, cols] : {std::pair<index_t, index_t>{1, 1},
                                     {1, 300},
                                     {300, 1},
                                     {31, 33},
                                     {64, 64},
                                     {127, 257},
                                     {256, 130},
                                     {513, 511}}) {
      all.push_back({rows, cols, bytes});
      all.push_back({rows, cols, bytes, 16 - cols % 16, 16 - rows % 16});
      all.push_back({rows, cols, bytes, 16 - cols % 16, 1, 0, bytes});
      all.push_back({rows, cols, bytes, 1, 16 - rows % 16, bytes, 0});
      all.push_back({rows, cols, bytes, 3, 5, 16, 3 * bytes});
    }
  }
  return all;
}

/// Calls run(tiling) for each tiling of records of `bytes` bytes.
template <class Run>
void for_tilings(index_t bytes, const Run& run) {
  const auto all = [&](const auto& of_bytes) {
    for (const Tiling& tiling : of_bytes) run(tiling);
  };
  switch (bytes) {
    case 1:
      return all(tilings<1>);
    case 2:
      return all(tilings<2>);
    case 4:
      return all(tilings<4>);
    case 8:
      return all(tilings<8>);
    default:
      return all(tilings<16>);
  }
}

void expect_right_by(const VectorPlan& plan, const Case& c) {
  expect_right(
      c, Makes::transpose,
      [&](const ConstRecords& a, const Records& b, DeviceStream stream) {
        run_vectorized(a, b, plan, stream);
      },
      "vectorized by " + std::to_string(plan.tiling.in) + ", " + std::to_string(plan.tiling.out));
}

TEST_F(Device, VectorizedMovesAnyStrideAndAlignmentInEveryPlan) {
  for (const index_t bytes : {1, 2, 4, 8, 16}) {
    for_tilings(bytes, [&](const Tiling& tiling) {
      const index_t r = tiling.out / bytes, c = tiling.in / bytes;
      for (const auto& [rows, cols] : {std::pair<index_t, index_t>{1, 1},
                                       {1, 2 * c + 1},
                                       {2 * r + 1, 1},
                                       {r - 1, c + 1},
                                       {r, c},
                                       {3 * r + 2, 2 * c - 1}}) {
        for (const Case& one :
             {Case{rows, cols, bytes, 16 - cols % 16, 16 - rows % 16},
              Case{rows, cols, bytes, 1, 1}, Case{rows, cols, bytes, 3, 16 - rows % 16, bytes, 0},
              Case{rows, cols, bytes, 16 - cols % 16, 5, 16, 3 * bytes}}) {
          for (const int repeats : {1, 2}) expect_right_by({tiling, repeats}, one);
        }
      }
    });
  }
}

TEST_F(Device, VectorizedMovesEveryAlignmentOfRowsAndBeginnings) {
  for (const index_t bytes : {1, 2, 4, 8}) {
    const index_t vector = 16 / bytes;
    const std::vector<index_t> offs = vector <= 4
                                          ? std::vector<index_t>{0, 1, 2, 3}
                                          : std::vector<index_t>{0, 1, vector / 2, vector - 3};
    for_tilings(bytes, [&](const Tiling& tiling) {
      const index_t rows = tiling.out / bytes + 3, cols = tiling.in / bytes - 3;
      for (const index_t pad_a : offs) {
        for (const index_t pad_b : offs) {
          for (const index_t skew_a : offs) {
            for (const index_t skew_b : offs) {
              expect_right_by({tiling}, {rows, cols, bytes, round_up(cols, vector) - cols + pad_a,
                                         round_up(rows, vector) - rows + pad_b, skew_a * bytes,
                                         skew_b * bytes});
            }
          }
        }
      }
    });
  }
}

TEST_F(Device, VectorizedStaysInsideAllocationsThatEndWithTheLastRecord) {
  for (const index_t bytes : {1, 2, 4, 8, 16}) {
    for (const auto& [rows, cols] : {std::pair<index_t, index_t>{1, 1}, {67, 45}, {131, 259}}) {
      Fenced a(rows, cols, cols, bytes), b(cols, rows, rows, bytes);
      a.fill(7);
      const index_t size = rows * cols * bytes;
      const cuda::DeviceBuffer<std::byte> from(size), to(size);
      cuda::upload(from.data(), a.view().data, static_cast<std::size_t>(size));
      const cuda::Stream stream;
      cuda_vectorized({from.data(), rows, cols, cols, bytes}, {to.data(), cols, rows, rows, bytes},
                      {}, stream);
      stream.wait();
      cuda::check(cudaMemcpy(b.view().data, to.data(), static_cast<std::size_t>(size),
                             cudaMemcpyDeviceToHost),
                  "cudaMemcpy");
      EXPECT_EQ(differences(a.view(), b.view()), 0) << rows << " x " << cols << " of " << bytes;
    }
  }
}

TEST_F(Device, KernelsMoveAnyStrideAndAlignment) {
  const std::pair<const char*, DeviceKernel*> kernels[] = {
      {"cuda_naive", cuda_naive},
      {"cuda_coalesced", cuda_coalesced},
      {"cuda_conflict_free", cuda_conflict_free},
      {"cuda_diagonal", cuda_diagonal},
      {"cuda_vectorized", cuda_vectorized}};
  auto all = cases();
  for (const index_t bytes : {3, 6, 12, 24, 48, 64}) all.push_back({61, 47, bytes, 3, 1, 16, 48});
  for (const Case& c : all) {
    for (const auto& [name, kernel] : kernels) {
      expect_right(
          c, Makes::transpose,
          [&, run = kernel](const ConstRecords& a, const Records& b, DeviceStream stream) {
            run(a, b, {}, stream);
          },
          name);
    }
  }
}

TEST_F(Device, StepsOfTheLadderMakeWhatTheySayOnceAndAgain) {
  for (const LadderRow& row : ladder()) {
    for (const Case& c :
         {Case{64, 96, 4}, Case{65, 97, 8, 1, 2}, Case{5, 100, 1}, Case{33, 1, 16}}) {
      if (row.makes == Makes::part) continue;  // the next test
      for (const Repeats& repeats : {Repeats{1, 0}, Repeats{3, 0}, Repeats{4, 5}}) {
        expect_right(
            c, row.makes,
            [&](const ConstRecords& a, const Records& b, DeviceStream stream) {
              run_step(row.step, a, b, repeats, stream);
            },
            row.name);
      }
    }
  }
}

TEST_F(Device, PartsOfTheTransposeMoveRecordsInsideTilesOrTiles) {
  for (const auto& [rows, cols] : {std::pair<index_t, index_t>{64, 96}, {70, 45}}) {
    Fenced a(rows, cols, cols, 8), inside(rows, cols, cols, 8), tiles(cols, rows, rows, 8);
    a.fill(7);
    There from(a), to_inside(inside), to_tiles(tiles);
    const cuda::Stream stream;
    run_step(Step::fine_grained, from.view(), to_inside.view(), {}, stream);
    run_step(Step::coarse_grained, from.view(), to_tiles.view(), {}, stream);
    stream.wait();
    to_inside.bring_back();
    to_tiles.bring_back();
    EXPECT_EQ(inside.spoiled(), 0);
    EXPECT_EQ(tiles.spoiled(), 0);
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < cols; ++j) {
        const index_t i0 = i / 32 * 32, j0 = j / 32 * 32, y = i - i0, x = j - j0;
        if (i0 + x >= rows || j0 + y >= cols) continue;  // its position is outside
        EXPECT_EQ(std::memcmp(a.view().at(i, j), inside.view().at(i0 + x, j0 + y), 8), 0);
        EXPECT_EQ(std::memcmp(a.view().at(i, j), tiles.view().at(j0 + y, i0 + x), 8), 0);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::transpose
