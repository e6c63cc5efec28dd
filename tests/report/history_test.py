"""history_test.py SCRIPTS TESSERA SCRATCH: runs chosen by name or number, comparisons on a page,
and medians by date. Exits with 77 without matplotlib."""
import os

import made
from made import np, row, write

made.require("matplotlib")

import comparison
import history
import pick
import report
import results
import style


def steady(middle, spread=0.01, count=9):
    """Returns samples spread evenly about a median."""
    return [middle * (1 + spread * (i - count // 2) / (count // 2)) for i in range(count)]


class OfRuns(made.Case):
    def three(self):
        path = write(self.path("three.h5"), [row("naive", seconds=steady(1.0))])
        write(path, [row("tiled", seconds=steady(2.0))], run="matmul_0002")
        return write(path, [row("auto", seconds=steady(3.0))], run="sort_0001")

    def test_a_run_is_chosen_by_name_or_number(self):
        path = self.three()
        for chosen, kernel in (("matmul_0002", "tiled"), ("1", "naive"), ("2", "tiled"),
                               ("3", "auto"), ("-1", "auto"), ("-3", "naive")):
            with self.subTest(chosen):
                words = self.run_script(report, f"{path}#{chosen}", "--text")
                self.assertIn(f"\n{kernel} ", words)
                for other in {"naive", "tiled", "auto"} - {kernel}:
                    self.assertNotIn(f"\n{other} ", words)
                self.assertEqual([run.points[0].config["kernel"]
                                  for run in pick.runs(f"{path}#{chosen}")], [kernel])

    def test_a_run_that_is_not_there_is_refused_with_those_that_are(self):
        path = self.three()
        for chosen in ("0", "4", "-4", "matmul_0009", "1.5", "x"):
            self.assert_refused(self.run_script(report, f"{path}#{chosen}", "--text", code=66),
                                f"no run '{chosen}'", "matmul_0001, matmul_0002, sort_0001",
                                "1 to 3")

    def test_the_page_of_a_run_has_the_name_of_its_file(self):
        path = self.three()
        self.run_script(report, f"{path}#2")
        with open(os.path.splitext(path)[0] + ".html", encoding="utf-8") as file:
            text = file.read()
        self.assertIn("tiled", text)
        self.assertNotIn("naive", text)

    def test_a_file_may_have_the_name_of_a_run_in_its_own(self):
        path = write(self.path("odd#2.h5"), [row("naive")])
        self.assertIn("\nnaive ", self.run_script(report, path, "--text"))


class Comparisons(made.Case):
    def pair(self):
        before = [row(n=n, seconds=steady(1.0)) for n in (1, 2, 3, 4, 5)]
        after = [row(n=n, seconds=steady(s, w)) for n, s, w in (
            (1, 1.0, 0.01), (2, 0.5, 0.01), (3, 2.0, 0.01), (4, 1.0, 0.9), (6, 1.0, 0.01))]
        return [write(self.path(f"{side}.h5"), points, processor=side)
                for side, points in (("a", before), ("b", after))]

    def test_the_page_has_the_verdicts_of_compare(self):
        a, b = self.pair()
        words = self.run_script(report, "--compare", a, b)
        self.assertIn("1 SAME, 1 FASTER, 1 SLOWER, 1 AMBIGUOUS", words)
        with open(os.path.splitext(a)[0] + ".html", encoding="utf-8") as file:
            text = file.read()
        for expected in ("4 points compared: 1 SAME, 1 FASTER, 1 SLOWER, 1 AMBIGUOUS",
                         "matmul, time after / before", "points of one side only",
                         "the machines differ", "matmul n=6 kernel=naive"):
            self.assertIn(expected, text)
        self.assertIn("SLOWER", self.run_script(report, "--compare", a, b, "--text"))

    def test_the_picture_has_the_ratios_and_their_intervals(self):
        one = comparison.Comparison(self.pair(), 0.05)
        (drawn, workload), = one.pictures()
        self.assertEqual(workload, "matmul")
        axes = style.figure_of(drawn).axes[0]
        self.assertEqual([text.get_text().split()[1] for text in axes.texts],
                         ["SAME", "FASTER", "SLOWER", "AMBIGUOUS"])
        low, high = axes.get_xlim()
        for _, ratio, least, most, _ in one.rows()["matmul"][1]:
            self.assertTrue(low < least <= ratio <= most < high)

    def test_points_are_named_by_their_sizes(self):
        one = comparison.Comparison(self.pair(), 0.05)
        size, rows = one.rows()["matmul"]
        self.assertEqual(size, "")
        self.assertTrue(all("m = n = k = " in row[0] for row in rows), rows)

    def test_two_files_are_needed(self):
        a, b = self.pair()
        for files in ((a,), (a, b, a)):
            self.assert_refused(self.run_script(report, "--compare", *files, code=64), "two files")
        done = self.run_program("report", "--compare", a, b, "--text")
        self.assertEqual(done.returncode, 0, done.stderr)


class Histories(made.Case):
    def write_runs(self, seconds, name="h", start=1, **attributes):
        """Writes a file per day with a point of these medians."""
        return [write(self.path(f"{name}{day}.h5"),
                      [row("tiled", seconds=steady(s)), row("naive", seconds=steady(5.0))],
                      start_time=f"2026-05-{start + day:02d}T08:00:00Z", **attributes)
                for day, s in enumerate(seconds)]

    def runs(self, paths):
        return [run for path in paths for run in results.read(path)]

    def verdicts(self, seconds):
        found = history.histories(self.runs(self.write_runs(seconds)), 0.05)["matmul"]
        tiled, = (mine for mine in found if mine[0].point.config["kernel"] == "tiled")
        return [moment.verdict for moment in tiled]

    def test_changes_are_those_of_compare(self):
        self.assertEqual(self.verdicts([1, 1, 2, 2, 1]),
                         ["", "SAME", "SLOWER", "SAME", "FASTER"])

    def test_a_slow_drift_is_a_change(self):
        found = self.verdicts([1.03 ** day for day in range(8)])
        self.assertIn("SLOWER", found)
        self.assertNotIn("FASTER", found)
        self.assertLess(found.count("SLOWER"), 4)

    def test_the_order_is_that_of_the_dates(self):
        paths = self.write_runs([1, 1, 2])
        found = history.histories(self.runs(reversed(paths)), 0.05)["matmul"]
        self.assertEqual([m.when.day for m in found[0]], [1, 2, 3])

    def test_few_dates_and_other_processors_make_no_history(self):
        self.assertEqual(history.histories(self.runs(self.write_runs([1, 1])), 0.05), {})
        mixed = self.write_runs([1, 1], processor="one") + self.write_runs(
            [1, 1], "g", 10, processor="other")
        self.assertEqual(history.histories(self.runs(mixed), 0.05), {})
        undated = [write(self.path(f"u{i}.h5"), [row("tiled")]) for i in range(3)]
        self.assertEqual(history.histories(self.runs(undated), 0.05), {})

    def test_pages_have_the_picture_and_the_table(self):
        paths = self.write_runs([1, 1, 2, 2])
        words = self.run_script(report, *paths)
        table = words[words.index("matmul: medians by date"):]
        self.assertRegex(table, r"tiled +2026-05-03 08:00 +h2.h5#matmul_0001 .* SLOWER")
        self.assertEqual(table.count("SLOWER"), 1)
        with open(os.path.splitext(paths[0])[0] + ".html", encoding="utf-8") as file:
            self.assertIn("matmul, medians by date", file.read())
        self.assertIn("measurement", self.run_script(report, *paths, "--text"))
        # at another tolerance
        self.assertNotIn("SLOWER", self.run_script(report, *paths, "--tolerance", "2", "--text"))

    def test_the_picture_names_the_changes(self):
        (drawn, _), = history.pictures(self.runs(self.write_runs([1, 1, 2, 2])), 0.05)
        axes = style.figure_of(drawn).axes[0]
        self.assertEqual([text.get_text() for text in axes.texts], ["SLOWER"])
        self.assertEqual(axes.get_ylim()[0], 0)
        self.assertIn("1 change named", drawn.caption)
        lines = [line.get_ydata() for line in axes.lines if len(line.get_ydata()) == 4]
        np.testing.assert_allclose(np.array(list(lines[0]), dtype=float), [1, 1, 2, 2])


if __name__ == "__main__":
    made.main()
