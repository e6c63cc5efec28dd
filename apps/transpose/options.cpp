#include "options.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "io/dataset.hpp"
#include "io/number_types.hpp"
#include "kernels/transpose/permute.hpp"
#include "run/common_options.hpp"
#include "run/gpu_exchange.hpp"
#include "run/shares.hpp"
#include "workloads/transpose/problem.hpp"

namespace tessera::apps::transpose {
namespace {

using run::Kind;
using run::OptionSet;

void add_data(OptionSet& set) {
  std::vector<std::string> types = io::number_type_names();
  types.insert(types.begin(), "auto");
  mention_many_files(run::add_matrix_input(set, "in", "A"));
  run::add_scaled_input(set);
  set.add({.name = "out",
           .help = "Write the result to a dataset. Discarded when absent.",
           .group = "Data",
           .value = "DATASET",
           .identity = false});
  set.add({.name = "m",
           .kind = Kind::integer,
           .help = "Set the rows of a generated input (default n)",
           .group = "Data",
           .axis = true,
           .low = 0,
           .high = run::most_size});
  set.add({.name = "n",
           .kind = Kind::integer,
           .fallback = "4096",
           .help = "Set the columns of a generated input",
           .group = "Data",
           .axis = true,
           .low = 0,
           .high = run::most_size});
  set.add({.name = "shape",
           .help = "Set the shape of a generated input, 300,200,100. Requires --axes.",
           .group = "Data",
           .value = "SHAPE"});
  set.add(
      {.name = "type",
       .kind = Kind::choice,
       .fallback = "auto",
       .help =
           "Select the element type. auto: that of the file, kept bit by bit; f64 when generated.",
       .group = "Data",
       .choices = types,
       .axis = true});
  run::add_seed(set, "inputs");
}

void add_operation(OptionSet& set) {
  set.add(
      {.name = "op",
       .kind = Kind::choice,
       .fallback = "T",
       .help = "Select the operation. T: transpose; N: none; H: Hermitian (conjugate) transpose.",
       .group = "Operation",
       .choices = {"T", "N", "H"},
       .axis = true});
  set.add(
      {.name = "axes",
       .help = fmt::format("Permute up to {} axes. 2,0,1 makes the last axis the first; names of "
                           "dimension scales are accepted, too: lat,lon,time.",
                           tessera::transpose::max_rank),
       .group = "Operation",
       .value = "AXES"});
  set.add({.name = "alpha",
           .kind = Kind::real,
           .fallback = "1",
           .help = "Scale op(A) by alpha, a real number. For f32, f64, c64 and c128.",
           .group = "Operation"});
  set.add({.name = "beta",
           .kind = Kind::real,
           .fallback = "0",
           .help = "Add C, scaled by beta",
           .group = "Operation"});
  set.add({.name = "raw",
           .kind = Kind::flag,
           .help = "Apply --alpha and --beta to packed numbers as stored",
           .group = "Operation"});
  set.add({.name = "in-place",
           .kind = Kind::flag,
           .help = "Transpose in place, without a second matrix. Any matrix on one rank; square "
                   "matrices on several.",
           .group = "Operation"});
}

void add_tiling(OptionSet& set) {
  set.add({.name = "tile",
           .kind = Kind::integer,
           .fallback = "64",
           .help = "Set the edge of tiles and of leaves of recursive",
           .group = "Method",
           .axis = true,
           .low = 1,
           .high = 1e6,
           .users = {"kernel", {"tiled", "recursive"}}});
  set.add({.name = "tile-order",
           .kind = Kind::choice,
           .fallback = "rows",
           .help = "Select the order in which tiled visits its tiles",
           .group = "Method",
           .choices = {"rows", "zigzag", "diagonal"},
           .axis = true,
           .users = {"kernel", {"tiled"}}});
  set.add({.name = "column-width",
           .kind = Kind::integer,
           .fallback = "16",
           .help = "Set the width of the strips of column",
           .group = "Method",
           .axis = true,
           .low = 1,
           .high = 1e9,
           .users = {"kernel", {"column"}}});
}

void add_method(OptionSet& set) {
  std::vector<std::string> algorithms = run::names_of(dist::transpose::algorithms());
  algorithms.insert(algorithms.begin(), "auto");
  run::add_kernel(set, run::names_of(tessera::transpose::variants()));
  run::add_device(set, "the CPU, because the bus to a GPU is slower than the memory of the host");
  run::add_gpu_exchange(set);
  run::add_shares(set);
  set.add({.name = "algorithm",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "Select how the ranks exchange data. auto: shared where ranks share a node and "
                   "/dev/shm has room.",
           .group = "Method",
           .choices = algorithms,
           .axis = true});
  add_tiling(set);
  set.add({.name = "piece",
           .kind = Kind::bytes,
           .fallback = "4MiB",
           .help = "Set the message size of pairwise",
           .group = "Method",
           .axis = true,
           .low = 64,
           .high = 1e9,
           .users = {"algorithm", {"auto", "pairwise"}}});
  run::add_device_memory(set, "matrices");
  set.add({.name = "out-of-core",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "Transpose out of core, tile by tile. Each tile is read and written once. auto: "
                   "where memory does not suffice, and from 64 MiB on from file to file.",
           .group = "Machine",
           .choices = {"auto", "always", "never"}});
  run::add_plan_ranks(set);
  run::add_job_options(
      set,
      "auto: after the points that --results holds, or after the last tile written to the output.");
}

}  // namespace

OptionSet declare() {
  OptionSet set("transpose", "Compute B = alpha op(A) + beta C, or permute axes",
                {"mpirun -n 4 tessera transpose --in a.h5:/A --out t.h5:/A",
                 "tessera transpose --in field.h5:/u --axes 2,0,1 --out u.h5:/u",
                 "tessera transpose --m 20000 --n 300 --type i16 --in-place",
                 "tessera transpose --in huge.h5:/A --out t.h5:/A --memory 2GiB",
                 "mpirun -n 7 tessera transpose --n 30000 --plan         # dry run",
                 "tessera transpose --config configs/transpose/variants.toml --results r.h5"});
  add_data(set);
  add_operation(set);
  add_method(set);
  run::add_output_options(set);
  run::add_common_options(set);
  set.lead_with({"in", "out", "m", "n", "op", "axes", "kernel", "threads", "memory", "results"});
  return set;
}

void check_options(const OptionSet& set, const run::Parsed& parsed) {
  const auto value = [&](const char* option) { return parsed.lists.at(option).front(); };
  const bool from_file = !value("in").empty(), adds = parsed.real("beta") != 0;
  const auto refuse_if = [](bool wrong, const char* message) {
    require(!wrong, ExitCode::usage, message);
  };
  refuse_if(!value("c").empty() && !from_file, "--c requires --in; give both");
  refuse_if(!value("c").empty() && !adds,
            "--c without --beta has no effect (beta is 0); give --beta 1 to add it");
  const auto axes = std::ranges::count(value("axes"), ',') + 1;  // of others no C helps
  refuse_if(value("c").empty() && from_file && adds && (value("axes").empty() || axes == 2),
            "--beta requires C, which it scales; add --c file.h5:/path");
  refuse_if(!value("shape").empty() && (from_file || value("axes").empty()),
            "--shape requires --axes and a generated input; add --axes, or give --m and --n for a "
            "matrix");
  for (const char* size : {"m", "n"}) {
    const std::string& source = parsed.sources.at(size);
    require(!from_file || source == "default", ExitCode::usage,
            fmt::format("--{} ({}) describes a generated input and conflicts with --in; drop it",
                        size, source));
    require(value("shape").empty() || source == "default", ExitCode::usage,
            fmt::format("--{} ({}) conflicts with --shape, which gives all extents; drop one", size,
                        source));
  }
  refuse_if(
      !value("out").empty() && set.points(parsed).size() != 1,
      "--out conflicts with a sweep: it holds the result of one run; drop --out or the lists");
}

}  // namespace tessera::apps::transpose
