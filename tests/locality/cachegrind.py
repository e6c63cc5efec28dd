"""The simulated hierarchy against valgrind's cachegrind on the same geometry: misses of data reads and writes."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py

LEVELS = ((32768, 8), (1048576, 16))
LINE = 64
TOLERANCE = 0.02
# Frames of calls and the libraries' own first touches, in lines.
FEW = 150
SIZES = {"matmul": (64, 100, 128, 200), "transpose": (128, 256, 500, 512)}
KERNELS = {"matmul": ("naive", "recursive", "cache_oblivious"), "transpose": ("naive", "recursive", "cache_oblivious")}
# One thread, and vectors that cachegrind knows.
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", TESSERA_ISA="baseline")


def counted(workload, kernel, n, run, folder):
    """(D1 reads, D1 writes, last-level reads, last-level writes) missed by the driver."""
    out = os.path.join(folder, f"{workload}_{kernel}_{n}_{run}")
    (d1, d1_ways), (ll, ll_ways) = LEVELS
    subprocess.run(["valgrind", "--tool=cachegrind", f"--D1={d1},{d1_ways},{LINE}", f"--LL={ll},{ll_ways},{LINE}",
                    "--cache-sim=yes", f"--cachegrind-out-file={out}", os.environ["CACHEGRIND_DRIVER"], workload,
                    kernel, str(n), str(run)], check=True, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    with open(out) as file:
        lines = dict(line.split(":", 1) for line in file if line.startswith(("events:", "summary:")))
    values = dict(zip(lines["events"].split(), map(int, lines["summary"].split())))
    return tuple(values[name] for name in ("D1mr", "D1mw", "DLmr", "DLmw"))


def simulated(workload, kernel, n, folder):
    results = os.path.join(folder, f"{workload}_{kernel}_{n}.h5")
    caches = ",".join(f"{size}:{ways}" for size, ways in LEVELS)
    tile = ["--tile", "16"] if kernel == "recursive" else []
    subprocess.run([os.environ["TESSERA_BIN"], "locality", workload, "--kernel", kernel, "--n", str(n), "--cache", caches,
                    "--line", str(LINE), "--ideal-limit", "0", "--results", results, *tile], check=True,
                   stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    with h5py.File(results) as file:
        table = file["locality_0001/caches"]
        whole = table["array"].asstr()[:] == "all"
        loads, stores = table["behind_loads"][whole], table["behind_stores"][whole]
    return loads[0], stores[0], loads[1], stores[1]


class Cachegrind(unittest.TestCase):
    def check(self, workload):
        with tempfile.TemporaryDirectory() as folder:
            for kernel in KERNELS[workload]:
                for n in SIZES[workload]:
                    without = counted(workload, kernel, n, 0, folder)
                    own = [a - b for a, b in zip(counted(workload, kernel, n, 1, folder), without)]
                    ours = simulated(workload, kernel, n, folder)
                    print(f"{workload} {kernel} {n}: cachegrind {own}, simulated {[int(x) for x in ours]}, off "
                          + " ".join(f"{100 * (x / y - 1) if y else 0:+.2f} %" for x, y in zip(ours, own)), flush=True)
                    for what, x, y in zip(("D1 reads", "D1 writes", "LL reads", "LL writes"), ours, own):
                        with self.subTest(workload=workload, kernel=kernel, n=n, what=what):
                            self.assertLessEqual(abs(int(x) - y), max(FEW, TOLERANCE * y))

    def test_matmul(self):
        self.check("matmul")

    def test_transpose(self):
        self.check("transpose")


if __name__ == "__main__":
    if shutil.which("valgrind") is None:
        print("skipped: no valgrind here (apt-get install valgrind)")
        sys.exit(77)
    unittest.main()
