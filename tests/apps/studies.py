"""tessera study and configs/studies: every study runs by its own command, at small sizes or as it
is, its expectations hold where they are counted, and wrong ones do not."""

import html
import os
import re
import sys

import tessera
from tessera import MISSING, OK, ROOT, USAGE

sys.path.insert(0, os.path.join(ROOT, "apps", "report"))
import figures  # noqa: E402

FAILED_VERDICT = 1  # exit code of tessera study
FAST = 2  # seconds of a study that runs as it is
# A few seconds for all others. Options given as flags override the study's own.
SMALL = {"matmul": ("--m", 24, "--n", 24, "--k", 24), "transpose": ("--n", 50),
         "sort": ("--n", 1000),
         "stencil": ("--shape", "40x40", "--steps", 2),
         "scalability": ("--n", 12, "--recordings", 1),
         "memory": ("--size", "4KiB", "--rounds", 4),  # a block of a GPU
         "locality": ("--n", 32), "forkjoin": ("--n", 64)}
QUICK = {name: ("--repetitions", 1, "--warmups", 0, "--threads", 1)
         for name in ("matmul", "transpose", "sort", "stencil", "scalability", "memory")}
MADE = '''title = "Made"
kernel = ["naive", "recursive"]
n = 32
cache = "4KiB:full"

[study]
command = "locality transpose"
figure = "a figure"
machine = "none"
seconds = 1
formula = "2n^2/L"

[[study.expect]]
says = "distinct lines of both matrices"
table = "points"
value = "compulsory"
where = { kernel = "naive" }
formula = "2 * n^2 / 8"
'''


def studies():
    return [figures.read(path, name) for name, path in figures.paths().items()]


class Studies(tessera.Case):
    def study(self, *words, code=OK, **how):
        how.setdefault("environment", {})["TESSERA_PYTHON"] = sys.executable
        result = self.run_tessera("study", *words, **how)
        self.assertEqual(result.code, code, str(result))
        return result

    def write(self, text, name="made.toml"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def test_counted_studies_hold(self):
        fast = [one.name for one in studies() if one.seconds <= FAST]
        self.assertGreater(len(fast), 20)
        out = self.study(*fast, "--results", "done").out
        for name in fast:
            verdict = re.search(rf"^{name} +(holds in direction|holds|\w.*?)  ", out, re.M)
            self.assertIn(verdict and verdict[1], ("holds", "holds in direction"), out)
        again = self.study(*fast, "--results", "done").out
        self.assertEqual(again.count("(kept)"), len(fast), again)  # nothing runs again
        report = self.run_tessera("report", *(f"done/{name}.h5" for name in fast), "--html",
                                  "fast.html", environment={"TESSERA_PYTHON": sys.executable},
                                  timeout=4 * tessera.PATIENCE)  # over 70 pictures
        self.assertEqual((report.code, report.err), (OK, ""))

    def test_all_others_run_at_small_sizes_and_the_report_lists_them(self):
        titles, path = [], self.path("all.h5")
        for study in studies():
            with self.subTest(study.name):
                if study.seconds <= FAST:
                    continue
                with open(study.path, encoding="utf-8") as file:
                    self.assertIn(f"\n#   tessera study {study.name}\n", file.read())
                command = study.command.split()
                result = self.run_tessera(*command, "--config", study.path, *SMALL[command[0]],
                                          *QUICK.get(command[0], ()), "--results", path)
                if "cuda" in study.name and result.code != OK:
                    self.assertRegex(result.errors[0], "needs a GPU")  # known, not here
                    continue
                self.assertEqual(result.code, OK, str(result))
                titles.append(study.title)
        self.run_tessera("report", path, environment={"TESSERA_PYTHON": sys.executable},
                         timeout=4 * tessera.PATIENCE)  # over 80 pictures
        with open(self.path("all.html"), encoding="utf-8") as file:
            page = file.read()
        heads = [html.unescape(head) for head in re.findall(r"<h2[^>]*>(.*?)</h2>", page)]
        self.assertEqual(set(heads), set(titles))
        self.assertIn("verdicts: ", page)

    def test_a_wrong_expectation_does_not_hold(self):
        self.assertIn(" holds ", self.study(self.write(MADE)).out)
        wrong = MADE.replace("2 * n^2 / 8", "2 * n^2 / 8 + 1")
        out = self.study(self.write(wrong), code=FAILED_VERDICT).out
        self.assertRegex(out, r"256 is not equal to 257 = 2 \* n\^2 / 8 \+ 1 with n = 32")
        self.assertIn("1 studies: does not hold 1", out)
        printed = MADE + "printed = 255\n"
        self.assertRegex(self.study(self.write(printed)).out, r"made +holds in direction +256 +255")

    def test_a_budget_stops_and_the_same_command_continues(self):
        self.write(MADE, "cheap.toml")
        self.write(MADE.replace("seconds = 1", "seconds = 5000").replace("Made", "Costly"),
                   "costly.toml")
        words = ("cheap.toml", "costly.toml", "--results", "kept")
        out = self.study(*words, "--budget", "10min").out
        self.assertRegex(out, r"cheap +holds ")
        self.assertRegex(out, r"costly +not run ")
        self.assertIn("about 5000 s", out)
        before = os.stat(self.path("kept/cheap.h5")).st_mtime_ns
        again = self.study(*words).out
        self.assertRegex(again, r"costly +holds ")
        self.assertIn("cheap: holds (kept)", again)
        self.assertEqual(os.stat(self.path("kept/cheap.h5")).st_mtime_ns, before)
        self.study("cheap.toml", "--results", "kept", "--again")
        self.assertNotEqual(os.stat(self.path("kept/cheap.h5")).st_mtime_ns, before)

    def test_a_command_is_stopped_at_the_budget(self):
        endless = MADE.replace("locality transpose", "matmul").replace(
            'cache = "4KiB:full"', "repetitions = 1000000").replace("n = 32", "n = 512")
        out = self.study(self.write(endless), "--budget", "3s").out
        self.assertIn("stopped at the budget", out)

    def test_variables_of_options_do_not_change_a_study(self):
        out = self.study(self.write(MADE), environment={"TESSERA_N": "64"}).out
        self.assertRegex(out, r"made +holds +256")

    def test_other_options_run_again(self):
        self.study(self.write(MADE), "--results", "kept")
        changed = MADE.replace("n = 32", "n = 64")
        out = self.study(self.write(changed), "--results", "kept").out
        self.assertRegex(out, r"made +holds +1024")

    def test_errors_name_file_and_line(self):
        for text, words in ((MADE.replace("n = 32", "n = = 32"), "made.toml:3: "),
                            (MADE.replace("says", "said"), "made.toml:14: unknown key 'said'"),
                            (MADE.replace('"points"', '"pts"') + "least = \"open(1)\"\n",
                             "made.toml:19: least")):
            with self.subTest(words):
                result = self.study(self.write(text), code=USAGE)
                self.assertIn(words, result.errors[-1])
        text = MADE.replace('naive" }', 'naive", kind = 1 }')
        self.assertIn("made.toml:13: table 'points' has no column 'kind'",
                      self.study(self.write(text), code=FAILED_VERDICT,
                                 environment={"COLUMNS": "1000"}).out)

    def test_a_failing_command_is_reported(self):
        out = self.study(self.write(MADE.replace('"naive", ', '"naif", ')), code=FAILED_VERDICT).out
        self.assertRegex(out, r"made +ended with an error")
        self.assertIn("'naif'", out)

    def test_names(self):
        self.assertIn("literature/transpose_bound", self.study("--list").out)
        only = self.study("apod", "--list").out
        self.assertIn("apod/divergence_quiz", only)
        self.assertNotIn("tutorial/", only)
        dry = self.study("transpose_bound", "--dry-run").out
        self.assertIn("locality transpose --config", dry)
        for words, code, told in ((("apodd",), USAGE, "'apod'"), ((), USAGE, "--all"),
                                  (("none.toml",), MISSING, "'none.toml'"),
                                  (("apod", "--budget", "soon"), USAGE, "'soon'")):
            self.assertIn(told, self.study(*words, code=code).errors[0])

    def test_a_study_is_a_parameter_file_of_its_command(self):
        self.write(MADE)
        self.succeed("locality", "transpose", "--config", "made.toml")
        self.write(MADE.replace("[study]", "[studie]").replace("study.", "studie."))
        self.fail_with(USAGE, "locality", "transpose", "--config", "made.toml",
                       words="'studie'")

    def test_a_study_of_memory_expects_a_column_that_memory_fills(self):
        # The time of a probe on a GPU is the median: "kernels", a part of it elsewhere, is zero.
        memory = [one for one in studies() if one.command.split()[0] == "memory"]
        self.assertGreater(len(memory), 10)
        for one in memory:
            for each in one.expect:
                self.assertNotIn("kernels", each.value.letters, one.name)

    def test_gpu_studies_need_a_gpu(self):
        if tessera.DEVICE:
            self.skipTest("runs on the GPU")
        out = self.run_tessera("study", "apod/memory_cuda_divergence",
                               environment={"TESSERA_PYTHON": sys.executable,
                                            "CUDA_VISIBLE_DEVICES": ""}).out
        self.assertRegex(out, r"apod/memory_cuda_divergence +needs a GPU")


if __name__ == "__main__":
    tessera.main()
