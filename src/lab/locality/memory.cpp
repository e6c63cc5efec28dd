// Walks over arrays on traced memory: sums along rows and along columns, copies, increments,
// additions of vectors and reversals.

#include "lab/locality/kernels.hpp"
#include "lab/locality/traced.hpp"

namespace tessera::inline v1::locality {
namespace {

/// Arrays of m rows of n elements, rows ld elements apart, and a sum of elements.
template <class T>
struct Arrays {
  index_t m, n, ld;
  Traced<T>*a = nullptr, *b = nullptr, *c = nullptr;
  T* sum = nullptr;

  /// Returns the place of the element that mirrors the one at `at`: the last for the first.
  [[nodiscard]] index_t mirrored(index_t at) const { return (m - 1) * ld + n - 1 - at; }
};

/// Returns element `at` of array a (0) or b (1), a small integer: sums of them are exact.
template <class T>
T value(index_t at, index_t array) {
  return static_cast<T>((at * 7 + array) % 11);
}

// The walks: arrays that they use, what they do at an element, and whether it was done.

struct Rows {
  static constexpr index_t arrays = 1;
  static constexpr bool sums = true, down = false;
  static void visit(const auto& x, index_t at) { *x.sum += x.a[at].load(); }
  static bool is_done(const auto&, index_t) { return true; }
};
struct Columns : Rows {
  static constexpr bool down = true;
};
struct Copy {
  static constexpr index_t arrays = 2;
  static constexpr bool sums = false, down = false;
  static void visit(const auto& x, index_t at) { x.b[at] = x.a[at]; }
  static bool is_done(const auto& x, index_t at) { return x.b[at].raw() == x.a[at].raw(); }
};
struct Increment {
  static constexpr index_t arrays = 1;
  static constexpr bool sums = false, down = false;
  static void visit(const auto& x, index_t at) { ++x.a[at]; }
  template <class T>
  static bool is_done(const Arrays<T>& x, index_t at) {
    return x.a[at].raw() == value<T>(at, 0) + 1;
  }
};
struct Add {
  static constexpr index_t arrays = 3;
  static constexpr bool sums = false, down = false;
  static void visit(const auto& x, index_t at) { x.c[at] = x.a[at] + x.b[at]; }
  static bool is_done(const auto& x, index_t at) {
    return x.c[at].raw() == x.a[at].raw() + x.b[at].raw();
  }
};
struct Reverse {
  static constexpr index_t arrays = 2;
  static constexpr bool sums = false, down = false;
  static void visit(const auto& x, index_t at) { x.b[x.mirrored(at)] = x.a[at]; }
  static bool is_done(const auto& x, index_t at) {
    return x.b[x.mirrored(at)].raw() == x.a[at].raw();
  }
};

template <class T>
void by_rows(const Arrays<T>& x, const auto& visit) {
  for (index_t i = 0; i < x.m; ++i) {
    for (index_t j = 0; j < x.n; ++j) visit(i * x.ld + j);
  }
}
template <class T>
void by_columns(const Arrays<T>& x, const auto& visit) {
  for (index_t j = 0; j < x.n; ++j) {
    for (index_t i = 0; i < x.m; ++i) visit(i * x.ld + j);
  }
}

template <class Walk, class T>
void trace(Tracer& tracer, const Problem& p) {
  T sum = 0, whole = 0;
  Arrays<T> x{.m = p.m, .n = p.n, .ld = p.n + p.pad, .sum = &sum};
  const index_t count = p.m == 0 ? 0 : checked_mul(p.m - 1, x.ld, "elements of an array") + p.n;
  x.a = tracer.array<T>("a", count);
  if (Walk::arrays > 1) x.b = tracer.array<T>("b", count);
  if (Walk::arrays > 2) x.c = tracer.array<T>("c", count);
  by_rows(x, [&](index_t at) {
    x.a[at].raw() = value<T>(at, 0);
    if (Walk::arrays > 2) x.b[at].raw() = value<T>(at, 1);
    if (Walk::sums) whole += value<T>(at, 0);
  });
  tracer.run([&] {
    const auto visit = [&](index_t at) { Walk::visit(x, at); };
    if constexpr (Walk::down)
      by_columns(x, visit);
    else
      by_rows(x, visit);
  });
  bool done = sum == whole;
  by_rows(x, [&](index_t at) { done = done && Walk::is_done(x, at); });
  require(done, ExitCode::internal, "the traced walk " + p.kernel + " computed a wrong result");
}

template <class Walk>
Problem run(Tracer& tracer, const Problem& problem) {
  if (problem.element_bytes == 4)
    trace<Walk, float>(tracer, problem);
  else
    trace<Walk, double>(tracer, problem);
  return problem;
}

}  // namespace

std::vector<TracedKernel> memory_kernels() {
  return {
      {"memory", "rows", "scalar", run<Rows>}, {"memory", "columns", "scalar", run<Columns>},
      {"memory", "copy", "scalar", run<Copy>}, {"memory", "increment", "scalar", run<Increment>},
      {"memory", "add", "scalar", run<Add>},   {"memory", "reverse", "scalar", run<Reverse>}};
}

}  // namespace tessera::inline v1::locality
