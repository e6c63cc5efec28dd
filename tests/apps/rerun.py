"""tessera rerun: a stored run is repeated and compared; tessera export and compare as commands."""

import csv
import json
import os
import shutil
import subprocess
import sys

import tessera
from tessera import BAD_DATA, MISSING, OK, USAGE, h5py, numpy

PYTHON = {"TESSERA_PYTHON": sys.executable}  # the Python of this test has h5py


class Rerun(tessera.Case):
    def measure(self, *words, results="r.h5", **how):
        self.succeed(*words, "--results", self.path(results), **how)
        return self.path(results)

    def rerun(self, *words, codes=(0, 1, 2), **how):
        """Runs tessera rerun; timings of tests are arbitrary, so any verdict is accepted."""
        result = self.run_tessera("rerun", *words, environment=PYTHON, **how)
        self.assertIn(result.code, codes, str(result))
        return result

    def runs(self, path):
        with h5py.File(path, "r") as file:
            return {name: (dict(run.attrs), sorted(run["summary/point"].asstr()[:]))
                    for name, run in file.items()}

    def test_repeats_every_point_with_its_options(self):
        path = self.measure("matmul", "--n", "8,16", "--kernel", "naive,tiled", "--tile", 4,
                            "--repetitions", 6, "--alpha=-2.5",
                            "--title", "A study's title")
        result = self.rerun(path + "#matmul_0001", "--results", self.path("again.h5"))
        self.assertIn("4 points compared", result.out)
        (before, points), = self.runs(path).values()
        (after, again), = self.runs(self.path("again.h5")).values()
        self.assertEqual(points, again)
        for name in ("option_tile", "option_alpha", "option_title", "option_repetitions",
                     "instruction_set", "working_directory"):
            self.assertEqual(before[name], after[name], name)

    def test_reads_the_effective_options_of_a_file_and_the_environment(self):
        with open(self.path("c.toml"), "w", encoding="utf-8") as file:
            file.write('shape = ["6x7", "9x8"]\nsteps = 3\nweights = [[0, 1, 0], [1, -4, 1], [0, '
                       '1, 0]]\nrepetitions = 5\n')
        path = self.measure("stencil", "--config", self.path("c.toml"),
                            environment={"TESSERA_BOUNDARY": "periodic"})
        os.remove(self.path("c.toml"))
        result = self.rerun(path, "--results", self.path("again.h5"))
        self.assertIn("2 points compared", result.out)
        (_, points), = self.runs(path).values()
        (_, again), = self.runs(self.path("again.h5")).values()
        self.assertEqual(points, again)
        self.assertIn("boundary=periodic", points[0])

    def test_takes_the_last_run_and_as_many_ranks(self):
        path = self.measure("sort", "--n", 100, "--repetitions", 5)
        self.measure("transpose", "--n", 30, "--repetitions", 5, ranks=3)
        result = self.rerun(path, "--launcher", "mpirun -n {ranks}")
        self.assertIn("last of 2 runs: transpose_0001", result.out)
        self.assertRegex(result.out, r"mpirun -n 3 .*tessera transpose --n=30")
        self.assertIn("1 point compared", result.out)

    def test_ranks_are_started_as_jobs_are(self):
        path = self.measure("transpose", "--n", 30, "--repetitions", 5, "--threads", 1, ranks=2)
        script = os.path.join(tessera.ROOT, "jobs", "launch.sh")
        words = subprocess.run(["bash", script, "--words", "2", "1"], check=True, text=True,
                               stdout=subprocess.PIPE,
                               env={**os.environ, "TESSERA_LAUNCHER": ""}).stdout.strip()
        result = self.rerun(path)
        self.assertIn(f"{words} ", result.out)
        self.assertIn("1 point compared", result.out)
        self.assertRegex(result.out, r"(?m) 2 +1 ")

    def test_a_launcher_of_one_word_gets_the_options_of_jobs(self):
        path = self.measure("transpose", "--n", 30, "--repetitions", 5, "--threads", 1, ranks=2)
        launcher = shutil.which("mpirun")
        result = self.rerun(path, "--launcher", launcher)
        self.assertIn(f"{launcher} -n 2 -", result.out)
        self.assertIn("1 point compared", result.out)
        result = self.run_tessera("rerun", path, "--dry-run",
                                  environment={**PYTHON, "TESSERA_LAUNCHER": launcher})
        self.assertIn(f"{launcher} -n 2 -", result.out)

    def test_no_launcher_is_one_line(self):
        path = self.measure("transpose", "--n", 30, "--repetitions", 5, ranks=2)
        self.fail_with(MISSING, "rerun", path, "--launcher", "none/mpirun",
                       words=("'none/mpirun'", "--launcher"), environment=PYTHON)
        self.fail_with(MISSING, "rerun", path, "--launcher", "none/mpirun -n {ranks}",
                       words=("'none/mpirun'", "--launcher"), environment=PYTHON)

    def test_what_a_run_wrote_stays_and_nothing_is_left_behind(self):
        a = tessera.write_matrix(self.path("a.h5"), numpy.arange(12.0).reshape(3, 4))
        path = self.measure("transpose", "--in", a, "--out", self.path("t.h5") + ":/T",
                            "--repetitions", 5)
        before = tessera.snapshot(self.folder)
        self.rerun(path)
        after = tessera.snapshot(self.folder)
        self.assertEqual({k: v for k, v in after.items() if not k.endswith(".lock")},
                         {k: v for k, v in before.items() if not k.endswith(".lock")})

    def test_outputs_of_several_files_and_folders_go_elsewhere(self):
        for folder in ("a", "b"):
            os.mkdir(self.path(folder))
        u = self.path("u.h5")
        with h5py.File(u, "w") as file:
            file["u"] = file["v"] = numpy.ones((4, 5))
        fields = f"{self.path('p.h5')}:/u,{self.path('q.h5')}:/v"
        for words in (("stencil", "--in", f"{u}:/u,/v", "--steps", 1, "--out", fields,
                       "--snapshots", f"{u}s:/u,/v"),
                      ("sort", "--n", 9, "--out", self.path("a/x.h5:/k"), "--argsort",
                       self.path("b/x.h5:/k"))):
            path = self.measure(*words, "--repetitions", 5)
            before = {k: v for k, v in tessera.snapshot(self.folder).items()
                      if not k.endswith(".lock")}
            self.assertIn("1 point compared", self.rerun(path).out)
            self.assertEqual({k: v for k, v in tessera.snapshot(self.folder).items()
                              if not k.endswith(".lock")}, before)

    def test_a_sweep_over_threads_has_the_cores_of_the_most(self):
        path = self.measure("matmul", "--n", 8, "--threads", "1,2", ranks=2)
        self.assertIn("launch 2 2 ", self.rerun(path, "--dry-run", "--launcher",
                                                "launch {ranks} {threads}", codes=(0,)).out)

    def test_a_traced_run_has_the_same_misses_again(self):
        path = self.measure("matmul", "--n", 8)
        self.measure("locality", "sort", "--kernel", "mergesort,radix", "--n", "100,200")
        result = self.rerun(path, codes=(OK,))
        self.assertIn("last of 2 runs: locality_0001", result.out)
        self.assertEqual(result.out.count("SAME (the same misses in every cache)"), 4, result.out)

    def test_positional_words_are_repeated(self):
        path = self.measure("scalability", "forkjoin", "--kernel", "fib", "--n", 10,
                            "--repetitions", 2, "--recordings", 1)
        self.assertIn("scalability forkjoin --kernel=fib",
                      self.rerun(path, "--dry-run", codes=(0,)).out)

    def test_traced_runs_have_the_same_misses(self):
        path = self.measure("locality", "matmul", "--n", "8,12", "--kernel", "tiled", "--tile", 4)
        result = self.rerun(path, codes=(0,))
        self.assertIn("locality matmul --kernel=tiled --n=8,12 --tile=4", result.out)
        self.assertEqual(result.out.count("SAME"), 2)

    def test_a_run_that_fails_hands_its_exit_code_on(self):
        a = tessera.write_matrix(self.path("a.h5"), numpy.ones((3, 4)))
        path = self.measure("transpose", "--in", a, "--repetitions", 2)
        os.remove(self.path("a.h5"))
        result = self.rerun(path, codes=(MISSING,))
        self.assertIn("the run ended with exit code 66", result.errors[-1])
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith(".rerun")])

    def test_wrong_requests_are_one_line(self):
        path = self.measure("matmul", "--n", 8)
        for words, code in (((path + "#sort_0001",), MISSING), ((self.path("no.h5"),), MISSING),
                            ((path, path), USAGE), ((), USAGE)):
            self.fail_with(code, "rerun", *words, environment=PYTHON)
        with open(self.path("words.h5"), "w", encoding="utf-8") as file:
            file.write("words")
        self.fail_with(BAD_DATA, "rerun", self.path("words.h5"), environment=PYTHON)

    def test_a_run_compared_with_itself_is_no_regression_and_exports_hold_it(self):
        # a few much longer ones are outside of the interval
        path = self.measure("matmul", "--n", "8,16", "--repetitions", 41)
        result = self.run_tessera("compare", path, path, "--tolerance", 10, environment=PYTHON)
        self.assertEqual(result.code, OK, str(result))
        self.assertIn("2 points compared, tolerance 1000 %: 2 SAME", result.out)
        self.succeed("export", path, "--csv", environment=PYTHON)
        with open(self.path("r_samples.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        with h5py.File(path, "r") as file:
            self.assertEqual([float(r["seconds"]) for r in rows],
                             list(file["matmul_0001/samples/seconds"][:]))
        found = json.loads(self.succeed("export", path, "--json", "--out", "-",
                                        environment=PYTHON).out)
        self.assertEqual(found["runs"][0]["attributes"]["workload"], "matmul")
        self.assertIn('"metric": "time"', self.succeed("export", path, "--extra-p", "--out", "-",
                                                       environment=PYTHON).out)
        self.fail_with(USAGE, "export", path, environment=PYTHON, words="--csv")


if __name__ == "__main__":
    tessera.main()
