// Distributed fields: the library has the memory with its ghost layers, in which the caller works
// between steps.

#include <algorithm>

#include "c/context.hpp"
#include "c/options.hpp"
#include "c/stencils.hpp"
#include "dist/stencil/advance.hpp"
#include "dist/stencil/plan.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::c {
namespace {

namespace stencils = dist::stencil;

/// A field of any type.
class Field {
 public:
  Field() = default;
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;
  virtual ~Field() = default;
  [[nodiscard]] virtual int dims() const = 0;
  [[nodiscard]] virtual const Box3& box() const = 0;
  [[nodiscard]] virtual void* data() = 0;
  [[nodiscard]] virtual Index3 strides() = 0;
  virtual void advance(index_t steps) = 0;
};

struct Request {
  stencils::Scheme scheme;
  stencils::Method method;
  index_t steps = 100;  ///< of a call
  index_t halo_steps = 0;
};

template <class T>
class FieldOf : public Field {
 public:
  FieldOf(const std::shared_ptr<Context>& context, const Request& request)
      : context_(context), method_(request.method) {
    const mpi::Communicator& comm = context->comm;
    const stencils::Plan plan =
        stencils::make_plan({.scheme = request.scheme,
                             .element_bytes = static_cast<index_t>(sizeof(T)),
                             .steps = request.steps,
                             .ranks = comm.size(),
                             .threads = request.method.threads,
                             .halo_steps = request.halo_steps,
                             .overlap = request.method.overlap == stencils::Overlap::yes,
                             .cache_bytes = machine::caches().l3});
    mpi::together(comm, "allocate a field", [&] {
      field_ =
          stencils::DistributedField<T>(request.scheme, plan.grid, comm.rank(), plan.halo_steps);
      const GridView<T> now = field_.now();
      for (index_t z = 0; z < now.extent[0]; ++z)
        for (index_t y = 0; y < now.extent[1]; ++y) std::fill_n(now.row(z, y), now.extent[2], T{0});
    });
  }

  [[nodiscard]] int dims() const override { return field_.scheme().stencil.dims; }
  [[nodiscard]] const Box3& box() const override { return field_.box(); }
  [[nodiscard]] void* data() override { return field_.now().data; }
  [[nodiscard]] Index3 strides() override { return field_.now().stride; }
  void advance(index_t steps) override {
    agree(*context_, [&](Fingerprint& same) {
      same.add(steps);
      expect_extent(steps, "steps");
    });
    stencils::advance(context_->comm, field_, steps, method_);
  }

 private:
  std::shared_ptr<Context> context_;
  stencils::Method method_;
  stencils::DistributedField<T> field_;
};

std::shared_ptr<Field> field_of(tessera_field handle) {
  return Handles<tessera_field, Field>::all().get(handle, "field");
}

Request request_of(const Context& context, const tessera_stencil* given, const int64_t* extents,
                   const char* options) {
  Request request;
  request.scheme = {
      stencil_of(given), sides_of(*given), three(extents, given->dims, 1, 1, "extents"), {}};
  const Index3& n = request.scheme.global;
  [[maybe_unused]] const index_t points =
      checked_mul(checked_mul(n[0], n[1], "extents"), n[2], "extents");
  const Options asked(options, {"threads", "kernel", "steps", "halo_steps", "overlap"});
  request.method.kernel = kernel_of(stencil::variants(), asked);
  request.method.threads = asked.threads(context.threads);
  constexpr index_t most = index_t{1} << 40;
  request.steps = asked.number("steps", 1, most, request.steps);
  request.halo_steps = asked.number("halo_steps", 0, most, request.halo_steps);
  const std::string_view overlap = asked.text("overlap");
  if (!overlap.empty() && overlap != "no" && overlap != "yes")
    unknown_value("overlap", overlap, {"no", "yes"});
  request.method.overlap = overlap == "yes" ? stencils::Overlap::yes : stencils::Overlap::no;
  return request;
}

void add(Fingerprint& same, const stencil::Stencil& stencil) {
  for (const stencil::Tap& tap : stencil.taps) {
    for (const index_t at : tap.offset.at) same.add(at);
    same.add(std::bit_cast<index_t>(tap.weight));
  }
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_field_create(tessera_context context, const tessera_stencil* stencil, int type,
                         const int64_t* extents, const char* options, tessera_field* field) {
  using namespace tessera::c;
  return create(field, "field", [&]() -> std::shared_ptr<Field> {
    const auto on = context_of(context);
    Request request;
    agree(*on, [&](Fingerprint& same) {
      same.add(type).add(options);
      request = request_of(*on, stencil, extents, options);
      dispatch_point(type, [](auto) {});
      for (const tessera::index_t n : request.scheme.global.at) same.add(n);
      add(same, request.scheme.stencil);
      same.add(static_cast<int>(request.scheme.sides[0][0].kind));
    });
    return dispatch_point(type, [&]<class T>(tessera::Type<T>) -> std::shared_ptr<Field> {
      return std::make_shared<FieldOf<T>>(on, request);
    });
  });
}

int tessera_field_box(tessera_field field, int64_t* low, int64_t* high) {
  using namespace tessera::c;
  return guarded([&] {
    const auto found = field_of(field);
    expect(low != nullptr, "low", "is a null pointer");
    expect(high != nullptr, "high", "is a null pointer");
    const int dims = found->dims();
    std::copy_n(found->box().low.at + 3 - dims, dims, low);
    std::copy_n(found->box().high.at + 3 - dims, dims, high);
  });
}

int tessera_field_data(tessera_field field, void** data, int64_t* strides) {
  using namespace tessera::c;
  return guarded([&] {
    const auto found = field_of(field);
    expect(data != nullptr, "data", "is a null pointer");
    expect(strides != nullptr, "strides", "is a null pointer");
    *data = found->data();
    std::copy_n(found->strides().at + 3 - found->dims(), found->dims(), strides);
  });
}

int tessera_field_advance(tessera_field field, int64_t steps) {
  return tessera::c::guarded([&] { tessera::c::field_of(field)->advance(steps); });
}

int tessera_field_free(tessera_field* field) {
  using namespace tessera::c;
  return guarded([&] { Handles<tessera_field, Field>::all().free(field, "field"); });
}
