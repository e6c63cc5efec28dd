#include "kernels/sort/cuda_radix.cuh"

namespace tessera::sort {
namespace {

/// By bytes of a key and of its value.
template <std::size_t key, std::size_t value>
struct BestShape;
template <>
struct BestShape<4, 0> {
  using type = onesweep::Shape<512, 24, 2>;
};
template <>
struct BestShape<8, 0> {
  using type = onesweep::Shape<384, 18, 2>;
};
template <>
struct BestShape<4, 4> {
  using type = onesweep::Shape<384, 24, 2>;
};
template <>
struct BestShape<8, 4> {
  using type = onesweep::Shape<384, 12, 2>;
};
template <>
struct BestShape<8, 8> {
  using type = onesweep::Shape<512, 20, 1>;
};
template <class Key, class Value>
using Best = typename BestShape<sizeof(Key), has_values<Value> ? sizeof(Value) : 0>::type;

}  // namespace

template <class Key, class Value>
void cuda_radix(const DeviceBlock<Key, Value>& block, DeviceStream stream) {
  onesweep::sort<Best<Key, Value>>(block, stream);
}

template <class Key, class Value>
index_t cuda_radix_bytes(index_t n) {
  return onesweep::bytes<Best<Key, Value>, Key, Value>(n);
}

TESSERA_SORT_INSTANTIATE_DEVICE(cuda_radix);

}  // namespace tessera::sort
