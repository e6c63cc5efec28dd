#include "machine/copy_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/simd/vector.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::machine {
namespace {

constexpr index_t line = 64;

/// Writes one line with streaming stores, as one full-line bus transaction.
inline void stream_line(std::byte* to, const std::byte* from) {
  using Words = simd::Vector<std::uint64_t>;
  for (index_t at = 0; at < line; at += simd::vector_bytes)
    simd::stream(to + at, simd::load<Words>(from + at));
}

void copy_streaming(const std::byte* from, std::byte* to, index_t count) {
  const auto past_line = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(to) % line);
  const index_t head = std::min(count, past_line == 0 ? 0 : line - past_line);
  std::memcpy(to, from, static_cast<std::size_t>(head));
  index_t done = head;
  for (; done + line <= count; done += line) stream_line(to + done, from + done);
  std::memcpy(to + done, from + done, static_cast<std::size_t>(count - done));
}

}  // namespace

void copy_rows(MatrixView<const std::byte> from, MatrixView<std::byte> to, int threads) {
  if (from.empty()) return;
  constexpr index_t grain = index_t{256} << 10;  // minimal bytes per task
  const index_t run = std::min(from.cols, grain), runs = ceil_div(from.cols, run);
  const index_t tasks = ceil_div(from.rows * from.cols, grain);
  parallel(static_cast<int>(std::min<index_t>(threads, tasks)), [&] {
    parallel_for(
        0, from.rows * runs, std::max<index_t>(1, grain / run), [&](index_t begin, index_t end) {
          for (index_t number = begin; number < end; ++number) {
            const index_t i = number / runs, j = number % runs * run;
            copy_streaming(&from(i, j), &to(i, j), std::min(run, from.cols - j));
          }
          simd::fence_streams();  // before the copy is announced to another thread or the device
        });
  });
}

}  // namespace tessera::inline v1::machine
