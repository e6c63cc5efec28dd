"""Plans: they end as the run does, and predict its phases."""

import re

import tessera
from tessera import numpy


class Plans(tessera.Case):
    def test_a_plan_says_where_the_run_would_not_fit(self):
        """A plan fails with the run's message and code; for other numbers of ranks only --memory is
        checked."""
        for words in (("matmul", "--n", 600), ("transpose", "--n", 900),
                      ("stencil", "--shape", "900x900"),
                      ("sort", "--n", 500000)):
            small = (*words, "--memory", "1MiB")
            said = self.fail_with(tessera.MEMORY, *small).errors[0].split("error: ")[1]
            for ranks in (0, 2):
                planned = self.fail_with(tessera.MEMORY, *small, "--plan", ranks=ranks)
                self.assertIn("plan: ", planned.out)
            # Once, as the error.
            self.assertNotIn("cannot run",
                             self.fail_with(tessera.MEMORY, *small, "--plan", words=said).out)
            self.fail_with(tessera.MEMORY, *small, "--plan", "--ranks", 2,
                           words="--memory allows 1 MiB")
            self.assertNotIn("cannot run", self.succeed(*words, "--plan").out)

    def test_a_plan_ends_as_the_run_does(self):
        """A plan checks all preconditions of the run: inputs, shapes, locations of outputs,
        results; and writes nothing."""
        a = tessera.write_matrix(self.path("a.h5"), numpy.ones((30, 20)), name="A")
        b = tessera.write_matrix(self.path("b.h5"), numpy.ones((31, 20)), name="B")
        with open(self.path("notes.h5"), "w") as file:
            file.write("notes\n")
        workloads = {"matmul": ("--n", 8), "transpose": ("--n", 8), "stencil": ("--shape", "8x8"),
                     "sort": ("--n", 80)}
        requests = [(tessera.BAD_DATA, "matmul", "--a", a, "--b", b),
                    (tessera.BAD_DATA, "transpose", "--in", "notes.h5:/A"),
                    (tessera.USAGE, "transpose", "--in", a, "--axes", "0,1,2"),
                    (tessera.USAGE, "matmul", "--n", "4000000000000000000"),
                    (tessera.USAGE, "matmul", "--n", 8, "--algorithm", "summa", "--grid", "5x5"),
                    (tessera.MEMORY, "memory", "--probe", "capacity", "--size", "100TiB"),
                    (tessera.MEMORY, "scalability", "matmul", "--n", 4096, "--memory", "1MiB",
                     "--threads", 1)]
        for workload, size in workloads.items():
            given = ("--a", "none.h5:/A", "--b", b) if workload == "matmul" else ("--in",
                                                                                  "none.h5:/A")
            requests += [(tessera.MISSING, workload, *given),
                         (tessera.CANNOT_CREATE, workload, *size, "--out", "notes.h5:/C"),
                         (tessera.CANNOT_CREATE, workload, *size, "--out", "no/where/c.h5:/C"),
                         (tessera.CANNOT_CREATE, workload, *size, "--results", "a.h5/r.h5"),
                         (tessera.BAD_DATA, workload, *size, "--results", "notes.h5")]
        before = tessera.snapshot(self.folder)
        for code, *words in requests:
            with self.subTest(words):
                # The free memory changes between the two commands.
                run, plan = (re.sub(r"free memory is [\d.]+", "free memory",
                                    "\n".join(self.fail_with(code, *words, *more).errors))
                             for more in ((), ("--plan",)))
                self.assertEqual(plan, run)
                self.assertEqual(tessera.snapshot(self.folder), before)

    def test_a_plan_of_a_sweep_tells_of_all_points(self):
        planned = self.fail_with(tessera.MEMORY, "matmul", "--n", "8,600,900", "--memory", "1MiB",
                                 "--plan")
        self.assertEqual((planned.out.count("plan: "), planned.out.count("cannot run: ")),
                         (3, 2))

    def test_a_plan_of_a_gpu_that_is_missing(self):
        if "GPUs: none" not in self.run_tessera("machine", "--show").out:
            self.skipTest("there is a GPU")
        for workload, size in (("matmul", ("--n", 8)), ("transpose", ("--n", 8)),
                               ("stencil", ("--shape", "8x8")), ("sort", ("--n", 80))):
            words = (workload, *size, "--device", "gpu")
            self.fail_with(tessera.USAGE, *words)
            self.fail_with(tessera.USAGE, *words, "--plan")


if __name__ == "__main__":
    tessera.main()
