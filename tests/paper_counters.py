#!/usr/bin/env python3
"""paper_counters.py TESSERA: prints counters of this machine's GPU (Nsight Compute) with those that
`tessera locality --device paper` counts for the same kernels, and measured times with the bounds of
kernels that memory limits, with the reasons for which their warps wait. tests/gpu.sh runs it where
ncu is; exit code 1: counts differ.

The bandwidth of the GPU on paper is that of the probe cuda_copy here. Counts are sums over a
launch."""
import concurrent.futures
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

GLOBAL = "l1tex__t_{0}_pipe_lsu_mem_global_op_{1}.sum"
PASSES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{0}.sum"
SHARED = "smsp__sass_inst_executed_op_shared_{0}.sum"
TIME = "gpu__time_duration.sum"
BLOCKS = ("launch__occupancy_limit_blocks", "launch__occupancy_limit_registers",
          "launch__occupancy_limit_shared_mem", "launch__occupancy_limit_warps")
METRICS = [GLOBAL.format(what, how) for what in ("requests", "sectors") for how in ("ld", "st")]
METRICS += [form.format(how) for form in (PASSES, SHARED) for how in ("ld", "st")]
METRICS += [TIME, *BLOCKS]
# Of the section WarpStateStats: warps that wait for a reason in a clock with an instruction.
STALL = re.compile(r"issue_stalled_((?:(?!_not_issued)\w)+)_per_issue_active\.ratio$")
ROUNDS = {"cuda_shared_stride": 256}  # of a probe in a launch here; one on paper
ARBITRATION = 64  # passes that warps cost each other

# Workload, kernel of tessera, its function, the size, further options of both commands.
COUNTED = [
    *(("transpose", name, "ladder_step", 1024, ["--type", "f32"])
      for name in ("cuda_copy", "cuda_copy_shared", "cuda_naive", "cuda_coalesced",
                   "cuda_conflict_free", "cuda_fine_grained", "cuda_coarse_grained",
                   "cuda_diagonal")),
    *(("matmul", name, function, 256, ["--type", "f32"])
      for name, function in (("cuda_naive", "one_element"), ("cuda_column", "one_element"),
                             ("cuda_zigzag", "one_element"), ("cuda_tiled", "tiled"))),
    *(("stencil", name, function, 256, ["--type", "f64", "--stencil", "box3x3"])
      for name, function in (("cuda_naive", "point_a_thread"), ("cuda_tiled", "point_of_tile"),
                             ("cuda_column", "point_of_walk"))),
    *(("stencil", name, function, 200, ["--type", "f32", "--stencil", stencil])
      for name, function, stencil in (("cuda_naive", "point_a_thread", "heat"),
                                      ("cuda_zigzag", "point_of_walk", "star2"),
                                      ("cuda_tiled", "point_of_tile", "star2"))),
    ("memory", "cuda_copy", "copy_vectors", 1 << 20, []),
    ("memory", "cuda_copy_offset", "copy_words", 1 << 20, ["--offset", "5"]),
    *(("memory", "cuda_copy_stride", "copy_words", 1 << 20, ["--lane-stride", stride])
      for stride in ("2", "7", "32")),
    *(("memory", "cuda_shared_stride", "shared_stride", 1 << 20, ["--lane-stride", stride])
      for stride in ("1", "2", "12", "32")),
    *(("memory", name, "reduce_block", 1 << 20, [])
      for name in ("cuda_reduce_interleaved", "cuda_reduce_sequential", "cuda_reduce_first_add",
                   "cuda_reduce_shuffle")),
    ("memory", "cuda_reduce", "reduce_stream", 1 << 20, []),
    ("memory", "cuda_histogram_shared", "histogram_shared", 1 << 20, ["--bins", "256"]),
    ("memory", "cuda_divergence", "divergence", 1 << 16, ["--ways", "8"]),
]
# Those that memory limits: each moves more than an L2 holds, and has loads in flight all the time.
# The first steps of the reduction have not: each block reads one or two words a thread, then waits
# at barriers.
TIMED = [
    *(("transpose", name, "ladder_step", 8192, ["--type", "f32"])
      for name in ("cuda_copy", "cuda_copy_shared", "cuda_conflict_free", "cuda_fine_grained",
                   "cuda_coarse_grained", "cuda_diagonal")),
    *(("memory", name, function, 1 << 26, [])
      for name, function in (("cuda_copy", "copy_vectors"), ("cuda_copy_offset", "copy_words"),
                             ("cuda_reduce", "reduce_stream"),
                             ("cuda_histogram_shared", "histogram_shared"))),
]


def lines_of(command, **more):
    """Returns stdout of a command; ends the script with what it prints on stderr if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}"
                 f"{done.stderr[-2000:]}")
    return done.stdout


def on_paper(tessera, device, case):
    """Returns the row of a case on paper, and per request of a warp segments or passes."""
    workload, kernel, _, n, options = case
    output = json.loads(lines_of([tessera, "locality", workload, "--kernel", kernel, "--n", str(n),
                                  "--device", device, *options, "--json"]))
    tables = {table["table"]: table["rows"] for table in output["tables"]}
    return tables["paper"][0], tables["paper_arrays"]


def counted(tessera, case, launch):
    """Returns the metrics of a launch (0: the first) of a case's kernel on this GPU."""
    workload, kernel, function, n, options = case
    if workload == "transpose":  # the ladder's probes, two of whose steps transpose nothing
        workload, kernel, n, options = "memory", f"cuda_transpose_{kernel[5:]}", n * n, []
    size = {"memory": ["--size", str(4 * n), "--no-simulation"],
            "stencil": ["--shape", f"{n}x{n}", "--steps", "1"]}.get(workload, ["--n", str(n)])
    program = [tessera, workload, "--kernel", kernel, *size, *options, "--repetitions", "1",
               "--warmups", "1"]
    output = lines_of(["ncu", "--csv", "--page", "raw", "--print-units", "base",
                       "--clock-control", "none", "--kernel-name-base", "function",
                       "--kernel-name", function, "--launch-skip", str(launch),
                       "--launch-count", "1", "--metrics", ",".join(METRICS), "--section",
                       "WarpStateStats", *program],
                      env={**os.environ, "OMP_NUM_THREADS": "4"})
    rows = list(csv.reader(line for line in output.splitlines() if line.startswith('"')))
    if len(rows) < 3:
        sys.exit(f"ncu measured no launch of {function} in {' '.join(program)}:\n{output[-1500:]}")
    return {name: float(value.replace(",", "") or 0) for name, value in zip(rows[0], rows[2])
            if name in METRICS or STALL.search(name)}


def stalls_of(metrics):
    """Returns the three reasons for which most warps wait, with their numbers."""
    waits = {STALL.search(name)[1]: value for name, value in metrics.items() if STALL.search(name)}
    waits.pop("selected", None)  # they issue
    most = sorted(waits.items(), key=lambda wait: -wait[1])[:3]
    return ", ".join(f"{name.replace('_', ' ')} {value:.1f}" for name, value in most)


def totals(arrays):
    """Returns requests and segments, or passes, of a launch on paper by space and kind."""
    sums = {}
    for row in arrays:
        what = "segments" if row["space"] == "global" else "passes"
        key = row["space"], row["kind"]
        requests, amount = sums.get(key, (0, 0))
        sums[key] = requests + row["requests"], amount + row[what]
    return sums


def pairs_of(case, row, arrays, metrics):
    """Yields what is counted of a case, on paper and on the GPU."""
    sums, rounds = totals(arrays), ROUNDS.get(case[1], 1)
    for kind, how in (("load", "ld"), ("store", "st")):
        for space, name, forms in (
                ("global", "segments", (GLOBAL.format("requests", how),
                                        GLOBAL.format("sectors", how))),
                ("shared", "passes", (SHARED.format(how), PASSES.format(how)))):
            many = rounds if (space, kind) == ("shared", "load") else 1
            paper = [many * amount for amount in sums.get((space, kind), (0, 0))]
            here = [metrics.get(form, 0.0) for form in forms]
            if paper[0] or here[0]:
                yield f"{space} {kind}s", paper[0], here[0]
                yield f"{space} {kind}s: {name}", paper[1], here[1]
    yield "blocks a multiprocessor", row["blocks"], min(metrics[name] for name in BLOCKS)


def name_of(case):
    return " ".join((case[0], case[1], *case[4]))


def compare_counts(tessera, rows):
    """Prints the counts of every case, and returns how many differ by more than 1 % or 64, or
    of resident blocks at all."""
    different = 0
    for case, (row, arrays) in zip(COUNTED, rows):
        print(f"{name_of(case)}, n {case[3]}")
        for what, paper, here in pairs_of(case, row, arrays, counted(tessera, case, 0)):
            allowed = 0 if what.startswith("blocks") else max(0.01 * max(paper, here), ARBITRATION)
            differs = abs(paper - here) > allowed
            different += differs
            print(f"  {what:26} paper {paper:12.0f} here {here:12.0f}"
                  f"{'  DIFFERENT' if differs else ''}")
    return different


def compare_times(tessera, rows):
    """Prints the times of kernels that memory limits with their bounds; returns how many are
    explained to 15 percent."""
    explained = 0
    for case, (row, _) in zip(TIMED, rows):
        metrics = counted(tessera, case, 1)
        seconds = metrics[TIME] * 1e-9
        ratio = seconds / row["least_seconds"]
        explained += ratio < 1.15
        print(f"{name_of(case)}, n {case[3]}: bound {row['least_seconds'] * 1e6:.1f} us "
              f"({row['bound']}), here {seconds * 1e6:.1f} us, {ratio:.3f} of it; warps wait for "
              f"{stalls_of(metrics)}")
    return explained


def device_here(tessera, folder):
    """Returns --device of a file that describes this machine's GPU for paper."""
    size = 4 << 28
    copied = json.loads(lines_of([tessera, "memory", "--kernel", "cuda_copy", "--size", str(size),
                                  "--no-simulation", "--json"]))
    point = copied["points"][0]
    seconds = point["kernels"] or point["median"]
    gpu = json.loads(lines_of([tessera, "machine", "--show", "--json"]))["gpus"][0]
    path = os.path.join(folder, "here.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""name = "here"
compute-capability = "{gpu['compute_capability']}"
multiprocessors = {gpu['multiprocessors']}
clock-mhz = {gpu['clock_hz'] * 1e-6}
bandwidth-gb-s = {2 * size / seconds * 1e-9}
latency-clocks = 479
f32-tflops = 66.9
f64-tflops = 33.5
""")
    return f"paper:{path}"


def main():
    tessera = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        device = device_here(tessera, folder)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            rows = list(pool.map(lambda case: on_paper(tessera, device, case), COUNTED + TIMED))
    different = compare_counts(tessera, rows)
    explained = compare_times(tessera, rows[len(COUNTED):])
    print(f"{len(COUNTED)} kernels counted, {different} counts differ; "
          f"{explained} of {len(TIMED)} times within 15 percent of the bound")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
