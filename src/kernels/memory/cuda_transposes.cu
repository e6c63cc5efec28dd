// The transposition ladder as probes that can be compared: each step once a launch, or in a loop
// inside the kernel; and naive transposes by few blocks (kernels/transpose/cuda_ladder.cu).

#include "kernels/memory/cuda_probe.cuh"
#include "kernels/transpose/cuda.hpp"

namespace tessera::inline v1::memory {
namespace {

constexpr index_t tile = 32;  // of the ladder: edges of matrices are multiples of it
constexpr int most_threads = 1024, row_threads = 256, small_tile = 16;

/// A square matrix, its transpose and the passes over it.
struct Task {
  DeviceWord* to;
  const DeviceWord* from;
  index_t edge;
  int passes;
};

__global__ void __launch_bounds__(most_threads) by_one_block(Task task) {
  const index_t edge = task.edge;
  for (int pass = 0; pass < task.passes; ++pass)
    for (index_t k = threadIdx.x; k < edge * edge; k += most_threads)
      task.to[k % edge * edge + k / edge] = task.from[k];
}

__global__ void __launch_bounds__(row_threads) by_rows(Task task) {
  const index_t edge = task.edge, i = blockIdx.x;
  for (int pass = 0; pass < task.passes; ++pass)
    for (index_t j = threadIdx.x; j < edge; j += row_threads)
      task.to[j * edge + i] = task.from[i * edge + j];
}

__global__ void __launch_bounds__(small_tile* small_tile) by_small_tiles(Task task) {
  __shared__ DeviceWord words[small_tile][small_tile + 1];  // (row, column), padded
  const index_t edge = task.edge, i0 = static_cast<index_t>(blockIdx.y) * small_tile,
                j0 = static_cast<index_t>(blockIdx.x) * small_tile;
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (int pass = 0; pass < task.passes; ++pass) {
    words[y][x] = task.from[(i0 + y) * edge + j0 + x];
    __syncthreads();
    task.to[(j0 + y) * edge + i0 + x] = words[x][y];
    __syncthreads();  // before the next pass
  }
}

/// Returns the largest edge whose square fits the size: a multiple of the tile, at least one.
index_t edge_of(const DeviceWalk& walk) {
  const index_t words = word_count(walk);
  index_t edge = tile;
  while ((edge + tile) * (edge + tile) <= words) edge += tile;
  return edge;
}

transpose::Step step_of_ladder(Transposing way) { return static_cast<transpose::Step>(way); }
static_assert(static_cast<int>(Transposing::copy) == static_cast<int>(transpose::Step::copy) &&
              static_cast<int>(Transposing::diagonal) ==
                  static_cast<int>(transpose::Step::diagonal));

Moves moves_of(Transposing way) {
  if (way == Transposing::copy || way == Transposing::copy_shared) return Moves::nothing;
  if (way == Transposing::fine_grained) return Moves::inside_tiles;
  return way == Transposing::coarse_grained ? Moves::tiles : Moves::all;
}

template <Transposing way>
class Transposition final : public LaunchedProbe {
 public:
  explicit Transposition(const DeviceWalk& walk)
      : LaunchedProbe(walk.rounds),
        edge_(edge_of(walk)),
        passes_(narrow<int>(walk.passes)),
        from_(words_on_device(edge_ * edge_)),
        to_(edge_ * edge_) {}
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(to_.data(), edge_ * edge_);
    return exact(wrong_moves(got.data(), edge_, moves_of(way)), edge_ * edge_);
  }
  [[nodiscard]] double work() const override {
    return 2.0 * static_cast<double>(byte_count(edge_ * edge_)) * launches() * passes_;
  }

 private:
  void prepare() override {
    cuda::check(cudaMemset(to_.data(), 0xa5, byte_count(edge_ * edge_)), "cudaMemset");
  }
  void launch(cudaStream_t stream) override {
    const Task task{to_.data(), from_.data(), edge_, passes_};
    const auto edge = narrow<unsigned>(edge_);
    if constexpr (way == Transposing::one_block) {
      by_one_block<<<1, most_threads, 0, stream>>>(task);
    } else if constexpr (way == Transposing::row_a_block) {
      by_rows<<<edge, row_threads, 0, stream>>>(task);
    } else if constexpr (way == Transposing::tiles_of_16) {
      const dim3 blocks(edge / small_tile, edge / small_tile);
      by_small_tiles<<<blocks, dim3(small_tile, small_tile), 0, stream>>>(task);
    } else {
      constexpr index_t bytes = sizeof(DeviceWord);
      transpose::run_step(
          step_of_ladder(way),
          {reinterpret_cast<const std::byte*>(from_.data()), edge_, edge_, edge_, bytes},
          {reinterpret_cast<std::byte*>(to_.data()), edge_, edge_, edge_, bytes}, {passes_, 0},
          stream);
    }
  }

  index_t edge_;
  int passes_;
  DeviceWords from_, to_;
};

}  // namespace

template <Transposing way>
std::unique_ptr<DeviceProbe> cuda_transpose(const DeviceWalk& walk) {
  return std::make_unique<Transposition<way>>(walk);
}
template std::unique_ptr<DeviceProbe> cuda_transpose<Transposing::copy>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transpose<Transposing::copy_shared>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transpose<Transposing::naive>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transpose<Transposing::coalesced>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transpose<Transposing::conflict_free>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transpose<Transposing::fine_grained>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transpose<Transposing::coarse_grained>(
    const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transpose<Transposing::diagonal>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transpose<Transposing::one_block>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transpose<Transposing::row_a_block>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transpose<Transposing::tiles_of_16>(const DeviceWalk&);

void add_transpose_functions(Functions& to) {
  std::vector<machine::DeviceFunction> ladder;
  transpose::add_ladder_functions(ladder);
  for (machine::DeviceFunction& f : ladder) {
    if (f.of != "records of 4 bytes") continue;
    f.kernel.replace(0, std::string_view("cuda").size(), "cuda_transpose");
    f.of.clear();
    to.push_back(std::move(f));
  }
  to.push_back(
      machine::device_function("cuda_transpose_one_block", "", by_one_block, most_threads));
  to.push_back(machine::device_function("cuda_transpose_row_a_block", "", by_rows, row_threads));
  to.push_back(machine::device_function("cuda_transpose_16x16", "", by_small_tiles,
                                        small_tile * small_tile));
}

}  // namespace tessera::inline v1::memory
