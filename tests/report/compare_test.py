"""compare_test.py SCRIPTS TESSERA SCRATCH: verdicts and output of `tessera compare` on made-up
samples."""
import math
import os
import subprocess
import sys

import made
from made import np, row, write

import compare


def median_interval(samples):
    """Returns the 95 % interval of the median from order statistics, by definition: the ranks r and
    n + 1 - r with the largest r for which P(B < r) <= 2.5 %, B being binomial with p = 1/2."""
    n, ordered = len(samples), sorted(samples)
    rank = 0
    while sum(math.comb(n, k) for k in range(rank + 1)) / 2 ** n <= 0.025:
        rank += 1
    return (ordered[max(rank, 1) - 1], ordered[n - max(rank, 1)])


def steady(middle, spread=0.01, count=9):
    """Returns samples spread evenly about a median."""
    return [middle * (1 + spread * (i - count // 2) / (count // 2)) for i in range(count)]


class Compare(made.Case):
    def pair(self, before, after, name="pair"):
        return [write(self.path(f"{name}_{side}.h5"), points)
                for side, points in (("a", before), ("b", after))]

    def verdicts(self, before, after, *words, code=0):
        text = self.run_script(compare, *self.pair(before, after), *words, code=code)
        return [line for line in text.splitlines()
                if any(v in line for v in compare.VERDICTS)], text

    def test_the_four_verdicts_and_their_exit_codes(self):
        # Intervals of +- 1 %: a ratio of 1 is the same, 1.2 slower, 1 / 1.2 faster at a tolerance
        # of 5 %; 1.05 is on the border.
        for ratio, verdict, code in ((1.0, "SAME", 0), (1.02, "SAME", 0), (1.05, "AMBIGUOUS", 2),
                                     (1.2, "SLOWER", 1),
                                     (1 / 1.2, "FASTER", 0), (1 / 1.05, "AMBIGUOUS", 2)):
            with self.subTest(ratio):
                lines, _ = self.verdicts([row(seconds=steady(1.0))], [row(seconds=steady(ratio))],
                                         code=code)
                self.assertIn(verdict, lines[0])

    def test_noise_makes_it_ambiguous_and_tolerance_decides(self):
        wide = [row(seconds=steady(1.0, 0.5))]
        self.assertIn("AMBIGUOUS (more repetitions are needed)",
                      self.verdicts(wide, wide, code=2)[0][0])
        slower = [row(seconds=steady(1.2))]
        self.assertIn("SAME", self.verdicts([row(seconds=steady(1.0))], slower, "--tolerance",
                                            0.3)[0][0])
        self.assertIn("SLOWER", self.verdicts([row(seconds=steady(1.0))], slower, "--tolerance", 0,
                                              code=1)[0][0])

    def test_the_interval_of_the_ratio_is_that_of_the_method(self):
        # Medians 2 and 3, limits (1.6, 2.5) and (2.7, 3.6): distances added in squares, on a
        # logarithmic scale.
        ratio, low, high = compare.ratio_interval((2.0, 1.6, 2.5), (3.0, 2.7, 3.6))
        self.assertAlmostEqual(ratio, 1.5)
        self.assertAlmostEqual(low, 1.5 / math.exp(math.hypot(math.log(3 / 2.7),
                                                              math.log(2.5 / 2))))
        self.assertAlmostEqual(high, 1.5 * math.exp(math.hypot(math.log(3.6 / 3),
                                                               math.log(2 / 1.6))))

    def test_the_interval_covers_the_ratio_as_often_as_it_says(self):
        rng, missed, false_alarms, count = np.random.default_rng(7), 0, 0, 3000
        for _ in range(count):
            sides = []
            for true in (1.0, 1.3):
                samples = true * (1 + rng.gamma(0.7, 0.1, 11))  # skewed as timings are
                sides.append((float(np.median(samples)), *median_interval(samples)))
            truth = (1.3 * (1 + 0.1 * GAMMA_MEDIAN)) / (1 + 0.1 * GAMMA_MEDIAN)
            _, low, high = compare.ratio_interval(*sides)
            missed += not low <= truth <= high
            scaled = tuple(v / 1.3 for v in sides[1])  # truly equal
            false_alarms += compare.judge(*compare.ratio_interval(sides[0], scaled)[1:],
                                          0.05) in ("SLOWER", "FASTER")
        self.assertLess(missed / count, 0.05)
        self.assertLess(false_alarms / count, 0.01)

    def test_few_repetitions_decide_nothing(self):
        few = [row(seconds=steady(1.0, count=3))]
        lines, _ = self.verdicts(few, [row(seconds=steady(9.0))], code=2)
        self.assertIn("AMBIGUOUS (3 of 5 required repetitions)", lines[0])

    def test_a_time_of_zero_is_no_time(self):
        lines, _ = self.verdicts([row(seconds=[0.0] * 7)], [row(seconds=steady(1.0))], code=2)
        self.assertIn("too short for the clock", lines[0])

    def test_a_result_that_became_wrong_is_a_regression(self):
        lines, _ = self.verdicts([row(seconds=steady(1.0))], [row(seconds=steady(0.5), verified=0)],
                                 code=1)
        self.assertIn("WRONG (check failed)", lines[0])

    def test_one_regression_among_others_is_a_regression(self):
        before = [row(n=n, seconds=steady(1.0)) for n in (1, 2, 3, 4)]
        after = [row(n=n, seconds=steady(s, w)) for n, s,
                 w in ((1, 1.0, 0.01), (2, 0.5, 0.01), (3, 2.0, 0.01), (4, 1.0, 0.9))]
        _, text = self.verdicts(before, after, code=1)
        self.assertIn("4 points compared, tolerance 5 %: 1 SAME, 1 FASTER, 1 SLOWER, 1 AMBIGUOUS",
                      text)

    def test_points_of_one_file_only_are_named(self):
        before = [row(n=n, seconds=steady(1.0)) for n in (1, 2)]
        after = [row(n=n, seconds=steady(1.0)) for n in (2, 3)]
        _, text = self.verdicts(before, after)
        self.assertIn("only before: matmul n=1 kernel=naive", text)
        self.assertIn("only after: matmul n=3 kernel=naive", text)
        self.assertIn("1 point compared, tolerance 5 %: 1 SAME, 1 only before, 1 only after", text)
        self.assert_refused(self.run_script(compare, *self.pair(before[:1], after[1:]),
                                            code=65).splitlines()[-1] + "\n",
                            "share no point")

    def test_an_option_that_an_older_version_did_not_have_does_not_matter(self):
        before = [row(n=n, seconds=steady(1.0)) for n in (1, 2)]
        after = [row(n=n, seconds=steady(1.0), options={"fresh": 3}) for n in (1, 2)]
        self.assertIn("2 SAME", self.verdicts(before, after)[1])

    def test_other_machines_are_warned_of(self):
        a = write(self.path("m_a.h5"), [row(seconds=steady(1.0))], processor="one",
                  instruction_set="avx2")
        b = write(self.path("m_b.h5"), [row(seconds=steady(1.0))], processor="other",
                  instruction_set="avx2")
        self.run_script(compare, a, b)
        self.assertEqual(self.warnings.count("tessera: warning: "), 1)
        self.assertIn("processor: 'one' before, 'other' after", self.warnings)

    def test_runs_of_one_file_are_compared_by_name(self):
        path = write(self.path("runs.h5"), [row(seconds=steady(1.0))])
        write(path, [row(seconds=steady(2.0))], run="matmul_0002")
        self.run_script(compare, f"{path}#matmul_0001", f"{path}#matmul_0002", code=1)
        self.run_script(compare, f"{path}#matmul_0002", f"{path}#matmul_0001")
        # without a name the latest measurement of a point counts
        self.run_script(compare, path, f"{path}#matmul_0002")
        self.assert_refused(self.run_script(compare, path, f"{path}#matmul_0009", code=66),
                            "matmul_0001, matmul_0002")

    def traced(self, name, misses, run="locality_0001", sizes=(64, 128, 256)):
        """Writes a file with one traced point with the given misses by cache size."""
        path = self.path(name)
        config = {"point": ["k"], "workload": ["matmul"], "kernel": ["tiled"], "m": [8], "n": [8],
                  "k": [8], "tile": [4],
                  "column_width": [0], "pad": [0], "stencil": [""]}
        with made.h5py.File(path, "a") as file:
            group = file.create_group(run)
            made.put(group, "points", config)
            made.put(group, "curves", {"point": ["k"] * len(sizes), "array": ["all"] * len(sizes),
                                       "bytes": sizes, "misses": misses})
        return path

    def test_traced_points_are_compared_exactly(self):
        before = self.traced("before.h5", [90, 50, 10])
        for misses, words, code in (([90, 50, 10], "SAME (the same misses", 0),
                                    ([90, 49, 10], "FASTER (fewer misses)", 0),
                                    ([90, 50, 11], "SLOWER (more misses)", 1),
                                    ([91, 49, 10], "AMBIGUOUS (fewer misses in some", 2)):
            with self.subTest(words):
                self.assertIn(words, self.run_script(compare, before,
                                                     self.traced("after.h5", misses), code=code))
        other = self.traced("other.h5", [90, 50], sizes=(64, 128))
        self.assertIn("traced at other cache sizes",
                      self.run_script(compare, before, other, code=2))
        # Traced points count in addition to timings.
        write(before, [row(seconds=steady(1.0))])
        after = write(self.traced("both.h5", [90, 50, 11]), [row(seconds=steady(1.0))])
        text = self.run_script(compare, before, after, code=1)
        self.assertIn("SLOWER (more misses)", text)
        self.assertIn("1 point compared, tolerance 5 %: 1 SAME", text)

    def test_points_in_the_order_of_a_gpu_are_compared_exactly(self):
        def simulated(name, fetches):
            path = self.path(name)
            with made.h5py.File(path, "w") as file:
                made.put(file.create_group("locality_0001"), "gpu", {
                    "point": ["k"], "workload": ["matmul"], "kernel": ["cuda_naive"], "m": [8],
                    "n": [8], "column_width": [0], "block": [32],
                    "array": ["all"], "requests": [99], "l1_hit_rate": [0.5], "fetches": [fetches],
                    "l2_hit_rate": [0.0],
                    "predicted_fetches": [-1.0]})
            return path
        before = simulated("before.h5", 40)
        for fetches, words, code in ((40, "SAME (the same misses", 0),
                                     (41, "SLOWER (more misses)", 1), (39, "FASTER", 0)):
            self.assertIn(words, self.run_script(compare, before, simulated("after.h5", fetches),
                                                 code=code))

    def test_damaged_and_foreign_traces_are_refused_in_one_line(self):
        good = self.traced("good.h5", [90, 50, 10])
        for place, value, words in (("points/m", None, "'m'"), ("curves/misses", None, "'misses'"),
                                    ("points", None, "'points'"),
                                    ("curves/misses", [1], "differ in length"),
                                    ("curves/bytes", [[64, 1]] * 3, "not a column"),
                                    ("curves", [1, 2], "not a table"),
                                    ("curves/misses", ["x"] * 3, "structure")):
            damaged = self.traced("damaged.h5", [90, 50, 10])
            with made.h5py.File(damaged, "r+") as file:
                del file["locality_0001"][place]
                if value is not None:
                    file["locality_0001"][place] = value
            with self.subTest(place=place, value=value):
                self.assert_refused(self.run_script(compare, good, damaged, code=65), words)
                self.assert_refused(self.run_script(compare, damaged, good, code=65), words)

    def test_words_that_nobody_gets_are_no_verdict(self):
        path = write(self.path("full.h5"), [row(seconds=steady(1.0))])
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.run_program("compare", path, path, stdout=full)
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assert_refused(done.stderr, "standard output")

    def test_text_plots_the_ratios(self):
        _, text = self.verdicts([row(seconds=steady(1.0))], [row(seconds=steady(1.2))], "--text",
                                code=1)
        self.assertRegex(text, r"\|#+.*\| 1\.2 x  SLOWER")

    def test_the_program_passes_it_on(self):
        a, b = self.pair([row(seconds=steady(1.0))], [row(seconds=steady(1.2))])
        for words, code in (((a, b), 1), ((b, a), 0), ((a, b, "--tolerance", "0.5"), 0), ((a,), 64),
                            ((a, "no.h5"), 66)):
            done = self.run_program("compare", *words)
            self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))


# Median of the gamma distribution with shape 0.7 and scale 1 (by its series).
def _gamma_median(shape=0.7):
    low, high = 0.0, 5.0
    for _ in range(60):
        x = (low + high) / 2
        term = total = 1 / shape
        for k in range(1, 200):
            term *= x / (shape + k)
            total += term
        below = x ** shape * math.exp(-x) * total / math.gamma(shape)
        low, high = (x, high) if below < 0.5 else (low, x)
    return low


GAMMA_MEDIAN = _gamma_median()

if __name__ == "__main__":
    made.main()
