"""tessera scalability: bounds, speed-ups, results and refusals, from the outside."""

import math
import os

import machine_file
import tessera
from tessera import CANNOT_CREATE, MISSING, OK, USAGE, h5py, numpy

QUICK = ("--repetitions", 2, "--warmups", 0, "--recordings", 1)
SMALL = {"matmul": 96, "transpose": 300, "stencil": 130, "sort": 200000, "forkjoin": 18}
COSTS = {"task_fork": 1, "task_join": 2, "task_steal": 40}  # us: most tests need no measured ones
PROBES = ("fib", "quicksort", "mergesort_serial_merge", "mergesort_parallel_merge",
          "matmul_recursive",
          "matmul_iterative", "loops_parallel_inside", "loops_parallel_outside")


def listed(case, workload):
    """Returns the names of the host kernels in `tessera list`."""
    if workload == "stencil":
        return ["naive", "tiled", "column", "zigzag", "streaming", "cache_oblivious"]
    lines = case.succeed("list").out.splitlines()
    names = [line.split()[1] for line in lines if line.split()[:1] == [workload]
             and line.split()[2:3] == ["host"]]
    return [name for name in names if name != "blas" or tessera.has_openblas()]


def rows_of(path):
    with h5py.File(path, "r") as file:
        run = list(file.values())[-1]
        table = {name: column.asstr()[:] if h5py.check_string_dtype(column.dtype) else column[:]
                 for name, column in run["scalability"].items()}
        count = {len(column) for column in table.values()}
        assert len(count) == 1, count
        return [dict(zip(table, values)) for values in zip(*table.values())], dict(run.attrs)


class Scalability(tessera.Case):
    def record(self, *words, threads=2):
        path = self.path("s.h5")
        kept = machine_file.write(self.path("machine.toml"), COSTS, threads=threads)
        self.succeed("scalability", *words, *QUICK, "--results", path, "--again", threads=threads,
                     environment=kept)
        return rows_of(path)[0]

    def check_rows(self, rows):
        for row in rows:
            self.assertGreaterEqual(row["work"], 0)
            self.assertLessEqual(row["span"], row["work"] * 1.0001 + 1e-7, row)
            self.assertGreaterEqual(row["burdened_span"] + 1e-9, row["span"], row)
            self.assertLessEqual(row["lower_bound"], max(1.0, row["upper_bound"]) + 1e-9, row)
            self.assertLessEqual(row["upper_bound"], row["processors"], row)

    def test_every_kernel_of_every_workload_is_recorded_and_right(self):
        for workload, n in SMALL.items():
            kernels = listed(self, workload)
            self.assertGreater(len(kernels), 4)
            rows = self.record(workload, "--kernel", ",".join(kernels), "--n", n, "--processors", 4)
            self.check_rows(rows)
            self.assertEqual({row["kernel"] for row in rows}, set(kernels))
            self.assertEqual({int(row["processors"]) for row in rows}, {2, 4})
            os.remove(self.path("s.h5"))

    def test_task_kernels_fork_and_the_others_do_not(self):
        serial = (("matmul", "naive"), ("matmul", "tiled"), ("sort", "std"))
        tasks = (("matmul", "cache_oblivious"), ("transpose", "cache_oblivious"),
                 ("transpose", "in_place"),
                 ("stencil", "cache_oblivious"), ("stencil", "streaming"), ("sort", "mergesort"),
                 ("sort", "quicksort"),
                 ("sort", "samplesort"), ("sort", "radix"), ("sort", "cache_oblivious"))
        for workload, n in {"matmul": 600, "transpose": 600, "stencil": 600,
                            "sort": 400000}.items():
            kernels = ",".join(kernel for of, kernel in serial + tasks if of == workload)
            for row in self.record(workload, "--kernel", kernels, "--n", n, "--processors", 8):
                if row["processors"] == 8:
                    self.assertEqual(row["forks"] > 0, (workload, row["kernel"]) in tasks,
                                     (workload, row["kernel"]))
            os.remove(self.path("s.h5"))

    def test_sizes_at_the_border(self):
        for workload in SMALL:
            self.record(workload, "--n", "0,1,2,3", "--processors", 3)
        for probe in PROBES:
            self.record("forkjoin", "--kernel", probe, "--n", "0,1,7", "--threshold", "1,3",
                        "--processors", 2, threads=1)

    def test_fib_forks_as_often_as_theory_says(self):
        rows = self.record("forkjoin", "--kernel", "fib", "--n", "10,20", "--threshold", "1,5")
        fibonacci = [0, 1]
        while len(fibonacci) < 30:
            fibonacci.append(fibonacci[-1] + fibonacci[-2])
        for row in rows:
            self.assertEqual(row["forks"], fibonacci[row["n"] - row["threshold"] + 2] - 1)
            self.assertEqual(row["growth"], "phi^n / n")

    def test_processors_are_doublings_and_the_measured_threads(self):
        rows = self.record("forkjoin", "--n", 15, "--threads", "3", "--processors", 12)
        self.assertEqual([int(row["processors"]) for row in rows], [2, 3, 4, 8, 12])
        measured = [int(row["processors"]) for row in rows if not math.isnan(row["speedup"])]
        self.assertEqual(measured, [3])
        for row in rows:
            if not math.isnan(row["speedup"]):
                self.assertLessEqual(row["speedup_low"], row["speedup"])
                self.assertGreaterEqual(row["speedup_high"], row["speedup"])
                self.assertIn(row["place"], ("below", "busy", "between", "above"))

    def test_the_bound_knows_how_much_cores_slow_each_other_down(self):
        path = self.path("s.h5")
        out = self.succeed("scalability", "sort", "--kernel", "mergesort", "--n", 200000,
                           "--threads", "1,2", "--processors", 4,
                           *QUICK, "--results", path, threads=2).out
        self.assertIn("slowdown: the kernel on its part of the data", out)
        for row in rows_of(path)[0]:
            if row["processors"] == 2:
                self.assertGreaterEqual(row["contention"], 1)
                self.assertAlmostEqual(row["least"], row["lower_bound"] / row["contention"])
                self.assertEqual(row["place"] in ("below", "busy"),
                                 row["speedup_high"] < row["least"])
            else:  # not measured
                self.assertTrue(math.isnan(row["contention"]))
                self.assertEqual(row["least"], row["lower_bound"])

    def test_the_growth_of_the_parallelism_is_that_of_the_theory(self):
        path, growths = self.path("s.h5"), []
        for kernel in ("mergesort_serial_merge", "mergesort_parallel_merge"):
            self.succeed("scalability", "forkjoin", "--kernel", kernel, "--n",
                         "65536,262144,1048576", "--threshold", 1024, "--threads", 1, "--results",
                         path, "--repetitions", 1, "--warmups", 0, "--recordings", 5)
            rows = rows_of(path)[0]
            found = {row["n"]: row for row in rows if row["processors"] == 16}
            small, large = found[min(found)], found[max(found)]
            growths.append(large["parallelism"] / small["parallelism"])
            self.assertLess(growths[-1], 2 * large["theory"] / small["theory"], kernel)
            os.remove(path)
        # lg n grows by 20/16; n / lg^2 n by 10: a serial merge gains almost nothing from 16 times
        # the keys. Tasks are timed, which other processes disturb: hence five recordings, of which
        # each strand's least counts, and a third of the ratio.
        self.assertGreater(growths[1], 1.4 * growths[0])

    def test_a_given_burden_is_taken(self):
        rows = self.record("forkjoin", "--kernel", "loops_parallel_outside", "--n", 1000,
                           "--burden", 1000)
        for row in rows:
            self.assertEqual(row["forks"], 3)
            self.assertAlmostEqual(row["burdened_span"] - row["span"], 2e-3, delta=2e-4)

    def test_costs_are_those_that_tessera_machine_kept(self):
        kept = machine_file.write(self.path("machine.toml"), COSTS, threads=2)
        path = self.path("s.h5")
        self.succeed("scalability", "forkjoin", "--n", 15, *QUICK, "--results", path,
                     environment=kept)
        for row in rows_of(path)[0]:
            self.assertAlmostEqual(row["task_fork"], 1e-6)
            self.assertAlmostEqual(row["task_join"], 2e-6)
            self.assertAlmostEqual(row["task_steal"], 40e-6)

    def test_points_that_are_there_are_skipped(self):
        path = self.path("s.h5")
        words = ("scalability", "forkjoin", "--n", "10,12", *QUICK, "--results", path)
        self.succeed(*words)
        self.assertIn("skipped", self.succeed(*words).out)

    def test_samples_and_bounds_are_in_the_results(self):
        rows = self.record("sort", "--kernel", "mergesort", "--n", 100000, "--threads", "1,2")
        with h5py.File(self.path("s.h5"), "r") as file:
            run = file["scalability_0001"]
            self.assertEqual(len(run["samples/seconds"]), 4)
            self.assertEqual(run["scalability/span"].attrs["units"], "s")
            self.assertTrue(numpy.all(run["summary/verified"][:] == 1))
        self.assertTrue(all(row["workload"] == "sort" for row in rows))

    def test_plan_measures_nothing(self):
        out = self.succeed("scalability", "matmul", "--n", 4096, "--plan").out
        self.assertIn("384 MiB", out)
        self.assertNotIn("speed-up", out)

    def test_help(self):
        out = self.succeed("scalability", "--help").out
        for line in out.split("\nExamples:\n")[1].splitlines():
            words = line.split("#")[0].split()[1:]
            self.succeed(*words, "--plan")
        self.assertIn("\n  scalability ", self.succeed("--help").out)

    def test_report_draws_the_speedups(self):
        self.record("forkjoin", "--kernel", ",".join(PROBES[:2]), "--n", 20)
        result = self.run_tessera("report", self.path("s.h5"))
        if "is not installed" in result.err:
            self.skipTest("no matplotlib")
        self.assertEqual(result.code, OK, str(result))
        self.assertIn("at most", result.out)
        self.assertIn("page: ", result.out)
        pictures = os.listdir(self.path("s_png"))
        self.assertGreaterEqual(len(pictures), 1)
        for name in pictures:
            self.assertGreater(os.path.getsize(self.path(os.path.join("s_png", name))), 5000)


class Refusals(tessera.Case):
    def test_wrong_requests_are_told_in_one_line(self):
        for words, expected in (
                (("nonsense",), ("unknown value 'nonsense'",)),
                (("sort", "--kernel", "mergsort"), ("no kernel 'mergsort'", "mergesort")),
                (("matmul", "--kernel", "fib"), ("no kernel 'fib'",)),
                (("sort", "--threshold", 5), ("--threshold", "forkjoin")),
                (("matmul", "--type", "u32"), ("f32 or f64",)),
                (("matmul", "--stencil", "nonsense"), ("--stencil", "applies to stencil")),
                (("sort", "--steps", 5), ("--steps", "applies to stencil")),
                (("forkjoin", "--type", "f32"), ("--type", "fixed type")),
                (("forkjoin", "--timeline"), "unknown option --timeline"),
                (("forkjoin", "--kernel", "fib", "--n", 61), ("at most 60",)),
                (("forkjoin", "--n", -1), ("--n", "-1")),
                (("forkjoin", "--threshold", 0), ("--threshold",)),
                (("forkjoin", "--burden", "nan"), ("--burden",)),
                (("stencil", "--stencil", "haet"), ("haet", "heat")),
                (("forkjoin", "--treshold", 3), ("--treshold", "threshold"))):
            with self.subTest(words=words):
                self.fail_with(USAGE, "scalability", *words, words=expected)

    def test_a_point_named_twice_is_measured_once(self):
        out = self.succeed("scalability", "forkjoin", "--kernel", "fib,fib", "--n", "9,10,9",
                           "--plan").out
        self.assertEqual(out.count("forkjoin fib, n "), 2, out)

    def test_several_ranks_are_refused(self):
        self.fail_with(USAGE, "scalability", "forkjoin", "--n", 10, ranks=2, words="one rank")

    def test_too_large_is_told_before_anything_is_allocated(self):
        self.fail_with(tessera.MEMORY, "scalability", "matmul", "--n", 1000000)

    def test_a_missing_config_is_missing(self):
        self.fail_with(MISSING, "scalability", "forkjoin", "--config", "nowhere.toml")
        ended = self.fail_with(CANNOT_CREATE, "scalability", "forkjoin", "--results",
                               "/dev/null/r.h5", words="/dev/null/r.h5")
        self.assertNotIn("MPI_ABORT", ended.err)


if __name__ == "__main__":
    tessera.main()
