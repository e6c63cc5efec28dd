#include "options.hpp"

#include <fmt/core.h>

#include "kernels/stencil/variants.hpp"
#include "run/common_options.hpp"
#include "run/gpu_exchange.hpp"
#include "run/shares.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::apps::stencil {
namespace {

using run::Kind;
using run::OptionSet;

void add_data(OptionSet& set) {
  mention_many_files(set.add(
      {.name = "in",
       .help = "Read the field before the first step. FILE:/PATH or a part of it, "
               "FILE:/PATH[:100,3,-50:]. FILE:/u,/v: several fields of one shape that are advanced "
               "together; --past, --out and --snapshots then name as many. Generated when absent.",
       .group = "Data",
       .value = "DATASET"}));
  set.add({.name = "past",
           .help = "Read the field one step earlier. For stencils of two time levels; default: the "
                   "same field.",
           .group = "Data",
           .value = "DATASET"});
  set.add({.name = "out",
           .help = "Write the field after the last step. Discarded when absent.",
           .group = "Data",
           .value = "DATASET",
           .identity = false});
  set.add({.name = "shape",
           .fallback = "1024x1024",
           .help = "Set the shape of a generated field. 1000, 512x512 or 64x64x64 (z, y, x).",
           .group = "Data",
           .value = "SHAPE",
           .axis = true});
  set.add({.name = "init",
           .kind = Kind::choice,
           .fallback = "random",
           .help = "Select the generated field",
           .group = "Data",
           .choices = {"random", "gaussian", "impulse", "cosine", "ramp", "zero"},
           .axis = true});
  set.add({.name = "type",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "Select the type to compute in. auto: f32 for files of f32 or smaller, else "
                   "f64. f16: stored in 16 bits, computed in f32, rounded once a step.",
           .group = "Data",
           .choices = {"auto", "f16", "f32", "f64"},
           .axis = true});
  run::add_values_options(set,
                          " mask excludes them from the domain: a weight that reaches one is "
                          "applied to the point itself, so that no flux passes the edge, and they "
                          "are written as NaN with _FillValue; for f32 and f64 on the CPU.");
  run::add_seed(set, "fields");
}

void add_operation(OptionSet& set) {
  std::vector<std::string> names;
  for (const auto& info : tessera::stencil::stencil_infos()) names.emplace_back(info.name);
  set.add({.name = "stencil",
           .kind = Kind::choice,
           .fallback = "heat",
           .help = "Select the stencil. tessera list explains them.",
           .group = "Operation",
           .choices = names,
           .axis = true});
  set.add({.name = "weights",
           .help = "Use these weights instead of --stencil. \"0 1 0; 1 -4 1; 0 1 0\" (a row ends "
                   "with ;, a plane with /), nested lists in TOML, or a dataset. Centred as in "
                   "scipy.ndimage.correlate; missing leading dimensions have extent 1.",
           .group = "Operation",
           .value = "WEIGHTS",
           .nested = true});
  set.add({.name = "previous",
           .kind = Kind::real,
           .fallback = "0",
           .help = "Add X times the point's value one step earlier. Requires --weights.",
           .group = "Operation"});
  set.add({.name = "steps",
           .kind = Kind::integer,
           .fallback = "100",
           .help = "Set the number of time steps",
           .group = "Operation",
           .axis = true,
           .low = 0,
           .high = 1e12});
  set.add({.name = "boundary",
           .fallback = "clamp",
           .help = "Select the values beyond the sides. " + tessera::stencil::boundary_usage() +
                   "; by side: x=periodic,y-=constant:1,y+=mirror. Names of scipy, OpenCV, "
                   "numpy and torch: nearest, replicate, edge = clamp; reflect101 = mirror; "
                   "symmetric, grid-mirror = reflect; wrap, grid-wrap, circular = periodic; "
                   "zeros = constant:0. The mode reflect of numpy and torch is mirror.",
           .group = "Operation",
           .value = "NAME"});
  set.add({.name = "given",
           .help = "Read the frame of the boundary given. The dataset is the field with a frame as "
                   "wide as the stencil (none along periodic dimensions), of which the parts "
                   "beyond given sides are used. One for all fields, or one each.",
           .group = "Operation",
           .value = "DATASET"});
}

void add_terms(OptionSet& set) {
  set.add({.name = "coefficients",
           .help = "Scale the change of every point by a dataset. k in u' = W u + k (S u - W u), "
                   "where S u is the weighted sum and W the sum of the weights: a diffusivity for "
                   "heat, a squared speed for wave. It has the shape of the field.",
           .group = "Operation",
           .value = "DATASET"});
  set.add({.name = "source",
           .help = "Add --source-factor times a dataset every step. It has the shape of the field.",
           .group = "Operation",
           .value = "DATASET"});
  set.add({.name = "source-factor",
           .kind = Kind::real,
           .fallback = "1",
           .help = "Scale the source, for example by the time step",
           .group = "Operation"});
  set.add({.name = "mask",
           .help = "Keep points fixed where this dataset is 0. It has the shape of the field.",
           .group = "Operation",
           .value = "DATASET"});
}

void add_outputs(OptionSet& set) {
  set.add({.name = "snapshots",
           .help = "Write the field after every --every steps. Time is the first dimension; an "
                   "XDMF file next to it describes the series.",
           .group = "Between steps",
           .value = "DATASET",
           .identity = false});
  set.add(
      {.name = "every",
       .kind = Kind::integer,
       .fallback = "100",
       .help =
           "Set the steps between two snapshots. The first and the last step are always written.",
       .group = "Between steps",
       .identity = false,
       .low = 1,
       .high = 1e12});
  set.add({.name = "xdmf",
           .kind = Kind::flag,
           .help = "Describe --out in an XDMF file. VTK 9.1 reads 3-D outputs directly, but "
                   "neither 2-D outputs nor any with extent 1 before the last dimension.",
           .group = "Between steps",
           .identity = false});
  set.add({.name = "probe",
           .help = "Record the values of points in --results. x,y or x,y,z from 0, separated by ;",
           .group = "Between steps",
           .value = "POINTS",
           .identity = false});
  set.add({.name = "norms",
           .kind = Kind::flag,
           .help = "Record minimum, maximum, sum and Euclidean norm",
           .group = "Between steps",
           .identity = false});
  set.add({.name = "probe-every",
           .kind = Kind::integer,
           .fallback = "10",
           .help = "Set the steps between two probes. Small numbers reduce the throughput.",
           .group = "Between steps",
           .identity = false,
           .low = 1,
           .high = 1e12});
  set.add({.name = "checkpoint",
           .help = "Keep the newest checkpoint in a file. The one before is FILE.previous. SIGUSR1 "
                   "and SIGTERM write a checkpoint and end with exit code 85.",
           .group = "Between steps",
           .value = "FILE",
           .identity = false});
  set.add({.name = "checkpoint-every",
           .fallback = "600s",
           .help = "Set the interval of checkpoints. Seconds (600s) or steps (1000).",
           .group = "Between steps",
           .identity = false});
}

void add_tuning(OptionSet& set) {
  const auto add = [&](const char* name, const char* help, std::vector<std::string> kernels) {
    set.add({.name = name,
             .kind = Kind::integer,
             .fallback = "0",
             .help = help,
             .group = "Method",
             .axis = true,
             .low = 0,
             .high = 1e9,
             .users = {"kernel", std::move(kernels)}});
  };
  add("tile-x", "Set the points of a tile along x. For tiled and cuda_tiled; 0: automatic.",
      {"tiled", "cuda_tiled"});
  add("tile-y", "Set the points of a tile along y. For tiled and cuda_tiled; 0: automatic.",
      {"tiled", "cuda_tiled"});
  add("column-width",
      "Set the points of a column along x. For column, zigzag and their cuda_ forms; 0: automatic.",
      {"column", "zigzag", "cuda_column", "cuda_zigzag"});
  add("base-steps",
      "Set the time steps of a leaf or of a pass. A leaf of cache_oblivious, a pass of "
      "cuda_temporal; 0: automatic.",
      {"auto", "cache_oblivious", "cuda_temporal"});
  add("block",
      "Set the threads per block. For cuda_naive, cuda_column and cuda_zigzag; 0: automatic.",
      {"cuda_naive", "cuda_column", "cuda_zigzag"});
  add("march",
      "Set the rows or planes that a block marches over. For cuda_temporal, and cuda_streaming in "
      "3-D; 0: automatic.",
      {"auto", "cuda_temporal", "cuda_streaming"});
}

void add_method(OptionSet& set) {
  run::add_kernel(set, run::names_of(tessera::stencil::variants()));
  run::add_device(set, "the CPU");
  set.add({.name = "halo-steps",
           .kind = Kind::integer,
           .fallback = "0",
           .help = "Limit the steps between two halo exchanges. 0: chosen by the plan.",
           .group = "Method",
           .axis = true,
           .low = 0,
           .high = 1e9});
  set.add({.name = "overlap",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "Overlap computation with the halo exchange. The interior of each box is "
                   "computed while the halo is sent; the result has the same bits. auto: for "
                   "fields that stay on GPUs; on the CPU it costs a copy of the edges.",
           .group = "Method",
           .choices = {"auto", "no", "yes"},
           .axis = true});
  run::add_device_memory(set, "fields");
  run::add_gpu_exchange(set);
  run::add_shares(set);
  set.add({.name = "exchange",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "Select the transport of halos within a node. messages, or shared: neighbours "
                   "read a shared window. auto: shared where the node has room for it. Between "
                   "nodes halos are sent in messages.",
           .group = "Method",
           .choices = {"auto", "messages", "shared"},
           .axis = true});
  set.add(
      {.name = "grid",
       .help = "Set the ranks along each dimension, 2x3. Default: the grid with the smallest halo.",
       .group = "Method",
       .value = "GRID",
       .axis = true});
  add_tuning(set);
  run::add_plan_ranks(set);
  run::add_job_options(set,
                       "auto: after the points that --results holds and from the newest complete "
                       "checkpoint, on any number of ranks. Or name the file of a checkpoint.");
}

}  // namespace

OptionSet declare() {
  OptionSet set("stencil", "Advance a stencil over fields of 1 to 3 dimensions",
                {"mpirun -n 4 tessera stencil --in u.h5:/u --steps 1000 --out v.h5:/u",
                 "tessera stencil --shape 4096x4096 --stencil box5x5 --boundary mirror",
                 "tessera stencil --in u.h5:/u --weights \"0 1 0; 1 -4 1; 0 1 0\" --out l.h5:/l",
                 "tessera stencil --in u.h5:/u --boundary x=periodic,y-=constant:1 --out v.h5:/u",
                 "tessera stencil --in u.h5:/u --source q.h5:/q --mask m.h5:/m --out v.h5:/u",
                 "tessera stencil --in u.h5:/u --snapshots s.h5:/u --every 10 --out v.h5:/u",
                 "tessera stencil --in u.h5:/u --checkpoint ck.h5 --resume auto --out v.h5:/u",
                 "mpirun -n 7 tessera stencil --shape 512x512x512 --plan  # dry run",
                 "tessera stencil --shape 2048x2048 --kernel naive,tiled --results r.h5"});
  add_data(set);
  add_operation(set);
  add_terms(set);
  add_outputs(set);
  add_method(set);
  run::add_output_options(set);
  run::add_common_options(set, {.repetitions = "1", .warmups = "0"});
  set.lead_with({"in", "out", "shape", "stencil", "steps", "boundary", "kernel", "snapshots",
                 "checkpoint", "results"});
  return set;
}

void check_options(const OptionSet& set, const run::Parsed& parsed) {
  const auto value = [&](const char* option) { return parsed.lists.at(option).front(); };
  const auto named = [&](const char* option) { return parsed.sources.at(option) != "default"; };
  const auto refuse_if = [](bool wrong, const char* message) {
    require(!wrong, ExitCode::usage, message);
  };
  refuse_if(
      !value("in").empty() && (named("shape") || named("init")),
      "--shape and --init describe a generated field and conflict with --in; give one of them");
  refuse_if(!value("weights").empty() && named("stencil"),
            "--weights conflicts with --stencil: each defines a step; give one of them");
  refuse_if(value("weights").empty() && named("previous"),
            "--previous requires --weights: named stencils define their own; drop it");
  refuse_if(value("source").empty() && named("source-factor"),
            "--source-factor requires --source; add --source file.h5:/path");
  refuse_if(!value("past").empty() && value("in").empty(), "--past requires --in; give both");
  refuse_if(
      value("fill") == "mask" && value("in").empty(),
      "--fill mask requires --in, whose cells without a value it excludes; add --in file.h5:/path");
  (void)workloads::stencil::parse_interval(value("checkpoint-every"));
  refuse_if(named("every") && value("snapshots").empty(),
            "--every requires --snapshots; add --snapshots file.h5:/path");
  refuse_if(named("checkpoint-every") && value("checkpoint").empty(),
            "--checkpoint-every requires --checkpoint; add --checkpoint ck.h5");
  refuse_if(named("xdmf") && value("out").empty(),
            "--xdmf requires --out, which it describes; add --out file.h5:/path");
  refuse_if(value("results").empty() && (!value("probe").empty() || value("norms") == "true"),
            "--probe and --norms require a results file; name it with --results");
  refuse_if(named("probe-every") && value("probe").empty() && value("norms") != "true",
            "--probe-every requires --probe or --norms; add --probe x,y or --norms");
  const bool reads_checkpoint = !value("resume").empty() && value("resume") != "auto";
  refuse_if((!value("checkpoint").empty() || reads_checkpoint) &&
                (set.points(parsed).size() != 1 || value("repetitions") != "1" ||
                 value("warmups") != "0"),
            "--checkpoint and --resume require a single run; drop the lists, --repetitions and "
            "--warmups");
  refuse_if(
      !value("snapshots").empty() && set.points(parsed).size() != 1,
      "--snapshots conflicts with a sweep: it holds the frames of one run; drop it or the lists");
  refuse_if(
      !value("out").empty() && set.points(parsed).size() != 1,
      "--out conflicts with a sweep: it holds the result of one run; drop --out or the lists");
}

}  // namespace tessera::apps::stencil
