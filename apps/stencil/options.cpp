#include "options.hpp"

#include <fmt/format.h>

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
  set.add({.name = "in",
           .help = "the field before the first step, file.h5:/path or a part of it, "
                   "file.h5:/path[:100,3,-50:] (else generated); several fields of one shape that "
                   "go the same way, "
                   "file.h5:/u,/v, for which --past, --out, --snapshots name as many",
           .group = "Data"});
  set.add(
      {.name = "past",
       .help =
           "the field one step before that, for stencils of two time levels (else the same field)",
       .group = "Data"});
  set.add({.name = "out",
           .help = "where the field after the last step goes, file.h5:/path (else it is dropped)",
           .group = "Data",
           .identity = false});
  set.add({.name = "shape",
           .fallback = "1024x1024",
           .help = "of a generated field: 1000, 512x512 or 64x64x64 (along z, y, x)",
           .group = "Data",
           .axis = true});
  set.add({.name = "init",
           .kind = Kind::choice,
           .fallback = "random",
           .help = "what is generated",
           .group = "Data",
           .choices = {"random", "gaussian", "impulse", "cosine", "ramp", "zero"},
           .axis = true});
  set.add({.name = "type",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "what is computed in (auto: f32 for files of f32 or smaller, else f64); f16: "
                   "kept in 16 bits, "
                   "computed in f32, rounded once a step",
           .group = "Data",
           .choices = {"auto", "f16", "f32", "f64"},
           .axis = true});
  run::add_values_options(
      set,
      ", or mask: they are no part of the domain (a weight that reaches one is taken of the point "
      "itself, so that nothing passes the edge) and are written as NaN, with _FillValue; for f32 "
      "and "
      "f64 on the CPU");
  run::add_seed(set, "of generated fields and of the check");
}

void add_operation(OptionSet& set) {
  std::vector<std::string> names;
  for (const auto& info : tessera::stencil::stencil_infos()) names.emplace_back(info.name);
  set.add({.name = "stencil",
           .kind = Kind::choice,
           .fallback = "heat",
           .help = "what a step computes (tessera list explains them)",
           .group = "Operation",
           .choices = names,
           .axis = true});
  set.add(
      {.name = "weights",
       .help =
           "instead: the weights, \"0 1 0; 1 -4 1; 0 1 0\" (rows end with ;, planes with /), "
           "nested "
           "lists in TOML, or a dataset file.h5:/path; centred as scipy.ndimage.correlate; fewer "
           "dimensions than the field count as 1 in front",
       .group = "Operation",
       .nested = true});
  set.add({.name = "previous",
           .kind = Kind::real,
           .fallback = "0",
           .help = "with --weights: factor of the point's own value one step before",
           .group = "Operation"});
  set.add({.name = "steps",
           .kind = Kind::integer,
           .fallback = "100",
           .help = "time steps",
           .group = "Operation",
           .axis = true,
           .low = 0,
           .high = 1e12});
  set.add({.name = "boundary",
           .fallback = "clamp",
           .help = "beyond the sides: clamp (a a|a b c), mirror (c b|a b c), reflect (b a|a b c), "
                   "periodic, "
                   "constant:1.5, given; by side x=periodic,y-=constant:1,y+=mirror",
           .group = "Operation"});
  set.add({.name = "given",
           .help = "dataset for boundary given: the field with a frame as wide as the stencil "
                   "reaches (none along "
                   "periodic dimensions), of which the parts beyond given sides are taken; one for "
                   "all fields, or "
                   "one each",
           .group = "Operation"});
}

void add_terms(OptionSet& set) {
  set.add({.name = "coefficients",
           .help = "dataset of the field's shape: k in u' = W u + k (S u - W u), where S u is the "
                   "weighted sum and "
                   "W the sum of the weights. k scales what the neighbours change: a diffusivity "
                   "for heat, a squared "
                   "speed for wave",
           .group = "Operation"});
  set.add(
      {.name = "source",
       .help = "dataset of the field's shape: after that every step adds --source-factor times it",
       .group = "Operation"});
  set.add({.name = "source-factor",
           .kind = Kind::real,
           .fallback = "1",
           .help = "factor of the source, the length of a time step for example",
           .group = "Operation"});
  set.add({.name = "mask",
           .help = "dataset of the field's shape: points where it is 0 keep their value",
           .group = "Operation"});
}

void add_outputs(OptionSet& set) {
  set.add({.name = "snapshots",
           .help = "where the field after every so many steps goes, file.h5:/path (time first), "
                   "with an XDMF "
                   "file beside it",
           .group = "Between steps",
           .identity = false});
  set.add({.name = "every",
           .kind = Kind::integer,
           .fallback = "100",
           .help = "steps between two snapshots; the first and the last step are always there",
           .group = "Between steps",
           .identity = false,
           .low = 1,
           .high = 1e12});
  set.add({.name = "xdmf",
           .kind = Kind::flag,
           .help = "describe also --out in an XDMF file beside it (VTK 9.1 reads 3-D files as they "
                   "are, 2-D "
                   "ones it does not, and none of which a dimension before the last is 1)",
           .group = "Between steps",
           .identity = false});
  set.add(
      {.name = "probe",
       .help =
           "points whose values go to the results, x,y or x,y,z from 0 on, several separated by ;",
       .group = "Between steps",
       .identity = false});
  set.add({.name = "norms",
           .kind = Kind::flag,
           .help = "also least and greatest value, sum and Euclidean norm",
           .group = "Between steps",
           .identity = false});
  set.add({.name = "probe-every",
           .kind = Kind::integer,
           .fallback = "10",
           .help = "steps between two probes; few steps cost speed",
           .group = "Between steps",
           .identity = false,
           .low = 1,
           .high = 1e12});
  set.add(
      {.name = "checkpoint",
       .help =
           "file to keep the newest checkpoint in (the one before: .previous); SIGUSR1 and SIGTERM "
           "write one and end "
           "with exit code 85",
       .group = "Between steps",
       .identity = false});
  set.add({.name = "checkpoint-every",
           .fallback = "600s",
           .help = "seconds (600s) or steps (1000) between two checkpoints",
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
  add("tile-x", "tiled, cuda_tiled: points along x of a tile; 0: its own choice",
      {"tiled", "cuda_tiled"});
  add("tile-y", "tiled, cuda_tiled: points along y of a tile; 0: its own choice",
      {"tiled", "cuda_tiled"});
  add("column-width",
      "column, zigzag and their cuda_ forms: points along x of a column; 0: their own choice",
      {"column", "zigzag", "cuda_column", "cuda_zigzag"});
  add("base-steps",
      "cache_oblivious: time steps of a leaf; cuda_temporal: of a pass; 0: its own choice",
      {"auto", "cache_oblivious", "cuda_temporal"});
  add("block", "cuda_naive, cuda_column, cuda_zigzag: threads a block; 0: their own choice",
      {"cuda_naive", "cuda_column", "cuda_zigzag"});
  add("march",
      "cuda_temporal, cuda_streaming in 3-D: rows or planes that a block walks; 0: its own choice",
      {"auto", "cuda_temporal", "cuda_streaming"});
}

void add_method(OptionSet& set) {
  run::add_kernel(set, run::names_of(tessera::stencil::variants()));
  run::add_device(set, "the CPU, or the GPU where it is asked for");
  set.add({.name = "halo-steps",
           .kind = Kind::integer,
           .fallback = "0",
           .help = "most steps between two exchanges; 0: what the plan finds fastest",
           .group = "Method",
           .axis = true,
           .low = 0,
           .high = 1e9});
  set.add({.name = "overlap",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "compute the interior of each box while the halo travels; same bits (auto: for "
                   "fields that "
                   "stay on GPUs, where it costs nothing; on the CPU it copies the edges)",
           .group = "Method",
           .choices = {"auto", "no", "yes"},
           .axis = true});
  run::add_device_memory(set, "fields");
  run::add_gpu_exchange(set);
  run::add_shares(set);
  set.add({.name = "exchange",
           .kind = Kind::choice,
           .fallback = "auto",
           .help = "how halos travel within a node: in messages, or read by the neighbours in a "
                   "shared window (auto: "
                   "shared where the node has the room); between nodes always in messages",
           .group = "Method",
           .choices = {"auto", "messages", "shared"},
           .axis = true});
  set.add({.name = "grid",
           .help = "ranks along each dimension, 2x3 (else the grid with the least halo)",
           .group = "Method",
           .axis = true});
  add_tuning(set);
  run::add_plan_ranks(set);
  run::add_job_options(
      set,
      "auto: go on where a run that was stopped ended: after the points that --results holds, from "
      "the "
      "newest whole checkpoint, on any number of ranks; or the file of a checkpoint");
}

}  // namespace

OptionSet declare() {
  OptionSet set(
      "stencil",
      "many time steps of a stencil over a field of 1 to 3 dimensions, from HDF5 to HDF5",
      {"mpirun -n 4 tessera stencil --in u0.h5:/u --out u.h5:/u --steps 1000 --stencil heat",
       "tessera stencil --shape 4096x4096 --stencil box5x5 --steps 10 --boundary mirror",
       "tessera stencil --in u0.h5:/u --weights \"0 1 0; 1 -4 1; 0 1 0\" --steps 1 --out l.h5:/l",
       "tessera stencil --in u0.h5:/u --weights w.h5:/w --boundary x=periodic,y-=constant:1 --out "
       "u.h5:/u",
       "tessera stencil --in u0.h5:/u --coefficients k.h5:/k --source q.h5:/q --mask m.h5:/m --out "
       "u.h5:/u",
       "tessera stencil --in u0.h5:/u --steps 1000 --snapshots s.h5:/u --every 100 --out u.h5:/u",
       "mpirun -n 4 tessera stencil --in u0.h5:/u --steps 1e6 --checkpoint ck.h5 --resume auto "
       "--out u.h5:/u",
       "mpirun -n 7 tessera stencil --shape 512x512x512 --steps 1000 --plan    # what would happen",
       "tessera stencil --shape 2048x2048 --kernel naive,tiled,cache_oblivious --results r.h5"});
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
      "--shape and --init describe a generated field and --in names a file; give one of them");
  refuse_if(!value("weights").empty() && named("stencil"),
            "--weights and --stencil both say what a step computes; give one of them");
  refuse_if(value("weights").empty() && named("previous"),
            "--previous goes with --weights; the named stencils have their own");
  refuse_if(value("source").empty() && named("source-factor"),
            "--source-factor goes with --source file.h5:/path; name one");
  refuse_if(!value("past").empty() && value("in").empty(), "--past goes with --in; give both");
  refuse_if(value("fill") == "mask" && value("in").empty(),
            "--fill mask leaves out the cells of --in that have no value; name one");
  (void)workloads::stencil::parse_interval(value("checkpoint-every"));
  refuse_if(named("every") && value("snapshots").empty(),
            "--every goes with --snapshots file.h5:/path; name one");
  refuse_if(named("checkpoint-every") && value("checkpoint").empty(),
            "--checkpoint-every goes with --checkpoint ck.h5; name one");
  refuse_if(named("xdmf") && value("out").empty(), "--xdmf describes --out; name one");
  refuse_if(value("results").empty() && (!value("probe").empty() || value("norms") == "true"),
            "--probe and --norms go to the results file; name it with --results");
  refuse_if(named("probe-every") && value("probe").empty() && value("norms") != "true",
            "--probe-every goes with --probe x,y or --norms; give one");
  const bool reads_checkpoint = !value("resume").empty() && value("resume") != "auto";
  refuse_if(
      (!value("checkpoint").empty() || reads_checkpoint) &&
          (set.points(parsed).size() != 1 || value("repetitions") != "1" ||
           value("warmups") != "0"),
      "--checkpoint and --resume are for one run; drop the lists, --repetitions and --warmups");
  refuse_if(!value("snapshots").empty() && set.points(parsed).size() != 1,
            "--snapshots takes the result of one run and this is a sweep of several; drop it or "
            "the lists");
  refuse_if(
      !value("out").empty() && set.points(parsed).size() != 1,
      "--out takes the result of one run and this is a sweep of several; drop --out or the lists");
}

}  // namespace tessera::apps::stencil
