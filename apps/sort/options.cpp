#include "options.hpp"

#include "kernels/sort/inputs.hpp"
#include "kernels/sort/variants.hpp"
#include "run/common_options.hpp"
#include "run/device.hpp"
#include "run/shares.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::apps::sort {

using run::Kind;

namespace kernels = tessera::sort;

namespace {

std::vector<std::string> or_auto(std::vector<std::string> names) {
  names.insert(names.begin(), "auto");
  return names;
}

void add_rows(run::OptionSet& set) {
  set.add(
      {.name = "in",
       .help =
           "keys, or with --by a table (a group of columns or a compound dataset): file.h5:/path "
           "(else generated)",
       .group = "Data"});
  set.add({.name = "out",
           .help = "where the sorted keys or columns go, file.h5:/path (else they are dropped)",
           .group = "Data",
           .identity = false});
  set.add({.name = "by",
           .help = "columns to sort a table by, the first weighs most, -name descending: "
                   "time,-energy; name[0:4] or "
                   "0:10 compares bytes of a row",
           .group = "Data"});
  set.add({.name = "argsort",
           .help = "where the stable permutation goes (i64), file.h5:/path",
           .group = "Data",
           .identity = false});
  set.add({.name = "apply",
           .help = "a permutation to put the rows of --in in order by",
           .group = "Data"});
  set.add({.name = "top",
           .kind = Kind::integer,
           .help = "only so many of the first rows in the sorted order; the others are not "
                   "sorted (with "
                   "--descending or --by=-name: the largest)",
           .group = "Data",
           .low = 0,
           .high = run::most_size});
  set.add({.name = "raw",
           .kind = Kind::flag,
           .help = "have --quantiles take packed numbers as they are stored",
           .group = "Data"});
  set.add({.name = "fill",
           .kind = Kind::choice,
           .fallback = "raw",
           .help = "where keys without a value go (those of _FillValue, missing_value or beyond "
                   "valid_range): "
                   "last, in either order, or where the numbers go that stand for them (raw)",
           .group = "Data",
           .choices = {"raw", "last"}});
  set.add({.name = "unique",
           .kind = Kind::flag,
           .help = "only the first row of each key (-0 equals 0, every NaN every other)",
           .group = "Data"});
  set.add({.name = "quantiles",
           .help = "what stands there in the sorted order, without sorting: 0.01,0.5,0.99 (linear, "
                   "as numpy; NaN "
                   "is last); --out takes them as f64",
           .group = "Data"});
}

void add_keys(run::OptionSet& set) {
  set.add({.name = "n",
           .kind = Kind::integer,
           .fallback = "1048576",
           .help = "how many keys are generated",
           .group = "Data",
           .axis = true,
           .low = 0,
           .high = run::most_size});
  set.add({.name = "type",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "of the keys (auto: that of the file, u64 when generated)",
           .group = "Data",
           .choices = or_auto(run::names_of(elements)),
           .axis = true});
  set.add({.name = "input",
           .kind = Kind::choice,
           .fallback = "uniform",
           .help = "how generated keys are distributed",
           .group = "Data",
           .choices = run::names_of(kernels::inputs()),
           .axis = true});
  run::add_seed(set, "of generated keys and of the check");
  set.add({.name = "descending",
           .kind = Kind::flag,
           .help = "largest first; NaN stays last either way",
           .group = "Data"});
}

}  // namespace

run::OptionSet declare() {
  run::OptionSet set(
      "sort",
      "keys, or the rows of a table by several columns, from HDF5 to HDF5, exactly balanced",
      {"mpirun -n 4 tessera sort --in t.h5:/keys --out s.h5:/keys",
       "tessera sort --in t.h5:/events --by time,-energy --out s.h5:/events     # every column "
       "carried along",
       "tessera sort --in t.h5:/keys --argsort p.h5:/perm                       # numpy's stable "
       "argsort",
       "tessera sort --in other.h5:/table --apply p.h5:/perm --out o.h5:/table",
       "tessera sort --in t.h5:/events --by=-energy --top 100 --out top.h5:/events",
       "tessera sort --in t.h5:/events --by energy --quantiles 0.01,0.5,0.99",
       "tessera sort --in records.h5:/records --by 0:10 --out s.h5:/records     # bytes 0 to 9 of "
       "every "
       "record",
       "tessera sort --in huge.h5:/keys --out s.h5:/keys --memory 2GiB          # out of core",
       "tessera sort --n 1e9 --device gpu --device-memory 4GiB                  # in runs through "
       "a GPU",
       "tessera sort --n 1e6,1e7 --type u32,f64 --input uniform,zipf --kernel "
       "auto,radix,samplesort",
       "mpirun -n 7 tessera sort --n 1e9 --plan                                 # what would "
       "happen",
       "tessera sort --config configs/sort/variants.toml --results r.h5"});
  add_rows(set);
  add_keys(set);
  run::add_kernel(set, run::names_of(kernels::variants()));
  run::add_device(set, "the CPU, or the GPU where it is asked for");
  run::add_device_memory(set, "inputs");
  run::add_shares(set);
  run::add_gpu_exchange(set);
  set.add({.name = "algorithm",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "how the ranks share the work (auto: exact, or rounds where exact would take "
                   "more than 1.15 times "
                   "the keys and 128 MiB a rank)",
           .group = "Method",
           .choices = or_auto(run::names_of(dist::sort::algorithms())),
           .axis = true});
  set.add({.name = "out-of-core",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "from file to file through sorted runs, two reads and two writes (auto: where "
                   "memory does not "
                   "suffice); an attempt that was ended goes on with the runs it finds",
           .group = "Machine",
           .choices = {"auto", "always", "never"}});
  set.add({.name = "scratch",
           .help = "folder for the runs (default: beside the output, NAME.runs)",
           .group = "Machine",
           .identity = false});
  run::add_plan_ranks(set);
  run::add_job_options(
      set, "auto: go on where a run that was stopped ended, after the points that --results holds");
  run::add_output_options(set);
  run::add_common_options(set);
  set.lead_with(
      {"in", "by", "out", "n", "descending", "top", "argsort", "memory", "scratch", "results"});
  return set;
}

}  // namespace tessera::apps::sort
