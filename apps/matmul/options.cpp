#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "kernels/matmul/variants.hpp"
#include "run/common_options.hpp"
#include "run/device.hpp"
#include "run/gpu_exchange.hpp"
#include "run/shares.hpp"
#include "workloads/matmul/problem.hpp"

namespace tessera::apps::matmul {

namespace {

using dist::matmul::Uses;
using run::Kind;

/// A whole number of the method, an axis of sweeps.
run::Option number(const char* name, const char* fallback, std::string help, double low,
                   double high) {
  return {.name = name,
          .kind = Kind::integer,
          .fallback = fallback,
          .help = std::move(help),
          .group = "Method",
          .axis = true,
          .low = low,
          .high = high};
}

/// An extent of generated operands.
run::Option extent(const char* name, const char* fallback, const char* help) {
  run::Option option = number(name, fallback, help, 0, run::most_size);
  option.group = "Data";
  return option;
}

/// Returns "For summa.", the algorithms that use a member of Method.
std::string of(bool Uses::*member) {
  return fmt::format("For {}.", fmt::join(algorithms_with(member), ", "));
}

void add_data(run::OptionSet& set) {
  run::add_matrix_input(set, "a", "A");
  set.add({.name = "b",
           .help = "Read B from a dataset or a part of it. Generated when absent. Vectors and "
                   "batches of matrices (1-D and 3-D datasets) are as in numpy's matmul.",
           .group = "Data",
           .value = "DATASET"});
  run::add_scaled_input(set);
  set.add({.name = "out",
           .help = "Write C to a dataset. Discarded when absent.",
           .group = "Data",
           .value = "DATASET",
           .identity = false});
  set.add(extent("m", "", "Set the rows of C for generated operands (default n)"));
  set.add(extent("n", "1024", "Set the columns of C for generated operands"));
  set.add(extent("k", "", "Set the inner dimension (default n)"));
  set.add({.name = "type",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "Select the type to compute in. auto: as wide as the inputs, complex if one is; "
                   "f64 when generated.",
           .group = "Data",
           .choices = {"auto", "f32", "f64", "c64", "c128"},
           .axis = true});
  run::add_values_options(set);
  run::add_seed(set, "operands");
}

void add_product(run::OptionSet& set) {
  set.add({.name = "trans-a",
           .kind = Kind::choice,
           .fallback = "N",
           .help = "Select op(A). N: as stored; T: transposed; H: transposed and conjugated.",
           .group = "Product",
           .choices = {"N", "T", "H"},
           .axis = true});
  set.add({.name = "trans-b",
           .kind = Kind::choice,
           .fallback = "N",
           .help = "Select op(B), as for --trans-a",
           .group = "Product",
           .choices = {"N", "T", "H"},
           .axis = true});
  set.add({.name = "alpha",
           .kind = Kind::complex,
           .fallback = "1",
           .help = "Scale the product by alpha. Complex numbers are written 1.5-2j.",
           .group = "Product"});
  set.add({.name = "beta",
           .kind = Kind::complex,
           .fallback = "0",
           .help = "Scale the old C by beta",
           .group = "Product"});
  set.add({.name = "precision",
           .kind = Kind::choice,
           .fallback = "full",
           .help = "Select the rounding of f32 operands in cuda_tensor. Sums are in f32. full: 24 "
                   "significant bits; tf32 and f16: 11 (f16 overflows at 65504); bf16: 8; fp8: 4 "
                   "(e4m3), int8: multiples of 1/127 of the largest, both in a unit for each row "
                   "of op(A) and column of op(B).",
           .group = "Product",
           .choices = {"full", "tf32", "bf16", "f16", "fp8", "int8"},
           .axis = true});
}

void add_method(run::OptionSet& set) {
  run::add_kernel(set, run::names_of(tessera::matmul::variants()));
  run::add_device(set);
  run::add_gpu_exchange(set);
  run::add_device_memory(set, "products");
  run::add_shares(set);
  set.add({.name = "algorithm",
           .kind = Kind::choice,
           .fallback = "recursive",
           .help = "Select how the ranks share the work",
           .group = "Method",
           .choices = run::names_of(dist::matmul::algorithms()),
           .axis = true});
  set.add(number("tile", "64", "Set the edge of tiles and of leaves of recursive", 1, 1e6))
      .users = {"kernel", {"tiled", "transposed_tiled", "recursive", "cuda_tiled"}};
  set.add(number("block", "256",
                 "Set the threads per block. For cuda_naive, cuda_column and cuda_zigzag.", 1,
                 1024))
      .users = {"kernel", {"cuda_naive", "cuda_column", "cuda_zigzag"}};
  set.add(number("column-width", "32", "Set the column width of column and zigzag", 1, 1e9))
      .users = {"kernel", {"column", "zigzag", "cuda_column", "cuda_zigzag"}};
  set.add(number("panel", "1024", "Set the width of panels along k. " + of(&Uses::panel), 1, 1e9))
      .users = {"algorithm", algorithms_with(&Uses::panel)};
  set.add(number("slices", "0",
                 "Set the parts of k that are prefetched. Each part is fetched while the previous "
                 "one is multiplied, where data is sent in messages; 0: chosen by the plan. " +
                     of(&Uses::plans),
                 0, 64))
      .users = {"algorithm", algorithms_with(&Uses::plans)};
  set.add({.name = "grid",
           .help = "Set the grid of ranks, ROWSxCOLS. Default: the nearest to a square. " +
                   of(&Uses::grid),
           .group = "Method",
           .value = "GRID"});
}

}  // namespace

run::OptionSet declare() {
  run::OptionSet set(
      "matmul", "Compute C = alpha op(A) op(B) + beta C",
      {"mpirun -n 4 tessera matmul --a a.h5:/A --b b.h5:/B --out c.h5:/C",
       "tessera matmul --a f.h5:/X --trans-a T --b f.h5:/X --out gram.h5:/G  # X^T X",
       "mpirun -n 7 tessera matmul --n 4096 --plan                # dry run",
       "tessera matmul --n 512,1024 --kernel naive,cache_oblivious --results r.h5",
       "tessera matmul --config configs/matmul/variants.toml --results r.h5"});
  add_data(set);
  add_product(set);
  add_method(set);
  set.add({.name = "out-of-core",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "Compute C out of core, tile by tile. Panels of A and B are read as they are "
                   "needed. auto: where memory does not suffice and --out is given.",
           .group = "Machine",
           .choices = {"auto", "always", "never"}});
  run::add_plan_ranks(set);
  run::add_job_options(set, "auto: after the points that --results holds.");
  run::add_output_options(set);
  run::add_common_options(set);
  set.lead_with(
      {"a", "b", "out", "n", "type", "kernel", "threads", "memory", "repetitions", "results"});
  return set;
}

}  // namespace tessera::apps::matmul
