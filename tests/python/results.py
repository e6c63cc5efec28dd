"""tessera.read_results against results files that the program wrote, and its docstring's example.
TESSERA_BIN is the program."""

import doctest
import importlib
import os
import subprocess
import sys
import tempfile
import unittest

from package import SKIPPED, numpy, tessera

try:
    import h5py
    import pandas
except ImportError as missing:
    print(f"skipped: {missing}; apt-get install python3-h5py python3-pandas")
    sys.exit(SKIPPED)

RUNS = (("matmul", "--n", "64,128"),
        ("matmul", "--n", "40", "--kernel", "tiled,naive", "--tile", "16,24"),
        ("sort", "--n", "1000", "--type", "f32"))


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for number, words in enumerate(RUNS):
            for file in ("all.h5", "r.h5") if number == 0 else ("all.h5",):
                subprocess.run([os.environ["TESSERA_BIN"], *words, "--results", file], check=True,
                               stdout=subprocess.DEVNULL)
        cls.all = tessera.read_results("all.h5")

    def test_example_of_the_docstring(self):
        found = doctest.testmod(importlib.import_module("tessera.results"),
                                extraglobs={"tessera": tessera})
        self.assertEqual((found.failed, found.attempted), (0, 4))

    def test_a_row_is_a_point(self):
        runs = self.all.groupby("run", sort=False).size()
        self.assertEqual(list(runs.items()),
                         [("matmul_0001", 2), ("matmul_0002", 3), ("sort_0001", 1)])
        self.assertEqual(list(self.all.workload), ["matmul"] * 5 + ["sort"])
        with h5py.File("all.h5") as file:
            for run, rows in self.all.groupby("run"):
                summary = file[run]["summary"]
                for column in ("median", "ci_low", "ci_high", "rate", "verified", "threads", "n"):
                    numpy.testing.assert_array_equal(rows[column], summary[column][:], column)
                self.assertEqual(list(rows.kernel), list(summary["kernel"].asstr()))
        self.assertTrue((self.all.ci_low <= self.all["median"]).all())
        self.assertTrue((self.all["median"] <= self.all.ci_high).all())
        self.assertFalse(self.all.columns.duplicated().any())

    def test_options_are_columns_where_they_are_used(self):
        second = self.all[self.all.run == "matmul_0002"]
        self.assertEqual(sorted(second.tile[second.kernel == "tiled"]), [16, 24])
        self.assertTrue(second.tile[second.kernel == "naive"].isna().all())
        self.assertTrue(self.all.m.isna().tolist() == [False] * 5 + [True])

    def test_attributes(self):
        units = self.all.attrs["units"]
        self.assertEqual((units["median"], units["kernels"]), ("s", "s"))
        self.assertEqual(units["rate"], {"matmul_0001": "GFLOP/s", "matmul_0002": "GFLOP/s",
                                         "sort_0001": "Mkeys/s"})
        self.assertIn("--type f32", self.all.attrs["runs"]["sort_0001"]["command_line"])
        both = pandas.concat([self.all, tessera.read_results("r.h5")])  # compares attributes
        self.assertEqual(len(both), 8)

    def test_one_run(self):
        one = tessera.read_results("all.h5", "sort_0001")
        self.assertEqual((list(one.n), list(one.type)), ([1000], ["f32"]))
        self.assertEqual(one.attrs["units"]["rate"], "Mkeys/s")
        self.assertNotIn("m", one)

    def test_xarray(self):
        try:
            import xarray  # noqa: F401
        except ImportError as missing:
            self.skipTest(f"{missing}; apt-get install python3-xarray")
        table = self.all[self.all.run == "matmul_0001"].set_index("n").to_xarray()
        numpy.testing.assert_array_equal(table["n"], [64, 128])
        numpy.testing.assert_array_equal(table["rate"], self.all.rate[:2])

    def test_wrong_calls(self):
        with h5py.File("data.h5", "w") as file:
            file["x"] = numpy.zeros(3)
        with h5py.File("odd.h5", "w") as file:
            file.create_group("matmul_0001/summary")["point"] = numpy.zeros((2, 2))
        with open("text", "w", encoding="utf-8") as file:
            file.write("no HDF5")
        for kind, words, arguments in (
                (FileNotFoundError, "none.h5", ("none.h5",)),
                (OSError, "", ("text",)),
                (ValueError, "'data.h5' has no results", ("data.h5",)),
                (ValueError, "'odd.h5' is not a results file", ("odd.h5",)),
                (ValueError, "run is 'x': must be one of matmul_0001, matmul_0002, sort_0001",
                 ("all.h5", "x")),
                (TypeError, "", (3,))):
            with self.subTest(words=words), self.assertRaisesRegex(kind, words):
                tessera.read_results(*arguments)

    def test_what_is_missing_is_named(self):
        for name in ("pandas", "h5py"):
            os.makedirs("hidden", exist_ok=True)
            with open(f"hidden/{name}.py", "w", encoding="utf-8") as file:
                file.write("raise ImportError('hidden')")
            code = "import tessera; tessera.read_results('r.h5')"
            path = os.pathsep.join([os.path.abspath("hidden"), *sys.path])
            done = subprocess.run([sys.executable, "-c", code], text=True, stderr=subprocess.PIPE,
                                  check=False, env={**os.environ, "PYTHONPATH": path})
            os.remove(f"hidden/{name}.py")
            self.assertRegex(done.stderr, f"ImportError: tessera.read_results needs {name} "
                                          rf"\(apt install python3-{name}.*: hidden\n$")


if __name__ == "__main__":
    unittest.main()
