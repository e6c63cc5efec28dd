// Plans of permutations of axes.

#include <algorithm>
#include <array>
#include <vector>

#include "c/executions.hpp"
#include "c/options.hpp"
#include "dist/transpose/permute_plan.hpp"
#include "kernels/transpose/strided.hpp"
#include "tessera_plans.h"

namespace tessera::inline v1::c {
namespace {

/// This rank's indices of an array, by axis.
struct Share {
  std::vector<layout::Range> axes;
  [[nodiscard]] index_t elements() const {
    index_t all = 1;
    for (const layout::Range& axis : axes) all *= axis.size();
    return all;
  }
};

Share share_of(const layout::ArrayGrid& grid, int rank) {
  Share share;
  for (std::size_t d = 0; d < grid.axes.size(); ++d) {
    const layout::Segments here = layout::segments(grid, d, rank);
    share.axes.push_back(here.empty() ? layout::Range{} : here.front().global);
  }
  return share;
}

/// What a plan is made of.
struct PlannedPermutation {
  dist::transpose::ArrayPermutation permutation;
  int threads = 1;
  std::optional<int> gpu;  ///< in whose memory the arrays are
};

class PermutePlan : public ExchangePlan {
 public:
  PermutePlan(const std::shared_ptr<Context>& context, const PlannedPermutation& made)
      : ExchangePlan(context, made.gpu),
        bytes_(made.permutation.bytes),
        a_(share_of(made.permutation.a, context->comm.rank())),
        b_(share_of(made.permutation.b, context->comm.rank())),
        plan_(context->comm, made.permutation, made.threads, place()) {}

  [[nodiscard]] const Share& a() const { return a_; }
  [[nodiscard]] const Share& b() const { return b_; }
  [[nodiscard]] index_t bytes() const override { return plan_.buffer_bytes(); }
  void start(const void* a, void* b) {
    const auto check = [&] {
      const index_t read = a_.elements(), written = b_.elements();
      expect_memory(a, read, "a");
      expect_memory(b, written, "b");
      if (read > 0) expect_here(a, "a");
      if (written > 0) expect_here(b, "b");
      refuse_overlap("b", {b, written * bytes_}, "a", {a, read * bytes_});
      return index_t{0};
    };
    begin(check,
          [&] { plan_.start(static_cast<const std::byte*>(a), static_cast<std::byte*>(b)); });
  }

 private:
  void wait() override { plan_.wait(); }

  index_t bytes_;
  Share a_, b_;
  dist::transpose::PermutePlan plan_;
};

/// The arguments of which a plan is made.
struct PermuteArguments {
  int type, dims;
  const int64_t* extents;
  const int *axes, *grid_a, *grid_b;
  const char* options;
};

/// Returns the grid of an array in even shares; extent(k) is that of axis k.
template <class ExtentOf>
layout::ArrayGrid grid_of_shares(const PermuteArguments& given, const int* parts,
                                 const char* argument, index_t ranks, const ExtentOf& extent) {
  expect(parts != nullptr, argument, "is a null pointer");
  layout::ArrayGrid grid;
  index_t places = 1;
  for (int k = 0; k < given.dims; ++k) {
    expect(parts[k] >= 1 && parts[k] <= ranks, argument, "has {} shares: must have 1 to {}",
           parts[k], ranks);
    places *= parts[k];
    expect(places <= ranks, argument, "has more shares than the {} ranks of context", ranks);
    grid.axes.push_back(layout::in_shares({extent(k), parts[k]}));
  }
  return grid;
}

void expect_axes(const int* axes, int dims) {
  expect(axes != nullptr, "axes", "is a null pointer");
  std::array<bool, tessera::transpose::max_rank> seen{};
  for (int k = 0; k < dims; ++k) {
    expect(axes[k] >= 0 && axes[k] < dims && !seen[static_cast<std::size_t>(axes[k])], "axes",
           "has {}: must have 0 .. {}, each once", axes[k], dims - 1);
    seen[static_cast<std::size_t>(axes[k])] = true;
  }
}

void expect_arrays(const PermuteArguments& given) {
  constexpr int most = tessera::transpose::max_rank;
  expect(given.dims >= 1 && given.dims <= most, "dims", "is {}: must be 1 to {}", given.dims, most);
  expect(given.extents != nullptr, "extents", "is a null pointer");
  index_t all = bytes_of(given.type);
  for (int d = 0; d < given.dims; ++d) {
    expect_extent(given.extents[d], "extents");
    expect(!__builtin_mul_overflow(all, std::max<index_t>(1, given.extents[d]), &all), "extents",
           "have more bytes than 64 bits count");
  }
  expect_axes(given.axes, given.dims);
}

/// Checks the arguments on all ranks, of which the number of the GPU and the threads may differ.
/// Throws Error(usage). Collective.
PlannedPermutation planned_permutation(const Context& on, const PermuteArguments& given) {
  PlannedPermutation planned;
  dist::transpose::ArrayPermutation& made = planned.permutation;
  agree(on, [&](Fingerprint& same) {
    same.add(given.type).add(given.dims);
    expect_arrays(given);
    const index_t ranks = on.comm.size();
    made.bytes = bytes_of(given.type);
    made.axes = std::span(given.axes, static_cast<std::size_t>(given.dims));
    made.a = grid_of_shares(given, given.grid_a, "grid_a", ranks,
                            [&](int k) { return given.extents[k]; });
    made.b = grid_of_shares(given, given.grid_b, "grid_b", ranks,
                            [&](int k) { return given.extents[given.axes[k]]; });
    for (int k = 0; k < given.dims; ++k)
      same.add(given.extents[k]).add(given.axes[k]).add(given.grid_a[k]).add(given.grid_b[k]);
    const Options asked(given.options, {"threads", "gpu"});
    planned.threads = asked.threads(on.threads);
    planned.gpu = gpu_of(asked);
    same.add(index_t{planned.gpu.has_value()});
  });
  return planned;
}

void set_box(const Share& share, int64_t* low, int64_t* high) {
  for (std::size_t d = 0; d < share.axes.size(); ++d) {
    low[d] = share.axes[d].begin;
    high[d] = share.axes[d].end;
  }
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_permute_plan_create(tessera_context context, int type, int dims, const int64_t* extents,
                                const int* axes, const int* grid_a, const int* grid_b,
                                const char* options, tessera_permute_plan* plan) {
  using namespace tessera::c;
  return create(plan, "plan", [&] {
    const auto on = context_of(context);
    const PlannedPermutation planned =
        planned_permutation(*on, {type, dims, extents, axes, grid_a, grid_b, options});
    std::shared_ptr<PermutePlan> made;
    make_plan(*on, planned.gpu, "plan a permutation",
              [&] { made = std::make_shared<PermutePlan>(on, planned); });
    return made;
  });
}

int tessera_permute_plan_boxes(tessera_permute_plan plan, int64_t* low_a, int64_t* high_a,
                               int64_t* low_b, int64_t* high_b) {
  using namespace tessera::c;
  return guarded([&] {
    const auto found = Handles<tessera_permute_plan, PermutePlan>::all().get(plan, "plan");
    expect(low_a != nullptr, "low_a", "is a null pointer");
    expect(high_a != nullptr, "high_a", "is a null pointer");
    expect(low_b != nullptr, "low_b", "is a null pointer");
    expect(high_b != nullptr, "high_b", "is a null pointer");
    set_box(found->a(), low_a, high_a);
    set_box(found->b(), low_b, high_b);
  });
}

int tessera_permute_plan_bytes(tessera_permute_plan plan, int64_t* bytes) {
  return tessera::c::bytes_of_plan<tessera_permute_plan, tessera::c::PermutePlan>(plan, bytes);
}

int tessera_permute_plan_start(tessera_permute_plan plan, const void* a, void* b) {
  using namespace tessera::c;
  return guarded(
      [&] { Handles<tessera_permute_plan, PermutePlan>::all().get(plan, "plan")->start(a, b); });
}

int tessera_permute_plan_wait(tessera_permute_plan plan) {
  return tessera::c::wait_for_plan<tessera_permute_plan, tessera::c::PermutePlan>(plan);
}

int tessera_permute_plan_free(tessera_permute_plan* plan) {
  return tessera::c::free_plan<tessera_permute_plan, tessera::c::PermutePlan>(plan);
}
