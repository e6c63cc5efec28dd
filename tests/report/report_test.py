"""report_test.py SCRIPTS TESSERA SCRATCH: the page, its pictures and tables, on small results.
Exits with 77 without matplotlib."""
import html.parser
import os
import re
import shutil
import subprocess
import sys

import made
from made import h5py, np, row, write

made.require("matplotlib.image")
import matplotlib.image

import io

import page
import picture
import rates
import report
import results
import speedup
import style
import tables
from picture_words import troubles

TWO = [row(k, n) for n in (64, 128) for k in ("naive", "tiled")]


def run_of(path):
    return next(iter(results.by_workload(results.read(path)).values()))


class Links(html.parser.HTMLParser):
    """Parser of a page: its references, its pictures, and whether its tags close. Pictures are svg
    elements."""
    ALONE = ("meta", "link", "img", "br", "wbr")

    def __init__(self, text):
        super().__init__()
        self.outside, self.images, self.names, self.open, self.scripts = [], [], [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "href", "srcset", "action") and not value.startswith(("data:", "#")):
                self.outside.append(value)
            if name == "id":
                self.names.append(value)
        if tag == "svg":
            self.images.append(dict(attrs))
        assert tag != "img", attrs
        self.scripts += tag == "script"
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()


class Report(made.Case):
    def report(self, *words, code=0):
        return self.run_script(report, *words, code=code)

    def page_of(self, path):
        with open(os.path.splitext(path)[0] + ".html", encoding="utf-8") as file:
            return file.read()

    def pictures_of(self, path):
        return sorted(os.listdir(os.path.splitext(path)[0] + "_png"))

    def fresh(self, name):
        path = self.path(name)
        shutil.rmtree(os.path.splitext(path)[0] + "_png", ignore_errors=True)
        return path

    def assert_picture(self, png):
        pixels = matplotlib.image.imread(io.BytesIO(png))[..., :3]
        some = (pixels[::3, ::3].reshape(-1, 3) * 255).astype(int)
        self.assertGreater(len(np.unique(some @ [1, 256, 65536])), 20, "an empty picture")
        self.assertGreater(pixels.shape[1], 900, "too coarse for half a page")
        edge = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
        self.assertTrue((edge > 0.99).all(), "something is cut at the edge")

    def test_prints_every_point_with_its_verdict_and_phases(self):
        points = [dict(p) for p in TWO]
        points[-1]["verified"] = 0
        path = write(self.fresh("two.h5"), points)
        words = self.report(path, "--text")
        self.assertEqual(words.count("passed (0.5 <= 16)"), 3)
        self.assertEqual(words.count("FAILED"), 2)  # in the table and at the bar
        for expected in ("matmul_0001", "GFLOP/s", "compute", "verify", "75 % interval",
                         "64 ms .. 64 ms ", "type f64"):
            self.assertIn(expected, words)

    def test_prints_what_went_between_files_and_memory(self):
        files = ((0, 0, 3 * 10**9, 10**9, 0.3), (0, 1, 10**9, 10**9, 0.1), (-1, 0, 10**9, 0, 0),
                 (-1, 1, 0, 0, 0))
        path = write(self.fresh("files.h5"), [row(), row(n=128)], files=files)
        words = self.report(path, "--text").splitlines()
        first = next(number for number, line in enumerate(words) if "waited for files" in line)
        self.assertRegex(words[first + 2], r"5 GB +2 GB +200 ms *$")
        self.assertRegex(words[first + 3], r" - +- +- *$")
        path = write(self.fresh("none.h5"), [row()])
        self.assertNotIn("waited for files", self.report(path, "--text"))

    def test_says_how_sure_intervals_of_few_repetitions_are(self):
        path = write(self.fresh("few.h5"), [row(n=n, seconds=[1e-3, 2e-3, 3e-3, 4e-3, 5e-3][:n])
                                            for n in range(1, 6)] + [row(n=6, seconds=[2e-3] * 6)])
        words = self.report(path, "--text").splitlines()
        first = next(number for number, line in enumerate(words) if "95 % interval" in line)
        for line, expected in zip(words[first + 2:],
                                  ("  -  ", "1 ms .. 2 ms (50 %)", "1 ms .. 3 ms (75 %)",
                                   "1 ms .. 4 ms (88 %)", "1 ms .. 5 ms (94 %)", "2 ms .. 2 ms  ")):
            self.assertIn(expected, line)

    def test_names_the_coverage_of_five_repetitions_once(self):
        path = write(self.fresh("five.h5"), [row(seconds=[1e-3, 2e-3, 3e-3, 4e-3, 5e-3])])
        words = self.report(path, "--text")
        self.assertIn("94 % interval", words)
        self.assertIn("1 ms .. 5 ms  ", words)

    def test_prints_variants_side_by_side_with_their_ratio(self):
        times = {("naive", 64): 0.3, ("tiled", 64): 0.1, ("naive", 128): 8.0, ("tiled", 128): 2.0}
        path = write(self.fresh("beside.h5"), [row(k, n, seconds=s) for (k, n), s in times.items()])
        words = self.report(path, "--text")
        table = words[words.index("side by side"):].splitlines()
        self.assertEqual(table[1].split(), ["m", "n", "k", "naive", "tiled", "naive", "/", "tiled"])
        self.assertEqual(table[3].split(), ["64", "64", "64", "300", "ms", "100", "ms", "3.00"])
        self.assertEqual(table[4].split(), ["128", "128", "128", "8", "s", "2", "s", "4.00"])
        alone = write(self.fresh("alone.h5"), [row(n=n) for n in (64, 128)])
        self.assertNotIn("medians side by side", self.report(alone, "--text"))

    def test_draws_whatever_the_data_can_carry_and_nothing_else(self):
        ranks = [row("tiled", 64, r, seconds=0.1 + 0.9 / r) for r in (1, 2, 4, 7)]
        tuned = [row("tiled", 64, options={"tile": t, "column-width": w},
                     seconds=1e-3 * t + 1e-4 * w)
                 for t in (8, 16, 32) for w in (4, 64)]
        cases = {"one": ([row()], {"phases", "ranks", "roofline_f64"}),
                 "bars": (TWO[:2], {"variants", "phases", "ranks", "roofline_f64"}),
                 "sizes": (TWO, {"variants", "by_n", "phases", "ranks", "roofline_f64"}),
                 "scaling": (ranks, {"strong", "phases", "ranks", "roofline_f64"}),
                 "weak": ([row("tiled", 64, r, work=100.0 * r, options={"m": 64 * r})
                           for r in (1, 2, 4)], {"weak"}),
                 "tuned": (tuned, {"map_1"}),
                 "crowd": ([row(f"kernel_{i}", n) for i in range(20) for n in (64, 128)],
                           {"phases"})}
        for name, (points, expected) in cases.items():
            with self.subTest(name):
                path = write(self.fresh(f"{name}.h5"), points)
                self.report(path)
                found = self.pictures_of(path)
                self.assertLessEqual({f"matmul_{e}.png" for e in expected}, set(found))
                for unwanted in {"map_1", "strong", "weak", "by_n"} - expected:
                    if name not in ("weak", "crowd"):
                        self.assertNotIn(f"matmul_{unwanted}.png", found)
                for picture in found:
                    with open(os.path.join(os.path.splitext(path)[0] + "_png", picture),
                              "rb") as file:
                        self.assert_picture(file.read())

    def test_no_word_touches_another_in_any_picture(self):
        clash = picture.Picture("clash", "t", "c",
                                lambda axes: axes.set_xticks([0, 1e-3, 1],
                                                             ["zero", "nearly", "one"]))
        self.assertEqual(troubles(style.figure_of(clash)), ["'nearly' touches 'zero'"])
        kernels = ["naive", "cache_oblivious_with_a_long_name", *(f"kernel_{i}" for i in range(9))]
        cases = {
            "many": [row(k, n, r, seconds=1e-6 * n ** 2 * (i + 1) / r)
                     for i, k in enumerate(kernels)
                     for n in (1, 63, 64, 100, 4096, 4097, 1000000) for r in (1, 2)],
            "ranks": [row("tiled", 64, r, seconds=0.01 + 1 / r)
                      for r in (1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 64, 128)],
            "wide": [row("tiled", 64, options={"tile": 2 ** t, "column-width": 3 ** w},
                         seconds=1e-3 * (t + w + 1))
                     for t in range(12) for w in range(10)],
            "unlike": [row(k, 64, r, options={"halo-steps": h, "exchange": w,
                                              "stencil": f"stencil_{h}", "previous": h / 7})
                       for k in kernels[:3] for r, w in ((1, "messages"), (2, "shared"))
                       for h in (3, 5)],
            "zero": [row(k, n, seconds=1e-9 + n) for k in kernels[:3] for n in (0, 1, 100003)]}
        count = 0
        for name, points in cases.items():
            path = write(self.fresh(f"words_{name}.h5"), points)
            for section in report.sections_of(*report.read([path]), []):
                for one, _ in section.pictures():
                    with self.subTest(name, picture=one.title):
                        self.assertEqual(troubles(style.figure_of(one)), [])
                        count += 1
        self.assertGreater(count, 12)

    def test_numbers_in_pictures_are_short_and_plain(self):
        self.assertEqual([style.plain(v) for v in (40_000_000, 1 << 16, 1 << 22, 100_000, 1_500_000,
                                                   1_250_000, 512, 2.5, 60 << 20)],
                         ["40M", "64Ki", "4Mi", "100k", "1.5M", "1.25M", "512", "2.5", "60Mi"])
        self.assertEqual([tables.rate(v) for v in (0.5, 12.34, 999.7, 2223.4, 2.3e6)],
                         ["0.5", "12.3", "1000", "2223", "2300000"])
        self.assertEqual(style.bytes_ticks(64, 3 << 20), [64, 512, 4096, 1 << 15, 1 << 18, 1 << 21])
        self.assertEqual(style.bytes_ticks(64, 1024), [64, 128, 256, 512, 1024])

    def test_one_lower_bound_is_one_line(self):
        rows = [{"processors": p, "lower_bound": p / 2, "upper_bound": p, "speedup": float("nan")}
                for p in (2, 4)]
        for more, lines in (({}, 1), ({"least": 0.5}, 2)):
            one = picture.Picture("bounds", "t", "c", lambda axes,
                                  m=more: speedup.draw_bounds(axes, [row | m for row in rows]))
            labels = [text.get_text()
                      for text in style.figure_of(one).axes[0].get_legend().get_texts()]
            self.assertEqual(sum(label.startswith("at least") for label in labels), lines, labels)

    def test_a_ceiling_above_all_curves_is_in_the_picture(self):
        path = write(self.fresh("ceiling.h5"), [row("naive", n, seconds=1e-6 * n)
                                                for n in (64, 128, 256)])
        run = run_of(path)
        axis = rates.s.choose_axis(run.points, run.workload)
        for ceiling in (2, 4):
            above = ceiling * max(p.rate for p in run.points)
            one = picture.Picture("c", "t", "c", lambda axes,
                                  y=above: rates.draw_lines(axes, {"naive": run.points}, axis, "x",
                                                            y, {}))
            low, high = style.figure_of(one).axes[0].get_ylim()
            self.assertTrue(low < above < high, (low, above, high))

    def test_the_page_needs_nothing_beside_itself(self):
        path = write(self.fresh("page.h5"), [row(k, n, r) for k in ("naive", "a<b&c")
                                             for n in (64, 128) for r in (1, 2)])
        words = self.report(path)
        text = self.page_of(path)
        links = Links(text)
        self.assertEqual((links.outside, links.scripts, links.open), ([], 0, []))
        self.assertEqual(len(links.names), len(set(links.names)))
        self.assertIn("a&lt;b&amp;c", text)
        self.assertNotIn("a<b", text)
        self.assertIn(f"{len(links.images)} pictures", words)
        self.assertEqual(len(links.images), len(self.pictures_of(path)))
        for image in links.images:
            self.assertEqual(image["role"], "img")
            self.assertGreater(len(image["aria-label"]), 40)
            self.assertNotIn("width", image)

    def test_joins_runs_and_files_and_takes_the_latest_of_a_point(self):
        path = write(self.fresh("runs.h5"), TWO)
        write(path, [row("tiled", 64, rate=99.0)], run="matmul_0002")
        other = write(self.fresh("others.h5"), TWO, run="sort_0001")
        merged = results.by_workload(results.read(path) + results.read(other))
        self.assertEqual(list(merged), [("matmul", "matmul"), ("sort", "sort")])
        rates = {point.key: point.rate for point in merged["matmul", "matmul"].points}
        self.assertEqual(len(rates), 4)
        self.assertEqual(rates["matmul n=64 kernel=tiled ranks=2 threads=1"], 99.0)
        both = os.path.join(made.SCRATCH, "both.html")
        self.report(path, other, "--html", both)
        with open(both, encoding="utf-8") as file:
            text = file.read()
        self.assertIn('<h2 id="matmul">matmul</h2>', text)
        self.assertIn('<h2 id="sort">sort</h2>', text)

    def test_a_later_page_leaves_no_picture_of_an_earlier_one(self):
        path = write(self.fresh("again.h5"), TWO)
        self.report(path)
        os.remove(path)
        write(path, TWO[:1])
        self.report(path)
        self.assertNotIn("matmul_variants.png", self.pictures_of(path))
        self.assertEqual(len(self.pictures_of(path)), len(Links(self.page_of(path)).images))

    def test_collects_the_runs_of_a_study_under_its_title(self):
        path = write(self.fresh("study.h5"), TWO, option_title="Naive against tiled")
        write(path, TWO, run="matmul_0002")
        write(path, TWO, run="transpose_0001", option_title="Naive against tiled")
        self.report(path)
        heads = re.findall(r"<h2 id=\"[^\"]*\">([^<]*)</h2>", self.page_of(path))
        self.assertEqual(heads, ["Naive against tiled", "matmul"])

    def test_says_what_a_column_does_not(self):
        # Two points that differ in the options of the key only, not in columns of the summary.
        path = write(self.fresh("apart.h5"), [row(options={"tile": t}) for t in (8, 16)])
        words = self.report(path, "--text")
        self.assertRegex(words, r"ranks 2, threads 1\nkernel +tile")

    def test_text_needs_no_matplotlib_and_writes_no_file(self):
        path = write(self.fresh("text.h5"), TWO)
        blocked = "import sys; sys.modules['matplotlib'] = None; import runpy; " \
            "sys.argv = sys.argv[1:]; sys.path.insert(0, sys.argv[0].rsplit('/', 1)[0]); " \
            "runpy.run_path(sys.argv[0], run_name='__main__')"
        done = subprocess.run([sys.executable, "-c", blocked,
                               os.path.join(made.REPORT, "report.py"), path, "--text"],
                              check=True, capture_output=True, text=True)
        self.assertIn("GFLOP/s", done.stdout)
        self.assertIn("|####", done.stdout)
        self.assertFalse(os.path.exists(os.path.splitext(path)[0] + ".html"))

    def test_refuses_what_is_no_results_file_in_one_line(self):
        other = self.fresh("other.h5")
        with h5py.File(other, "w") as file:
            file["data"] = [1, 2]
        text = self.fresh("words.h5")
        with open(text, "w", encoding="utf-8") as file:
            file.write("no HDF5")
        for path, code in ((other, 65), (text, 65), (self.fresh("missing.h5"), 66)):
            self.assert_refused(self.report(path, code=code), path)
        for damage, words in (("caches/bytes", "differ in length"),
                              ("curves/misses", "differ in length"),
                              ("points/loads", "points/loads")):
            path = self.fresh("traced.h5")
            subprocess.run([made.TESSERA, "locality", "matmul", "--n", "8", "--results", path],
                           check=True, capture_output=True)
            with h5py.File(path, "a") as file:
                column = file["locality_0001"].pop(damage)[:]
                if words == "differ in length":
                    file["locality_0001"][damage] = column[1:]
            self.assert_refused(self.report(path, code=65), words)
        good = write(self.fresh("good.h5"), TWO)
        self.assert_refused(self.report(good, "--html",
                                        os.path.join(made.SCRATCH, "no", "such", "a.html"), "--png",
                                        os.path.join(made.SCRATCH, "good_png"), code=73), "--html")

    def test_reads_what_the_program_writes(self):
        path = self.fresh("real.h5")
        environment = dict(os.environ, TESSERA_PYTHON=sys.executable)
        subprocess.run([made.TESSERA, "matmul", "--n", "8,16", "--kernel", "naive,tiled", "--title",
                        "Small & real",
                        "--results", path], check=True, capture_output=True)
        done = subprocess.run([made.TESSERA, "report", path], env=environment, check=True,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout.count("passed"), 4)
        self.assertIn("<h2 id=\"small---real\">Small &amp; real</h2>", self.page_of(path))
        self.assertGreaterEqual(len(self.pictures_of(path)), 3)

    def test_what_is_one_is_singular_and_what_failed_is_first(self):
        text = self.page_with("one.h5", [row()])
        self.assertIn("1 point in 1 run; every check passed", text)
        text = self.page_with("wrong.h5", [row(), row(n=128, verified=0)])
        self.assertIn("2 points in 1 run<", text)
        self.assertIn('<p class="wrong">1 point FAILED the check</p>', text)

    def page_with(self, name, points):
        path = write(self.fresh(name), points)
        self.report(path)
        return self.page_of(path)

    def test_cells_align_by_what_they_are(self):
        for text in ("1.5 ms", "-3", "64x64", "127 us .. 128 us", "5.1e-05", "99 %", "-", ""):
            self.assertTrue(page.is_number(text), text)
        for text in ("2026-11-28T11:36:25Z", "6ecfc70f (Release)", "2mn/L if Z >= 2n", "naive"):
            self.assertFalse(page.is_number(text), text)
        self.assertEqual(page.cell("td", "1.5 ms .. 2 ms", True),
                         '<td class="number">1.5&nbsp;ms .. 2&nbsp;ms</td>')
        self.assertEqual(page.prose("by `tessera machine` & `a<b`"),
                         "by <code>tessera machine</code> &amp; <code>a&lt;b</code>")

    def test_what_is_the_same_everywhere_is_below_the_heading(self):
        text = self.page_with("same.h5", TWO)
        self.assertIn("<summary>matmul: all points (4 rows)</summary>", text)
        self.assertIn("Everywhere type f64, ranks 2, threads 1</p>", text)

    def test_long_tables_begin_closed(self):
        rows = [["a", "b"]] + [[str(i), "x"] for i in range(30)]
        self.assertNotIn("<details open>", page.folded("t", rows))
        self.assertIn("<details open>", page.folded("t", rows[:5]))
        self.assertIn("(1 row)", page.folded("t", rows[:2]))


if __name__ == "__main__":
    made.main()
