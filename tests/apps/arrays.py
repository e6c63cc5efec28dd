"""Sweeps that the tasks of an array share, and the collection of their results."""

import os
import random
import re
import subprocess

import tessera
from tessera import h5py, numpy

QUICK = ("--repetitions", 1, "--warmups", 0)


class Arrays(tessera.Case):
    """Array jobs as Slurm starts them: it sets count, minimum and step of the tasks for this
    submission only."""

    # jobs/env.sh without a launcher and a site
    ENV = "tessera_job() { shift 2; \"$@\"; }\ntessera_site() { :; }\n"

    def task(self, script, task, tasks, *words):
        """Runs the script as one of the tasks; returns the points in its results file."""
        environment = {**os.environ, "SLURM_SUBMIT_DIR": self.folder, "SLURM_NTASKS": "1",
                       "SLURM_CPUS_PER_TASK": "1",
                       "SLURM_ARRAY_JOB_ID": str(random.randrange(10**6)),
                       "SLURM_ARRAY_TASK_ID": str(task),
                       "SLURM_ARRAY_TASK_COUNT": str(len(tasks)),
                       "SLURM_ARRAY_TASK_MIN": str(min(tasks)),
                       "SLURM_ARRAY_TASK_MAX": str(max(tasks)), "TESSERA": tessera.PROGRAM,
                       "OMP_NUM_THREADS": "1",
                       "SLURM_ARRAY_TASK_STEP": str(tasks[1] - tasks[0] if len(tasks) > 1 else 1)}
        done = subprocess.run(["bash", script, *map(str, words)], cwd=self.folder,
                              capture_output=True, text=True, timeout=120,
                              env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def points(self, folder):
        """Returns the points by task."""
        found = {}
        for name in [name for name in os.listdir(self.path(folder)) if name.endswith(".h5")
                     and name[0] != "."]:
            with h5py.File(self.path(f"{folder}/{name}")) as results:
                found[int(name[:-3])] = [run["summary/n"][:].tolist() for run in results.values()]
        return found

    def check(self, script, folder, *words):
        full = {task: [[n for n in range(task, 20, 7)]] for task in range(1, 8)}
        for tasks in ([1, 3, 5, 7], [3, 5], [2], [4, 6]):  # 1-7:2; 3,5 again; 2; 4-6:2
            for task in tasks:
                self.task(script, task, tasks, *words)
            found = self.points(folder)
            self.assertEqual(found, {task: full[task] for task in found})
            self.assertLessEqual(set(tasks), set(found))
        self.assertEqual(found, full)

    def test_the_points_of_a_task_do_not_depend_on_the_other_tasks(self):
        os.makedirs(self.path("jobs"))
        with open(self.path("jobs/env.sh"), "w") as file:
            file.write(self.ENV)
        with open(self.path("c.toml"), "w") as file:
            file.write('n = "1:19:1"\nrepetitions = 1\nwarmups = 0\n')
        self.check(os.path.join(tessera.ROOT, "jobs/slurm/sweep.sbatch"), "results/sweep-sort-c-7",
                   7, "sort", "c.toml")

    def test_nor_do_those_of_a_generated_script(self):
        self.succeed("slurm", "sort", "--n", "1:19:1", *QUICK, "--array", 7, "--time", 5,
                     "--script", "s.sbatch")
        with open(self.path("s.sbatch")) as file:
            text = file.read()
        self.assertIn("#SBATCH --array=1-7\n", text)
        with open(self.path("s.sbatch"), "w") as file:
            file.write(re.sub(r"(?m)^\. .*$", lambda _: self.ENV, text))
        self.check("s.sbatch", "tessera-sort-7")


class Collects(tessera.Case):
    def test_every_run_once_however_often(self):
        for ranks in (1, 2):
            self.succeed("matmul", "--n", "8,16", "--repetitions", 3, "--results", f"r{ranks}.h5",
                         ranks=ranks)
        for _ in range(2):
            result = self.succeed("slurm", "collect", "r1.h5", "r2.h5", "r1.h5", "--results",
                                  "all.h5")
            self.assertIn("collected: 2 runs of 3 files in all.h5", result.out)
        self.succeed("matmul", "--n", 32, *QUICK, "--results", "r1.h5")
        self.succeed("slurm", "collect", "r1.h5", "--results", "all.h5")
        with h5py.File(self.path("all.h5")) as results, h5py.File(self.path("r2.h5")) as source:
            self.assertEqual(list(results["/"]), [  # in order of creation
                "matmul_0001", "matmul_0002", "matmul_0003"])
            copy, first = results["matmul_0002"], source["matmul_0001"]
            self.assertEqual(dict(first.attrs).keys() | {"collected_from"}, dict(copy.attrs).keys())
            for name, value in first.attrs.items():
                self.assertEqual(copy.attrs[name], value)
            self.assertEqual(list(copy), list(first))
            for table in first:
                self.assertEqual(list(copy[table]), list(first[table]))
                for column, values in first[table].items():
                    numpy.testing.assert_array_equal(copy[table][column][()], values[()],
                                                     err_msg=f"{table}/{column}")
                    self.assertEqual(copy[table][column].attrs.get("units"),
                                     values.attrs.get("units"))
            self.assertEqual(copy["samples/seconds"].dims[0][0].name, "/matmul_0002/samples/row")
        self.assertIn("1 point already in all.h5: skipped",
                      self.succeed("matmul", "--n", 32, *QUICK, "--results", "all.h5").out)

    def test_what_is_no_results_file_is_refused(self):
        with h5py.File(self.path("other.h5"), "w") as file:
            file["x"] = [1, 2]
        self.fail_with(tessera.BAD_DATA, "slurm", "collect", "other.h5", "--results", "all.h5",
                       words="other.h5")
        self.assertEqual(os.listdir(self.folder), ["other.h5"])


if __name__ == "__main__":
    tessera.main()
