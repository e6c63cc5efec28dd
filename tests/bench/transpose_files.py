"""transpose_files.py TESSERA [--quick]: transposing out of core against the file system's own
rates.

A dataset of four times the allowed memory is transposed from file to file; the reference is writing
and reading the same bytes in large pieces, synced to the device as the product does. Files are in
the file system of the current folder (TMPDIR names another)."""
import os
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

from file_rates import PIECE, drop, time_read, time_write


def time_ours(program, source, result, limit):
    drop(source)
    if os.path.exists(result):
        os.unlink(result)  # untimed, as for the plain file
    began = time.monotonic()
    subprocess.run([program, "transpose", "--in", f"{source}:/A", "--out", f"{result}:/A",
                    "--memory", str(limit)],
                   check=True, capture_output=True)
    return time.monotonic() - began


def main():
    program, quick = sys.argv[1], "--quick" in sys.argv
    n = 6144 if quick else 11585  # 288 MiB, 1 GiB
    size = n * n * 8 // PIECE * PIECE
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", ".")) as folder:
        source, result, plain = (os.path.join(folder, name) for name in ("a.h5", "t.h5", "plain"))
        rng = np.random.default_rng(1)
        with h5py.File(source, "w") as file:
            a = file.create_dataset("A", (n, n), "f8")
            for i in range(0, n, 512):
                a[i:i + 512] = rng.random((min(512, n - i), n))
        limit = n * n * 8 // 4
        samples = {"ours": [], "read": [], "write": []}
        for _ in range(3 if quick else 5):
            samples["write"].append(time_write(plain, size, True))
            drop(plain)
            samples["read"].append(time_read(plain))
            samples["ours"].append(time_ours(program, source, result, limit))
        median = {name: float(np.median(values)) for name, values in samples.items()}
        with h5py.File(source) as a, h5py.File(result) as t:
            for i in range(0, n, 1024):
                assert np.array_equal(a["A"][:, i:i + 1024].T,
                                      t["A"][i:i + 1024]), "the result is wrong"
    twice = 2 * median["read"] + 2 * median["write"]
    print(f"Out of core, f64 {n} x {n} ({n * n * 8 / 1e9:.2f} GB) with --memory {limit / 1e6:.0f} "
          f"MB; medians of whole runs, cold file cache")
    print(f"file system: reads {size / 1e9 / median['read']:.2f} GB/s, writes "
          f"{size / 1e9 / median['write']:.2f} GB/s; "
          f"two reads and two writes {twice:.2f} s")
    print(f"tessera: {median['ours']:.2f} s, {twice / median['ours']:.2f} of that rate")


main()
