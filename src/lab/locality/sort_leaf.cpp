// Inner kernels of radix sort on traced keys: those in plain C++, for every instruction set.

#include "kernels/sort/leaf_plain.hpp"
#include "lab/locality/traced.hpp"

namespace tessera::inline v1::sort {
namespace {

/// Reports a streaming copy line by line.
void copy_past_cache(const void* from, void* to, index_t bytes) {
  constexpr unsigned line = 64;
  for (index_t at = 0; at < bytes; at += line) {
    locality::report(locality::Access::Kind::load, static_cast<const std::byte*>(from) + at, line);
    locality::report(locality::Access::Kind::store, static_cast<std::byte*>(to) + at, line);
  }
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

template <class Key>
const LeafKernels<Key>& reporting_kernels() {
  static const LeafKernels<Key> kernels = [] {
    LeafKernels<Key> all = plain::kernels<Key>();
    all.copy_past_cache = copy_past_cache;
    return all;
  }();
  return kernels;
}

}  // namespace

template <>
const LeafKernels<locality::Traced<std::uint32_t>>& leaf_kernels() {
  return reporting_kernels<locality::Traced<std::uint32_t>>();
}
template <>
const LeafKernels<locality::Traced<std::uint64_t>>& leaf_kernels() {
  return reporting_kernels<locality::Traced<std::uint64_t>>();
}

}  // namespace tessera::inline v1::sort
