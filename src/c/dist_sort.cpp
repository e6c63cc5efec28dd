// Sorts of keys and orders of rows on the ranks.

#include <algorithm>
#include <numeric>

#include "c/context.hpp"
#include "c/options.hpp"
#include "dist/sort/argsort.hpp"
#include "dist/sort/permute.hpp"
#include "dist/sort/sort.hpp"
#include "mpi/transfer.hpp"

namespace tessera::inline v1::c {
namespace {

namespace sorts = dist::sort;

sorts::Method sort_method(const Context& context, const char* options) {
  const Options asked(options, {"threads", "kernel", "algorithm"});
  sorts::Method method;
  method.algorithm = algorithm_of(sorts::algorithms(), asked, method.algorithm);
  const sort::Variant* const kernel = kernel_of(sort::variants(), asked);
  if (kernel != nullptr) method.kernel = kernel->name;
  method.threads = asked.threads(context.threads);
  return method;
}

/// Returns the rows of all ranks, by rank. Throws Error(usage) on every rank if a rank has no room
/// for its even share. Collective.
std::vector<index_t> rows_of_ranks(const Context& context, index_t n, index_t capacity) {
  const std::vector<index_t> all = context.comm.all_gather(n);
  const index_t total = std::accumulate(all.begin(), all.end(), index_t{0});
  const index_t share = layout::BlockMap(total, context.comm.size()).size(context.comm.rank());
  agree(context, [&](Fingerprint&) {
    expect(capacity >= share, "capacity", "is {}: must be at least {}, the share of the rank",
           capacity, share);
  });
  return all;
}

template <class T>
index_t sort(const Context& context, T* keys, index_t n, index_t capacity, sorts::Order order,
             const sorts::Method& method) {
  machine::Buffer<T> spare(capacity);
  return sorts::sort_keys(context.comm, sorts::Room<T>{keys, spare.data(), n}, order, method);
}

std::vector<index_t> offsets_of(const std::vector<index_t>& counts) {
  std::vector<index_t> offsets{0};
  std::partial_sum(counts.begin(), counts.end(), std::back_inserter(offsets));
  return offsets;
}

struct Rows {
  const std::byte* data;
  index_t n, bytes;
};

/// Gathers rows that are in even shares, or are brought to them.
void permute(const Context& context, const Rows& rows, std::span<const std::uint64_t> permutation,
             std::byte* to, int threads) {
  const std::vector<index_t> all = context.comm.all_gather(rows.n);
  const std::vector<index_t> offsets = offsets_of(all);
  const layout::BlockMap map(offsets.back(), context.comm.size());
  agree(context, [&](Fingerprint&) {
    const auto wrong = std::find_if(permutation.begin(), permutation.end(), [&](std::uint64_t row) {
      return row >= static_cast<std::uint64_t>(offsets.back());
    });
    expect(wrong == permutation.end(), "permutation", "has {}: must be less than {}, all rows",
           wrong == permutation.end() ? 0 : *wrong, offsets.back());
  });
  const std::byte* column = rows.data;
  machine::Buffer<std::byte> even;
  if (offsets != map.offsets()) {
    const index_t mine = map.size(context.comm.rank());
    even = machine::Buffer<std::byte>(checked_mul(mine, rows.bytes, "rows"));
    mpi::redistribute<std::byte>(
        context.comm, layout::row_blocks(offsets.back(), rows.bytes, offsets),
        matrix_view(rows.data, rows.n, rows.bytes),
        layout::row_blocks(offsets.back(), rows.bytes, index_t{context.comm.size()}),
        matrix_view(even.data(), mine, rows.bytes));
    column = even.data();
  }
  sorts::Gather(context.comm, map, permutation, threads, sorts::Gather::Use::once)(
      {column, rows.bytes}, to);
}

std::vector<sorts::KeyColumn> columns_of(int columns, const int* types, const int* directions,
                                         index_t n, const void* const* keys) {
  expect(columns >= 1, "columns", "is {}: must be at least 1", columns);
  expect(types != nullptr, "types", "is a null pointer");
  expect(directions != nullptr, "directions", "is a null pointer");
  expect_extent(n, "n");
  expect(keys != nullptr, "keys", "is a null pointer");
  std::vector<sorts::KeyColumn> result;
  for (int i = 0; i < columns; ++i) {
    auto form =
        dispatch_key(types[i], "types", []<class T>(Type<T>) { return sorts::KeyForm::of<T>(); });
    if (i + 1 < columns) form = form.by_number();
    expect_memory(keys[i], n, "keys");
    result.push_back({.form = form,
                      .data = static_cast<const std::byte*>(keys[i]),
                      .order = direction_of(directions[i])});
  }
  return result;
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_dist_total(tessera_context context, int64_t n, int64_t* total, int64_t* before) {
  using namespace tessera::c;
  return guarded([&] {
    const auto on = context_of(context);
    agree(*on, [&](Fingerprint&) {
      expect_extent(n, "n");
      expect(total != nullptr, "total", "is a null pointer");
      expect(before != nullptr, "before", "is a null pointer");
    });
    const std::vector<tessera::index_t> offsets = offsets_of(on->comm.all_gather(n));
    *total = offsets.back();
    *before = offsets[static_cast<std::size_t>(on->comm.rank())];
  });
}

int tessera_dist_sort(tessera_context context, int type, int direction, int64_t n, void* keys,
                      int64_t capacity, int64_t* sorted, const char* options) {
  using namespace tessera;
  using namespace tessera::c;
  return guarded([&] {
    const auto on = context_of(context);
    sorts::Method method;
    agree(*on, [&](Fingerprint& same) {
      same.add(type).add(direction).add(options);
      expect_key(type, "type");
      [[maybe_unused]] const sort::Order order = direction_of(direction);
      expect_extent(n, "n");
      expect(capacity >= n, "capacity", "is {}: must be at least {}, the keys here", capacity, n);
      c::expect_memory(keys, capacity, "keys");
      expect(sorted != nullptr, "sorted", "is a null pointer");
      method = sort_method(*on, options);
    });
    [[maybe_unused]] const auto all = rows_of_ranks(*on, n, capacity);
    dispatch_key(type, "type", [&](auto t) {
      using T = typename decltype(t)::type;
      *sorted = c::sort(*on, static_cast<T*>(keys), n, capacity, direction_of(direction), method);
    });
  });
}

int tessera_dist_argsort(tessera_context context, int columns, const int* types,
                         const int* directions, int64_t n, const void* const* keys,
                         int64_t capacity, uint64_t* permutation, int64_t* count,
                         const char* options) {
  using namespace tessera;
  using namespace tessera::c;
  return guarded([&] {
    const auto on = context_of(context);
    sorts::Method method;
    std::vector<sorts::KeyColumn> by;
    agree(*on, [&](Fingerprint& same) {
      same.add(columns).add(options);
      by = columns_of(columns, types, directions, n, keys);
      for (int i = 0; i < columns; ++i) same.add(types[i]).add(directions[i]);
      expect_extent(capacity, "capacity");
      c::expect_memory(permutation, capacity, "permutation");
      expect(count != nullptr, "count", "is a null pointer");
      method = sort_method(*on, options);
    });
    [[maybe_unused]] const auto all = rows_of_ranks(*on, n, capacity);
    const std::vector<std::uint64_t> order = sorts::argsort(on->comm, n, by, method);
    std::copy(order.begin(), order.end(), permutation);
    *count = static_cast<index_t>(order.size());
  });
}

int tessera_dist_permute(tessera_context context, int64_t bytes, int64_t n, const void* from,
                         int64_t count, const uint64_t* permutation, void* to,
                         const char* options) {
  using namespace tessera;
  using namespace tessera::c;
  return guarded([&] {
    const auto on = context_of(context);
    int threads = 1;
    agree(*on, [&](Fingerprint& same) {
      same.add(bytes).add(options);
      expect(bytes >= 1, "bytes", "is {}: must be at least 1", bytes);
      expect_extent(n, "n");
      expect_extent(count, "count");
      c::expect_memory(from, n, "from");
      c::expect_memory(permutation, count, "permutation");
      c::expect_memory(to, count, "to");
      const Extent written{to, checked_mul(count, bytes, "count")};
      refuse_overlap("to", written, "from", {from, checked_mul(n, bytes, "n")});
      refuse_overlap("to", written, "permutation", {permutation, count * 8});
      threads = Options(options, {"threads"}).threads(on->threads);
    });
    permute(*on, {static_cast<const std::byte*>(from), n, bytes},
            {permutation, static_cast<std::size_t>(count)}, static_cast<std::byte*>(to), threads);
  });
}
