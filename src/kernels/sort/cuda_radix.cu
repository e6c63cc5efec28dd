// The tile shapes of the device radix sort by type, and its entry points.

#include <string>

#include "base/element.hpp"
#include "kernels/cuda_code.hpp"
#include "kernels/sort/cuda_radix.cuh"

namespace tessera::inline v1::sort {
namespace {

/// The fastest tile shape by the bytes of a key and of its value. Tiles of items with values fill
/// one block's shared memory, so that a bin's share of a tile is several lines instead of one or
/// two with partial ends.
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
  using type = onesweep::Shape<640, 30, 1>;
};
template <>
struct BestShape<8, 4> {
  using type = onesweep::Shape<768, 18, 1>;
};
template <>
struct BestShape<4, 8> {
  using type = onesweep::Shape<768, 14, 1>;
};
template <>
struct BestShape<8, 8> {
  using type = onesweep::Shape<768, 14, 1>;
};
template <class Key, class Value>
using Best = typename BestShape<sizeof(Key), has_values<Value> ? sizeof(Value) : 0>::type;

/// The shape of items with values on devices with less shared memory than the best one takes: at
/// most 64 KiB.
template <std::size_t key, std::size_t value>
struct SmallShape;
template <>
struct SmallShape<4, 4> {
  using type = onesweep::Shape<512, 11, 1>;
};
template <>
struct SmallShape<8, 4> {
  using type = onesweep::Shape<384, 11, 1>;
};
template <>
struct SmallShape<4, 8> {
  using type = onesweep::Shape<256, 13, 1>;
};
template <>
struct SmallShape<8, 8> {
  using type = onesweep::Shape<256, 13, 1>;
};

template <class Key, class Value, class S>
constexpr auto tile_bytes = static_cast<index_t>(sizeof(onesweep::TileMemory<Key, Value, S>));

/// Calls f(shape) with the shape that sorts such items on the current device.
template <class Key, class Value, class F>
auto with_shape(const F& f) {
  using Large = Best<Key, Value>;
  if constexpr (has_values<Value>) {
    using Small = typename SmallShape<sizeof(Key), sizeof(Value)>::type;
    static_assert(tile_bytes<Key, Value, Small> <= index_t{64} << 10);
    if (kernels::shared_bytes_per_block() < tile_bytes<Key, Value, Large>) return f(Small{});
  } else {
    static_assert(tile_bytes<Key, Value, Large> <= index_t{64} << 10);
  }
  return f(Large{});
}

}  // namespace

template <class Key, class Value>
void cuda_radix(const DeviceBlock<Key, Value>& block, DeviceStream stream) {
  with_shape<Key, Value>([&]<class S>(S) { onesweep::sort<S>(block, stream); });
}

void cuda_radix_unless(const unsigned* done, const DeviceBlock<std::uint64_t, NoValue>& block,
                       DeviceStream stream) {
  onesweep::sort<Best<std::uint64_t, NoValue>>(block, stream, done);
}

template <class Key, class Value>
index_t cuda_radix_bytes(index_t n) {
  return with_shape<Key, Value>([&]<class S>(S) { return onesweep::bytes<S, Key, Value>(n); });
}

TESSERA_SORT_INSTANTIATE_DEVICE(cuda_radix);
TESSERA_SORT_INSTANTIATE_DEVICE_FOR(cuda_radix, std::uint32_t, std::uint64_t);

void add_radix_functions(std::vector<machine::DeviceFunction>& to) {
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  const auto add = [&](const std::string& of, auto* function, int threads,
                       index_t shared_bytes = 0) {
    to.push_back(machine::device_function("cuda_radix", of, function, threads, shared_bytes));
  };
  const auto of_keys = [&]<class Key>(const std::string& of, Type<Key>) {
    add(of + ", histograms", onesweep::count_digits<Key>, onesweep::histogram_threads);
    add(of + ", plan", onesweep::plan_passes<onesweep::passes<Key>>, onesweep::bins);
  };
  const auto of_items = [&]<class Key, class Value>(const std::string& of, Type<Key>, Type<Value>) {
    using S = Best<Key, Value>;
    add(of + ", pass of a digit", onesweep::sweep_digit<Key, Value, S>, S::threads,
        tile_bytes<Key, Value, S>);
    if constexpr (has_values<Value>) {
      using Small = typename SmallShape<sizeof(Key), sizeof(Value)>::type;
      add(of + ", pass of a digit, small tile", onesweep::sweep_digit<Key, Value, Small>,
          Small::threads, tile_bytes<Key, Value, Small>);
    }
    add(of + ", copy back", onesweep::finish<Key, Value>, onesweep::finish_threads);
  };
  of_keys("keys of 4 bytes", Type<U32>{});
  of_keys("keys of 8 bytes", Type<U64>{});
  of_items("keys of 4 bytes", Type<U32>{}, Type<NoValue>{});
  of_items("keys of 8 bytes", Type<U64>{}, Type<NoValue>{});
  of_items("4 + 4 bytes", Type<U32>{}, Type<U32>{});
  of_items("4 + 8 bytes", Type<U32>{}, Type<U64>{});
  of_items("8 + 4 bytes", Type<U64>{}, Type<U32>{});
  of_items("8 + 8 bytes", Type<U64>{}, Type<U64>{});
}

}  // namespace tessera::inline v1::sort
