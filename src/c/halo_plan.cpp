// Plans of halo exchanges on fields in the caller's memory.

#include <algorithm>
#include <optional>
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

/// What a plan is made of.
struct PlannedHalo {
  stencils::HaloShape shape;
  int dims = 0, fields = 0, threads = 1;
  std::optional<int> gpu;  ///< in whose memory the fields are
};

class HaloPlan : public ExchangePlan {
 public:
  HaloPlan(const std::shared_ptr<Context>& context, const PlannedHalo& made)
      : ExchangePlan(context, made.gpu),
        dims_(made.dims),
        box_(made.shape.grid.of(context->comm.rank())),
        widths_(made.shape.widths) {}

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
  HaloPlanOf(const std::shared_ptr<Context>& context, const PlannedHalo& made)
      : HaloPlan(context, made),
        views_(static_cast<std::size_t>(made.fields)),
        plan_(context->comm, made.shape, made.fields, made.threads, place()) {}

  [[nodiscard]] index_t bytes() const override { return plan_.buffer_bytes(); }
  void start(const HaloCall& call) override {
    begin([&] { return check(call); }, [&] { plan_.start(std::span<const GridView<T>>(views_)); });
  }

 private:
  index_t check(const HaloCall& call) {
    expect(call.field != nullptr || box().empty(), "field", "is a null pointer");
    for (std::size_t f = 0; f < views_.size() && !box().empty(); ++f) {
      expect(call.field[f] != nullptr, "field", "has a null pointer at {}", f);
      expect_here(call.field[f], "field");
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

/// Calls f(Type<T>{}) for a type of numbers; throws Error(usage) naming `type` for others.
template <class F>
void dispatch_halo_point(int type, const F& f) {
  if (type == TESSERA_BF16) return f(Type<BFloat16>{});
  [[maybe_unused]] const std::string_view name = type_name(type);
  if (type == TESSERA_C64 || type == TESSERA_C128) return dispatch_number(type, f);
  dispatch_key(type, "type", f);
}

/// Checks the arguments on all ranks, of which the options may differ. Throws Error(usage).
/// Collective.
PlannedHalo planned_halo(const Context& on, const HaloArguments& given) {
  PlannedHalo made;
  made.dims = given.dims;
  made.fields = given.fields;
  agree(on, [&](Fingerprint& same) {
    same.add(given.type).add(given.dims).add(given.fields);
    dispatch_halo_point(given.type, [](auto) {});
    expect(given.fields >= 1, "fields", "is {}: must be at least 1", given.fields);
    stencils::HaloShape& shape = made.shape;
    shape = halo_shape(given, on.comm.size());
    for (int d = 0; d < 3; ++d)
      same.add(shape.grid.global[d]).add(shape.grid.parts[d]).add(shape.widths[d]);
    same.add(static_cast<int>(shape.sides[0][0].kind));
    same.add(std::bit_cast<index_t>(given.boundary_value));
    const Options asked(given.options, {"threads", "gpu"});
    made.threads = asked.threads(on.threads);
    made.gpu = gpu_of(asked);
  });
  return made;
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
    const PlannedHalo planned = planned_halo(
        *on, {type, dims, extents, widths, grid, boundary, boundary_value, fields, options});
    std::shared_ptr<HaloPlan> made;
    tessera::mpi::together(on->comm, "plan a halo", [&] {
      dispatch_halo_point(type, [&]<class T>(tessera::Type<T>) {
        made = std::make_shared<HaloPlanOf<T>>(on, planned);
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
