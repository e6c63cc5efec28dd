// Plans of distributed products.

#include <array>
#include <optional>
#include <variant>

#include "c/executions.hpp"
#include "c/products.hpp"
#include "dist/matmul/multiply_plan.hpp"

namespace tessera::inline v1::c {
namespace {

namespace products = dist::matmul;
using products::MultiplyPlan;

struct MatmulPlan {
  std::shared_ptr<Context> context;
  index_t bytes = 0;  ///< of an element
  Home a, b, c;       ///< without boxes
  std::optional<
      std::variant<MultiplyPlan<float>, MultiplyPlan<double>, MultiplyPlan<Complex<float>>,
                   MultiplyPlan<Complex<double>>, MultiplyPlan<Half>, MultiplyPlan<BFloat16>>>
      plan;

  template <class F>
  decltype(auto) visit(const F& f) {
    return std::visit(f, *plan);
  }
};
using Plans = Handles<tessera_matmul_plan, MatmulPlan>;

products::StoredMatrix stored_matrix(const Home& home) {
  return {home.layout->parts, home.order()};
}

products::Method plan_method(const Context& context, const Options& options) {
  products::Method method;
  method.kernel = kernel_of(matmul::variants(), options);
  method.threads = options.threads(context.threads);
  return method;
}

/// The memory of a call: a, b and c with their leading dimensions.
struct Call {
  const void* alpha;
  const void* beta;
  std::array<const void*, 3> data;
  std::array<index_t, 3> ld;
  void* c;
};

void check_call(MatmulPlan& on, const Call& call) {
  const std::array<Home*, 3> homes{&on.a, &on.b, &on.c};
  for (std::size_t i = 0; i < homes.size(); ++i) {
    homes[i]->ld = call.ld[i];
    c::expect_memory(*homes[i], call.data[i], on.bytes);
  }
  const Extent written = extent_of(on.c, call.c, on.bytes);
  for (std::size_t i = 0; i < 2; ++i)
    refuse_overlap("c", written, homes[i]->name, extent_of(*homes[i], call.data[i], on.bytes));
}

/// Checks the arguments on all ranks. Factors that are 0 on some ranks only are wrong: their
/// matrices are not exchanged.
void agree_on_call(MatmulPlan& on, const Call& call) {
  agree_on_execution(*on.context, [&] {
    check_call(on, call);
    return on.visit([&]<class T>(MultiplyPlan<T>&) {
      return index_t{factor_of<Factor<T>>(call.alpha, 1) == Factor<T>{0}} +
             2 * index_t{factor_of<Factor<T>>(call.beta, 0) == Factor<T>{0}};
    });
  });
}

/// The arguments from which a plan is made.
struct PlanArguments {
  int order, type, op_a, op_b;
  tessera_layout a, b, c;
  const char* options;
};

/// What a plan is made of.
struct Planned {
  products::ProductLayouts layouts;
  products::Method method;
  Home a, b, c;  ///< without boxes
};

/// Checks the arguments on all ranks. Throws Error(usage). Collective.
Planned planned(const Context& on, const PlanArguments& given) {
  Planned made;
  agree(on, [&](Fingerprint& same) {
    same.add(given.order).add(given.type).add(given.op_a).add(given.op_b).add(given.options);
    const Storage storage = storage_of(given.order);
    const Operand left{home_of(on, "a", storage, given.a, 0), nullptr, op_of(given.op_a, "op_a")},
        right{home_of(on, "b", storage, given.b, 0), nullptr, op_of(given.op_b, "op_b")};
    const Home result = home_of(on, "c", storage, given.c, 0);
    expect_product(left, right, result);
    for (const Home* home : {&left.home, &right.home, &result})
      same.add(home->rows()).add(home->cols());
    made.layouts = {stored_matrix(left.home), left.op, stored_matrix(right.home), right.op,
                    stored_matrix(result)};
    made.a = {"a", {}, left.home.shape, 0};
    made.b = {"b", {}, right.home.shape, 0};
    made.c = {"c", {}, result.shape, 0};
    made.method = plan_method(on, Options(given.options, {"threads", "kernel"}));
    dispatch_factor(given.type, [](auto) {});
  });
  return made;
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_matmul_plan_create(tessera_context context, int order, int type, int op_a, int op_b,
                               tessera_layout layout_a, tessera_layout layout_b,
                               tessera_layout layout_c, const char* options,
                               tessera_matmul_plan* plan) {
  using namespace tessera::c;
  return create(plan, "plan", [&] {
    const auto on = context_of(context);
    const Planned parts =
        planned(*on, {order, type, op_a, op_b, layout_a, layout_b, layout_c, options});
    auto made = std::make_shared<MatmulPlan>();
    made->context = on;
    made->a = parts.a;
    made->b = parts.b;
    made->c = parts.c;
    tessera::mpi::together(on->comm, "plan a product", [&] {
      dispatch_factor(type, [&](auto t) {
        using T = typename decltype(t)::type;
        made->bytes = sizeof(T);
        made->plan.emplace(MultiplyPlan<T>(on->comm, parts.layouts, parts.method));
      });
    });
    return made;
  });
}

int tessera_matmul_plan_workspace_bytes(tessera_context context, int order, int type, int op_a,
                                        int op_b, tessera_layout layout_a, tessera_layout layout_b,
                                        tessera_layout layout_c, const char* options,
                                        int64_t* bytes) {
  using namespace tessera::c;
  return guarded([&] {
    const auto on = context_of(context);
    agree(*on, [&](Fingerprint&) { expect(bytes != nullptr, "bytes", "is a null pointer"); });
    const Planned parts =
        planned(*on, {order, type, op_a, op_b, layout_a, layout_b, layout_c, options});
    tessera::mpi::together(on->comm, "plan a product", [&] {
      dispatch_factor(type, [&](auto t) {
        using T = typename decltype(t)::type;
        *bytes = MultiplyPlan<T>::workspace_bytes(on->comm, parts.layouts, parts.method);
      });
    });
  });
}

int tessera_matmul_plan_bytes(tessera_matmul_plan plan, int64_t* bytes) {
  using namespace tessera::c;
  return guarded([&] {
    expect(bytes != nullptr, "bytes", "is a null pointer");
    *bytes = Plans::all().get(plan, "plan")->visit([](auto& x) { return x.workspace_bytes(); });
  });
}

int tessera_matmul_plan_execute(tessera_matmul_plan plan, const void* alpha, const void* a,
                                int64_t lda, const void* b, int64_t ldb, const void* beta, void* c,
                                int64_t ldc) {
  using namespace tessera;
  using namespace tessera::c;
  return guarded([&] {
    const auto on = Plans::all().get(plan, "plan");
    agree_on_call(*on, {alpha, beta, {a, b, c}, {lda, ldb, ldc}, c});
    on->visit([&]<class T>(MultiplyPlan<T>& planned) {
      planned.execute(factor_of<Factor<T>>(alpha, 1), {static_cast<const T*>(a), lda},
                      {static_cast<const T*>(b), ldb}, factor_of<Factor<T>>(beta, 0),
                      {static_cast<T*>(c), ldc});
    });
  });
}

int tessera_matmul_plan_free(tessera_matmul_plan* plan) {
  using namespace tessera::c;
  return guarded([&] { Plans::all().free(plan, "plan"); });
}
