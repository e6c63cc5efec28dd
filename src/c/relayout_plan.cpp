// Plans of relayouts.

#include "c/executions.hpp"
#include "c/moves.hpp"
#include "c/options.hpp"
#include "dist/relayout/relayout.hpp"
#include "tessera_plans.h"

namespace tessera::inline v1::c {
namespace {

namespace relayouts = dist::relayout;

/// A matrix as it is before and after, with the names of its arguments.
struct Pair {
  std::string name_a, name_b;
  Home a, b;
};

/// The arguments of an execution, by matrix.
struct RelayoutCall {
  const void* alpha;
  const void* const* a;
  const int64_t* lda;
  const void* beta;
  void* const* b;
  const int64_t* ldb;
};

/// What a plan is made of.
struct PlannedRelayout {
  std::vector<Pair> pairs;
  std::vector<relayouts::Relayout> matrices;
  int threads = 1;
  std::optional<int> gpu;  ///< in whose memory the matrices are
};

class RelayoutPlan : public ExchangePlan {
 public:
  using ExchangePlan::ExchangePlan;
  virtual void start(const RelayoutCall& call) = 0;
};

template <class T>
class RelayoutPlanOf : public RelayoutPlan {
 public:
  RelayoutPlanOf(const std::shared_ptr<Context>& context, PlannedRelayout&& made)
      : RelayoutPlan(context, made.gpu),
        pairs_(std::move(made.pairs)),
        from_(pairs_.size()),
        to_(pairs_.size()),
        memory_(pairs_.size()),
        plan_(context->comm, made.matrices, index_t{sizeof(T)}, made.threads, place()) {
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      pairs_[k].a.name = pairs_[k].name_a.c_str();
      pairs_[k].b.name = pairs_[k].name_b.c_str();
      memory_[k].a = std::span(&from_[k], 1);
      memory_[k].b = std::span(&to_[k], 1);
    }
  }

  [[nodiscard]] index_t bytes() const override { return plan_.buffer_bytes(); }
  void start(const RelayoutCall& call) override {
    begin([&] { return check(call); }, [&] { plan_.template start<T>(memory_); });
  }

 private:
  using Factor = typename relayouts::Memory<T>::Factor;

  static Factor factor(const void* values, std::size_t k, double otherwise) {
    constexpr auto width = static_cast<std::ptrdiff_t>(sizeof(Factor));
    const auto* const at = static_cast<const std::byte*>(values);
    return factor_of<Factor>(at == nullptr ? at : at + static_cast<std::ptrdiff_t>(k) * width,
                             otherwise);
  }

  /// Checks the memory of all matrices and binds it. Returns which of them are read.
  index_t check(const RelayoutCall& call) {
    expect(call.a != nullptr, "a", "is a null pointer");
    expect(call.lda != nullptr, "lda", "is a null pointer");
    expect(call.b != nullptr, "b", "is a null pointer");
    expect(call.ldb != nullptr, "ldb", "is a null pointer");
    if (!relayouts::Scalable<T>) {
      expect(call.alpha == nullptr, "alpha", "is given: elements of this type are only moved");
      expect(call.beta == nullptr, "beta", "is given: elements of this type are only moved");
    }
    Fingerprint read;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      Home &a = pairs_[k].a, &b = pairs_[k].b;
      a.ld = call.lda[k];
      b.ld = call.ldb[k];
      memory_[k].alpha = factor(call.alpha, k, 1);
      memory_[k].beta = factor(call.beta, k, 0);
      from_[k] = {static_cast<const T*>(call.a[k]), a.ld};
      to_[k] = {static_cast<T*>(call.b[k]), b.ld};
      const bool is_read = memory_[k].alpha != Factor{0};
      read.add(index_t{is_read});
      if (is_read) expect_memory(a, call.a[k], index_t{sizeof(T)});
      expect_memory(b, call.b[k], index_t{sizeof(T)});
      if (is_read) expect_here(call.a[k], a.name);
      expect_here(call.b[k], b.name);
      if (is_read)
        refuse_overlap(b.name, extent_of(b, call.b[k], index_t{sizeof(T)}), a.name,
                       extent_of(a, call.a[k], index_t{sizeof(T)}));
    }
    return read.value();
  }
  void wait() override { plan_.wait(); }

  std::vector<Pair> pairs_;
  std::vector<relayouts::LocalArray<const T>> from_;
  std::vector<relayouts::LocalArray<T>> to_;
  std::vector<relayouts::Memory<T>> memory_;
  relayouts::Plan plan_;
};

/// The arguments of which a plan is made.
struct RelayoutArguments {
  int order_a, order_b, type, matrices;
  const int* op;
  const tessera_layout *a, *b;
  const char* options;
};

void add_matrix(const Context& on, const RelayoutArguments& given, int k, Fingerprint& same,
                PlannedRelayout& made) {
  Pair pair{fmt::format("a[{}]", k), fmt::format("b[{}]", k), {}, {}};
  const std::string op_name = fmt::format("op[{}]", k);
  const matmul::Op op = op_of(given.op[k], op_name.c_str());
  pair.a = home_of(on, pair.name_a.c_str(), storage_of(given.order_a, "order_a"), given.a[k], 0);
  pair.b = home_of(on, pair.name_b.c_str(), storage_of(given.order_b, "order_b"), given.b[k], 0);
  const bool turns = op != matmul::Op::none;
  expect_shape(pair.b, turns ? pair.a.cols() : pair.a.rows(), turns ? pair.a.rows() : pair.a.cols(),
               turns ? "the transpose of a" : "as a");
  same.add(given.op[k]).add(pair.a.rows()).add(pair.a.cols());
  made.matrices.push_back(
      {pair.a.layout->parts, op, pair.b.layout->parts, pair.a.order(), pair.b.order()});
  made.pairs.push_back(std::move(pair));
}

/// Checks the arguments on all ranks, of which the number of the GPU and the threads may differ.
/// Throws Error(usage). Collective.
PlannedRelayout planned_relayout(const Context& on, const RelayoutArguments& given) {
  PlannedRelayout made;
  agree(on, [&](Fingerprint& same) {
    same.add(given.order_a).add(given.order_b).add(given.type).add(given.matrices);
    expect_word(bytes_of(given.type), "a relayout");
    expect(given.matrices >= 1, "matrices", "is {}: must be at least 1", given.matrices);
    expect(given.op != nullptr, "op", "is a null pointer");
    expect(given.a != nullptr, "layout_a", "is a null pointer");
    expect(given.b != nullptr, "layout_b", "is a null pointer");
    for (int k = 0; k < given.matrices; ++k) add_matrix(on, given, k, same, made);
    const Options asked(given.options, {"threads", "gpu"});
    made.threads = asked.threads(on.threads);
    made.gpu = gpu_of(asked);
    same.add(index_t{made.gpu.has_value()});
  });
  return made;
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_relayout_plan_create(tessera_context context, int order_a, int order_b, int type,
                                 int matrices, const int* op, const tessera_layout* layout_a,
                                 const tessera_layout* layout_b, const char* options,
                                 tessera_relayout_plan* plan) {
  using namespace tessera::c;
  return create(plan, "plan", [&] {
    const auto on = context_of(context);
    PlannedRelayout parts =
        planned_relayout(*on, {order_a, order_b, type, matrices, op, layout_a, layout_b, options});
    std::shared_ptr<RelayoutPlan> made;
    make_plan(*on, parts.gpu, "plan a relayout", [&] {
      dispatch_moved(type, [&]<class T>(tessera::Type<T>) {
        made = std::make_shared<RelayoutPlanOf<T>>(on, std::move(parts));
      });
    });
    return made;
  });
}

int tessera_relayout_plan_bytes(tessera_relayout_plan plan, int64_t* bytes) {
  return tessera::c::bytes_of_plan<tessera_relayout_plan, tessera::c::RelayoutPlan>(plan, bytes);
}

int tessera_relayout_plan_start(tessera_relayout_plan plan, const void* alpha, const void* const* a,
                                const int64_t* lda, const void* beta, void* const* b,
                                const int64_t* ldb) {
  using namespace tessera::c;
  return guarded([&] {
    Handles<tessera_relayout_plan, RelayoutPlan>::all()
        .get(plan, "plan")
        ->start({alpha, a, lda, beta, b, ldb});
  });
}

int tessera_relayout_plan_wait(tessera_relayout_plan plan) {
  return tessera::c::wait_for_plan<tessera_relayout_plan, tessera::c::RelayoutPlan>(plan);
}

int tessera_relayout_plan_free(tessera_relayout_plan* plan) {
  return tessera::c::free_plan<tessera_relayout_plan, tessera::c::RelayoutPlan>(plan);
}
