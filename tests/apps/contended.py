"""Threads and ranks sleep while they wait where others have the cores: more ranks than cores, a
quota of processor time, other processes. The first rank of a job is stopped; the others wait for
it: a thread that sleeps leaves its core by itself, one that spins only where it is preempted.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest
import uuid

import tessera

UNITS = len(os.sched_getaffinity(0))
# The tests' own settings would answer the question.
UNSET = {"OMPI_MCA_mpi_yield_when_idle": None, "OMP_WAIT_POLICY": None, "GOMP_SPINCOUNT": None}


def switches(pid):
    """Returns how often the first thread of a process gave its core away: to sleep, and because
    another thread was to run."""
    status = pathlib.Path(f"/proc/{pid}/task/{pid}/status").read_text()
    return [int(re.search(rf"^{kind}_ctxt_switches:\s*(\d+)", status, re.M)[1])
            for kind in ("voluntary", "nonvoluntary")]


class Quota:
    """Scope: children belong to a control group with the time of one processor."""

    def __init__(self):
        for root, limits in (("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000",
                                                     "cpu.cfs_quota_us": "100000"}),
                             ("/sys/fs/cgroup", {"cpu.max": "100000 100000"})):
            self.root, self.folder = root, f"{root}/tessera-test-{uuid.uuid4().hex}"
            try:
                os.mkdir(self.folder)
                for name, value in limits.items():
                    # a new file on another file system would be no limit
                    with open(f"{self.folder}/{name}", "r+", encoding="ascii") as file:
                        file.write(value)
                self.enter(self.folder)
                return
            except OSError as error:
                self.reason = str(error)
                if os.path.isdir(self.folder):
                    os.rmdir(self.folder)
        raise unittest.SkipTest(f"no control group can be made: {self.reason}")

    def enter(self, folder):
        with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.enter(self.root)
        while True:
            try:
                return os.rmdir(self.folder)
            except OSError:
                time.sleep(0.1)  # its last process is ending


class Contended(tessera.Case):
    def assert_ranks_sleep(self, ranks):
        job = tessera.Job(["matmul", "--n", 64, "--repetitions", 10**6, "--threads", 1, "--out",
                           "c.h5:/C", "--overwrite"],
                          ranks=ranks, folder=self.folder, environment=UNSET)
        try:
            while not any(".partial" in name for name in os.listdir(self.folder)):
                self.assertIsNone(job.process.poll())
                time.sleep(0.02)
            pids = [pid for pid, line in job.pids().items() if line.startswith(tessera.PROGRAM)]
            self.assertEqual(len(pids), ranks)
            time.sleep(1)  # contention by others is looked for every 0.1 s
            first = next(pid for pid in pids if tessera.rank_of(pid) == 0)
            os.kill(first, signal.SIGSTOP)
            others = [pid for pid in pids if pid != first]
            time.sleep(0.5)
            before = [switches(pid) for pid in others]
            time.sleep(1)
            for pid, (slept, preempted) in zip(others, before):
                now_slept, now_preempted = switches(pid)
                self.assertGreater(now_slept - slept, now_preempted - preempted)
        finally:
            job.end()
            job.wait()
            for name in os.listdir(self.folder):
                os.unlink(self.path(name))

    def test_more_ranks_than_cores_sleep(self):
        self.assert_ranks_sleep(UNITS + 1)

    @unittest.skipIf(UNITS < 2, "two ranks on one core are more than it anyway")
    def test_ranks_sleep_in_a_quota_below_the_cores(self):
        with Quota():
            self.assert_ranks_sleep(2)
            narrow = {"OMP_NUM_THREADS": None, "COLUMNS": "80"}
            run = self.succeed("matmul", "--n", 64, environment=narrow)
            self.assertIn("threads 1", run.out)

    @unittest.skipIf(UNITS < 2, "two ranks on one core are more than it anyway")
    def test_ranks_sleep_beside_other_processes(self):
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                  for _ in range(UNITS)]
        try:
            self.assert_ranks_sleep(2)
        finally:
            for other in others:
                other.kill()
                other.wait()


if __name__ == "__main__":
    tessera.main()
