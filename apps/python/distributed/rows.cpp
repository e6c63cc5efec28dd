// Sorts of keys, searches in sorted ones, and takes of rows.

#include "distributed/operations.hpp"

namespace tessera::python {
namespace {

int direction(bool descending) { return descending ? TESSERA_DESCENDING : TESSERA_ASCENDING; }

/// Returns the type of the C API for a dtype of keys.
int key_type(const py::dtype& dtype) { return dtype.kind() == 'b' ? TESSERA_U8 : type_of(dtype); }

}  // namespace

void sort_distributed(const Ranks& ranks, py::array keys, bool descending) {
  const int type = key_type(keys.dtype());
  const index_t n = keys.shape(0);
  std::byte* const data = memory_of(keys);
  index_t sorted = 0;
  call([&] {
    return tessera_dist_sort(ranks.handle(), type, direction(descending), n, data, n, &sorted,
                             nullptr);
  });
}

void argsort_distributed(const Ranks& ranks, const py::array& keys, bool descending,
                         py::array order) {
  const int type = key_type(keys.dtype()), way = direction(descending);
  const index_t n = keys.shape(0);
  const void* const data = memory_of(keys);
  auto* const to = reinterpret_cast<std::uint64_t*>(memory_of(order));
  index_t count = 0;
  call([&] {
    return tessera_dist_argsort(ranks.handle(), 1, &type, &way, n, &data, order.shape(0), to,
                                &count, nullptr);
  });
}

void take(const Ranks& ranks, const py::array& rows, index_t bytes, const py::array& numbers,
          py::array taken) {
  const std::byte* const from = memory_of(rows);
  const auto* const wanted = reinterpret_cast<const std::uint64_t*>(memory_of(numbers));
  std::byte* const to = memory_of(taken);
  call([&] {
    return tessera_dist_permute(ranks.handle(), bytes, rows.shape(0), from, numbers.shape(0),
                                wanted, to, nullptr);
  });
}

void searchsorted(const Ranks& ranks, const py::array& sorted, const py::array& values, int side,
                  bool descending, py::array positions) {
  const int type = key_type(sorted.dtype());
  const std::byte *const keys = memory_of(sorted), *const wanted = memory_of(values);
  auto* const to = reinterpret_cast<index_t*>(memory_of(positions));
  call([&] {
    return tessera_dist_searchsorted(ranks.handle(), type, direction(descending), side,
                                     sorted.shape(0), keys, values.shape(0), wanted, to);
  });
}

py::tuple groups(const Ranks& ranks, const py::array& sorted, bool descending, py::array begins) {
  const int type = key_type(sorted.dtype());
  const std::byte* const keys = memory_of(sorted);
  auto* const to = reinterpret_cast<index_t*>(memory_of(begins));
  index_t count = 0, end = 0;
  call([&] {
    return tessera_dist_groups(ranks.handle(), type, direction(descending), sorted.shape(0), keys,
                               to, &count, &end, nullptr);
  });
  return py::make_tuple(count, end);
}

index_t unique(const Ranks& ranks, const py::array& sorted, bool descending, py::array distinct,
               py::array counts) {
  const int type = key_type(sorted.dtype());
  const std::byte* const keys = memory_of(sorted);
  std::byte* const to = memory_of(distinct);
  auto* const numbers = reinterpret_cast<index_t*>(memory_of(counts));
  index_t count = 0;
  call([&] {
    return tessera_dist_unique(ranks.handle(), type, direction(descending), sorted.shape(0), keys,
                               to, numbers, &count, nullptr);
  });
  return count;
}

}  // namespace tessera::python
