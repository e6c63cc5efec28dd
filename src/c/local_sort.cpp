// Sorts on one process.

#include <algorithm>

#include "c/arguments.hpp"
#include "c/options.hpp"
#include "kernels/sort/argsort.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::c {
namespace {

int useful_threads(index_t n, int threads) {
  return static_cast<int>(std::clamp<index_t>(n / sort::keys_of_thread, 1, threads));
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_sort(int type, int direction, int64_t n, void* keys, const char* options) {
  using namespace tessera;
  return c::guarded([&] {
    const Element element = c::key_element(type, "type");
    const sort::Order order = c::direction_of(direction);
    c::expect_extent(n, "n");
    c::expect_memory(keys, n, "keys");
    const c::Options asked(options, {"threads", "kernel"});
    const sort::Variant* const kernel = c::kernel_of(sort::variants(), asked);
    const int team = c::useful_threads(n, asked.threads(machine::default_threads()));
    dispatch_element(element, [&](auto t) {
      using T = typename decltype(t)::type;
      sort::sort_keys(kernel == nullptr ? "auto" : kernel->name,
                      std::span(static_cast<T*>(keys), static_cast<std::size_t>(n)), team, order);
    });
  });
}

int tessera_argsort(int type, int direction, int64_t n, const void* keys, uint64_t* permutation,
                    const char* options) {
  using namespace tessera;
  return c::guarded([&] {
    const Element element = c::key_element(type, "type");
    const sort::Order order = c::direction_of(direction);
    c::expect_extent(n, "n");
    c::expect_memory(keys, n, "keys");
    c::expect_memory(permutation, n, "permutation");
    const auto bytes = static_cast<index_t>(tessera::bytes(element));
    c::refuse_overlap("permutation", {permutation, n * 8}, "keys", {keys, n * bytes});
    const c::Options asked(options, {"threads"});
    const int team = c::useful_threads(n, asked.threads(machine::default_threads()));
    dispatch_element(element, [&](auto t) {
      sort::argsort_keys<typename decltype(t)::type>(
          {static_cast<const std::byte*>(keys), bytes, n}, order,
          {permutation, static_cast<std::size_t>(n)}, team);
    });
  });
}
