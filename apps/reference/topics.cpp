// The topics of `tessera help TOPIC`: at most 40 lines of 80 columns each.

#include <fmt/core.h>

#include <array>

#include "facts.hpp"
#include "run/help.hpp"

namespace tessera::apps {
namespace {

std::string exit_codes() {
  std::string text;
  for (const ExitText& row : exit_texts()) text += fmt::format("  {:>3}  {}\n", row.code, row.text);
  return text +
         "\n130 and 143: ended by Ctrl-C or SIGTERM; 137: killed, often by a memory limit.\nCodes "
         "from 64 to 78 follow sysexits.h. mpirun and srun return the code of the\nranks.\n";
}

std::string environment() {
  std::string text =
      "TESSERA_<NAME> sets an option of every command that has it: TESSERA_MEMORY=2GiB\n"
      "is --memory 2GiB, TESSERA_OUT_OF_CORE=never is --out-of-core never. A flag takes\n"
      "precedence over a variable, and a variable over a config file. A misspelt name\n"
      "is reported.\n\nOther variables:\n";
  for (const Variable& row : variables())
    text += fmt::format("  {:<21} {}\n", row.name, run::wrapped(row.text, 24, 80));
  return text;
}

std::string config() {
  return "--config FILE reads options from a TOML file; its keys are the names of options\n"
         "without the dashes. Precedence: flag, environment, file, default.\n\n"
         "  # sweep.toml\n"
         "  n = [1024, 2048]                      # a list is an axis of the sweep\n"
         "  kernel = \"naive, tiled\"               # so is a text with commas\n"
         "  memory = \"2GiB\"\n"
         "  overwrite = true                      # a flag\n\n"
         "  tessera matmul --config sweep.toml --n 512\n\n"
         "Weights of a stencil may be nested lists: weights = [[0, 1, 0], [1, -4, 1],\n"
         "[0, 1, 0]]. An unknown key is an error that names line, column and the nearest\n"
         "key. share/tessera/configs has files for every workload and study.\n";
}

std::string sweeps() {
  return "An option marked [list] takes several values, as a list or a range:\n\n"
         "  --n 1024,2048,4096          these values\n"
         "  --n 1024:4096:1024          begin:end:step, both ends included\n"
         "  --n 1024:16384:x2           begin:end:xFACTOR\n"
         "  --kernel naive,tiled        names\n\n"
         "Every combination is one point; a sweep has at most 10000. Each point is run\n"
         "--warmups times untimed and --repetitions times timed.\n\n"
         "--results FILE keeps every repetition. Points that the file already holds are\n"
         "skipped, so that the same command resumes an interrupted sweep; --again measures\n"
         "them once more. --part I/N runs every N-th point from the I-th on, for the tasks\n"
         "of a job array. --plan is a dry run of all points.\n\n"
         "  tessera sort --n 1e6,1e7 --kernel auto,radix --results r.h5\n"
         "  tessera report r.h5\n";
}

std::string memory() {
  return "--memory BYTES limits what a rank may have resident, the program and its\n"
         "libraries included; without it the limit is 90 % of the free memory of the node,\n"
         "divided by its ranks. --plan prints what each rank needs.\n\n"
         "A problem that does not fit\n"
         "  - runs out of core from file to file (matmul, transpose, sort: needs --out;\n"
         "    --out-of-core always or never overrides the choice), or\n"
         "  - ends with exit code 71 before anything is allocated.\n\n"
         "--device-memory BYTES limits the memory of a GPU; larger problems are streamed\n"
         "through it in pieces. Sizes are written 2e9, 512MiB, 1.5G or 2GB: K, M, G and T\n"
         "with or without iB are powers of 1024; KB, MB, GB and TB powers of 1000.\n";
}

std::string files() {
  return "FILE:/PATH names a dataset of an HDF5 file (DATASET in the help):\n\n"
         "  a.h5:/A                     a dataset; groups as in /run/step_10/u\n"
         "  a.h5:/A[:100,3,-50:]        a part of it, in the notation of numpy\n"
         "  t.h5:/events                sort: a group of columns, or a compound dataset\n"
         "  u.h5:/u,/v                  stencil: fields that are advanced together\n\n"
         "An output is written to a hidden file, verified and renamed: under its final\n"
         "name it is complete, or it does not exist. An existing output needs --overwrite.\n"
         "Inputs are never changed. `tessera verify FILE` compares a file with the\n"
         "checksums stored in it.\n\n"
         "scale_factor, add_offset, _FillValue, missing_value and valid_range are applied\n"
         "(--raw ignores them); cells without a value need --fill.\n";
}

std::string results() {
  return "--results FILE appends one group per run to an HDF5 file: tables samples,\n"
         "summary, phases, ranks and machine, with columns of equal length, units as\n"
         "attributes, and the provenance (command, options, versions, hosts, verdict).\n\n"
         "  tessera report r.h5                 page, pictures and tables\n"
         "  tessera report r.h5 --text          tables in the terminal\n"
         "  tessera compare before.h5 after.h5  0: same or faster, 1: slower, 2: ambiguous\n"
         "  tessera rerun r.h5#matmul_0001      rerun a stored run and compare\n"
         "  tessera export r.h5 --csv           for pandas, R, Extra-P\n\n"
         "In Python: h5py.File(\"r.h5\")[\"matmul_0001/samples/seconds\"][:]\n";
}

std::string json() {
  return "--json prints one JSON object on one line of standard output instead of text,\n"
         "for every command, also if it fails. Notes and errors stay on stderr. --quiet\n"
         "prints errors only.\n\n"
         "  schema, version, build    of the object, the program, its commit\n"
         "  command, arguments        what was typed\n"
         "  options                   effective values and their sources\n"
         "  exit_code, error          0 and null if the run succeeded\n"
         "  points                    settings, seconds, median and its interval, rate,\n"
         "                            check and phases of each measurement\n"
         "  outputs                   file, path, shape, type and bytes of each dataset\n"
         "  memory                    planned and peak bytes of the largest rank\n"
         "  results, skipped          the run in --results, points that it held already\n"
         "  time                      wall time by phase, seconds\n"
         "  notes, lines              what is printed otherwise\n\n"
         "  tessera matmul --n 1024 --json | jq .points[0].rate\n\n"
         "share/doc/tessera/apps/manual/answer.schema.json is its JSON Schema.\n";
}

std::string launch() {
  return "Without a launcher the program is one rank with a thread per core. mpirun or\n"
         "srun start several:\n\n"
         "  mpirun -n 4 tessera sort --in t.h5:/keys --out s.h5:/keys\n"
         "  srun --mpi=pmix -n 64 tessera matmul --n 65536\n\n"
         "Open MPI binds up to two ranks to one core each; --map-by slot:PE=8 --bind-to\n"
         "core gives each rank 8 cores. OMP_NUM_THREADS or --threads sets the threads of a\n"
         "rank. `tessera doctor` finds settings that slow a job down or make it fail;\n"
         "`tessera slurm WORKLOAD ...` prints a batch script from the plan of the\n"
         "workload.\n";
}

constexpr std::array table{
    Topic{"exit-codes", "exit codes and what they mean", "exit_codes.md", exit_codes},
    Topic{"environment", "environment variables", "getting_started.md", environment},
    Topic{"config", "options from a TOML file", "getting_started.md", config},
    Topic{"sweeps", "lists and ranges of values, and how to resume", "getting_started.md", sweeps},
    Topic{"memory-limits", "limits, out of core, exit code 71", "concepts.md", memory},
    Topic{"files", "names of datasets, outputs, checksums", "files.md", files},
    Topic{"results", "results files and their analysis", "results.md", results},
    Topic{"json", "the object that --json prints", "results.md", json},
    Topic{"launch", "ranks, threads, mpirun and Slurm", "clusters.md", launch},
};

}  // namespace

std::span<const Topic> topics() { return table; }

}  // namespace tessera::apps
