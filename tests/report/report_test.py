"""report_test.py REPORT.py TESSERA SCRATCH: the report on small results, made here and by the program. 77: no matplotlib."""
import contextlib
import io
import os
import subprocess
import sys
import unittest

try:
    import h5py
    import matplotlib.image
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

REPORT, TESSERA, SCRATCH = sys.argv[1:4]
sys.path.insert(0, os.path.dirname(REPORT))
import report  # noqa: E402
import results  # noqa: E402


def write_results(path, kernels=("naive", "tiled"), sizes=(64, 128), ranks=(2,), run="matmul_0001", rate=10.0):
    """A results file of the present schema, with made-up timings."""
    points = [(kernel, n, r) for r in ranks for n in sizes for kernel in kernels]
    with h5py.File(path, "a", track_order=True) as file:
        group = file.create_group(run, track_order=True)
        group.attrs["workload"], group.attrs["hosts"] = run.split("_")[0], "nowhere"
        summary, phases = group.create_group("summary", track_order=True), group.create_group("phases")
        keys = [f"kernel={kernel} n={n} ranks={r}" for kernel, n, r in points]
        seconds = np.array([1e-3 * n for _, n, _ in points])
        count = len(points)
        table = {"point": keys, "kernel": [p[0] for p in points], "type": ["f64"] * count,
                 "m": [p[1] for p in points], "n": [p[1] for p in points], "k": [p[1] for p in points],
                 "ranks": [p[2] for p in points], "threads": [1] * count, "repetitions": [3] * count,
                 "median": seconds, "ci_low": seconds * 0.9, "ci_high": seconds * 1.2, "min": seconds * 0.9,
                 "max": seconds * 1.2, "mean": seconds, "work": [1.0] * count,
                 "rate": [rate * (i + 1) for i in range(count)], "ceiling_share": [float("nan")] * count,
                 "verification_method": ["freivalds"] * count, "verification_ratio": [0.5] * count,
                 "verification_tolerance": [16.0] * count, "verified": [1] * (count - 1) + [0]}
        for name, column in table.items():
            summary[name] = column
        summary["rate"].attrs["units"] = "GFLOP/s"
        rows = [(key, rep, rank, phase, s * part) for key, s in zip(keys, seconds)
                for rep, phase, part in ((0, "compute", 0.7), (0, "exchange", 0.2), (1, "compute", 0.6),
                                         (1, "exchange", 0.3), (-1, "verify", 0.1)) for rank in range(2)]
        for column, name in enumerate(("point", "repetition", "rank", "phase", "seconds")):
            phases[name] = [row[column] for row in rows]


class Report(unittest.TestCase):
    def path(self, name):
        os.makedirs(SCRATCH, exist_ok=True)
        path = os.path.join(SCRATCH, name)
        for stale in (path, path.replace(".h5", ".png")):
            if os.path.exists(stale):
                os.remove(stale)
        return path

    def report(self, *words, code=0):
        out, err, ended = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                report.main(words)
            except SystemExit as end:
                ended = end.code
        self.assertEqual(ended, code, err.getvalue())
        return out.getvalue() if code == 0 else err.getvalue()

    def assert_picture(self, path):
        pixels = matplotlib.image.imread(path)[..., :3].reshape(-1, 3)
        self.assertGreater(len(np.unique((pixels * 255).astype(int), axis=0)), 20, "an empty picture")

    def test_prints_every_point_with_its_verdict_and_phases(self):
        path = self.path("two.h5")
        write_results(path)
        words = self.report(path)
        self.assertEqual(words.count("passed (0.5 <= 16)"), 3)
        self.assertEqual(words.count("FAILED"), 1)
        for expected in ("matmul_0001", "GFLOP/s", "compute", "verify", "57.6 ms .. 76.8 ms", "type f64"):
            self.assertIn(expected, words)
        self.assert_picture(path.replace(".h5", ".png"))

    def test_prints_variants_side_by_side_with_their_ratio(self):
        path = self.path("beside.h5")
        write_results(path)
        with h5py.File(path, "r+") as file:  # points: naive 64, tiled 64, naive 128, tiled 128
            file["matmul_0001/summary/median"][:] = [0.3, 0.1, 8.0, 2.0]
        words = self.report(path)
        table = words[words.index("side by side"):].splitlines()
        self.assertEqual(table[1].split(), ["m", "n", "k", "naive", "tiled", "naive", "/", "tiled"])
        self.assertEqual(table[3].split(), ["64", "64", "64", "300", "ms", "100", "ms", "3.00"])
        self.assertEqual(table[4].split(), ["128", "128", "128", "8", "s", "2", "s", "4.00"])
        alone = self.path("alone.h5")
        write_results(alone, kernels=("naive",))
        self.assertNotIn("side by side", self.report(alone))

    def test_draws_whatever_varies(self):
        for name, shape in {"one": {"kernels": ["naive"], "sizes": [64]},
                            "bars": {"sizes": [64]},
                            "ranks": {"sizes": [64], "ranks": [1, 2, 4, 7]},
                            "crowd": {"kernels": [f"kernel_{i}" for i in range(20)]}}.items():
            with self.subTest(name):
                path, png = self.path(f"{name}.h5"), os.path.join(SCRATCH, f"{name}_named.png")
                write_results(path, **shape)
                self.assertIn(f"picture: {png}", self.report(path, "--png", png))
                self.assert_picture(png)

    def test_joins_runs_and_takes_the_latest_of_a_point(self):
        path = self.path("runs.h5")
        write_results(path)
        write_results(path, run="matmul_0002", kernels=("tiled",), rate=99.0)
        write_results(path, run="sort_0001")
        merged = results.by_workload(results.read(path))
        self.assertEqual(list(merged), ["matmul", "sort"])
        rates = {point.key: point.rate for point in merged["matmul"].points}
        self.assertEqual(len(rates), 4)
        self.assertEqual(rates["kernel=tiled n=64 ranks=2"], 99.0)
        self.assertAlmostEqual(merged["matmul"].points[0].phases["compute"], 0.064 * 0.65)
        self.report(path)
        self.assert_picture(path.replace(".h5", ".png"))

    def test_refuses_what_is_no_results_file_in_one_line(self):
        other = self.path("other.h5")
        with h5py.File(other, "w") as file:
            file["data"] = [1, 2]
        text = self.path("text.h5")
        with open(text, "w", encoding="utf-8") as file:
            file.write("no HDF5")
        for path, code in ((other, 65), (text, 65), (self.path("missing.h5"), 66)):
            words = self.report(path, code=code)
            self.assertTrue(words.startswith("tessera: error: ") and words.count("\n") == 1, words)

    def test_reads_what_the_program_writes(self):
        path = self.path("real.h5")
        subprocess.run([TESSERA, "matmul", "--n", "8,16", "--kernel", "naive,tiled", "--results", path],
                       check=True, capture_output=True)
        done = subprocess.run([TESSERA, "report", path], env=dict(os.environ, TESSERA_PYTHON=sys.executable),
                              check=True, capture_output=True, text=True)
        self.assertEqual(done.stdout.count("passed"), 4)
        self.assert_picture(path.replace(".h5", ".png"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
