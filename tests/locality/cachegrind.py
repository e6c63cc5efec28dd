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
FEW = 20  # lines
# Where the rows of a leaf meet in one set and fill it to the last way (transposes of 512 and 1024, products of 64), the
# order in which a compiler loads them decides over hit and miss, and the stack beside them: no sizes for a comparison.
SIZES = {"matmul": (100, 128, 200, 256), "transpose": (128, 256, 504, 640)}
KERNELS = ("naive", "cache_oblivious")
EVENTS = ("D1mr", "D1mw", "DLmr", "DLmw")
# One thread, and vectors that cachegrind knows.
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", TESSERA_ISA="baseline")


def is_kernel(function):
    """What was inlined to the end is main's; the same without the kernel is taken off it."""
    return ("tessera::" in function or function.strip() == "fn=main") and "empty_caches" not in function


def counts_of(path):
    """The sums of EVENTS over the kernel's functions: loading the program is not its doing."""
    sums, wanted, names = [0, 0, 0, 0], False, []
    with open(path) as lines:
        for line in lines:
            if line.startswith("events:"):
                names = line.split()[1:]
            elif line.startswith("fn="):
                wanted = is_kernel(line)
            elif line[0].isdigit() and wanted:
                values = dict(zip(names, map(int, line.split()[1:])))
                sums = [total + values.get(event, 0) for total, event in zip(sums, EVENTS)]
    return sums


def counted(workload, kernel, n, folder):
    """(D1 reads, D1 writes, last-level reads, last-level writes) missed by the kernel in the driver."""
    (d1, d1_ways), (ll, ll_ways) = LEVELS
    both = []
    for whole in (1, 0):
        out = os.path.join(folder, f"{workload}_{kernel}_{n}_{whole}")
        subprocess.run(["valgrind", "--tool=cachegrind", f"--D1={d1},{d1_ways},{LINE}", f"--LL={ll},{ll_ways},{LINE}",
                        "--cache-sim=yes", f"--cachegrind-out-file={out}", os.environ["CACHEGRIND_DRIVER"], workload,
                        kernel, str(n), str(whole)], check=True, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        both.append(counts_of(out))
    return [a - b for a, b in zip(*both)]


def simulated(workload, kernel, n, folder):
    results = os.path.join(folder, f"{workload}_{kernel}_{n}.h5")
    caches = ",".join(f"{size}:{ways}" for size, ways in LEVELS)
    subprocess.run([os.environ["TESSERA_BIN"], "locality", workload, "--kernel", kernel, "--n", str(n), "--cache", caches,
                    "--line", str(LINE), "--ideal-limit", "0", "--results", results], check=True,
                   stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    with h5py.File(results) as file:
        table = file["locality_0001/caches"]
        whole = table["array"].asstr()[:] == "all"
        loads, stores = table["behind_loads"][whole], table["behind_stores"][whole]
    return loads[0], stores[0], loads[1], stores[1]


class Cachegrind(unittest.TestCase):
    def check(self, workload):
        with tempfile.TemporaryDirectory() as folder:
            for kernel in KERNELS:
                for n in SIZES[workload]:
                    own = counted(workload, kernel, n, folder)
                    ours = simulated(workload, kernel, n, folder)
                    print(f"{workload} {kernel} {n}: cachegrind {own}, simulated {[int(x) for x in ours]}, off "
                          + " ".join(f"{100 * (x / y - 1) if y else 0:+.2f} %" for x, y in zip(ours, own)), flush=True)
                    for level, at in (("D1", 0), ("LL", 2)):
                        with self.subTest(workload=workload, kernel=kernel, n=n, level=level):
                            theirs = own[at] + own[at + 1]
                            self.assertGreater(theirs, 0)
                            off = abs(int(ours[at]) + int(ours[at + 1]) - theirs)
                            self.assertLessEqual(off, max(FEW, TOLERANCE * theirs))

    def test_matmul(self):
        self.check("matmul")

    def test_transpose(self):
        self.check("transpose")


if __name__ == "__main__":
    if shutil.which("valgrind") is None:
        print("skipped: no valgrind here (apt-get install valgrind)")
        sys.exit(77)
    unittest.main()
