"""verdicts_test.py SCRIPTS TESSERA SCRATCH: formulas, study files and verdicts of made-up
results."""
import os

import made
from made import SCRATCH

import figures
import formulas
import verdicts

HEAD = '''title = "Figure"
kernel = ["naive", "tiled"]
n = [64, 128]

[study]
command = "matmul"
figure = "a figure"
machine = "of the test"
letters = { N = "n * n", half = "N / 2" }
'''


def study_of(text, name="made.toml"):
    path = os.path.join(SCRATCH, name)
    os.makedirs(SCRATCH, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return figures.read(path)


def expect(**keys):
    """Returns a study with one expectation of the medians."""
    def value(one):
        if isinstance(one, dict):
            return "{ " + ", ".join(f"{k} = {value(v)}" for k, v in one.items()) + " }"
        return str(one).lower() if isinstance(one, bool) else \
            f'"{one}"' if isinstance(one, str) else str(one).replace("'", '"')
    keys = {"says": "so", "table": "summary", "value": "median", **keys}
    return study_of(HEAD + "[[study.expect]]\n"
                    + "".join(f"{key} = {value(one)}\n" for key, one in keys.items()))


class Formulas(made.Case):
    def test_arithmetic_in_letters(self):
        for text, value in (("2 * n^3 / (s * L)", 2 * 64 ** 3 / 32), ("ceil(23 / 4) * 16 * 7", 672),
                            ("-n // 5", -13), ("lg(n) + sqrt(s)", 8), ("min(n, s, 3)", 3),
                            ("max(n, 2) - abs(0 - s)", 60), ("2^3^2", 512), (1.5, 1.5)):
            self.assertAlmostEqual(formulas.Formula(text).value({"n": 64, "s": 4, "L": 8}), value)

    def test_nothing_but_arithmetic_is_accepted(self):
        for text in ("__import__('os')", "n.real", "[n]", "n if n else 1", "lambda: 1", "n[0]",
                     "open(n)", "lg(n, base=2)", "'text'", "True", "n == 1", "", "n +", "f'{n}'"):
            with self.assertRaises(formulas.FormulaError, msg=text):
                formulas.Formula(text)

    def test_no_value_names_the_letter(self):
        for text, words in (("k + 1", "'k'"), ("name + 1", "text"), ("1 / zero", "zero"),
                            ("sqrt(0 - n)", "sqrt"), ("10^n^n", "no value"), ("lg(n, n, n)", "lg")):
            with self.assertRaisesRegex(formulas.FormulaError, words):
                formulas.Formula(text).value({"n": 64, "zero": 0, "name": "naive"})


class Files(made.Case):
    def refuse(self, text, words):
        with self.assertRaisesRegex(figures.StudyError, words):
            study_of(text)

    def test_errors_name_the_line(self):
        good = HEAD + '[[study.expect]]\nsays = "so"\ntable = "summary"\n' \
            'value = "median"\nleast = 1\n'
        self.assertEqual(study_of(good).expect[0].line, 10)
        self.refuse("n = = 1\n", "made.toml:1: ")
        self.refuse("n = 1\n", r"made.toml:1: no table \[study\]")
        self.refuse(HEAD, "made.toml:5: .*expectation")
        self.refuse(good.replace("figure", "figur"), "made.toml:7: unknown key 'figur'")
        self.refuse(good.replace('command = "matmul"', "command = 1"), "made.toml:6: .*command")
        self.refuse(good.replace('"N / 2"', '"N /"'), "made.toml:9: letters: 'N /'")
        self.refuse(good + "mosst = 2\n", "made.toml:15: unknown key 'mosst'")
        self.refuse(good.replace("least = 1\n", ""), "made.toml:10: nothing is expected")
        self.refuse(good.replace("least = 1", "printed = 1\nown = true"), "made.toml:15: own")
        self.refuse(good + 'is = "risen"\nalong = "n"\n', "made.toml:15: is = 'risen'")
        self.refuse(good + 'is = "rising"\n', "made.toml:10: .*along")
        self.refuse(good + 'printed = [1, 2]\nat = [1, 2, 3]\nalong = "n"\n', "made.toml:15: ")
        self.refuse(good.replace("least = 1", 'least = "import os"'), "made.toml:14: least")
        self.refuse(good.replace("least = 1", "least = true"), "made.toml:14: least")
        self.refuse(good + 'within = "much"\n', "made.toml:15: within")
        second = good + '\n[[study.expect]]\nsays = "so"\ntable = "summary"\nvalue = "1 +"\n' \
            "most = 1\n"
        self.refuse(second, "made.toml:19: value")


class Verdicts(made.Case):
    def setUp(self):
        self.results = self.path("figure.h5")
        # seconds 1 and 8 by n for naive, 0.5 and 2 for tiled
        made.write(self.results, [made.row(kernel, n, seconds=[seconds] * 3)
                               for kernel, n, seconds in (("naive", 64, 1.0), ("naive", 128, 8.0),
                                                          ("tiled", 64, 0.5), ("tiled", 128, 2.0))],
                   option_title="Figure", caches="L1d 32768, L2 1048576")

    def verdict(self, **keys):
        return verdicts.check(expect(**keys), self.results)[0]

    def expect_verdict(self, wanted, reason="^", **keys):
        found = self.verdict(**keys)
        self.assertEqual(found.verdict, wanted, found)
        self.assertRegex("; ".join(found.reasons), reason)
        return found

    def test_printed_numbers(self):
        one = {"where": {"kernel": "naive", "n": 64}}
        self.expect_verdict("holds", **one, printed=1)
        self.expect_verdict("does not hold", "1, printed 1.1", **one, printed=1.1)
        self.expect_verdict("holds", **one, printed=1.1, within=0.1)
        self.expect_verdict("holds in direction", "printed 1.1", **one, printed=1.1, least=0.5)
        self.expect_verdict("does not hold", "not at least 2", **one, printed=1, least=2)
        found = self.expect_verdict("holds in direction", "2 of 2 .*; other machine",
                                    where={"kernel": "tiled"}, along="n", printed=[5, 20],
                                    own=True, why="other machine", **{"is": "rising"})
        self.assertEqual((found.axis, found.ours), ([64, 128], [0.5, 2.0]))

    def test_directions_and_slack(self):
        one = {"where": {"n": 64}, "along": "kernel", "at": ["naive", "tiled"]}
        self.expect_verdict("holds", **one, **{"is": "falling"})
        self.expect_verdict("does not hold", "not rising: at kernel = tiled: 0.5 after 1",
                            **one, **{"is": "rising"})
        self.expect_verdict("holds", **one, slack=0.6, **{"is": "rising"})
        self.expect_verdict("does not hold", "not constant", **one, **{"is": "constant"})
        self.expect_verdict("holds", **one, slack=0.5, **{"is": "constant"})

    def test_ratios_powers_and_formulas(self):
        ratio = {"where": {"kernel": "naive"}, "over": {"kernel": "tiled"}, "along": "n"}
        self.assertEqual(self.expect_verdict("holds", **ratio, least=2, most=4).ours, [2.0, 4.0])
        self.expect_verdict("does not hold", "at n = 64: 2 is not at least 3", **ratio, least=3)
        self.expect_verdict("holds", where={"kernel": "naive"}, along="n", power=True, formula=3)
        self.expect_verdict("does not hold", "3 is not equal to 2", where={"kernel": "naive"},
                            along="n", power=True, formula=2, within=0.2)
        self.expect_verdict("holds", where={"kernel": "naive"}, along="n", formula="n^3 / 64^3")
        self.expect_verdict("holds", where={"kernel": "tiled"}, along="n", at=[64, 128],
                            formula=["half / N", "N / 8192"])
        self.expect_verdict(
            "does not hold", "at n = 128: 2 is not at most 1 = n / 128 with n = 128.*32768 B",
            where={"kernel": "tiled"}, along="n", most="n / 128")

    def test_sums_and_caches(self):
        self.expect_verdict("holds", value="median - 1", where={"n": 64, "kernel": "naive"},
                            formula=0)
        self.expect_verdict("does not hold", value="median - 0.9", formula=0, within=0.05,
                            where={"n": 64, "kernel": "naive"})
        self.expect_verdict("holds", value="median", total=True, where={"kernel": "naive"},
                            formula="9")
        self.expect_verdict("holds", where={"n": 64, "kernel": "naive"}, value="L1 / L2",
                            formula="1 / 32")

    def test_points_that_were_not_run(self):
        self.expect_verdict("not measured", where={"kernel": "naive", "n": 32}, least=1)
        self.expect_verdict("not measured", table="curves", where={"kernel": "naive"}, least=1)
        self.assertEqual(verdicts.verdict_of([self.verdict(where={"n": 1}, least=1)]),
                         "not measured")

    def test_expectations_that_results_cannot_meet_name_the_line(self):
        for words, keys in (("rows .* kernel", {"where": {"n": 64}}),
                            ("no column 'kernal'.*kernel", {"where": {"kernal": "naive"}}),
                            ("no column or letter 'medium'", {"where": {"kernel": "naive", "n": 64},
                                                              "value": "medium"}),
                            ("'kernel' is the text", {"where": {"kernel": "naive", "n": 64},
                                                      "value": "kernel"})):
            with self.assertRaisesRegex(figures.StudyError, f"made.toml:10: .*{words}"):
                self.verdict(**keys, least=1)

    def test_the_latest_measurement_of_a_point_counts(self):
        made.write(self.results, [made.row("naive", 64, seconds=[7.0] * 3)], run="matmul_0002",
                   option_title="Figure")
        made.write(self.results, [made.row("naive", 64, seconds=[9.0] * 3)], run="matmul_0003",
                   option_title="Another")
        self.expect_verdict("holds", where={"kernel": "naive"}, along="n", formula="7 + n / 64 - 1",
                            within=0.01)

    def test_the_report_finds_the_study_by_its_file(self):
        study = expect(where={"kernel": "naive", "n": 64}, printed=2, least=1)
        path = self.path("named.h5")
        made.write(path, [made.row("naive", 64, seconds=[1.0] * 3)], option_title="Figure",
                   option_config=study.path)
        found = verdicts.of_files([path])
        self.assertEqual(verdicts.verdict_of(found["Figure"][1]), "holds in direction")
        text = verdicts.text(*found["Figure"])
        for words in ("a figure (of the test)", "holds in direction: so: ours 1, printed 2"):
            self.assertIn(words, text)
        rows = verdicts.table(found["Figure"][1])
        self.assertEqual(rows[1][:5], ["so", "1", "2", "-", "holds in direction"])

    def test_the_worst_expectation_is_the_verdict(self):
        def outcomes(*words):
            return [verdicts.Outcome(None, word) for word in words]
        for wanted, words in (("holds", ("holds", "holds")),
                              ("holds in direction", ("holds", "holds in direction")),
                              ("not measured", ("holds in direction", "not measured")),
                              ("does not hold", ("not measured", "does not hold", "holds"))):
            self.assertEqual(verdicts.verdict_of(outcomes(*words)), wanted)


class Shipped(made.Case):
    def test_every_study_can_be_read_and_has_its_own_title(self):
        studies = [figures.read(path, name) for name, path in figures.paths().items()]
        self.assertGreaterEqual(len(studies), 60)
        self.assertEqual(len({study.title for study in studies}), len(studies))
        for study in studies:
            self.assertGreater(study.seconds, 0, study.name)
            self.assertTrue(study.figure and study.formula, study.name)

    def test_each_source_has_its_figures(self):
        sources = [os.path.dirname(name) for name in figures.paths()]
        ours = {"tutorial", "tiled_product", "column_iteration", "gpu_memory", "apod"}
        self.assertGreaterEqual(sources.count("literature"), 10)
        self.assertGreaterEqual(sum(source in ours for source in sources), 40)
        self.assertEqual(set(sources), ours | {"literature", "course"})


if __name__ == "__main__":
    made.main()
