"""Nodes of many cores, simulated by a preloaded library: everything that depends on their number
works, within the memory and time of a small machine, and gives the same bits."""

import os
import subprocess
import sys
import unittest

import tessera
from tessera import OK, h5py, numpy

LIBRARY = os.path.abspath(os.environ.get("TESSERA_FAKED_PROCESSORS", "none"))
OPENBLAS = "libopenblas.so.0"  # starts a thread per core when loaded
HAS_OPENBLAS = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL('{OPENBLAS}')"],
                              stderr=subprocess.DEVNULL,
                              check=False).returncode == 0
PROCESSORS = (1, 2, 16, 64, 256, 1024)
WORKLOADS = {"matmul": ("--a", "in.h5:/A", "--b", "in.h5:/A"), "transpose": ("--in", "in.h5:/A"),
             "stencil": ("--in", "in.h5:/A", "--steps", 4), "sort": ("--in", "in.h5:/k")}


@unittest.skipUnless(os.path.exists(LIBRARY), "TESSERA_FAKED_PROCESSORS names no library")
class Processors(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        with h5py.File(self.path("in.h5"), "w") as file:
            file.create_dataset("A", data=rng.random((60, 60)), chunks=(20, 60), compression=1)
            file["k"] = rng.integers(0, 1000, 5000)

    def on(self, processors, *arguments, libraries=(), **how):
        """Runs with that many visible cores and the default threads; waiting threads sleep, since
        there are fewer cores."""
        if tessera.has_libomp() and not how.get("ranks"):
            self.skipTest("LLVM's OpenMP asks the kernel itself for the cores")
        environment = {"LD_PRELOAD": ":".join((LIBRARY, *libraries)),
                       "TESSERA_PROCESSORS": str(processors),
                       "HWLOC_SYNTHETIC": f"package:1 core:{processors} pu:1",
                       "HWLOC_THISSYSTEM": "1",
                       "OMP_NUM_THREADS": None, "OMP_WAIT_POLICY": "passive"}
        result = self.run_tessera(*arguments, environment=environment, **how)
        self.assertNotIn("is damaged", result.err, f"{processors} processors: {result}")
        self.assertEqual((result.code, result.errors), (OK, []),
                         f"{processors} processors: {result}")
        return result

    def row(self, processors, libraries):
        """Returns the seconds of every workload, run twice into one results file."""
        seconds, values, results = [], [], f"r{processors}.h5"
        for workload, words in WORKLOADS.items():
            out, took = f"{workload}{processors}.h5", 0
            for more in ((), ("--again", "--overwrite")):
                took += self.on(processors, workload, *words, "--out", f"{out}:/x", "--results",
                                results, "--repetitions", 1, "--warmups",
                                0, *more, libraries=libraries).seconds
            seconds.append(took)
            seconds.append(self.on(processors, "verify", out, libraries=libraries).seconds)
            with h5py.File(self.path(out)) as file:
                values.append(file["x"][()].tobytes())
        seconds.append(self.on(processors, "report", results, "--text",
                               libraries=libraries).seconds)
        with h5py.File(self.path(results)) as file:
            self.assertEqual(len(file), 2 * len(WORKLOADS))
            for run in file.values():
                self.assertEqual(list(run["summary/threads"][:]), [processors])
        return seconds, values

    def table(self, libraries):
        names = [word for workload in WORKLOADS for word in (workload, "verify")] + ["report"]
        print(f"\nseconds on faked processors{', with OpenBLAS preloaded' if libraries else ''}:")
        print("".join(f"{name:>11}" for name in ["processors", *names]), flush=True)
        bits = None
        for processors in PROCESSORS:
            seconds, values = self.row(processors, libraries)
            print(f"{processors:11}" + "".join(f"{took:11.2f}" for took in seconds), flush=True)
            bits = bits or values
            self.assertTrue(values == bits, f"other bits on {processors} processors")

    def test_all_workloads(self):
        self.table(())

    @unittest.skipUnless(HAS_OPENBLAS,
                         "OpenBLAS is not installed; apt-get install libopenblas0-pthread")
    def test_all_workloads_beside_openblas(self):
        self.table((OPENBLAS,))

    @unittest.skipUnless(HAS_OPENBLAS,
                         "OpenBLAS is not installed; apt-get install libopenblas0-pthread")
    def test_the_kernel_blas(self):
        for processors in PROCESSORS:
            self.on(processors, "matmul", *WORKLOADS["matmul"], "--kernel", "blas,auto",
                    "--repetitions", 1)

    def test_more_than_a_mask_of_the_c_library_holds(self):
        self.assertIn("threads", self.on(4096, "sort", "--in", "in.h5:/k", "--threads", 2).out)
        self.assertIn("cpus 0-4095", self.on(4096, "machine", "--show").out)

    def test_several_ranks(self):
        for processors in (64, 1024):
            for workload, words in WORKLOADS.items():
                self.on(processors, workload, *words, "--repetitions", 1, ranks=2)


if __name__ == "__main__":
    tessera.main()
