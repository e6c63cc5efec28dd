// Sorts on one process.

#include <algorithm>

#include "c/arguments.hpp"
#include "c/gpu.hpp"
#include "c/options.hpp"
#include "c/workspace.hpp"
#include "kernels/sort/on_device.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::c {
namespace {

int useful_threads(index_t n, int threads) {
  return static_cast<int>(std::clamp<index_t>(n / sort::keys_of_thread, 1, threads));
}

int threads_of(index_t n, const Options& options) {
  return useful_threads(n, options.threads(machine::default_threads()));
}

/// Returns what a call on n keys of the type takes from a workspace: bytes(Type, threads).
template <class F>
index_t workspace_of(int type, index_t n, const Options& options, const F& bytes) {
  expect_key(type, "type");
  expect_extent(n, "n");
  return dispatch_key(type, "type", [&](auto t) { return bytes(t, threads_of(n, options)); });
}

/// Throws Error(usage) naming `type` unless GPUs sort keys of that type.
template <class T>
void expect_sorted_on_gpu() {
  expect(!sort::SmallKey<T>, "type", "has {} bits: must have 32 or 64 on a GPU", 8 * sizeof(T));
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_sort(int type, int direction, int64_t n, void* keys, const char* options) {
  using namespace tessera;
  return c::guarded([&] {
    const c::Lent lent;
    c::expect_key(type, "type");
    const sort::Order order = c::direction_of(direction);
    c::expect_extent(n, "n");
    c::expect_memory(keys, n, "keys");
    const c::Options asked(options, {"threads", "kernel", "gpu"});
    const sort::Variant* const kernel = c::kernel_of(sort::variants(), asked);
    const bool on_gpu = c::uses_gpu(asked);
    c::dispatch_key(type, "type", [&](auto t) {
      using T = typename decltype(t)::type;
      if (on_gpu) {
        c::expect_sorted_on_gpu<T>();
        auto* const data = static_cast<std::byte*>(keys);
        if constexpr (!sort::SmallKey<T>)
          return sort::sort_on_device<T>({data, sizeof(T), n}, order, data);
      }
      sort::sort_keys(kernel == nullptr ? "auto" : kernel->name,
                      std::span(static_cast<T*>(keys), static_cast<std::size_t>(n)),
                      c::threads_of(n, asked), order);
    });
  });
}

int tessera_sort_workspace_bytes(int type, int64_t n, const char* options, int64_t* bytes) {
  using namespace tessera;
  return c::answer(bytes, [&] {
    return c::workspace_of(type, n, {options, {"threads", "kernel"}}, [&](auto t, int threads) {
      return sort::workspace_bytes<typename decltype(t)::type>(n, threads);
    });
  });
}

int tessera_argsort(int type, int direction, int64_t n, const void* keys, uint64_t* permutation,
                    const char* options) {
  using namespace tessera;
  return c::guarded([&] {
    const c::Lent lent;
    c::expect_key(type, "type");
    const sort::Order order = c::direction_of(direction);
    c::expect_extent(n, "n");
    c::expect_memory(keys, n, "keys");
    c::expect_memory(permutation, n, "permutation");
    const index_t bytes = c::bytes_of(type);
    c::refuse_overlap("permutation", {permutation, n * 8}, "keys", {keys, n * bytes});
    const c::Options asked(options, {"threads", "gpu"});
    const bool on_gpu = c::uses_gpu(asked);
    const sort::Keys from{static_cast<const std::byte*>(keys), bytes, n};
    c::dispatch_key(type, "type", [&](auto t) {
      using T = typename decltype(t)::type;
      if (on_gpu) {
        c::expect_sorted_on_gpu<T>();
        if constexpr (!sort::SmallKey<T>)
          return sort::argsort_on_device<T>(from, order, permutation);
      }
      sort::argsort_keys<T>(from, order, {permutation, static_cast<std::size_t>(n)},
                            c::threads_of(n, asked));
    });
  });
}

int tessera_argsort_workspace_bytes(int type, int64_t n, const char* options, int64_t* bytes) {
  using namespace tessera;
  return c::answer(bytes, [&] {
    return c::workspace_of(type, n, {options, {"threads"}}, [&](auto t, int threads) {
      return sort::argsort_workspace_bytes<typename decltype(t)::type>(n, threads);
    });
  });
}
