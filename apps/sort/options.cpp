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
  mention_many_files(set.add(
      {.name = "in",
       .help = "Read keys, or with --by a table. A table is a group of columns or a compound "
               "dataset; generated when absent.",
       .group = "Data",
       .value = "DATASET"}));
  set.add({.name = "out",
           .help = "Write the sorted keys or columns. Discarded when absent.",
           .group = "Data",
           .value = "DATASET",
           .identity = false});
  set.add({.name = "by",
           .help = "Sort a table by these columns. time,-energy: the first is the primary key, - "
                   "means descending; name[0:4] or 0:10 compares bytes of a row.",
           .group = "Data",
           .value = "COLUMNS"});
  set.add({.name = "columns",
           .help = "Carry these columns of a group only: a,b",
           .group = "Data",
           .value = "COLUMNS",
           .identity = false});
  set.add({.name = "drop",
           .help = "Carry all columns of a group but these: a,b",
           .group = "Data",
           .value = "COLUMNS",
           .identity = false});
}

void add_order(run::OptionSet& set) {
  set.add({.name = "argsort",
           .help = "Write the stable permutation (i64)",
           .group = "Data",
           .value = "DATASET",
           .identity = false});
  set.add({.name = "apply",
           .help = "Reorder the rows of --in by this permutation",
           .group = "Data",
           .value = "DATASET"});
  set.add(
      {.name = "top",
       .kind = Kind::integer,
       .help =
           "Sort only the first N rows of the order. With --descending or --by=-name: the largest.",
       .group = "Data",
       .low = 0,
       .high = run::most_size});
  set.add({.name = "raw",
           .kind = Kind::flag,
           .help = "Take packed numbers of --quantiles as stored",
           .group = "Data"});
  set.add({.name = "fill",
           .kind = Kind::choice,
           .fallback = "raw",
           .help = "Select where keys without a value are placed. Such keys are marked by "
                   "_FillValue, missing_value or valid_range. last: at the end in either order; "
                   "raw: where the stored numbers belong.",
           .group = "Data",
           .choices = {"raw", "last"}});
  set.add({.name = "unique",
           .kind = Kind::flag,
           .help = "Keep the first row of each key. -0 equals 0, and all NaN are equal.",
           .group = "Data"});
  set.add({.name = "quantiles",
           .help = "Compute quantiles without sorting. 0.01,0.5,0.99: linear interpolation as in "
                   "numpy, NaN last; --out receives them as f64.",
           .group = "Data",
           .value = "LIST"});
}

void add_keys(run::OptionSet& set) {
  set.add({.name = "n",
           .kind = Kind::integer,
           .fallback = "1048576",
           .help = "Set the number of generated keys",
           .group = "Data",
           .axis = true,
           .low = 0,
           .high = run::most_size});
  set.add({.name = "type",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "Select the type of the keys. auto: that of the file; u64 when generated.",
           .group = "Data",
           .choices = or_auto(run::names_of(elements)),
           .axis = true});
  set.add({.name = "input",
           .kind = Kind::choice,
           .fallback = "uniform",
           .help = "Select the distribution of generated keys",
           .group = "Data",
           .choices = run::names_of(kernels::inputs()),
           .axis = true});
  run::add_seed(set, "keys");
  set.add({.name = "descending",
           .kind = Kind::flag,
           .help = "Sort largest first. NaN stays last.",
           .group = "Data"});
}

}  // namespace

run::OptionSet declare() {
  run::OptionSet set(
      "sort", "Sort keys, or the rows of a table by several columns",
      {"mpirun -n 4 tessera sort --in t.h5:/keys --out s.h5:/keys",
       "tessera sort --in t.h5:/events --by time,-energy --out s.h5:/events",
       "tessera sort --in t.h5:/keys --argsort p.h5:/perm      # stable, as in numpy",
       "tessera sort --in other.h5:/table --apply p.h5:/perm --out o.h5:/table",
       "tessera sort --in t.h5:/events --by=-energy --top 100 --out top.h5:/events",
       "tessera sort --in t.h5:/events --by energy --quantiles 0.01,0.5,0.99",
       "tessera sort --in r.h5:/records --by 0:10 --out s.h5:/records  # bytes 0 to 9",
       "tessera sort --in huge.h5:/keys --out s.h5:/keys --memory 2GiB",
       "tessera sort --n 1e9 --device gpu --device-memory 4GiB",
       "tessera sort --n 1e6 --type u32,f64 --input uniform,zipf --kernel auto,radix",
       "mpirun -n 7 tessera sort --n 1e9 --plan                # dry run",
       "tessera sort --config configs/sort/variants.toml --results r.h5"});
  add_rows(set);
  add_order(set);
  add_keys(set);
  run::add_kernel(set, run::names_of(kernels::variants()));
  run::add_device(set, "the CPU");
  run::add_device_memory(set, "inputs");
  run::add_shares(set);
  run::add_gpu_exchange(set);
  set.add({.name = "algorithm",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "Select how the ranks share the work. auto: exact, or rounds where exact does "
                   "not fit in memory.",
           .group = "Method",
           .choices = or_auto(run::names_of(dist::sort::algorithms())),
           .axis = true});
  set.add({.name = "out-of-core",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "Sort out of core, through sorted runs in files. Two reads and two writes of "
                   "the data. auto: where memory does not suffice. An interrupted attempt resumes "
                   "with the runs that exist.",
           .group = "Machine",
           .choices = {"auto", "always", "never"}});
  set.add(
      {.name = "scratch",
       .help = "Write the sorted runs to this folder. Default: OUTPUT.runs, next to the output.",
       .group = "Machine",
       .value = "DIR",
       .identity = false});
  run::add_plan_ranks(set);
  run::add_job_options(set, "auto: after the points that --results holds.");
  run::add_output_options(set);
  run::add_common_options(set);
  set.lead_with(
      {"in", "by", "out", "n", "descending", "top", "argsort", "memory", "scratch", "results"});
  return set;
}

}  // namespace tessera::apps::sort
