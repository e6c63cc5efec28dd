#include "kernels/matmul/variants.hpp"
#include "matmul.hpp"
#include "run/common_options.hpp"
#include "run/device.hpp"
#include "run/gpu_exchange.hpp"
#include "run/shares.hpp"

namespace tessera::apps::matmul {

run::OptionSet declare_options() {
  run::OptionSet set(
      "matmul", "C = alpha op(A) op(B) + beta C, the operands in HDF5 files or generated",
      {"mpirun -n 4 tessera matmul --a a.h5:/A --b b.h5:/B --out c.h5:/C",
       "tessera matmul --a f.h5:/X --trans-a T --b f.h5:/X --out gram.h5:/G      # X^T X",
       "mpirun -n 7 tessera matmul --n 4096 --plan                               # what would happen",
       "tessera matmul --n 512,1024 --kernel naive,tiled,cache_oblivious --results r.h5",
       "tessera matmul --config configs/matmul/variants.toml --results r.h5"});
  const double huge = 4e18;
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
  set.add({.name = "m",
           .kind = run::Kind::integer,
           .help = "rows of C, of generated operands (default: n)",
           .group = "Data",
           .axis = true,
           .low = 0,
           .high = huge});
  set.add({.name = "n",
           .kind = run::Kind::integer,
           .fallback = "1024",
           .help = "columns of C",
           .group = "Data",
           .axis = true,
           .low = 0,
           .high = huge});
  set.add({.name = "k",
           .kind = run::Kind::integer,
           .help = "the inner dimension (default: n)",
           .group = "Data",
           .axis = true,
           .low = 0,
           .high = huge});
  set.add({.name = "type",
           .kind = run::Kind::choice,
           .fallback = "auto",
           .help = "what to compute in (auto: as wide as the inputs, complex if one is, f64 when generated)",
           .group = "Data",
           .choices = {"auto", "f32", "f64", "c64", "c128"},
           .axis = true});
  run::add_seed(set, "of generated operands and of the check's vectors");
  set.add({.name = "trans-a",
           .kind = run::Kind::choice,
           .fallback = "N",
           .help = "op(A): as it is, transposed, or transposed and conjugated",
           .group = "Product",
           .choices = {"N", "T", "H"},
           .axis = true});
  set.add({.name = "trans-b",
           .kind = run::Kind::choice,
           .fallback = "N",
           .help = "op(B)",
           .group = "Product",
           .choices = {"N", "T", "H"},
           .axis = true});
  set.add({.name = "alpha",
           .kind = run::Kind::complex,
           .fallback = "1",
           .help = "factor of the product; complex ones as 1.5-2j",
           .group = "Product"});
  set.add({.name = "beta",
           .kind = run::Kind::complex,
           .fallback = "0",
           .help = "factor of the old C",
           .group = "Product"});
  set.add({.name = "precision",
           .kind = run::Kind::choice,
           .fallback = "full",
           .help = "what cuda_tensor rounds f32 operands to, with sums in f32: full (24 significant bits), "
                   "tf32 or f16 "
                   "(11; f16 overflows at 65504), bf16 (8)",
           .group = "Product",
           .choices = {"full", "tf32", "bf16", "f16"},
           .axis = true});
  run::add_kernel(set, run::names_of(tessera::matmul::variants()));
  run::add_device(set);
  run::add_gpu_exchange(set);
  run::add_device_memory(set, "products");
  run::add_shares(set);
  set.add({.name = "algorithm",
           .kind = run::Kind::choice,
           .fallback = "recursive",
           .help = "how the ranks share the work",
           .group = "Method",
           .choices = run::names_of(dist::matmul::algorithms()),
           .axis = true});
  set.add({.name = "tile",
           .kind = run::Kind::integer,
           .fallback = "64",
           .help = "edge of the tiles of tiled kernels, of the leaves of recursive",
           .group = "Method",
           .axis = true,
           .low = 1,
           .high = 1e6});
  set.add({.name = "block",
           .kind = run::Kind::integer,
           .fallback = "256",
           .help = "threads a block of cuda_naive, cuda_column, cuda_zigzag",
           .group = "Method",
           .axis = true,
           .low = 1,
           .high = 1024});
  set.add({.name = "column-width",
           .kind = run::Kind::integer,
           .fallback = "32",
           .help = "width of the columns of column and zigzag",
           .group = "Method",
           .axis = true,
           .low = 1,
           .high = 1e9});
  set.add({.name = "panel",
           .kind = run::Kind::integer,
           .fallback = "1024",
           .help = "width along k of summa's panels",
           .group = "Method",
           .axis = true,
           .low = 1,
           .high = 1e9});
  set.add({.name = "slices",
           .kind = run::Kind::integer,
           .fallback = "0",
           .help = "parts of k that recursive fetches, each while the one before is multiplied, where "
                   "messages travel (0: what "
                   "pays)",
           .group = "Method",
           .axis = true,
           .low = 0,
           .high = 64});
  set.add({.name = "grid",
           .help = "summa's grid of ranks, ROWSxCOLS (default: the nearest to squares)",
           .group = "Method"});
  set.add(
      {.name = "out-of-core",
       .kind = run::Kind::choice,
       .fallback = "auto",
       .help =
           "C in tiles, from panels of A and B that are read as they are needed (auto: where memory does not "
           "suffice and --out is given)",
       .group = "Machine",
       .choices = {"auto", "always", "never"}});
  run::add_plan_ranks(set);
  run::add_job_options(
      set, "auto: go on where a run that was stopped ended, after the points that --results holds");
  run::add_common_options(set);
  return set;
}

}  // namespace tessera::apps::matmul
