// Copies between strided arrays on one process.

#include <algorithm>

#include "c/arguments.hpp"
#include "c/gpu.hpp"
#include "c/options.hpp"
#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/strided.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::c {
namespace {

namespace kernels = tessera::transpose;

index_t product(index_t a, index_t b, const char* argument) {
  index_t result = 0;
  expect(!__builtin_mul_overflow(a, b, &result), argument, "reach beyond 64 bits");
  return result;
}

/// Sets one side of the axes to its strides in bytes; those of a contiguous array if they are null.
void set_strides(kernels::Rearrangement& task, index_t kernels::Axis::*side, const int64_t* strides,
                 const char* argument) {
  index_t dense = task.bytes;
  for (int d = task.rank - 1; d >= 0; --d) {
    kernels::Axis& axis = task.axis[d];
    expect(strides == nullptr || strides[d] >= 1, argument, "has {}: must be at least 1",
           strides == nullptr ? 1 : strides[d]);
    axis.*side = strides == nullptr ? dense : product(strides[d], task.bytes, argument);
    dense = product(dense, std::max<index_t>(1, axis.extent), argument);
  }
}

/// Returns the bytes from the first record to the end of the last one.
index_t reach(const kernels::Rearrangement& task, index_t kernels::Axis::*side,
              const char* argument) {
  index_t bytes = task.bytes;
  for (int d = 0; d < task.rank; ++d) {
    const index_t span = product(task.axis[d].extent - 1, task.axis[d].*side, argument);
    expect(!__builtin_add_overflow(bytes, span, &bytes), argument, "reach beyond 64 bits");
  }
  return bytes;
}

/// Throws Error(usage) unless each stride of b is beyond the elements along all smaller ones.
void refuse_shared_elements(const kernels::Rearrangement& task) {
  const kernels::Rearrangement sorted = kernels::in_order_of_to(task);
  index_t inside = 0;
  for (int d = sorted.rank - 1; d >= 0; --d) {
    const kernels::Axis& axis = sorted.axis[d];
    expect(axis.to > inside, "b_strides",
           "has {}, within the elements along smaller strides: must be beyond them",
           axis.to / task.bytes);
    inside += (axis.extent - 1) * axis.to;
  }
}

void rearrange(kernels::Rearrangement task, const void* a, const int64_t* a_strides, void* b,
               const int64_t* b_strides, const char* options) {
  set_strides(task, &kernels::Axis::from, a_strides, "a_strides");
  set_strides(task, &kernels::Axis::to, b_strides, "b_strides");
  const Options asked(options, {"threads", "gpu"});
  const bool on_gpu = uses_gpu(asked);
  const int owned = asked.threads(machine::default_threads());
  if (task.total() == 0) return;
  expect_memory(a, 1, "a");
  expect_memory(b, 1, "b");
  const index_t read = reach(task, &kernels::Axis::from, "a_strides");
  const index_t written = reach(task, &kernels::Axis::to, "b_strides");
  refuse_shared_elements(task);
  refuse_overlap("b", {b, written}, "a", {a, read});
  const auto* const from = static_cast<const std::byte*>(a);
  auto* const to = static_cast<std::byte*>(b);
  if (on_gpu) {
    return machine::device::call(
        [&](kernels::DeviceStream stream) { kernels::device_rearrange()(task, from, to, stream); });
  }
  constexpr index_t bytes_of_thread = 1 << 17;  // waking a thread takes as long as copying these
  const auto threads =
      static_cast<int>(std::clamp<index_t>(task.total() / bytes_of_thread, 1, owned));
  kernels::move_strided(task, from, to, {.threads = threads});
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_rearrange(int type, int dims, const int64_t* extents, const void* a,
                      const int64_t* a_strides, void* b, const int64_t* b_strides,
                      const char* options) {
  using namespace tessera::c;
  return guarded([&] {
    kernels::Rearrangement task;
    task.bytes = bytes_of(type);
    expect(dims >= 1 && dims <= kernels::max_rank, "dims", "is {}: must be 1 to {}", dims,
           kernels::max_rank);
    expect(extents != nullptr, "extents", "is a null pointer");
    task.rank = dims;
    tessera::index_t total = task.bytes;
    for (int d = 0; d < dims; ++d) {
      expect_extent(extents[d], "extents");
      task.axis[d].extent = extents[d];
      total = product(total, extents[d], "extents");
    }
    rearrange(task, a, a_strides, b, b_strides, options);
  });
}
