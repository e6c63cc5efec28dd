// c_overhead: prints what views of C++, the C API and a plan of one rank add to the bare kernel for
// a small product, in nanoseconds, and the bytes that a call allocates. Calls alternate in blocks,
// and the fastest block of each counts.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "dist/matmul/multiply_plan.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/variants.hpp"
#include "machine/fork_join.hpp"
#include "tessera.h"

namespace {

constexpr int blocks = 100, calls = 100;

struct Row {
  std::string name;
  std::function<void()> call;
  double seconds = 1;
  std::size_t bytes = 0;
};

void measure(Row& row) {
  const std::size_t before = tessera::allocated_bytes();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) row.call();
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
  row.seconds = std::min(row.seconds, all.count() / calls);
  row.bytes = (tessera::allocated_bytes() - before) / calls;  // of the last block
}

void compare(tessera_context context, std::int64_t n) {
  namespace products = tessera::dist::matmul;
  const auto size = static_cast<std::size_t>(n * n);
  std::vector<double> a(size, 1), b(size, 2), c(size);
  const tessera::matmul::Gemm<double> bare{
      .a = {a.data(), n, n, n}, .b = {b.data(), n, n, n}, .c = {c.data(), n, n, n}};
  const auto product = [&](const double* left) {
    return tessera_matmul(TESSERA_ROW_MAJOR, TESSERA_F64, TESSERA_NO_TRANS, TESSERA_NO_TRANS, n, n,
                          n, nullptr, left, n, b.data(), n, nullptr, c.data(), n, nullptr);
  };
  const products::StoredMatrix square{
      tessera::layout::Distribution(tessera::layout::row_blocks(n, n, 1))};
  products::Method method;
  method.threads = 1;
  products::MultiplyPlan<double> planned(
      tessera::mpi::Communicator::self(),
      {square, products::Op::none, square, products::Op::none, square}, method);
  tessera_layout layout = nullptr;
  tessera_matmul_plan plan = nullptr;
  const bool made = tessera_layout_grid(context, n, n, 1, 1, &layout) == TESSERA_OK &&
                    tessera_matmul_plan_create(context, TESSERA_ROW_MAJOR, TESSERA_F64,
                                               TESSERA_NO_TRANS, TESSERA_NO_TRANS, layout, layout,
                                               layout, "threads=1", &plan) == TESSERA_OK;
  if (!made) return void(std::fprintf(stderr, "%s\n", tessera_error_text()));
  std::array rows{
      Row{"bare kernel", [&] { tessera::matmul::cache_oblivious(bare); }},
      Row{"C++, best() of views",
          [&] { tessera::machine::parallel(1, [&] { tessera::matmul::best()(bare); }); }},
      Row{"C++, MultiplyPlan of one rank",
          [&] {
            planned.execute(1, {a.data(), n}, {b.data(), n}, 0, {c.data(), n});
          }},
      Row{"C, tessera_matmul", [&] { product(a.data()); }},
      Row{"C, tessera_matmul_plan_execute",
          [&] {
            tessera_matmul_plan_execute(plan, nullptr, a.data(), n, b.data(), n, nullptr, c.data(),
                                        n);
          }},
      Row{"C, a wrong call", [&] { product(nullptr); }}};
  for (int block = 0; block < blocks; ++block)
    for (Row& row : rows) measure(row);
  std::printf("%ld x %ld f64\n", static_cast<long>(n), static_cast<long>(n));
  for (const Row& row : rows)
    std::printf("  %-32s %8.0f ns %+8.0f ns %6zu bytes\n", row.name.c_str(), row.seconds * 1e9,
                (row.seconds - rows[0].seconds) * 1e9, row.bytes);
  tessera_matmul_plan_free(&plan);
  tessera_layout_free(&layout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  tessera_context context = nullptr;
  const int code = tessera_context_create(MPI_COMM_SELF, &context);
  for (const std::int64_t n : {1, 8, 64, 128})
    if (code == TESSERA_OK) compare(context, n);
  tessera_context_free(&context);
  MPI_Finalize();
  return code;
}
