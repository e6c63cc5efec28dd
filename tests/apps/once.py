"""A request with an output computes once; a measurement repeats. Result tables fit the terminal."""

import h5py
import numpy

import tessera

JOBS = {
    "matmul": (("matmul", "--a", "in.h5:/A", "--b", "in.h5:/A", "--out", "o.h5:/X"),
               ("matmul", "--n", 40, "--out", "o.h5:/X")),
    "transpose": (("transpose", "--in", "in.h5:/A", "--out", "o.h5:/X"),
                  ("transpose", "--n", 40, "--out", "o.h5:/X")),
    "stencil": (("stencil", "--in", "in.h5:/A", "--steps", 3, "--out", "o.h5:/X"),),
    "sort": (("sort", "--in", "in.h5:/k", "--out", "o.h5:/X"),
             ("sort", "--n", 400, "--out", "o.h5:/X"),
             ("sort", "--n", 400, "--argsort", "o.h5:/X")),
}
REPEATED = " % interval"


class Once(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(1)
        with h5py.File(self.path("in.h5"), "w") as file:
            file["A"], file["k"] = rng.random((40, 40)), rng.integers(0, 99, 300)

    def test_with_an_output(self):
        for jobs in JOBS.values():
            for words in jobs:
                for ranks in (0, 2):
                    with self.subTest(words=words, ranks=ranks):
                        out = self.succeed(*words, "--overwrite", ranks=ranks).out
                        self.assertIn("median", out)
                        self.assertNotIn(REPEATED, out)
                        self.assertNotIn("tessera machine", out)

    def test_repetitions_that_are_asked_for(self):
        for words in (jobs[-1] for jobs in JOBS.values()):
            for more in (("--repetitions", 3), ("--repetitions", 2, "--warmups", 1)):
                with self.subTest(words=words, more=more):
                    self.assertIn(REPEATED, self.succeed(*words, "--overwrite", *more).out)

    def test_measurements(self):
        for words in (("matmul", "--n", 40), ("transpose", "--n", 40), ("sort", "--n", 400),
                      ("matmul", "--n", "20,40"),
                      ("matmul", "--n", 40, "--out", "o.h5:/X", "--results", "r.h5"),
                      ("transpose", "--n", 40, "--out", "t.h5:/X", "--results", "r.h5")):
            with self.subTest(words=words):
                self.assertIn(REPEATED, self.succeed(*words).out)
        with h5py.File(self.path("r.h5")) as file:
            for run in file.values():
                self.assertEqual(run["summary/repetitions"][:].tolist(), [5])


class Screen(tessera.Case):
    WORDS = (("matmul", "--n", 64, "--kernel", "naive,tiled", "--tile", "8,16"),
             ("transpose", "--n", 64), ("sort", "--n", "100,1000"),
             ("stencil", "--shape", "64x64", "--steps", "3,6", "--kernel", "auto,naive"),
             ("stencil", "--shape", "64x64", "--steps", 3))

    def test_tables_fit_eighty_columns(self):
        for words in self.WORDS:
            with self.subTest(words=words):
                out = self.succeed(*words, environment={"COLUMNS": None}).out
                self.assertLessEqual(max(map(len, out.splitlines())), 80, out)

    def test_plans_fit_eighty_columns(self):
        """In memory, in rounds, out of core, of sweeps, for other ranks, and of what cannot run."""
        with h5py.File(self.path("in.h5"), "w") as file:
            file["A"], file["k"] = numpy.ones((40, 40)), numpy.arange(300.0)
            file["V"] = numpy.ones((6, 7, 8))
        small = ("--memory", "64MiB", "--out-of-core", "always", "--out", "o.h5:/X")
        for words in (
                ("matmul", "--n", 20000), ("matmul", "--n", 20000, "--ranks", 6),
                ("matmul", "--n", 9000, "--memory", "256MiB", "--ranks", 12),
                ("matmul", "--n", 20000, *small), ("matmul", "--n", "3000,40", "--tile", "8,16"),
                ("matmul", "--a", "in.h5:/A", "--b", "in.h5:/A"),
                ("transpose", "--n", 20000, "--ranks", 6), ("transpose", "--n", 20000, *small),
                ("transpose", "--in", "in.h5:/V", "--axes", "2,0,1", "--ranks", 4),
                ("stencil", "--shape", "1024x1024x1024", "--steps", 1000, "--ranks", 80),
                ("stencil", "--shape", "20000x20000,64", "--steps", "1000,20", "--ranks", 8),
                ("stencil", "--in", "in.h5:/A", "--steps", 3, "--weights", "0.2,0.2,0.2,0.2,0.2"),
                ("sort", "--n", 10**9, "--ranks", 8), ("sort", "--n", 10**8, *small),
                ("sort", "--in", "in.h5:/k", "--by", "k"),
                ("sort", "--n", 10**8, "--quantiles", 0.5),
                ("matmul", "--n", "20,2000", "--memory", "1MiB"),
                ("sort", "--n", 80, "--device", "gpu")):
            with self.subTest(words=words):
                result = self.run_tessera(*words, "--plan", environment={"COLUMNS": None})
                lines = (result.out + result.err).splitlines()
                self.assertGreater(len(lines), 0)
                for line in lines:
                    if "tessera: error: " not in line and "cannot run: " not in line:
                        self.assertLessEqual(len(line), 80, str(result))

    def test_counters_fit_eighty_columns(self):
        for words in (("matmul", "--n", "32,64"), ("stencil", "--shape", "64x64", "--steps", 3),
                      ("sort", "--n", 1000), ("transpose", "--n", 64)):
            with self.subTest(words=words):
                out = self.succeed(*words, "--counters", environment={"COLUMNS": None}).out
                self.assertLessEqual(max(map(len, out.splitlines())), 80, out)

    def test_laboratory_fits_eighty_columns(self):
        """Of wide figures, too: large sizes, many forks, and a probe at several strides."""
        quick = ("--repetitions", 2, "--warmups", 0)
        for words in (("memory", *quick, "--size", "16KiB", "--rounds", "20,1000"),
                      ("memory", *quick, "--probe", "conflict,conflict_padded,false_sharing_padded",
                       "--rounds", "12345"),
                      ("memory", *quick, "--probe", "false_sharing", "--stride", "8,16,64"),
                      ("memory", "--probe", "capacity", "--size", "1MiB,2MiB", "--plan"),
                      ("scalability", "forkjoin", "--kernel", "fib", "--n", 24, "--processors",
                       1024, "--recordings", 1, *quick),
                      ("scalability", "sort", "--kernel", "mergesort", "--n", 30000, *quick),
                      ("scalability", "sort", "--kernel", "mergesort", "--n", 30000, "--plan"),
                      ("machine", "--show"), ("list",), ("info", "in.h5"), ("--version",)):
            with self.subTest(words=words):
                with h5py.File(self.path("in.h5"), "w") as file:
                    file["a_group/of_a_long_name/with_a_long_name"] = numpy.ones((4, 5, 6))
                out = self.succeed(*words, environment={"COLUMNS": None}).out
                self.assertLessEqual(max(map(len, out.splitlines())), 80, out)

    def test_settings_without_meaning_are_left_out(self):
        """One rank exchanges nothing, and no field is cut into slabs here."""
        words = ("stencil", "--shape", "64x64", "--steps", 3)
        for name in ("messages", "exchange", "slabs", "slab_steps"):
            self.assertNotIn(name, self.succeed(*words).out)
        self.assertRegex(self.succeed(*words, ranks=2).out, r"\bmessages +exchange\b")

    def test_sentences_fit_eighty_columns(self):
        """Notes and results, of failing runs, too. An error stays one line, for logs."""
        with h5py.File(self.path("in.h5"), "w") as file:
            file["k"], file["A"] = [3.0, numpy.nan, 1.0], numpy.full((20, 20), numpy.nan)
        self.succeed("transpose", "--n", 9, "--out", "there.h5:/T")
        for words, ranks in (
                (("matmul", "--n", 3, "--kernel", "naive", "--tile", 4), 5),
                (("matmul", "--a", "in.h5:/A", "--b", "in.h5:/k"), 0),
                (("transpose", "--n", 2, "--repetitions", 3), 3),
                (("transpose", "--n", 9, "--out", "there.h5:/T"), 0),
                (("transpose", "--in", "in.h5:/A", "--out", "t.h5:/T", "--repetitions", 3), 0),
                (("stencil", "--shape", "64,64", "--steps", 2), 0),
                (("stencil", "--in", "in.h5:/A", "--steps", 2, "--out", "u.h5:/u"), 0),
                (("sort", "--in", "in.h5:/k", "--quantiles", "0.5"), 0),
                (("sort", "--in", "in.h5:/k"), 5), (("sort", "--in", "in.h5:/nope"), 0)):
            with self.subTest(words=words):
                result = self.run_tessera(*words, ranks=ranks, environment={"COLUMNS": None})
                for line in (*result.out.splitlines(), *result.err.splitlines()):
                    if "tessera: error: " not in line:
                        self.assertLessEqual(len(line), 80, str(result))

    def test_nothing_is_lost(self):
        """A narrow screen shows every setting of the wide one, above the table or in it."""
        for words in self.WORDS:
            with self.subTest(words=words):
                wide = self.succeed(*words, "--seed", 1, environment={"COLUMNS": "500"}).out
                narrow = self.succeed(*words, "--seed", 1, environment={"COLUMNS": "40"}).out
                head = next(line for line in wide.splitlines() if "median" in line)
                settings = head[:head.index("median")].split()
                for name in settings:
                    self.assertRegex(narrow, rf"\b{name}\b")


if __name__ == "__main__":
    tessera.main()
