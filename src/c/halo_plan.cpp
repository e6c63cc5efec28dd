// Plans of halo exchanges on fields in the caller's memory.

#include <algorithm>
#include <vector>

#include "c/executions.hpp"
#include "c/options.hpp"
#include "c/stencils.hpp"
#include "dist/stencil/halo_exchange.hpp"
#include "tessera_plans.h"

namespace tessera::inline v1::c {
namespace {

namespace stencils = dist::stencil;

/// The memory of an execution.
struct HaloCall {
  void* const* field;
  const int64_t* strides;
};

class HaloPlan : public ExchangePlan {
 public:
  HaloPlan(const std::shared_ptr<Context>& context, const stencils::HaloShape& shape, int dims)
      : ExchangePlan(context),
        dims_(dims),
        box_(shape.grid.of(context->comm.rank())),
        widths_(shape.widths) {}

  [[nodiscard]] int dims() const { return dims_; }
  [[nodiscard]] const Box3& box() const { return box_; }
  virtual void start(const HaloCall& call) = 0;

 protected:
  /// Returns the strides of field f. Throws Error(usage) naming `strides`.
  [[nodiscard]] Index3 strides_of(const HaloCall& call, std::size_t f) const {
    const Index3 n = box_.size();
    const index_t row = n[2] + 2 * widths_[2];
    if (call.strides == nullptr) return {{(n[1] + 2 * widths_[1]) * row, row, 1}};
    return three(call.strides + f * static_cast<std::size_t>(dims_), dims_, 1, 1, "strides");
  }

 private:
  int dims_;
  Box3 box_;
  Index3 widths_;
};

template <class T>
class HaloPlanOf : public HaloPlan {
 public:
  HaloPlanOf(const std::shared_ptr<Context>& context, const stencils::HaloShape& shape, int dims,
             int fields, int threads)
      : HaloPlan(context, shape, dims),
        views_(static_cast<std::size_t>(fields)),
        plan_(context->comm, shape, fields, threads) {}

  [[nodiscard]] index_t bytes() const override { return plan_.buffer_bytes(); }
  void start(const HaloCall& call) override {
    begin([&] { return check(call); }, [&] { plan_.start(std::span<const GridView<T>>(views_)); });
  }

 private:
  index_t check(const HaloCall& call) {
    expect(call.field != nullptr || box().empty(), "field", "is a null pointer");
    for (std::size_t f = 0; f < views_.size() && !box().empty(); ++f) {
      expect(call.field[f] != nullptr, "field", "has a null pointer at {}", f);
      views_[f] = {static_cast<T*>(call.field[f]), box().size(), strides_of(call, f), dims()};
    }
    return 0;
  }
  void wait() override { plan_.wait(); }

  std::vector<GridView<T>> views_;
  stencils::HaloPlan<T> plan_;
};

/// The arguments of which a plan is made.
struct HaloArguments {
  int type, dims;
  const int64_t *extents, *widths;
  const int* grid;
  const char* boundary;
  double boundary_value;
  int fields;
  const char* options;
};

layout::GridLayout grid_of_boxes(const HaloArguments& given, const stencils::HaloShape& shape,
                                 const Index3& extents, index_t ranks) {
  const bool wraps = shape.sides[0][0].kind == stencil::Boundary::periodic;
  if (given.grid == nullptr)
    return layout::choose_grid({extents, ranks, shape.widths, {wraps, wraps, wraps}});
  layout::GridLayout grid{.global = extents, .ranks = ranks};
  for (int d = 0; d < given.dims; ++d) {
    const index_t parts = given.grid[d];
    expect(parts >= 1 && parts <= ranks, "grid", "has {} shares: must have 1 to {}", parts, ranks);
    grid.parts[3 - given.dims + d] = parts;
  }
  expect(grid.active() <= ranks, "grid", "has {} boxes: context has {} ranks", grid.active(),
         ranks);
  return grid;
}

void expect_layers(const stencils::HaloShape& shape) {
  for (int d = 0; d < 3; ++d) {
    const index_t thinnest = shape.grid.shortest(d), width = shape.widths[d];
    expect(thinnest >= (shape.grid.parts[d] > 1 ? std::max<index_t>(width, 1) : 1), "widths",
           "has {}: the thinnest box has {} points", width, thinnest);
  }
}

stencils::HaloShape halo_shape(const HaloArguments& given, index_t ranks) {
  expect(given.dims >= 1 && given.dims <= 3, "dims", "is {}: must be 1 to 3", given.dims);
  const Index3 extents = three(given.extents, given.dims, 1, 1, "extents");
  [[maybe_unused]] const index_t points =
      checked_mul(checked_mul(extents[0], extents[1], "extents"), extents[2], "extents");
  stencils::HaloShape shape;
  shape.widths = three(given.widths, given.dims, 0, 0, "widths");
  for (int d = 0; d < 3; ++d) {
    constexpr index_t most = index_t{1} << 30;
    expect(shape.widths[d] <= most, "widths", "has {}: must be at most {}", shape.widths[d], most);
  }
  const stencil::Boundary kind = given.boundary == nullptr
                                     ? stencil::Boundary::clamp
                                     : stencil::parse_boundary(given.boundary);
  shape.sides = stencil::all_sides({kind, given.boundary_value});
  shape.grid = grid_of_boxes(given, shape, extents, ranks);
  expect_layers(shape);
  return shape;
}

template <class F>
decltype(auto) dispatch_halo_point(int type, F&& f) {
  switch (type) {
    case TESSERA_I32:
      return f(Type<std::int32_t>{});
    case TESSERA_I64:
      return f(Type<std::int64_t>{});
    default:
      return dispatch_factor(type, std::forward<F>(f));
  }
}

/// Checks the arguments on all ranks. Throws Error(usage). Collective.
stencils::HaloShape planned_halo(const Context& on, const HaloArguments& given, int& threads) {
  stencils::HaloShape shape;
  agree(on, [&](Fingerprint& same) {
    same.add(given.type).add(given.dims).add(given.fields).add(given.options);
    dispatch_halo_point(given.type, [](auto) {});
    expect(given.fields >= 1, "fields", "is {}: must be at least 1", given.fields);
    shape = halo_shape(given, on.comm.size());
    for (int d = 0; d < 3; ++d)
      same.add(shape.grid.global[d]).add(shape.grid.parts[d]).add(shape.widths[d]);
    same.add(static_cast<int>(shape.sides[0][0].kind));
    same.add(std::bit_cast<index_t>(given.boundary_value));
    threads = Options(given.options, {"threads"}).threads(on.threads);
  });
  return shape;
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_halo_plan_create(tessera_context context, int type, int dims, const int64_t* extents,
                             const int64_t* widths, const int* grid, const char* boundary,
                             double boundary_value, int fields, const char* options,
                             tessera_halo_plan* plan) {
  using namespace tessera::c;
  return create(plan, "plan", [&] {
    const auto on = context_of(context);
    int threads = 1;
    const auto shape = planned_halo(
        *on, {type, dims, extents, widths, grid, boundary, boundary_value, fields, options},
        threads);
    std::shared_ptr<HaloPlan> made;
    tessera::mpi::together(on->comm, "plan a halo", [&] {
      dispatch_halo_point(type, [&]<class T>(tessera::Type<T>) {
        made = std::make_shared<HaloPlanOf<T>>(on, shape, dims, fields, threads);
      });
    });
    return made;
  });
}

int tessera_halo_plan_box(tessera_halo_plan plan, int64_t* low, int64_t* high) {
  using namespace tessera::c;
  return guarded([&] {
    const auto found = Handles<tessera_halo_plan, HaloPlan>::all().get(plan, "plan");
    expect(low != nullptr, "low", "is a null pointer");
    expect(high != nullptr, "high", "is a null pointer");
    const int dims = found->dims();
    std::copy_n(found->box().low.at + 3 - dims, dims, low);
    std::copy_n(found->box().high.at + 3 - dims, dims, high);
  });
}

int tessera_halo_plan_bytes(tessera_halo_plan plan, int64_t* bytes) {
  return tessera::c::bytes_of_plan<tessera_halo_plan, tessera::c::HaloPlan>(plan, bytes);
}

int tessera_halo_plan_start(tessera_halo_plan plan, void* const* field, const int64_t* strides) {
  using namespace tessera::c;
  return guarded([&] {
    Handles<tessera_halo_plan, HaloPlan>::all().get(plan, "plan")->start({field, strides});
  });
}

int tessera_halo_plan_wait(tessera_halo_plan plan) {
  return tessera::c::wait_for_plan<tessera_halo_plan, tessera::c::HaloPlan>(plan);
}

int tessera_halo_plan_free(tessera_halo_plan* plan) {
  return tessera::c::free_plan<tessera_halo_plan, tessera::c::HaloPlan>(plan);
}
