"""The programs of peers, what they print, and the problems that both sides compute (peers.py)."""
import json
import re
from typing import Callable, NamedTuple

REPETITIONS = 3

# peer -> the end of the path of its program, as a pattern
PROGRAMS = {
    "COSMA": "cosma_miniapp",
    "COSMA pxgemm": "pxgemm_miniapp",
    "COSTA": "pxtran_miniapp",
    "KaDiS": "kadis_sort",  # compiled from tests/bench/sort_peers/kadis.cpp
    "PRK stencil (MPI)": "MPI1/Stencil/stencil",
    "PRK stencil (OpenMP)": "OPENMP/Stencil/stencil",
    "PRK transpose (MPI)": "MPI1/Transpose/transpose",
    "PRK transpose (OpenMP)": "OPENMP/Transpose/transpose",
    "girih": "mwd_kernel",
    "YASK": "yask_kernel.3axis.*.exe",  # made with stencil=3axis radius=1
}


class Failed(Exception):
    pass


class Run(NamedTuple):
    """A peer's part of a problem: `read` returns the seconds of repetitions from its output."""
    label: str
    peer: str
    words: list
    read: Callable
    settle: Callable = None  # returns the words of later rounds from the first output


class Problem(NamedTuple):
    name: str
    words: list  # of tessera
    amount: float  # of work, in `unit`
    unit: str
    peers: list


# ---- what programs print ----

def wanted(pattern, output):
    found = re.findall(pattern, output)
    if not found:
        raise Failed("no time in the output: " + "".join(output.strip().splitlines()[-1:]))
    return found


def read_tessera(output):
    line = wanted(r'(?m)^\{"schema".*$', output)[0]
    return json.loads(line)["points"][0]["seconds"]


def read_list(label):
    """COSMA, COSTA: "LABEL TIMES [ms] = 12 10 11"."""
    def read(output):
        line = wanted(rf"(?m)^{label} TIMES \[ms\] =([ \d.]+)$", output)[0]
        times = sorted(float(word) / 1e3 for word in line.split())
        return times[:-1] if len(times) > 1 else times
    return read


def read_prk(repetitions, *lines):
    """PRK: the mean of repetitions after the first, where the result was right."""
    def read(output):
        for line in ("Solution validates", *lines):
            wanted(line, output)
        return [float(wanted(r"Avg time \(s\): ([\d.]+)", output)[0]) * repetitions]
    return read


def read_girih(steps):
    """girih rounds the steps up to whole diamonds."""
    def read(output):
        taken = int(wanted(r"Number of time steps: (\d+)", output)[0])
        times = wanted(r"Rank 0 TEST#\d+ time: (\S+)", output)
        return [float(time) * steps / taken for time in times[1:]]
    return read


def settle_girih(output):
    """Returns the tuned parameters, with which girih does not tune again."""
    names = {"t-dim": "Time unroll", "num-wavefronts": "Multi-wavefront updates"}
    return [word for option, name in names.items()
            for word in ("--" + option, wanted(name + r" *: *(\d+)", output)[0])]


def read_yask(output):
    wanted("3axis radius 1'", output)
    return [float(time) for time in wanted(r"(?m)^ elapsed-time \(sec\): *([\d.e-]+)$", output)]


# ---- problems ----

def ceil(a, b):
    return -(-a // b)


def grid(ranks):
    rows = next(r for r in range(int(ranks**0.5), 0, -1) if ranks % r == 0)
    return f"{rows},{ranks // rows}"


def product(m, n, k, kind, ranks):
    shape = ["-m", m, "-n", n, "-k", k, "-r", REPETITIONS + 1, "-t",
             {"f64": "double", "f32": "float"}[kind]]

    def blocks(a, b, c):
        return [f"--block_{x}={rows},{columns}" for x, (rows, columns) in zip("abc", (a, b, c))]

    runs = [Run("COSMA (its layout)", "COSMA", shape, read_list("COSMA"))]
    if ranks > 1:
        runs += [
            Run("COSMA from row blocks", "COSMA pxgemm",
                [*shape, "--algorithm=cosma", "-p", f"{ranks},1",
                 *blocks((ceil(m, ranks), k), (ceil(k, ranks), n), (ceil(m, ranks), n))],
                read_list("COSMA")),
            Run({"f64": "pdgemm", "f32": "psgemm"}[kind] + ", blocks of 128", "COSMA pxgemm",
                [*shape, "--algorithm=scalapack", "-p", grid(ranks), *blocks(*[(128, 128)] * 3)],
                read_list("SCALAPACK"))]
    size = f"{n}^3" if m == n == k else f"{m} x {n} x {k}"
    return Problem(f"product {kind} {size}",
                   ["matmul", "--m", m, "--n", n, "--k", k, "--type", kind],
                   2e-9 * m * n * k, "GFLOP/s", runs)


def products(part, ranks, threads):
    edge = 8192 // part
    yield product(edge, edge, edge, "f64", ranks)
    if threads == 1:
        yield product(edge, edge, edge, "f32", ranks)
    yield product(20000 // part, 20000 // part, 500 // part, "f64", ranks)
    yield product(1000 // part, 1000 // part, 400000 // part, "f64", ranks)


def sorts(part, ranks, threads):
    if threads > 1 or ranks == 1:
        return
    n = 10**8 // part**2
    for keys in ("uniform", "zipf", "sorted"):
        yield Problem(f"sort u64 {n:.2g} {keys}",
                      ["sort", "--n", n, "--type", "u64", "--input", keys], n / 1e6, "Mkeys/s",
                      [Run("KaDiS", "KaDiS", [n, keys, REPETITIONS + 1], read_list("KaDiS"))])


def transposes(part, ranks, threads):
    m, n = 20000 // part, 15000 // part
    shape = ["-m", n, "-n", m, "-r", REPETITIONS + 1]  # of the result
    runs = [Run("COSTA, row blocks", "COSTA",
                [*shape, "--algorithm=costa", "-p", f"{ranks},1",
                 f"--block_a={ceil(m, ranks)},{n}", f"--block_c={ceil(n, ranks)},{m}"],
                read_list("COSTA"))]
    if threads == 1:
        runs.append(Run("pdtran, blocks of 128", "COSTA",
                        [*shape, "--algorithm=scalapack", "-p", grid(ranks)],
                        read_list("SCALAPACK")))
    yield Problem(f"transpose f64 {m} x {n}", ["transpose", "--m", m, "--n", n, "--type", "f64"],
                  16e-9 * m * n, "GB/s", runs)
    edge = ranks * (16384 // part // ranks)
    if 1 in (ranks, threads):
        how, front = ("MPI", []) if threads == 1 else ("OpenMP", [threads])
        name = f"PRK transpose ({how})"
        yield Problem(f"transpose-add f64 {edge}^2",
                      ["transpose", "--m", edge, "--n", edge, "--type", "f64", "--beta", 1],
                      24e-9 * edge**2, "GB/s",
                      [Run(name, name, [*front, 10, edge, 32], read_prk(1))])


def stencils(part, ranks, threads):
    edge, steps = 16384 // part, 48
    if 1 in (ranks, threads):
        how, front = ("MPI", []) if threads == 1 else ("OpenMP", [threads])
        name = f"PRK stencil ({how})"
        yield Problem(f"stencil 2-D f64 {edge}^2, radius 2, {steps} steps",
                      ["stencil", "--shape", f"{edge}x{edge}", "--stencil", "star2", "--type",
                       "f64", "--steps", steps],
                      1e-9 * edge**2 * steps, "Gpoints/s",
                      [Run(name, name, [*front, steps, edge],
                           read_prk(steps, "Radius of stencil *= 2", "Type of stencil *= star"))])
    edge, steps = 512 // part, 50
    runs = list(yask(edge, steps)) + (list(girih(edge, steps, threads)) if ranks == 1 else [])
    yield Problem(f"stencil 3-D f32 {edge}^3, radius 1, {steps} steps",
                  ["stencil", "--shape", f"{edge}x{edge}x{edge}", "--stencil", "heat", "--type",
                   "f32", "--steps", steps],
                  1e-9 * edge**3 * steps, "Gpoints/s", runs)


def yask(edge, steps):
    """YASK tunes its blocks before it measures, but not the steps that it takes in a block. Its
    windows of shared memory are not aligned as it demands with every MPI."""
    for tiling in ("", " -bt 4", " -Mbt 8 -bt 4") if edge >= 512 else (" -bt 4",):
        yield Run("YASK" + tiling, "YASK",
                  ["-g", edge, "-trial_steps", steps, "-num_trials", REPETITIONS, "-sleep", 0,
                   "-no-use_shm", "-no-print_suffixes", *tiling.split()], read_yask)


def girih(edge, steps, threads):
    """Small problems are not tuned, which takes minutes."""
    words = ["--target-ts", 2, "--target-kernel", 1, "--disable-source-point", "--n-tests",
             REPETITIONS + 1, "--nt", steps, "--nx", edge, "--ny", edge, "--nz", edge]
    if edge < 512:
        words += ["--t-dim", 7, "--num-wavefronts", 1]
    settle = settle_girih if edge >= 512 else None
    for size, x, y in ((1, 1, 1), (4, 2, 2)):
        if threads % size == 0:
            yield Run(f"girih, groups of {size}", "girih",
                      [*words, "--thread-group-size", size, "--thx", x, "--thy", y, "--thz", 1],
                      read_girih(steps), settle)


def problems(part, ranks, threads):
    for kind in (products, sorts, transposes, stencils):
        yield from kind(part, ranks, threads)


def part_of(memory, quick):
    """Returns by what extents are divided: 12 GB suffice for any problem of full size."""
    part = 4 if quick else 1
    while 24e9 / part**2 > memory and part < 16:
        part *= 2
    return part
