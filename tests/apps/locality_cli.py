"""tessera locality from the outside: tables, results, resuming, pictures, errors."""
import os

import h5py
import numpy

import tessera


class Locality(tessera.Case):
    def columns(self, table, *names, run="locality_0001"):
        with h5py.File(self.path("l.h5")) as file:
            group = file[f"{run}/{table}"]
            return [group[n].asstr()[:] if h5py.check_string_dtype(group[n].dtype) else group[n][:]
                    for n in names]

    def test_prints_curve_theorem_and_caches(self):
        out = self.succeed("locality", "matmul", "--kernel", "tiled", "--n", 64, "--cache", "32KiB",
                           "--line", 64).out
        for words in ("matmul tiled (scalar leaf), m 64 n 64 k 64", "LRU/ideal", "theorem: Q = ",
                      "32 KiB 8-way", "conflict"):
            self.assertIn(words, out)

    def test_conflicts_below_zero_are_explained(self):
        """LRU is not optimal: set-associative caches may evict better by chance."""
        words, said = ("locality", "sort", "--kernel", "quicksort", "--n", 1000,
                       "--cache"), "conflict below 0: fewer misses"
        self.assertIn(said, self.succeed(*words, "4KiB:4").out)
        self.assertNotIn(said, self.succeed(*words, "4KiB:full").out)

    def test_results_add_up(self):
        self.succeed("locality", "matmul", "--kernel", "naive,recursive", "--n", 48, "--cache",
                     "4KiB:4,32KiB:8", "--results",
                     "l.h5")
        array, level, misses, compulsory, capacity, conflict, ideal = self.columns(
            "caches", "array", "level", "misses", "compulsory", "capacity", "conflict", "ideal")
        self.assertEqual(len(array), 2 * 2 * 4)
        for row in range(len(array)):
            self.assertEqual(misses[row], compulsory[row] + capacity[row] + conflict[row])
            if array[row] == "all":
                self.assertLessEqual(ideal[row], compulsory[row] + capacity[row])
        lines, curve, which = self.columns("curves", "lines", "misses", "array")
        whole = which == "all"
        self.assertEqual(curve[whole].min(), 3 * 48 * 48 / 8)
        self.assertEqual(lines[whole].min(), 1)

    def test_walks_over_arrays(self):
        """Scanning, a copy, columns against rows; arrays that begin inside a line."""
        out = self.succeed("locality", "memory", "--kernel", "all", "--n", 128, "--m", 96,
                           "--cache", "4KiB:full", "--results", "l.h5").out
        self.assertIn("memory rows (scalar leaf), 96 x 128, 8-byte elements:", out)
        kernel, array, misses = self.columns("caches", "point", "array", "misses")
        found = {name.split("kernel=")[1].split()[0]: count
                 for name, which, count in zip(kernel, array, misses) if which == "all"}
        once = 96 * 128 / 8
        self.assertEqual(found, {"rows": once, "columns": 8 * once, "copy": 2 * once,
                                 "increment": once, "add": 3 * once, "reverse": 2 * once})
        out = self.succeed("locality", "memory", "--kernel", "copy", "--m", 1, "--n", 15,
                           "--align", 8, "--cache", "4KiB:full").out
        self.assertRegex(out, r"full +a +1 ")
        self.assertRegex(out, r"full +b +3 ")  # from the line in which a ends: n/L + 1
        self.fail_with(tessera.USAGE, "locality", "memory", "--align", 12, words="multiple of 8")

    def test_several_levels_and_replacements(self):
        out = self.succeed("locality", "transpose", "--n", 200, "--cache",
                           "4KiB:4,32KiB:8,256KiB:16", "--results", "l.h5").out
        self.assertIn("256 KiB 16-way", out)
        array, misses, behind, random, loads, stores = self.columns("caches", "array", "misses",
                                                                    "behind", "random",
                                                                    "behind_loads", "behind_stores")
        whole = array == "all"
        self.assertEqual(whole.sum(), 3)
        self.assertTrue((behind[whole][:-1] >= behind[whole][1:]).all())
        self.assertTrue((loads + stores == behind)[whole].all())
        self.assertTrue((random[whole] >= 2 * 200 * 200 / 8).all())
        out = self.succeed("locality", "transpose", "--n", 200, "--cache", "4KiB:4:64:random").out
        self.assertIn("4-way random", out)

    def test_here_are_the_caches_of_this_machine(self):
        self.succeed("locality", "transpose", "--n", 64, "--cache", "here", "--results", "l.h5")
        level, size, array = self.columns("caches", "level", "bytes", "array")
        self.assertEqual(list(level[array == "all"]), [1, 2, 3])
        self.assertTrue((size[array == "all"][:-1] < size[array == "all"][1:]).all())

    def test_a_sampled_curve_says_so_and_is_near(self):
        words = ("locality", "matmul", "--kernel", "recursive", "--n", 128, "--ideal-limit", 0,
                 "--results", "l.h5")
        self.succeed(*words)
        out = self.succeed(*words, "--sample", 0.2).out
        self.assertIn("(curve from 20 % of the lines)", out)
        (exact,), (sampled,) = (self.columns("points", "sampled", run=run)[0]
                                for run in ("locality_0001", "locality_0002"))
        self.assertEqual((exact, sampled), (1, 0.2))
        curves = {}
        for run in ("locality_0001", "locality_0002"):
            array, lines, misses = self.columns("curves", "array", "lines", "misses", run=run)
            curves[run] = dict(zip(lines[array == "all"], misses[array == "all"]))
        for lines in (256, 512, 1024):
            self.assertAlmostEqual(curves["locality_0002"][lines] / curves["locality_0001"][lines],
                                   1, delta=0.15)

    def test_points_are_skipped_the_second_time(self):
        words = ("locality", "transpose", "--kernel", "all", "--n", 32, "--results", "l.h5")
        self.succeed(*words)
        self.assertIn("skipped", self.succeed(*words).out)
        with h5py.File(self.path("l.h5")) as file:
            self.assertEqual(list(file), ["locality_0001"])

    def test_one_rank_traces(self):
        words = ("locality", "sort", "--kernel", "counting", "--type", "u32", "--n", 1000,
                 "--cache", "4KiB")
        def table(out):
            return [line for line in out.splitlines() if "simulated in" not in line]
        self.assertEqual(table(self.succeed(*words, ranks=2).out), table(self.succeed(*words).out))

    def test_sorts_have_theorems_and_levels(self):
        words = ("--n", 20000, "--cache", "4KiB:8", "--ideal-limit", 0, "--results", "l.h5")
        out = self.succeed("locality", "sort", "--kernel",
                           "std,quicksort,mergesort,samplesort,cache_oblivious,counting",
                           *words).out
        for formula in ("two-way merge sort", "LaMarca and Ladner 1999", "Sanders and Winkel 2004",
                        "funnelsort", "6n/L + k/L"):
            self.assertIn(f"{formula}", out)
        self.succeed("locality", "forkjoin", "--kernel", "all", "--tile", 500, *words)
        kernels, theorems = self.columns("points", "kernel", "theorem", run="locality_0002")
        self.assertEqual(list(kernels), ["quicksort", "mergesort_serial_merge",
                                         "mergesort_parallel_merge"])
        self.assertTrue(all(theorems))
        points, misses, compulsory, capacity, conflict = self.columns("recursion_levels", "point",
                                                                      "misses", "compulsory",
                                                                      "capacity", "conflict",
                                                                      run="locality_0002")
        self.assertTrue((misses == compulsory + capacity + conflict).all())
        mine = ["serial_merge" in point for point in points]
        for found in (compulsory + capacity)[mine][:6]:
            self.assertAlmostEqual(found, 2 * 20000 / 8, delta=50)  # both arrays once per level

    def test_counting_sorts_have_stages(self):
        self.succeed("locality", "sort", "--kernel", "counting,counting_bucketed", "--n", 20000,
                     "--range", 4096, "--type", "u32", "--ideal-limit", 0, "--results", "l.h5")
        point, array, lines, misses = self.columns("curves", "point", "array", "lines", "misses")
        for kernel in set(point):
            mine = point == kernel
            stages = {name: misses[mine & (array == name)]
                      for name in ("preprocessing", "sorting", "all")}
            self.assertTrue((stages["preprocessing"] + stages["sorting"] == stages["all"]).all())
            self.assertTrue((stages["preprocessing"] > 0).all())
        # Survey and counting read the keys, 16 a line; the counters have 8 bytes each.
        at = (point == sorted(set(point), key=len)[0]) & (array == "preprocessing") \
            & (lines == 1024)
        self.assertAlmostEqual(misses[at][0], 2 * 20000 / 16 + 4096 / 8, delta=30)

    def test_gpu_order(self):
        out = self.succeed("locality", "matmul", "--kernel", "cuda_tiled", "--n", 64, "--type",
                           "f32", "--results", "l.h5").out
        self.assertIn("formula: F = 2mnk/(sL)", out)
        fetches, predicted = self.columns("gpu", "fetches", "predicted_fetches")
        self.assertAlmostEqual(fetches[-1] / predicted[-1], 1, delta=0.05)

    def test_all_leaves_out_what_cannot_be_traced_and_says_so(self):
        out = self.succeed("locality", "sort", "--kernel", "all", "--n", 100, "--cache", "4KiB").out
        for kernel in ("std", "counting", "counting_bucketed", "quicksort", "mergesort",
                       "samplesort", "radix", "cache_oblivious"):
            self.assertIn(f"sort {kernel} (scalar leaf)", out)
        out = self.succeed("locality", "sort", "--kernel", "all", "--n", 100, "--type", "pair").out
        self.assertIn("sort counting_bucketed (scalar leaf)", out)
        self.assertIn("all but radix: ", out)

    def test_nothing_is_traced_where_a_later_point_cannot_be(self):
        for words in (("stencil", "--stencil", "box3x3,wave"),
                      ("sort", "--kernel", "std,radix", "--type", "pair"),
                      ("matmul", "--kernel", "naive,cuda_naive", "--block", "48"),
                      ("transpose", "--kernel", "naive,cache_oblivious", "--n", "8,4001")):
            result = self.fail_with(tessera.USAGE, "locality", *words)
            self.assertNotIn("simulated in", result.out, words)

    def test_options_that_nothing_looks_at_are_refused(self):
        for words, said in ((("matmul", "--range", 5),
                             "--range (flag) applies to sort, forkjoin: the workload is matmul"),
                            (("matmul", "--steps", "1,2"), "--steps"),
                            (("transpose", "--k", 3), "--k"),
                            (("sort", "--m", 3), "--m"), (("sort", "--pad", 3), "--pad"),
                            (("sort", "--tile", 3), "--tile"),
                            (("forkjoin", "--stencil", "heat"), "--stencil"),
                            (("matmul", "--gpu", "1:1:1:32"), "--gpu"),
                            (("matmul", "--block", 64), "--block"),
                            (("matmul", "--kernel", "cuda_naive", "--cache", "4KiB"),
                             "--cache (flag) applies to kernels of the CPU"),
                            (("matmul", "--kernel", "cuda_naive", "--gpu", "8:1KiB:1MiB:64",
                              "--diagram", 16), "--diagram (flag) applies to kernels of the CPU"),
                            (("stencil", "--kernel", "cuda_naive", "--steps", 2), "--steps"),
                            (("matmul", "--type", "u64"), "not in u64")):
            with self.subTest(words):
                self.fail_with(tessera.USAGE, "locality", *words, words=said)
        self.succeed("locality", "matmul", "--kernel", "naive,cuda_naive", "--n", 8, "--cache",
                     "4KiB", "--block", 64)

    def test_a_point_named_twice_is_traced_once(self):
        out = self.succeed("locality", "transpose", "--kernel", "naive,naive", "--n", "8,9,8").out
        self.assertEqual(out.count("simulated in"), 2)

    def test_caches_that_memory_does_not_hold_are_refused(self):
        for words in (("matmul", "--n", 4, "--cache", "2TiB:full"),
                      ("matmul", "--n", 4, "--cache", "4KiB,1TiB"),
                      ("matmul", "--n", 4, "--kernel", "cuda_naive", "--gpu", "48:32KiB:1TiB:1024"),
                      ("matmul", "--n", 4, "--kernel", "cuda_naive", "--gpu",
                       "1000000000:32KiB:4MiB:1024")):
            with self.subTest(words):
                self.fail_with(tessera.MEMORY, "locality", *words,
                               words="caches to simulate need")

    def test_where_the_theorem_holds_nowhere_that_is_said(self):
        self.assertIn("at every size more than 25 % above the theorem",
                      self.succeed("locality", "matmul", "--n", 1).out)

    def test_caches_of_one_size_are_told_apart_level_by_level(self):
        out = self.succeed("locality", "matmul", "--kernel", "recursive", "--n", 32, "--cache",
                           "4KiB:1,4KiB:full", "--results",
                           "l.h5").out
        self.assertIn("misses 4 KiB 1-way", out)
        self.assertIn("misses 4 KiB full", out)
        cache, misses = self.columns("recursion_levels", "cache", "misses")
        array, level, alone = self.columns("caches", "array", "level", "misses")
        for number in (1, 2):
            self.assertEqual(misses[cache == number].sum(),
                             alone[(array == "all") & (level == number)][0])

    def test_a_constant_that_no_size_determines_is_not_told(self):
        words = ("locality", "matmul", "--kernel", "recursive", "--results", "l.h5", "--n")
        out = self.succeed(*words, 32).out
        self.assertIn("c is not fitted", out)
        self.assertNotIn("nan", out)
        self.assertIn("fitted from 32 to 128 lines: c = ", self.succeed(*words, 128).out)
        self.assertEqual([numpy.isnan(self.columns("points", "constant", run=run)[0][0])
                          for run in ("locality_0001", "locality_0002")],
                         [True, False])

    def test_gpu_points_are_kept_with_what_the_kernel_chose_and_skipped(self):
        words = ("locality", "matmul", "--kernel", "cuda_naive,cuda_column,cuda_tiled", "--n", 40,
                 "--k", 7, "--type", "f32",
                 "--tile", 8, "--results", "l.h5")
        self.assertIn("blocks of 256", self.succeed(*words).out)
        array, *chosen = self.columns("gpu", "array", "k", "column_width", "tile", "block",
                                      "element_bytes")
        self.assertEqual([tuple(row) for row in zip(*(column[array == "all"]
                                                      for column in chosen))],
                         [(7, 0, 0, 1024, 4), (7, 32, 0, 1024, 4), (7, 0, 16, 256, 4)])
        self.assertIn("3 points already in l.h5: skipped", self.succeed(*words).out)

    def test_report_draws_curves_and_diagrams(self):
        self.succeed("locality", "matmul", "--kernel", "naive", "--n", 8, "--line", 32, "--cache",
                     "1KiB:full", "--diagram",
                     32, "--results", "l.h5")
        self.succeed("locality", "transpose", "--kernel", "recursive", "--n", 128, "--diagram", 64,
                     "--results", "l.h5")
        self.succeed("locality", "stencil", "--kernel", "cuda_column", "--n", 32, "--results",
                     "l.h5")
        result = self.run_tessera("report", "l.h5")
        if "is not installed" in result.err:
            self.skipTest("no matplotlib")
        self.assertEqual(result.code, 0, str(result))
        self.assertIn("page: l.html", result.out)
        with open(self.path("l.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("3 traced points", page)
        self.assertNotIn("0 points in 0 runs", page)
        pictures = os.listdir(self.path("l_png"))
        self.assertIn("locality_gpu_stencil_1.png", pictures)
        self.assertGreaterEqual(len(pictures), 3)  # the curves and two diagrams
        for name in pictures:
            self.assertGreater(os.path.getsize(self.path(os.path.join("l_png", name))), 5000)

    def test_what_does_not_fit_is_refused_before_memory_is_taken(self):
        with open("/proc/meminfo") as file:
            available = 1024 * int(next(line for line in file
                                        if line.startswith("MemAvailable")).split()[1])
        n = int((available / 8) ** 0.5)  # one matrix takes all memory, and there are two
        self.fail_with(tessera.MEMORY, "locality", "transpose", "--kernel", "naive", "--n", n,
                       words="smaller sizes")

    def test_the_first_kernel_is_traced_unless_one_is_named(self):
        for workload, kernel in (("matmul", "naive"), ("transpose", "naive"), ("stencil", "naive"),
                                 ("sort", "std"),
                                 ("forkjoin", "quicksort")):
            self.assertIn(f"{workload} {kernel} ", self.succeed("locality", workload, "--n",
                                                                16).out)

    def test_nothing_at_all(self):
        self.assertNotIn("nan", self.succeed("locality", "matmul", "--n", 0).out)

    def test_wrong_words_are_told(self):
        for words, said in ((("matmul", "--kernel", "tield"), "did you mean 'tiled'"),
                            (("matmul", "--kernel", "naive", "--cache", "4KiB:3"), "whole sets"),
                            (("matmul", "--cache", "much"), "--cache: 'much'"),
                            (("matmul", "--line", "48"), "--line: 48"),
                            (("nothing",), "error: workload: unknown value 'nothing'"),
                            (("matmul", "--type", "pair"), "the workload sort"),
                            ((), "a workload is required"),
                            (("sort", "--kernel", "radix", "--type", "pair"),
                             "--type u32 or u64"),
                            (("matmul", "--kernel", "cuda_naive", "--gpu", "48"),
                             "not a GPU description"),
                            (("matmul", "--kernel", "cuda_naive", "--gpu", "1:0:0:32"),
                             "two levels of cache"),
                            (("stencil", "--kernel", "cuda_naive", "--stencil", "wave"),
                             "one time level"),
                            (("matmul", "--kernel", "all,naive"), "drop the other names"),
                            (("matmul", "--kernel", "naive,"), "no traced kernel ''"),
                            (("matmul", "--cache", "4KiB:8:64:lru:junk"), "more than four parts"),
                            (("matmul", "--kernel", "cuda_naive", "--block", "100"),
                             "multiple of 32")):
            result = self.run_tessera("locality", *words)
            self.assertEqual(result.code, tessera.USAGE, str(result))
            self.assertIn(said, result.err)


if __name__ == "__main__":
    tessera.main()
