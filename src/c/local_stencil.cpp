// Steps of a stencil on one process, in the caller's array.

#include "c/arguments.hpp"
#include "c/options.hpp"
#include "c/stencils.hpp"
#include "c/workspace.hpp"
#include "kernels/stencil/array.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::c {

Index3 three(const int64_t* values, int dims, index_t missing, index_t least,
             const char* argument) {
  expect(values != nullptr, argument, "is a null pointer");
  Index3 result{{missing, missing, missing}};
  for (int d = 0; d < dims; ++d) {
    expect(values[d] >= least, argument, "has {}: must be at least {}", values[d], least);
    result[3 - dims + d] = values[d];
  }
  return result;
}

namespace {

/// Calls make(), of whose errors `stencil` is the argument.
template <class Make>
auto of_stencil(const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    if (error.argument() == "stencil") throw;
    throw Error::of_argument("stencil", fmt::format("is invalid: {}", error.what()));
  }
}

}  // namespace

stencil::Stencil stencil_of(const tessera_stencil* given) {
  expect(given != nullptr, "stencil", "is a null pointer");
  const int dims = given->dims;
  expect(dims >= 1 && dims <= 3, "stencil", "has {} dimensions: must have 1 to 3", dims);
  const bool weighted = given->name == nullptr;
  expect(!weighted || given->weights != nullptr, "stencil", "has neither name nor weights");
  if (!weighted) {
    stencil::Stencil named = stencil::named_stencil(given->name, dims);
    expect(!named.two_levels(), "stencil", "is {}, which needs two fields: must need one",
           given->name);
    return named;
  }
  const Index3 shape = three(given->shape, dims, 1, 1, "stencil");
  const index_t count =
      checked_mul(checked_mul(shape[0], shape[1], "stencil"), shape[2], "stencil");
  constexpr index_t most = 1 << 20;
  expect(count <= most, "stencil", "has {} weights: must have at most {}", count, most);
  const std::span weights(given->weights, static_cast<std::size_t>(count));
  return of_stencil([&] { return stencil::make_stencil("weights", dims, shape, weights); });
}

stencil::Sides sides_of(const tessera_stencil& given) {
  if (given.boundary == nullptr) return stencil::all_sides({});
  const stencil::Boundary kind =
      of_stencil([&] { return stencil::parse_boundary(given.boundary); });
  expect(kind != stencil::Boundary::given, "stencil",
         "has the boundary given: must be a rule for values outside of the field");
  return stencil::all_sides({kind, given.boundary_value});
}

namespace {

/// Returns the strides in bytes of an array, dense if `strides` is null.
Index3 byte_strides(const int64_t* strides, const Index3& extent, int dims, index_t bytes) {
  Index3 dense{{checked_mul(extent[1], extent[2], "extents") * bytes, extent[2] * bytes, bytes}};
  if (strides == nullptr) return dense;
  const Index3 given = three(strides, dims, 0, 1, "strides");
  for (int d = 3 - dims; d < 3; ++d) dense[d] = checked_mul(given[d], bytes, "strides");
  return dense;
}

/// Throws Error(usage) if two points of the field are at one address for sure.
void refuse_self_overlap(const Index3& stride, const Index3& extent, index_t bytes) {
  for (int d = 0; d < 3; ++d) {
    for (int e = d + 1; e < 3; ++e) {
      const bool collide = extent[d] > 1 && extent[e] > 1 && stride[d] == stride[e];
      expect(!collide, "strides", "has {} twice: points must be separate", stride[d] / bytes);
    }
  }
}

/// Returns the march without memory and steps. Throws Error(usage) naming the argument.
stencil::ArrayMarch march_of(const tessera_stencil* stencil, int type, const int64_t* extents,
                             const char* options) {
  stencil::ArrayMarch march;
  march.stencil = stencil_of(stencil);
  march.sides = sides_of(*stencil);
  dispatch_point(type, [](auto) {});
  march.extent = three(extents, stencil->dims, 1, 0, "extents");
  const index_t points = checked_mul(checked_mul(march.extent[0], march.extent[1], "extents"),
                                     march.extent[2], "extents");
  [[maybe_unused]] const index_t size = checked_mul(points, bytes_of(type), "extents");
  const Options asked(options, {"threads", "kernel"});
  march.kernel = kernel_of(stencil::variants(), asked);
  march.threads = asked.threads(machine::default_threads());
  return march;
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_advance(const tessera_stencil* stencil, int type, const int64_t* extents, void* u,
                    const int64_t* strides, int64_t steps, const char* options) {
  using namespace tessera;
  return c::guarded([&] {
    const c::Lent lent;
    stencil::ArrayMarch march = c::march_of(stencil, type, extents, options);
    const index_t bytes = c::bytes_of(type);
    c::expect_memory(u, march.extent.volume(), "u");
    c::expect_extent(steps, "steps");
    march.steps = steps;
    march.from_stride = march.to_stride =
        c::byte_strides(strides, march.extent, stencil->dims, bytes);
    c::refuse_self_overlap(march.to_stride, march.extent, bytes);
    march.to = static_cast<std::byte*>(u);
    march.from = march.to;
    c::dispatch_point(type, [&]<class T>(Type<T>) { stencil::advance<T>(march); });
  });
}

int tessera_advance_workspace_bytes(const tessera_stencil* stencil, int type,
                                    const int64_t* extents, const char* options, int64_t* bytes) {
  using namespace tessera;
  return c::answer(bytes, [&] {
    const stencil::ArrayMarch march = c::march_of(stencil, type, extents, options);
    return c::dispatch_point(type,
                             [&]<class T>(Type<T>) { return stencil::workspace_bytes<T>(march); });
  });
}
