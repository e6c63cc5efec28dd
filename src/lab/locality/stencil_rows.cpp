// The row kernels of the stencils on traced elements: the source that is compiled for every
// instruction set, with vectors of 16 bytes that report what they load and store.

#define TESSERA_ISA traced

#include "kernels/stencil/vector.hpp"
#include "lab/locality/lanes.hpp"
#include "lab/locality/traced.hpp"

namespace tessera::stencil {
namespace {

template <class T>
struct Vec<locality::Traced<T>> {
  using Element = locality::Traced<T>;
  static constexpr int lanes = 16 / static_cast<int>(sizeof(T));
  using type = locality::Lanes<T, lanes>;

  static type load(const Element* p) {
    locality::report(locality::Access::Kind::load, p, 16);
    type v;
    for (int i = 0; i < lanes; ++i) v.at[i] = p[i].raw();
    return v;
  }
  static type all(const Element& x) {
    type v;
    for (T& lane : v.at) lane = x.raw();  // weights stay in registers
    return v;
  }
  static type fma(const type& a, const type& b, type c) {
    for (int i = 0; i < lanes; ++i) c.at[i] = std::fma(a.at[i], b.at[i], c.at[i]);
    return c;
  }
  static void store(Element* p, const type& v) { store_lanes(p, v, 0, lanes); }
  static void stream(Element* p, const type& v) { store(p, v); }
  static void store_lanes(Element* p, const type& v, index_t from, index_t to) {
    locality::report(locality::Access::Kind::store, p + from,
                     static_cast<unsigned>((to - from) * index_t{sizeof(T)}));
    for (index_t i = from; i < to; ++i) p[i].raw() = v.at[i];
  }
};

}  // namespace
}  // namespace tessera::stencil

#include "kernels/stencil/row_kernels.cpp"

namespace tessera::stencil {

template <>
RowKernel<locality::Traced<double>> row_kernel(const KernelKey& key, machine::Isa) {
  return traced::kernel<locality::Traced<double>>(key);
}

}  // namespace tessera::stencil
