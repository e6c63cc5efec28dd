#include "options.hpp"

#include "kernels/matmul/variants.hpp"
#include "run/common_options.hpp"
#include "run/device.hpp"
#include "run/gpu_exchange.hpp"
#include "run/shares.hpp"
#include "workloads/matmul/problem.hpp"

namespace tessera::apps::matmul {

namespace {

using run::Kind;

/// A whole number, an axis of sweeps.
run::Option number(const char* name, const char* fallback, const char* help, const char* group,
                   double low, double high) {
  return {.name = name,
          .kind = Kind::integer,
          .fallback = fallback,
          .help = help,
          .group = group,
          .axis = true,
          .low = low,
          .high = high};
}

void add_data(run::OptionSet& set) {
  set.add({.name = "a",
           .help = "first operand, file.h5:/path or a part of it as numpy writes it, "
                   "file.h5:/path[:100,3,-50:] (else generated)",
           .group = "Data"});
  set.add({.name = "b", .help = "second operand", .group = "Data"});
  set.add({.name = "c", .help = "what beta multiplies (else generated)", .group = "Data"});
  set.add({.name = "out",
           .help = "where C goes, file.h5:/path (else it is dropped)",
           .group = "Data",
           .identity = false});
  set.add(
      number("m", "", "rows of C, of generated operands (default: n)", "Data", 0, run::most_size));
  set.add(number("n", "1024", "columns of C", "Data", 0, run::most_size));
  set.add(number("k", "", "the inner dimension (default: n)", "Data", 0, run::most_size));
  set.add({.name = "type",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "what to compute in (auto: as wide as the inputs, complex if one is, f64 when "
                   "generated)",
           .group = "Data",
           .choices = {"auto", "f32", "f64", "c64", "c128"},
           .axis = true});
  run::add_values_options(set);
  run::add_seed(set, "of generated operands and of the check's vectors");
}

void add_product(run::OptionSet& set) {
  set.add({.name = "trans-a",
           .kind = Kind::choice,
           .fallback = "N",
           .help = "op(A): as it is, transposed, or transposed and conjugated",
           .group = "Product",
           .choices = {"N", "T", "H"},
           .axis = true});
  set.add({.name = "trans-b",
           .kind = Kind::choice,
           .fallback = "N",
           .help = "op(B)",
           .group = "Product",
           .choices = {"N", "T", "H"},
           .axis = true});
  set.add({.name = "alpha",
           .kind = Kind::complex,
           .fallback = "1",
           .help = "factor of the product; complex ones as 1.5-2j",
           .group = "Product"});
  set.add({.name = "beta",
           .kind = Kind::complex,
           .fallback = "0",
           .help = "factor of the old C",
           .group = "Product"});
  set.add(
      {.name = "precision",
       .kind = Kind::choice,
       .fallback = "full",
       .help =
           "what cuda_tensor rounds f32 operands to, with sums in f32: full (24 significant bits), "
           "tf32 or f16 (11; f16 overflows at 65504), bf16 (8)",
       .group = "Product",
       .choices = {"full", "tf32", "bf16", "f16"},
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
           .help = "how the ranks share the work",
           .group = "Method",
           .choices = run::names_of(dist::matmul::algorithms()),
           .axis = true});
  set.add(number("tile", "64", "edge of the tiles of tiled kernels, of the leaves of recursive",
                 "Method", 1, 1e6))
      .users = {"kernel", {"tiled", "transposed_tiled", "recursive", "cuda_tiled"}};
  set.add(number("block", "256", "threads a block of cuda_naive, cuda_column, cuda_zigzag",
                 "Method", 1, 1024))
      .users = {"kernel", {"cuda_naive", "cuda_column", "cuda_zigzag"}};
  set.add(number("column-width", "32", "width of the columns of column and zigzag", "Method", 1,
                 1e9))
      .users = {"kernel", {"column", "zigzag", "cuda_column", "cuda_zigzag"}};
  set.add(number("panel", "1024", "width along k of summa's panels", "Method", 1, 1e9)).users = {
      "algorithm", {"summa"}};
  set.add(number("slices", "0",
                 "parts of k that recursive fetches, each while the one before is multiplied, "
                 "where messages "
                 "travel (0: what pays)",
                 "Method", 0, 64))
      .users = {"algorithm", {"recursive"}};
  set.add({.name = "grid",
           .help = "summa's grid of ranks, ROWSxCOLS (default: the nearest to squares)",
           .group = "Method"});
}

}  // namespace

run::OptionSet declare() {
  run::OptionSet set(
      "matmul", "C = alpha op(A) op(B) + beta C, the operands in HDF5 files or generated",
      {"mpirun -n 4 tessera matmul --a a.h5:/A --b b.h5:/B --out c.h5:/C",
       "tessera matmul --a f.h5:/X --trans-a T --b f.h5:/X --out gram.h5:/G      # X^T X",
       "mpirun -n 7 tessera matmul --n 4096 --plan                               # what would "
       "happen",
       "tessera matmul --n 512,1024 --kernel naive,tiled,cache_oblivious --results r.h5",
       "tessera matmul --config configs/matmul/variants.toml --results r.h5"});
  add_data(set);
  add_product(set);
  add_method(set);
  set.add({.name = "out-of-core",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "C in tiles, from panels of A and B that are read as they are needed (auto: "
                   "where memory does not "
                   "suffice and --out is given)",
           .group = "Machine",
           .choices = {"auto", "always", "never"}});
  run::add_plan_ranks(set);
  run::add_job_options(
      set, "auto: go on where a run that was stopped ended, after the points that --results holds");
  run::add_output_options(set);
  run::add_common_options(set);
  set.lead_with(
      {"a", "b", "out", "n", "type", "kernel", "threads", "memory", "repetitions", "results"});
  return set;
}

}  // namespace tessera::apps::matmul
