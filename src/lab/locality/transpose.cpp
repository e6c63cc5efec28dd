// Transpose kernels on traced memory.

#include "base/hash.hpp"
#include "kernels/transpose/halves.hpp"
#include "kernels/transpose/textbook.hpp"
#include "lab/locality/kernels.hpp"
#include "lab/locality/traced.hpp"

namespace tessera::inline v1::transpose::traced {
extern const LeafSet leaf_set;
}

namespace tessera::inline v1::locality {
namespace {

using transpose::ConstRecords;
using transpose::Records;

/// Copy of a record that reports its load and store.
struct ReportingCopy {
  unsigned bytes;
  void operator()(std::byte* to, const std::byte* from) const {
    report(Access::Kind::load, from, bytes);
    report(Access::Kind::store, to, bytes);
    std::memcpy(to, from, bytes);
  }
};

/// Runs both halves in turn, each one level deeper.
constexpr auto in_turn = [](const transpose::Submatrix&, const auto& left, const auto& right) {
  const auto deeper = [](const auto& half) {
    const Subproblem<Traced<double>> here;
    half();
  };
  deeper(left);
  deeper(right);
};

constexpr auto walk_in_turn = [](const transpose::Submatrix& block,
                                 const transpose::LeafShape& leaf, const auto& visit) {
  transpose::walk_halves(block, leaf, visit, in_turn);
};

using Walk = void (*)(const ConstRecords& a, const Records& b, const transpose::Tuning& tuning);

ReportingCopy copy_of(const Records& b) { return {static_cast<unsigned>(b.bytes)}; }

void naive(const ConstRecords& a, const Records& b, const transpose::Tuning& t) {
  naive_walk(a, b, t.threads, copy_of(b));
}
void tiled(const ConstRecords& a, const Records& b, const transpose::Tuning& t) {
  tiled_walk(a, b, t, t.threads, copy_of(b));
}
void column(const ConstRecords& a, const Records& b, const transpose::Tuning& t) {
  column_walk(a, b, t, t.threads, copy_of(b));
}
void recursive(const ConstRecords& a, const Records& b, const transpose::Tuning& t) {
  recursive_walk(a, b, t, copy_of(b), in_turn);
}
void check_staging(const ConstRecords& a, const Records& b) {
  require(stays_in_cache(a, b) || rows_meet_lines(b), ExitCode::usage,
          "cache_oblivious uses staging blocks here, which are not traced; choose rows of whole "
          "lines (m a multiple of 64 bytes) or up to 1 MiB");
}
void cache_oblivious(const ConstRecords& a, const Records& b, const transpose::Tuning& t) {
  check_staging(a, b);
  transpose_by_leaves(a, b, t.threads, transpose::traced::leaf_set, walk_in_turn);
}

/// Returns element (i, j) of an m x n matrix, a record of 4 or 8 bytes.
std::uint64_t value(index_t i, index_t j, index_t n) {
  return mix64(static_cast<std::uint64_t>(i * n + j));
}

void check(const Records& b, const Problem& p) {
  for (index_t j = 0; j < p.n; ++j) {
    for (index_t i = 0; i < p.m; ++i) {
      const std::uint64_t want = value(i, j, p.n);
      require(std::memcmp(b.at(j, i), &want, static_cast<std::size_t>(p.element_bytes)) == 0,
              ExitCode::internal, "the traced kernel " + p.kernel + " computed a wrong transpose");
    }
  }
}

/// Throws Error(usage) for matrices the kernels cannot stage; arrays begin at lines, as traced ones
/// do.
void check_problem(const Problem& p) {
  const auto matrix = [&](index_t rows, index_t cols) {
    return Records{nullptr, rows, cols, cols + p.pad, p.element_bytes};
  };
  check_staging(matrix(p.m, p.n), matrix(p.n, p.m));
}

template <Walk walk, index_t tile>
Problem run(Tracer& tracer, const Problem& problem) {
  Problem p = problem;
  if (p.tile == 0) p.tile = tile;
  if (p.column_width == 0) p.column_width = 16;
  const index_t bytes = p.element_bytes;
  const auto matrix = [&](const char* name, index_t rows, index_t cols) {
    const index_t ld = cols + p.pad;
    auto* const data =
        tracer.array<std::byte>(name, checked_mul(rows * bytes, ld, "size of a matrix"));
    return Records{reinterpret_cast<std::byte*>(data), rows, cols, ld, bytes};
  };
  const Records a = matrix("a", p.m, p.n), b = matrix("b", p.n, p.m);
  for (index_t i = 0; i < p.m; ++i) {
    for (index_t j = 0; j < p.n; ++j) {
      const std::uint64_t x = value(i, j, p.n);
      std::memcpy(a.at(i, j), &x, static_cast<std::size_t>(bytes));
    }
  }
  tracer.run([&] {
    walk(a, b,
         {.tile = p.tile,
          .order = transpose::Order::rows,
          .column_width = p.column_width,
          .threads = 1});
  });
  check(b, p);
  return p;
}

}  // namespace

std::vector<TracedKernel> transpose_kernels() {
  return {
      {"transpose", "naive", "scalar", run<naive, 32>},
      {"transpose", "tiled", "scalar", run<tiled, 32>},
      {"transpose", "column", "scalar", run<column, 32>},
      {"transpose", "recursive", "scalar", run<recursive, 8>},
      {"transpose", "cache_oblivious", "lanes of 16 B", run<cache_oblivious, 32>, check_problem}};
}

}  // namespace tessera::inline v1::locality
