"""sort_files.py TESSERA [--quick]: sorting out of core against the file system's own rates.

Keys of four times the memory allowed are sorted from file to file; beside it, in turns, as many bytes are written and read in
large pieces. Of the device: written as the product does it, into reserved space and synchronised at the end, and read with
nothing of the file in the cache. Of the file cache: written without synchronising, and read again at once. Whole commands are
timed, from the start of the process to its end, with the input out of the cache and in it. Files lie in the current folder's
file system (TMPDIR names another).
"""
import os
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

from file_rates import PIECE, drop, time_read, time_write


def time_ours(command, threads, result):
    if os.path.exists(result):
        os.unlink(result)
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    began = time.monotonic()
    subprocess.run([*command, "--threads", str(threads)], check=True, capture_output=True, env=environment)
    return time.monotonic() - began


def keys(kind, n):
    rng = np.random.default_rng(1)
    return {"u64 uniform": lambda: rng.integers(0, 2**64, n, dtype="u8"),
            "f64 gaussian": lambda: rng.normal(size=n),
            "u64 exponential": lambda: rng.exponential(2.0**40, n).astype("u8"),
            "u32 uniform": lambda: rng.integers(0, 2**32, n, dtype="u4"),
            "table": lambda: rng.integers(0, 2**64, n, dtype="u8")}[kind]()


def prepare(source, kind, n):
    """Returns the bytes of a row."""
    with h5py.File(source, "w") as file:
        if kind == "table":
            file["K/key"], file["K/value"] = keys(kind, n), np.arange(n)
            return 16
        file["K"] = keys(kind, n)
        return file["K"].dtype.itemsize


def require_sorted(source, result, kind):
    with h5py.File(source) as a, h5py.File(result) as b:
        if kind == "table":
            order = np.argsort(a["K/key"][()], kind="stable")
            assert np.array_equal(b["K/value"][()], order), "the result is wrong"
        else:
            assert np.array_equal(np.sort(a["K"][()]), b["K"][()]), "the result is wrong"


def measure(program, kind, n, repetitions, threads):
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", ".")) as folder:
        source, result, plain = (os.path.join(folder, name) for name in ("a.h5", "s.h5", "plain"))
        row = prepare(source, kind, n)
        size = n * row // PIECE * PIECE
        limit = n * row // 4
        command = [program, "sort", "--in", f"{source}:/K", "--out", f"{result}:/K", "--memory", str(limit),
                   "--out-of-core", "always", *(["--by", "key"] if kind == "table" else [])]
        samples = {}

        def note(name, seconds):
            samples.setdefault(name, []).append(seconds)

        for repetition in range(repetitions):
            note("write", time_write(plain, size, True))
            drop(plain)
            note("read", time_read(plain))
            note("cached write", time_write(plain, size, False))
            note("cached read", time_read(plain))
            os.unlink(plain)  # or it would be brought to the device under what follows
            for count in threads if repetition % 2 == 0 else threads[::-1]:
                drop(source)
                note((count, "cold"), time_ours(command, count, result))
                note((count, "cached"), time_ours(command, count, result))
        require_sorted(source, result, kind)
    median = {name: float(np.median(values)) for name, values in samples.items()}
    print(f"{kind}, {n} rows ({n * row / 1e9:.2f} GB) with --memory {limit / 1e6:.0f} MB; medians of {repetitions}")
    for prefix, state in (("", "cold"), ("cached ", "cached")):
        read, write = median[prefix + "read"], median[prefix + "write"]
        twice = 2 * (read + write) * n * row / size
        print(f"  {'device' if state == 'cold' else 'file cache'}: reads {size / 1e9 / read:.2f} GB/s, writes "
              f"{size / 1e9 / write:.2f} GB/s; two reads and two writes {twice:.3f} s")
        for count in threads:
            ours = median[count, state]
            print(f"    tessera, {count} thread{'s' if count > 1 else ''}, input {'not ' if state == 'cold' else ''}in the cache: "
                  f"{ours:.3f} s, {ours / twice:.2f} times as long", flush=True)


def main():
    program, quick = os.path.abspath(sys.argv[1]), "--quick" in sys.argv
    n = 1 << (25 if quick else 26)
    for kind in ("u64 uniform", "f64 gaussian", "u64 exponential", "table"):
        rows = n // 2 if kind == "table" else n
        measure(program, kind, rows, 3 if quick else 5, (1, 2))
    if not quick:
        measure(program, "u64 uniform", 4 * n, 3, (1, 2))


if __name__ == "__main__":
    main()
