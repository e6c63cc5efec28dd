"""hierarchy_test.py SCRIPTS TESSERA SCRATCH: rooflines of traced traffic, and caches in miss curves
and diagrams, from what the program traces. Exits with 77 without matplotlib."""
import os
import subprocess
import warnings

import made
from made import h5py, np

made.require("matplotlib")

import gpu_order
import hierarchy
import kinds
import locality
import on_paper
import results
import roofline
import style

CEILINGS = {"fma_f64": (10, "GFLOP/s"), "copy": (4, "GB/s"), "read_l1": (64, "GB/s"),
            "read_l2": (16, "GB/s")}
CACHES = {"L1": 4096, "L2": 65536}


class Hierarchy(made.Case):
    def setUp(self):
        self.path_ = self.path("timed.h5")
        self.traces = self.path("traced.h5")
        machine = self.path("machine.toml")
        with open(machine, "w", encoding="utf-8") as file:
            file.write('host = "h"\nmeasured_at = "t"\n')
            for name, (value, units) in CEILINGS.items():
                file.write(f'\n[[ceiling]]\nname = "{name}"\nthreads = 1\nvalue = {value}.0\n'
                           f'units = "{units}"\n')
        self.environment = dict(os.environ, TESSERA_MACHINE_FILE=machine)
        self.program("matmul", "--n", "24,32", "--kernel", "naive,tiled", "--tile", "8",
                     "--threads", "1", "--type", "f64", "--results", self.path_)

    def program(self, *words):
        subprocess.run([made.TESSERA, *words], env=self.environment, check=True,
                       capture_output=True)

    def trace(self, *words):
        self.program("locality", "matmul", *words, "--results", self.traces)
        return locality.read(self.traces)

    def run_of(self):
        runs = results.read(self.path_)
        for run in runs:
            run.attributes["caches"] = "L1d 4096, L2 65536"
        return next(iter(results.by_workload(runs).values()))

    def rows(self, *words):
        return hierarchy.rows_of(self.run_of(), "f64", self.trace(*words))[0]

    def test_every_level_gets_its_traffic(self):
        rows = self.rows("--n", "32", "--kernel", "naive,tiled", "--tile", "8")
        self.assertEqual([label for label, _, _ in rows],
                         ["naive, m = n = k = 32", "tiled, m = n = k = 32"])
        with h5py.File(self.traces) as file:
            points, curves = file["locality_0001/points"], file["locality_0001/curves"]
            every = curves["array"].asstr()[:] == "all"
            for row, (_, _, levels) in enumerate(rows):
                mine = every & (curves["point"][:] == points["point"][row])
                sizes, misses = curves["bytes"][mine], curves["misses"][mine]
                below = {level: misses[sizes <= size].min() for level, size in CACHES.items()}
                amount = {"L1": 8.0 * (points["loads"][row] + points["stores"][row]),
                          "L2": 64 * below["L1"], "memory": 64 * below["L2"]}
                self.assertEqual(list(levels), list(amount))
                for level, moved in amount.items():
                    self.assertAlmostEqual(levels[level], 2 * 32**3 / moved)
            # All operands are in L2: each line comes once from memory.
            self.assertAlmostEqual(rows[0][2]["memory"], 2 * 32**3 / (3 * 8 * 32**2))

    def test_only_the_same_problem_is_the_same(self):
        for words in (("--n", "48"), ("--n", "32", "--type", "f32"), ("--n", "32", "--pad", "8"),
                      ("--n", "32", "--m", "16"), ("--n", "32", "--kernel", "tiled", "--tile", "4"),
                      ("--n", "32", "--kernel", "recursive")):
            with self.subTest(words):
                self.assertEqual(self.rows(*words), [])
                os.remove(self.traces)
        # A textbook loop has no tile.
        self.assertEqual(len(self.rows("--n", "32", "--kernel", "naive", "--tile", "4")), 1)

    def test_the_lowest_roof_is_named(self):
        tops = (10.0, {"L1": 64.0, "L2": 16.0, "memory": 4.0})
        for intensities, expected in (({"L1": 0.125, "L2": 1.0, "memory": 9.0}, "L1, 8 GFLOP/s"),
                                      ({"L1": 1.0, "L2": 0.25, "memory": 9.0}, "L2, 4 GFLOP/s"),
                                      ({"L1": 1.0, "L2": 1.0, "memory": 0.5}, "memory, 2 GFLOP/s"),
                                      ({"L1": 9.0, "L2": 9.0, "memory": 9.0}, "peak, 10 GFLOP/s")):
            self.assertEqual(hierarchy.tightest(intensities, tops), expected)

    def test_pictures_have_a_roof_and_a_point_for_every_level(self):
        every = self.trace("--n", "24,32", "--kernel", "naive,tiled", "--tile", "8")
        drawn, = hierarchy.pictures(self.run_of(), every)
        axes = style.figure_of(drawn).axes[0]
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        self.assertEqual(labels[:3], ["L1 64 GB/s", "L2 16 GB/s", "memory 4 GB/s"])
        self.assertEqual(len(labels), 3 + 4)
        for level in ("L1", "L2", "memory"):
            marks = [line for line in axes.lines if line.get_color() == hierarchy.COLOURS[level]
                     and line.get_marker() not in ("None", "")]
            self.assertEqual(len(marks), 4, level)
        self.assertIn("tightest roof", drawn.alt)
        self.assertEqual(len(hierarchy.table(self.run_of(), every)), 5)
        self.assertEqual(list(hierarchy.pictures(self.run_of(), [])), [])

    def test_sizes_have_markers_and_kernels_colours(self):
        drawn, = roofline.pictures(self.run_of())
        axes = style.figure_of(drawn).axes[0]
        points = [line for line in axes.lines if len(line.get_xdata()) == 1]
        looks = {(line.get_color(), line.get_marker()) for line in points}
        self.assertEqual((len(points), len(looks)), (4, 4))
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        self.assertEqual(labels[3:6], ["naive", "tiled", " "])  # a column for each kind
        self.assertEqual(labels[6:], ["m = n = k = 24", "m = n = k = 32", " "])

    def test_curves_have_the_caches_of_the_machine(self):
        points = self.trace("--n", "32", "--kernel", "naive")
        for text, marks in (("L1d 4096, L2 65536, L3 1099511627776", ["L1\n4 KiB", "L2\n64 KiB"]),
                            ("", [])):
            points[0].caches = results.caches_of({"caches": text})
            drawn = next(locality.pictures(points))
            axes = style.figure_of(drawn).axes[0]
            self.assertEqual([one.get_text() for one in axes.texts], marks)
            self.assertEqual("L3 1024 GiB" in drawn.caption, bool(marks))
            low, high = axes.get_xlim()
            self.assertTrue(all(low < one.xy[0] < high for one in axes.texts))

    def test_kinds_of_misses_are_bars_where_some_are_conflicts(self):
        points = self.trace("--n", "16,32", "--kernel", "naive", "--cache", "1KiB:1,2KiB:2")
        drawn, = kinds.pictures(points)
        axes = style.figure_of(drawn).axes[0]
        labels = [text.get_text() for text in axes.get_yticklabels()]
        self.assertEqual(len(labels), 4)  # two sizes in two caches
        self.assertIn("1 KiB", labels[0])
        widths = np.array([[bar.get_width() for bar in bars] for bars in axes.containers])
        self.assertEqual(widths.shape, (3, 4))
        self.assertGreater(widths[2].sum(), 0)
        with h5py.File(self.traces) as file:
            table = file["locality_0001/caches"]
            whole = table["misses"][:][table["array"].asstr()[:] == "all"]
        self.assertEqual(widths.sum(axis=0).tolist(), whole.tolist())
        self.assertIn(" conflict", drawn.text())
        self.assertEqual(kinds.split([8, 5, -2]), [8, 3, 0])  # sets that save misses of LRU

    def test_hits_by_column_width_and_block_are_a_map(self):
        self.trace("--n", "64", "--kernel", "cuda_naive,cuda_column", "--column-width", "8,16,32",
                   "--block", "128,256", "--type", "f32")
        points = gpu_order.read(self.traces)
        drawn, = gpu_order.maps(points)  # naive has no width
        axes = style.figure_of(drawn).axes[0]
        shown = axes.images[0].get_array()
        self.assertEqual(shown.shape, (3, 2))
        with h5py.File(self.traces) as file:
            table = {name: values[:] for name, values in file["locality_0001/gpu"].items()}
            one = (table["column_width"] == 16) & (table["block"] == 256) \
                & (table["array"] == b"all") & (table["kernel"] == b"cuda_column")
            self.assertEqual(shown[1, 1], 100 * table["l1_hit_rate"][one][0])
        self.assertIn("threads per block; cells in %", drawn.text())
        few = [p for p in points if p.rows["all"]["block"] == 128]
        self.assertEqual(list(gpu_order.maps(few)), [])

    def test_rooflines_on_paper_have_the_published_rates(self):
        for words in (("--type", "f32", "--kernel", "cuda_naive,cuda_register", "--n", "64"),
                      ("--type", "f32", "--kernel", "cuda_naive", "--n", "256")):
            self.trace(*words, "--device", "paper:h100,paper:v100")
        points = on_paper.read(self.traces)
        roofs = {"h100: 3350 GB/s, 66900 GFLOP/s": 3, "v100: 900 GB/s, 15700 GFLOP/s": 3}
        self.assertEqual({roof: len(mine) for roof, mine in on_paper.roofed(points).items()}, roofs)
        drawn, = (one for one in on_paper.pictures(points) if "roof" in one.name)
        lines = style.figure_of(drawn).axes[0].lines
        dots = [line for line in lines if len(line.get_xdata()) == 1]
        self.assertEqual((len(lines), len(dots)), (8, 6))
        self.assertTrue(all(line.get_ydata()[0] <= 66900 for line in dots))
        self.assertIn("cuda_register on v100", drawn.text())

    def test_kernels_that_load_nothing_have_a_roof(self):
        """They have no bytes in flight; their stores take the bandwidth of the GPU."""
        self.program("locality", "memory", "--device", "paper:v100", "--kernel",
                     "cuda_divergence,switch_border", "--n", "4096", "--results", self.traces)
        points = on_paper.read(self.traces)
        self.assertEqual({one.row["flight"] for one in points}, {0})
        for one in points:
            self.assertAlmostEqual(on_paper.roof_of(one)[0], 900)
        for drawn in on_paper.pictures(points):
            with self.subTest(drawn.name), warnings.catch_warnings():
                warnings.simplefilter("error")
                style.figure_of(drawn)

    def test_fully_associative_caches_have_no_bars_of_kinds(self):
        points = self.trace("--n", "16", "--kernel", "naive", "--cache", "1KiB:full")
        self.assertEqual(list(kinds.pictures(points)), [])

    def test_curves_of_one_size_have_it_in_the_title(self):
        points = self.trace("--n", "32", "--kernel", "naive,tiled")
        drawn = next(locality.pictures(points))
        self.assertEqual(drawn.title, "matmul, misses by cache size: 32 x 32 x 32")
        labels = [text.get_text() for text in
                  style.figure_of(drawn).axes[0].get_legend().get_texts()]
        self.assertEqual(labels[0], "naive")
        self.assertTrue(labels[1].startswith("tiled, tile "), labels)

    def test_diagrams_say_the_cache_and_the_fetches(self):
        points = self.trace("--n", "12", "--kernel", "naive", "--diagram", "16")
        title = list(locality.pictures(points))[-1].title
        with h5py.File(self.traces) as file:
            fetches = int(np.sum(file["locality_0001/marks/fetched"][:] == 1))
        self.assertIn(f"{fetches} fetches", title)
        self.assertIn("with a cache of 16 lines (1 KiB)", title)


if __name__ == "__main__":
    made.main()
