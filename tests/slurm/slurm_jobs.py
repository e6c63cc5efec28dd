"""Every batch script, submitted to a private Slurm, from its start to its shutdown, as any user.

Slurm's programs are the system's or are fetched for the test (private_slurm.py); skipped if neither
is possible."""

import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps"))
import tessera  # noqa: E402
from tessera import h5py  # noqa: E402
import private_slurm  # noqa: E402

WORKLOADS = ("matmul", "transpose", "stencil", "sort")
QUICK = ("--repetitions", 1, "--warmups", 0)
# A few points of each, for scripts whose configs target larger machines.
SMALL = {"matmul": ("--n", "64,96"), "transpose": ("--n", "100,128"),
         "stencil": ("--shape", "64x64", "--steps", 8),
         "sort": ("--n", "1000,2000", "--type", "u64", "--input", "uniform")}
# Locations outside of the folder where Slurm, munge and PMIx could leave files.
PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/var/run", "/var/lib", "/var/spool",
          "/var/log", "/etc",
          "/etc/slurm", "/etc/munge", "/var/lib/munge", "/var/log/munge", os.path.expanduser("~"))
THEIRS = re.compile("slurm|munge|spmix", re.I)

cluster = None


def seen():
    found = set()
    for place in PLACES:
        try:
            found |= {os.path.join(place, name) for name in os.listdir(place)
                      # clusters of other test runs
                      if THEIRS.search(name) and not name.startswith("tessera-slurm-")}
        except OSError:
            continue
    return found


def setUpModule():
    global cluster, before
    before, start = seen(), time.monotonic()
    try:
        cluster = private_slurm.PrivateSlurm(gpus=2,
                                             packages=os.environ.get("TESSERA_SLURM_PACKAGES"))
    except private_slurm.Unavailable as reason:
        raise unittest.SkipTest(str(reason)) from None
    print(f"slurm is up after {time.monotonic() - start:.1f} s in {cluster.folder}", flush=True)
    work = cluster.path("work")
    os.mkdir(work)
    for part in ("jobs", "configs"):
        os.symlink(os.path.join(tessera.ROOT, part), os.path.join(work, part))
    os.mkdir(os.path.join(work, "results"))


def tearDownModule():
    start = time.monotonic()
    left = cluster.stop()
    cluster.remove()
    print(f"slurm is down after {time.monotonic() - start:.1f} s", flush=True)
    if left or os.path.exists(cluster.folder) or seen() - before:
        raise AssertionError(f"left behind: processes {left}, files {sorted(seen() - before)}")


class SlurmCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.work = cluster.path("work")

    def path(self, *parts):
        return os.path.join(self.work, *parts)

    def submit(self, *words, **variables):
        """Submits from the top of the tree (its image in the cluster's folder), with the program
        under test and these variables."""
        machine = {"TESSERA": tessera.PROGRAM, "TESSERA_MACHINE_FILE": self.path("machine.toml"),
                   "OMPI_MCA_btl_vader_backing_directory": cluster.path("tmp"),
                   "XDG_CONFIG_HOME": self.path("config"), **variables}
        return cluster.submit(*words, folder=self.work, environment=machine)

    def log(self, number):
        """Returns the output of a job."""
        text = ""
        for name in sorted(n for n in os.listdir(self.work)
                           if re.search(rf"-{number}(_\d+)?\.out$", n)):
            with open(self.path(name), errors="replace") as file:
                text += file.read()
        return text

    def succeed(self, number, tasks=1):
        ended = cluster.wait(number)
        self.assertEqual(len(ended), tasks)
        for task in ended:
            self.assertEqual((task["JobState"], task["ExitCode"]), ("COMPLETED", "0:0"),
                             self.log(number))
        return ended

    def points(self, file, ranks=None):
        """Returns the points of a results file; checks that all are verified."""
        found = []
        with h5py.File(self.path(file)) as results:
            for run in results.values():
                self.assertTrue((run["summary/verified"][()] == 1).all(), file)
                if ranks:
                    self.assertEqual(run.attrs["ranks"], ranks)
                found += [point.decode() for point in run["summary/point"][()]]
        return found


class Scripts(SlurmCase):
    def test_workloads_on_cpus(self):
        jobs = {w: self.submit(f"jobs/slurm/{w}.sbatch", f"configs/{w}/smoke.toml", *QUICK)
                for w in WORKLOADS}
        for workload, job in jobs.items():
            self.succeed(job)
            file = f"results/{workload}-smoke.h5"
            points = self.points(file, ranks=2)
            self.assertEqual(len(points), len(set(points)))
            self.assertGreaterEqual(len(points), 16, self.log(job))
            with h5py.File(self.path(file)) as results:
                self.assertEqual({run.attrs["slurm_job_id"] for run in results.values()}, {job})

    def test_ranks_started_by_srun(self):
        """They find each other by PMIx (Open MPI) or PMI-2 (MPICH, Intel MPI)."""
        wanted = "pmix" if tessera.mpi_family() == "Open MPI" else "pmi2"
        listed = cluster.client("srun", "--mpi=list")
        if not re.search(rf"\b{wanted}\b", listed.stdout + listed.stderr):
            self.skipTest(f"srun has no --mpi={wanted} here")
        job = self.submit("jobs/slurm/matmul.sbatch", "configs/matmul/smoke.toml", *QUICK,
                          *SMALL["matmul"], "--results", "results/srun.h5", TESSERA_LAUNCHER="srun",
                          TESSERA_SHOW_COMMAND="1")
        self.succeed(job)
        self.assertRegex(self.log(job), rf"srun -n 2 --mpi={wanted} ")
        self.points("results/srun.h5", ranks=2)

    def test_workloads_on_a_gpu(self):
        """The GPU of this cluster does not exist: a job that requires it ends with the reason."""
        on_the_host = {"matmul": "cache_oblivious", "transpose": "cache_oblivious",
                       "stencil": "naive", "sort": "radix"}
        jobs = {}
        for workload, kernel in on_the_host.items():
            words = (f"jobs/slurm/{workload}_gpu.sbatch", f"configs/{workload}/smoke.toml", *QUICK,
                     *SMALL[workload])
            jobs[workload] = self.submit(*words, "--kernel",
                                         "auto"), self.submit(*words, "--kernel", kernel)
        for workload, (wants, asks) in jobs.items():
            task, = self.succeed(asks)
            self.assertEqual(task["TresPerNode"], "gres:gpu:1")
            self.points(f"results/{workload}-gpu-smoke.h5", ranks=1)
            task, = cluster.wait(wants)
            if task["JobState"] != "COMPLETED":  # no CUDA, or no GPU
                self.assertEqual(task["ExitCode"], f"{tessera.USAGE}:0", self.log(wants))
                self.assertRegex(self.log(wants), "--device gpu needs a GPU|kernel .* needs a GPU")

    def test_strong_scaling(self):
        job = self.submit("--array=0-1", "--ntasks-per-node=2", "jobs/slurm/strong_scaling.sbatch",
                          "matmul",
                          "configs/matmul/smoke.toml", *QUICK, *SMALL["matmul"])
        self.succeed(job, tasks=2)
        folder = f"results/strong-matmul-{job}"
        one, two = (self.points(f"{folder}/{ranks}.h5", ranks=ranks) for ranks in (1, 2))
        self.assertEqual([p.replace("ranks=1", "ranks=2") for p in one], two)

    def test_too_few_ranks_for_a_task_of_the_array(self):
        job = self.submit("--array=3-3", "--ntasks-per-node=2", "jobs/slurm/strong_scaling.sbatch",
                          "sort")
        task, = cluster.wait(job)
        self.assertEqual(task["ExitCode"], "64:0")
        self.assertIn("needs 8 ranks: the job has 2", self.log(job))

    def test_weak_scaling(self):
        """A rank's share is in the config, small here: the repository's configs target larger
        machines."""
        shares = {"matmul": ("m = 100\nn = 64", " m={} n=64 ", 100),
                  "transpose": ("m = 100\nn = 64", " m={} n=64 ", 100),
                  "stencil": ('shape = "40x64"  # a row\nsteps = 4', " shape={}x64 ", 40),
                  "sort": ("n = 1000", " n={} ", 1000)}
        jobs = {}
        for workload, (text, _, _) in shares.items():
            with open(self.path(f"{workload}.toml"), "w") as config:
                config.write(text + "\n")
            jobs[workload] = self.submit("--array=0-1", "--ntasks-per-node=2",
                                         "jobs/slurm/weak_scaling.sbatch", workload,
                                         f"{workload}.toml", *QUICK)
        for workload, job in jobs.items():
            self.succeed(job, tasks=2)
            for ranks in (1, 2):
                point, = self.points(f"results/weak-{workload}-{job}/{ranks}.h5", ranks=ranks)
                self.assertIn(shares[workload][1].format(shares[workload][2] * ranks), point)

    def test_sweep(self):
        """The tasks of an array share the points, and collect merges them once."""
        job = self.submit("--array=1-3", "jobs/slurm/sweep.sbatch", "3", "matmul",
                          "configs/matmul/smoke.toml", *QUICK,
                          "--n", "16,24,32", "--k", 16, "--type", "f64")
        self.succeed(job, tasks=3)
        parts = [f"results/sweep-matmul-smoke-3/{part}.h5" for part in (1, 2, 3)]
        points = [self.points(part) for part in parts]
        self.assertEqual([len(p) for p in points], [4, 4, 4])
        for _ in range(2):
            result = tessera.run("slurm", "collect", *parts, "--results", "sweep.h5",
                                 folder=self.work)
            self.assertEqual(result.code, tessera.OK, str(result))
            self.assertIn("collected: 3 runs of 3 files in sweep.h5", result.out)
            self.assertEqual(sorted(self.points("sweep.h5")), sorted(sum(points, [])))


class Generated(SlurmCase):
    """Slurm accepts the scripts of `tessera slurm`."""

    def tessera_slurm(self, *words):
        """Runs the program as a user does: sbatch exports the environment, so it is the cluster's
        only."""
        done = subprocess.run([tessera.PROGRAM, "slurm", *(str(word) for word in words)],
                              cwd=self.work, text=True,
                              capture_output=True, timeout=120,
                              env={**cluster.environment,
                                   "TESSERA_MACHINE_FILE": self.path("machine.toml"),
                                   "XDG_CONFIG_HOME": self.path("config")})
        return tessera.Result(["tessera", "slurm", *map(str, words)], done.returncode, done.stdout,
                              done.stderr, 0)

    def submitted(self, *words):
        result = self.tessera_slurm(*words, "--submit")
        self.assertEqual(result.code, tessera.OK, str(result))
        return re.search(r"Submitted batch job (\d+)", result.out)[1]

    def test_scripts_of_all_workloads(self):
        asked = ("--tasks-per-node", 2, "--cpus-per-task", 1, "--time", 10)
        jobs = {w: self.submitted(w, *SMALL[w], *QUICK, *asked,
                                  *(("--gpus", 2, "--kernel", "cache_oblivious") if w == "matmul"
                                    else ()))
                for w in WORKLOADS}
        for workload, job in jobs.items():
            task, = self.succeed(job)
            file = f"tessera-{workload}.h5"
            self.points(file, ranks=2)
            self.assertEqual(task["TimeLimit"], "00:10:00")
            with h5py.File(self.path(file)) as results:
                run, = results.values()
                self.assertLess(run["ranks/peak_resident"][()].sum(),
                                int(task["MinMemoryNode"].strip("M")) << 20)
            if workload == "matmul":
                self.assertEqual(task["TresPerNode"], "gres:gpu:2")

    def test_an_array_shares_the_points_out(self):
        job = self.submitted("matmul", "--config", "configs/matmul/smoke.toml", *QUICK, "--n",
                             "8,16,24", "--type", "f64",
                             "--k", 8, "--array", 2, "--cpus-per-task", 1, "--time", 10,
                             "--job-name", "shared")
        self.succeed(job, tasks=2)
        points = [self.points(f"shared-2/{task}.h5", ranks=1) for task in (1, 2)]
        self.assertEqual([len(p) for p in points], [6, 6])
        self.assertEqual(len(set(sum(points, []))), 12)

    def test_what_the_cluster_has_not_is_refused_in_its_words(self):
        result = self.tessera_slurm("sort", "--n", 1000, "--cpus-per-task", 1, "--partition",
                                    "nowhere", "--time", 5, "--submit",
                                    "--job-name", "wide")
        self.assertEqual(result.code, tessera.USAGE, str(result))
        self.assertIn("sbatch: error:", result.err)
        self.assertEqual(len(result.errors), 1, str(result))
        self.assertIn("sbatch rejects 'wide.sbatch'", result.errors[0])


    def test_a_failed_task_of_an_array_is_repeated_alone(self):
        words = ("matmul", "--n", "16,24,32", "--type", "f64", *QUICK, "--array", 3,
                 "--cpus-per-task", 1, "--time", 10, "--job-name", "partly", "--script",
                 "partly.sbatch")
        written = self.tessera_slurm(*words)
        self.assertEqual(written.code, tessera.OK, str(written))
        os.makedirs(self.path("partly-3/2.h5"))  # not a file
        job = self.submit("partly.sbatch")
        states = {task["ArrayTaskId"]: task["JobState"] for task in cluster.wait(job)}
        self.assertEqual(states, {"1": "COMPLETED", "2": "FAILED", "3": "COMPLETED"},
                         self.log(job))
        os.rmdir(self.path("partly-3/2.h5"))
        self.succeed(self.submit("--array=2", "partly.sbatch"))
        files = [self.path(f"partly-3/{task}.h5") for task in (1, 2, 3)]
        self.assertEqual(self.tessera_slurm("collect", *files, "--results", "partly.h5").code,
                         tessera.OK)
        self.assertEqual(len(set(self.points("partly.h5", ranks=1))), 3)

    def test_jobs_have_what_the_site_file_says(self):
        os.makedirs(self.path("config", "tessera"), exist_ok=True)
        site, before = (self.path("config", "tessera", name) for name in ("site.toml", "before.sh"))
        with open(before, "w") as file:
            file.write("echo prologue on $SLURM_JOB_NAME\n")
        with open(site, "w") as file:
            file.write('sbatch = "--comment=from-site --mail-type=NONE"\n'
                       'prologue = "before.sh"\ngpu-option = "--gres=gpu:N"\n')
        try:
            jobs = [self.submitted("matmul", "--n", 32, *QUICK, "--gpus", 1, "--kernel",
                                   "cache_oblivious", "--cpus-per-task", 1, "--time", 10,
                                   "--job-name", "site"),
                    self.submit("jobs/slurm/sort.sbatch", "configs/sort/smoke.toml",
                                *SMALL["sort"], *QUICK, "--results", "results/site.h5")]
            task, = self.succeed(jobs[0])
            self.assertEqual(task["Comment"], "from-site")
            self.assertEqual(task["TresPerNode"], "gres:gpu:1")
            self.assertIn("prologue on site\n", self.log(jobs[0]))
            self.succeed(jobs[1])
            self.assertIn("prologue on tessera-sort\n", self.log(jobs[1]))
        finally:
            os.unlink(site)
            os.unlink(before)


class Requeue(SlurmCase):
    SHAPE = ("--shape", "256x256", "--type", "f64")

    def hash_of(self, file, **how):
        with h5py.File(self.path(file)) as results:
            run = results[sorted(results)[-1]]
            return run["summary/hash"][0].decode()

    def wait_until(self, condition, what, job, limit=300):
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end:
                self.fail(f"no {what} after {limit} s: {cluster.job(job)}\n{self.log(job)}")
            time.sleep(0.05)

    def run_to_the_end(self, steps):
        """Returns the expected hash, from an uninterrupted run without Slurm."""
        whole = tessera.run("stencil", *self.SHAPE, "--steps", steps, "--results",
                            f"whole{steps}.h5", folder=self.work,
                            timeout=300)
        self.assertEqual(whole.code, tessera.OK, str(whole))
        return self.hash_of(f"whole{steps}.h5")

    def test_a_signal_a_checkpoint_a_requeue_and_the_same_result(self):
        """Runs until it is ended: stopped first by the time limit, then by a signal of the test.
        After the same number of steps the field equals that of an uninterrupted run."""
        words = (*self.SHAPE, "--kernel", "auto", *QUICK, "--checkpoint", "results/ck.h5",
                 "--results", "results/heat.h5")
        stencil = ("jobs/slurm/stencil.sbatch", "configs/stencil/smoke.toml", *words)
        job = self.submit("--time=1", "--signal=B:USR1@50", *stencil, "--steps", 10**9,
                          "--checkpoint-every", "1s")
        checkpoint = self.path("results/ck.h5")
        self.wait_until(lambda: os.path.exists(checkpoint), "checkpoint", job)
        for restarts in (1, 2):
            before = self.step_of(checkpoint)
            if restarts == 2:
                cluster.client("scancel", "--batch", "--signal=USR1", job)
            self.wait_until(lambda: cluster.job(job)[0]["Restarts"] == str(restarts), "requeue",
                            job)
            # from now on only the test signals the job, however slow it is
            cluster.client("scontrol", "update", f"JobId={job}", "TimeLimit=30")
            self.wait_until(lambda: self.log(job).count("resumed: results/ck.h5") == restarts,
                            "resume", job)
            self.wait_until(lambda: self.step_of(checkpoint) > before, "progress", job)
        cluster.client("scancel", job)
        cluster.wait(job)
        self.assertIn("stopped in time, to be requeued (restart 0)", self.log(job))
        step = self.step_of(checkpoint)
        rest = self.submit(*stencil, "--steps", step + 5)
        self.succeed(rest)
        self.assertRegex(self.log(rest), rf"resumed: results/ck.h5(.previous)? after step {step}\n")
        self.assertEqual(self.hash_of("results/heat.h5"), self.run_to_the_end(step + 5))

    def step_of(self, file):
        """Returns the step of the newest complete checkpoint: the previous one if a job was ended
        while it replaced it."""
        for _ in range(500):
            for name in (file, file + ".previous"):
                try:
                    with h5py.File(name) as checkpoint:
                        return int(checkpoint["_tessera"].attrs["checkpoint_step"])
                except OSError:  # being replaced
                    time.sleep(0.02)
        self.fail("no checkpoint")

    def test_a_sweep_goes_on_after_its_last_point(self):
        job = self.submit("jobs/slurm/sort.sbatch", "configs/sort/smoke.toml", *QUICK, "--n",
                          "1000:9000000:10000",  # a minute and more on any machine
                          "--type", "u64", "--input", "uniform", "--results", "results/long.h5")
        self.wait_until(lambda: os.path.exists(self.path("results/long.h5")), "point", job)
        cluster.client("scancel", "--batch", "--signal=USR1", job)
        self.wait_until(lambda: cluster.job(job)[0]["Restarts"] == "1", "requeue", job)
        done = int(re.search(r"signal stopped the run after (\d+) of 1800", self.log(job))[1])
        self.wait_until(lambda: len(self.points("results/long.h5")) > done,
                        "points of the second start", job)
        cluster.client("scancel", "--batch", "--signal=USR1", job)
        self.wait_until(lambda: cluster.job(job)[0]["Restarts"] == "2", "second requeue", job)
        cluster.client("scancel", job)
        cluster.wait(job)
        points = self.points("results/long.h5")
        self.assertGreater(done, 0)
        self.assertEqual(len(points), len(set(points)), "no point was measured twice")
        self.assertIn(f"{done} points already in results/long.h5: skipped", self.log(job))


if __name__ == "__main__":
    tessera.main()
