"""matmul_files.py TESSERA [--quick]: products out of core against the same products in memory.

The operands are four times the allowed memory. Runs alternate; the file cache is cold before each,
and the file system's own read rate is measured with them. Files are in the file system of the
current folder (TMPDIR names another)."""
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

from file_rates import PIECE, drop, time_read


def read_rate(path):
    drop(path)
    return os.path.getsize(path) / time_read(path)


def write_rate(path, size):
    """Times writing into the file cache, as results are written."""
    piece, began = bytes(PIECE), time.monotonic()
    with open(path, "wb", buffering=0) as file:
        for _ in range(size // PIECE):
            file.write(piece)
    rate = size / (time.monotonic() - began)
    os.unlink(path)
    return rate


def run(program, *words):
    """Returns the seconds of the product, and the CPU seconds of the whole run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run([program, "matmul", *map(str, words)], check=True, capture_output=True,
                         text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # one repetition has no interval
    amount, unit = re.search(r"([\d.]+) (ms|s) +-  ", out).groups()
    used = sum(getattr(after, f) - getattr(before, f) for f in ("ru_utime", "ru_stime"))
    return float(amount) * (1e-3 if unit == "ms" else 1), used


def main():
    program, quick = sys.argv[1], "--quick" in sys.argv
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", ".")) as folder:
        a, b, c = (os.path.join(folder, f"{name}.h5") for name in "abc")
        for n in (4096,) if quick else (4096, 8192):
            rng = np.random.default_rng(1)
            for path in (a, b):
                with h5py.File(path, "w") as file:
                    x = file.create_dataset("X", (n, n), "f8")
                    for i in range(0, n, 512):
                        x[i:i + 512] = rng.random((512, n))
            limit = n * n * 8 // 2
            operands = ("--a", f"{a}:/X", "--b", f"{b}:/X", "--no-verify")
            through, held, reads, writes = [], [], [], []
            for _ in range(3 if quick else 5):
                reads.append(read_rate(a))
                writes.append(write_rate(c, n * n * 8))
                drop(a, b)
                through.append(run(program, *operands, "--memory", limit, "--out", f"{c}:/C",
                                   "--overwrite",
                                   "--verify-output", "off"))
                held.append(run(program, *operands, "--repetitions", 1, "--warmups", 0))
            seconds, used = np.median(np.array(through), axis=0)
            seconds_held, used_held = np.median(np.array(held), axis=0)
            files = n * n * 8 * (2 / np.median(reads) + 1 / np.median(writes))
            print(f"Out of core, f64 n = {n}, --memory {limit / 1e6:.0f} MB, cold file cache "
                  f"(reading {np.median(reads) / 1e9:.2f} GB/s, "
                  f"writing {np.median(writes) / 1e9:.2f}); medians")
            print(
                f"out of core {seconds:.2f} s with reading and writing, in memory "
                f"{seconds_held:.2f} s without: "
                f"{seconds_held / seconds:.2f} of its rate; reading both operands once and "
                f"writing the result, alone, {files:.2f} s: "
                f"{max(files, seconds_held) / seconds:.2f} of what files and arithmetic allow; "
                f"processor time of whole runs, reading and all, {used:.2f} and {used_held:.2f} s")


main()
