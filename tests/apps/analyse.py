"""tessera analyse: shares of a program with known counts of work, its functions, its exit code.
Samples count processor time, and a preempted thread is busy: no number here depends on how busy
this machine is. Serial shares have a tolerance of five standard deviations of the samples."""

import os
import sys
import unittest

import h5py

import tessera

PROGRAM = os.environ["TESSERA_ANALYSED_PROGRAM"]
FAKE_CUPTI = os.environ.get("TESSERA_FAKE_CUPTI", "")
STEPS = "1200"  # millions: about two seconds of processor time


class Analyse(tessera.Case):
    def setUp(self):
        super().setUp()
        self.file = self.path("p.h5")

    def analyse(self, *words, **how):
        return self.succeed("analyse", "--results", self.file, *words, **how)

    def rows(self, table):
        with h5py.File(self.file) as file:
            group = file["analyse_0001"][table]
            columns = {name: group[name].asstr()[:] if group[name].dtype.kind in "OS"
                       else group[name][:] for name in group}
        return [dict(zip(columns, values)) for values in zip(*columns.values())]

    def shares(self):
        """Returns (share of samples by function, number of samples)."""
        rows = self.rows("hotspots")
        return {row["function"]: row["share"] for row in rows}, sum(row["samples"] for row in rows)

    def tolerance(self, share, samples):
        return 5 * (share * (1 - share) / samples) ** 0.5 + 0.02


class Programs(Analyse):
    def check(self, percent, **how):
        out = self.analyse("--", PROGRAM, STEPS, percent, 2, **how).out
        shares, samples = self.shares()
        self.assertGreater(samples, 100)
        for name, share in (("serial_steps", percent / 100), ("parallel_steps", 1 - percent / 100)):
            self.assertAlmostEqual(shares.get(name, 0), share,
                                   delta=self.tolerance(share, samples), msg=out)
        serial = sum(row["samples"] for row in self.rows("busy") if row["threads"] == 1) / samples
        tolerance = self.tolerance(percent / 100, samples) + 0.03
        self.assertGreater(serial, percent / 100 - tolerance, out)
        # A thread that waits for a core leaves the other alone: that counts as serial.
        if os.getloadavg()[0] <= len(os.sched_getaffinity(0)):
            self.assertLess(serial, percent / 100 + tolerance, out)
        for row in self.rows("laws"):
            f = serial
            self.assertAlmostEqual(row["amdahl"], 1 / (f + (1 - f) / row["processors"]))
        self.assertEqual([row["processors"] for row in self.rows("laws")],
                         [2, 4, 16, float("inf")])
        return out

    def test_serial_and_parallel_shares_are_those_of_the_work(self):
        out = self.check(30)
        self.assertIn("done 1\n", out)
        self.assertIn("serial_steps", out)
        self.assertIn("infinite", out)

    def test_timers_show_the_same(self):
        out = self.check(50, environment={"TESSERA_SAMPLE_BY_TIMERS": "1"})
        self.assertIn("by timers", out)

    def test_one_thread_says_that_nothing_follows(self):
        out = self.analyse("--", PROGRAM, "200", 100, 1).out
        self.assertIn("One thread at a time was busy", out)
        self.assertIn("if infinitely", out)

    def test_the_exit_code_is_the_programs(self):
        result = self.run_tessera("analyse", "--", PROGRAM, "100", 50, 2, 7)
        self.assertEqual(result.code, 7)
        self.assertIn("the program ended with exit code 7", result.out)

    def test_programs_that_replace_themselves_are_sampled(self):
        """As launchers do that are scripts: no sample on its way ends the next program."""
        script = self.path("again.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"""#!{sys.executable} -SE
import os, sys
n = int(sys.argv[1])
os.execv(*(("{PROGRAM}", ["{PROGRAM}", "100", "50", "2"]) if n == 0
           else (sys.argv[0], [sys.argv[0], str(n - 1)])))
""")
        os.chmod(script, 0o755)
        for by_timers in ({}, {"TESSERA_SAMPLE_BY_TIMERS": "1"}):
            with self.subTest(**by_timers):
                out = self.succeed("analyse", "--", script, 40, environment=by_timers).out
                self.assertIn("serial_steps", out)

    def test_words_behind_the_program_are_its_own(self):
        for word in ("--top", "--json", "--help"):
            out = self.run_tessera("analyse", "--", PROGRAM, "100", 50, 2, 0, word).out
            self.assertIn(f"{word} 1\n", out)
            self.assertIn("serial_steps", out)

    def test_a_run_on_one_thread_is_timed(self):
        out = self.analyse("--alone", "--", PROGRAM, "100", 50, 2).out
        self.assertRegex(out, r"measured: .* on one thread, .* here: [0-9.]+ times faster")

    def test_wrong_requests(self):
        self.fail_with(64, "analyse", words="name a workload or, behind --, a program")
        self.fail_with(64, "analyse", "--tip", "3", "sort", words="unknown option --tip")
        self.fail_with(66, "analyse", "--", self.path("none"), words="cannot be started")
        self.fail_with(64, "analyse", "--", PROGRAM, "1", 1, 1, ranks=2, words="without mpirun")


class Gpu(Analyse):
    @unittest.skipUnless(FAKE_CUPTI, "this build has no CUPTI")
    def test_operations_and_calls_are_counted(self):
        out = self.analyse("--", os.environ["TESSERA_INJECTED_PROGRAM"],
                           environment={"LD_LIBRARY_PATH": FAKE_CUPTI}).out
        lines = [" ".join(line.split()) for line in out.splitlines()]
        self.assertIn("operations on GPUs, 2.40 us in all", lines)
        self.assertIn("[copy host to device] 75.0 % 1.80 us 1 1.80 us 1.80 us 1.80 us", lines)
        self.assertIn("app::triple 25.0 % 600 ns 3 200 ns 100 ns 300 ns", lines)
        self.assertIn("calls of CUDA, 10 us in all", lines)
        self.assertIn("lost: 2 records of the GPU", lines)
        found = {row["name"]: [row["kind"], row["calls"], *(
            round(1e9 * row[time]) for time in ("seconds", "least", "most"))]
            for row in self.rows("gpu_calls")}
        self.assertEqual(found, {"[copy host to device]": ["operation", 1, 1800, 1800, 1800],
                                 "app::triple": ["operation", 3, 600, 100, 300],
                                 "cudaLaunchKernel": ["call", 3, 6000, 1000, 3000],
                                 "cuMemcpyHtoD": ["call", 1, 4000, 4000, 4000]})

    def test_programs_without_a_gpu_have_no_such_table(self):
        out = self.analyse("--", PROGRAM, "100", 50, 2).out
        self.assertNotIn("GPU", out)


class OnGpu(Analyse):
    def test_kernels_and_copies_of_a_product(self):
        self.analyse("matmul", "--n", 1024, "--type", "f32", "--kernel", "cuda_tiled", "--warmups",
                     1, "--repetitions", 7)
        rows = self.rows("gpu_calls")
        kernels = {row["name"]: row["calls"] for row in rows
                   if row["kind"] == "operation" and row["name"][0] != "["}
        self.assertGreaterEqual(kernels.get("tessera::matmul::tiled", 0), 8, kernels)
        calls = {row["name"]: row["calls"] for row in rows if row["kind"] == "call"}
        self.assertGreaterEqual(calls.get("cudaLaunchKernel", 0)
                                + calls.get("cudaLaunchKernelExC", 0), 8, calls)
        self.assertTrue(any(row["name"] == "[copy host to device]" for row in rows), rows)


class Workloads(Analyse):
    def test_phases_and_functions_of_a_workload(self):
        out = self.analyse("matmul", "--n", 1200, "--threads", 2, "--repetitions", 3).out
        phases = {row["phase"] for row in self.rows("hotspots")}
        self.assertIn("compute", phases)
        self.assertIn("hotspots in compute", out)
        compute = [row for row in self.rows("hotspots") if row["phase"] == "compute"]
        named = sum(row["samples"] for row in compute if "tessera::" in row["function"])
        self.assertGreater(named, 0.5 * sum(row["samples"] for row in compute))

    def test_a_workload_that_starts_itself_anew_is_sampled(self):
        """As it does where threads outnumber cores, to let them wait passively."""
        self.analyse("sort", "--n", 2_000_000, "--threads", 2 * os.cpu_count() + 1)
        self.assertIn("sort", {row["phase"] for row in self.rows("hotspots")})

    def test_a_failing_workload_ends_as_it_does(self):
        result = self.run_tessera("analyse", "sort", "--n", "many")
        self.assertEqual(result.code, 64)


if __name__ == "__main__":
    tessera.main()
