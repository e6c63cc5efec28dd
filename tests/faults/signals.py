"""Ctrl-C and similar: one sentence, the shell's exit code for a signal, and no files left."""

import os
import random
import signal
import time
import unittest

from fault import Fault
import tessera
from tessera import STOPPED, numpy

NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}


def catches(pid, number):
    """Returns whether a process has a handler of a signal."""
    with open(f"/proc/{pid}/status") as status:
        caught = next((line for line in status if line.startswith("SigCgt:")), "SigCgt: 0")
    return int(caught.split()[1], 16) >> (number - 1) & 1 == 1


@unittest.skipIf(tessera.SANITIZED, "sanitizers take too long for moments to mean anything")
class Signals(Fault):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        tessera.write_matrix(self.path("k.h5"), rng.integers(0, 2**60, 3000000), name="k")
        self.there = sorted(os.listdir(self.folder))
        self.moments = random.Random(tessera.SEED)

    WORKLOADS = {
        "matmul": ("matmul", "--n", 900, "--repetitions", 3),
        "matmul out of core": ("matmul", "--n", 1500, "--memory", "12MiB"),
        "transpose": ("transpose", "--n", 2500, "--repetitions", 5),
        "transpose out of core": ("transpose", "--n", 3000, "--memory", "1MiB", "--out-of-core",
                                  "always"),
        "stencil": ("stencil", "--shape", "1500x1500", "--steps", 60),
        "sort": ("sort", "--in", "k.h5:/k"),
        "sort out of core": ("sort", "--in", "k.h5:/k", "--memory", "8MiB", "--out-of-core",
                             "always"),
    }

    def signalled(self, words, number, moment, **how):
        """Returns the job, signalled `moment` seconds after its start, but not before it has set
        its handlers, unless it has ended by then, and whether it was signalled."""
        job = self.start(*words, **how)
        while job.process.poll() is None and not catches(job.process.pid, number):
            time.sleep(0.001)
        time.sleep(max(0, job.started + moment - time.monotonic()))
        hit = job.process.poll() is None
        if hit:
            os.kill(job.process.pid, number)
        return job.wait(), hit

    def assert_ended(self, result, number):
        if result.code == 0:
            return False  # done before the signal arrived
        self.assertEqual(result.code, -number, str(result))  # in a shell: 128 + number
        self.assertEqual(len(result.errors), 1, str(result))
        self.assertIn(f"stopped by {NAMES[number]}", result.errors[0])
        return True

    def test_at_any_moment_of_every_workload(self):
        ended = 0
        for name, words in self.WORKLOADS.items():
            words = (*words, "--out", "c.h5:/C", "--results",
                     "r.h5") if name == "stencil" else (*words, "--out", "c.h5:/C")
            lasts = self.start(*words).wait().seconds
            os.unlink(self.path("c.h5"))
            for _ in range(10 if tessera.SLOW else 3):
                # SIGTERM lets a run with results complete its point.
                number = signal.SIGINT if "--results" in words else self.moments.choice(list(NAMES))
                with self.subTest(name, signal=number):
                    moment = self.moments.uniform(0, 1) * lasts
                    result, hit = self.signalled(words, number, moment)
                    ended += hit and self.assert_ended(result, number)
                    left = sorted(set(os.listdir(self.folder)) - {"r.h5", ".r.h5.lock"})
                    if "c.h5" in left:
                        self.assert_verified(self.out)
                        left.remove("c.h5")
                        os.unlink(self.out)
                    self.assertEqual(left, self.there, str(result))
                    for file in ("r.h5", ".r.h5.lock"):
                        if os.path.exists(self.path(file)):
                            os.unlink(self.path(file))
        print(f"  {ended} runs ended by a signal", flush=True)
        self.assertGreater(ended, 5)

    def test_what_a_shell_sees(self):
        job = self.start("-c",
                         f'"{tessera.PROGRAM}" matmul --n 256 --repetitions 1000000 --out c.h5:/C; '
                         f'echo "code $?"',
                         program="sh")
        self.wait_for_partial(job)
        child = next(pid for pid, line in job.pids().items() if "matmul" in line
                     and not line.startswith("sh"))
        os.kill(child, signal.SIGTERM)
        self.assertIn("code 143", job.wait().out)
        self.assertEqual(sorted(os.listdir(self.folder)), self.there)

    def test_on_several_ranks_nothing_is_left(self):
        """If the launcher allows enough time, by default a second between SIGTERM and SIGKILL."""
        patient = {"OMPI_MCA_odls_base_sigkill_timeout": "4"}
        # MPICH's mpiexec, once it has had a signal, may end with 0
        wrong = (None,) if tessera.mpi_family() == "MPICH" else (0, None)
        for number in (signal.SIGINT, signal.SIGTERM):
            job = self.start("matmul", "--n", 256, "--repetitions", 1000000, "--out", "c.h5:/C",
                             ranks=2, environment=patient)
            self.wait_for_partial(job)
            os.kill(job.process.pid, number)
            result = job.wait()
            self.assertNotIn(result.code, wrong, str(result))
            self.assert_gone(job, str(result))
            self.assertEqual(sorted(os.listdir(self.folder)), self.there, str(result))

    def test_a_checkpoint_that_was_asked_for_is_written(self):
        words = ("stencil", "--shape", "300x300", "--steps", 10**7, "--checkpoint", "ck.h5",
                 "--out", "c.h5:/C")
        job = self.start(*words)
        self.wait_for_partial(job)
        time.sleep(0.5)
        os.kill(job.process.pid, signal.SIGINT)
        result = self.assert_failed(job.wait(), STOPPED, "--resume auto")
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([*self.there, "ck.h5"]),
                         str(result))

    def test_who_asks_twice_does_not_wait(self):
        job = self.start("sort", "--n", 1000, "--repetitions", 10**6, "--results", "r.h5",
                         "--resume", "auto")
        job.process.send_signal(0)
        time.sleep(0.7)
        os.kill(job.process.pid, signal.SIGSTOP)  # both arrive before it checks
        os.kill(job.process.pid, signal.SIGINT)
        os.kill(job.process.pid, signal.SIGCONT)
        os.kill(job.process.pid, signal.SIGINT)
        self.assertIn(job.wait().code, (STOPPED, -signal.SIGINT))

    def test_ignored_signals_stay_ignored(self):
        """nohup, and background jobs of shells."""
        job = self.start("-c",
                         f'trap "" HUP INT; exec "{tessera.PROGRAM}" matmul --n 256 --repetitions '
                         f'300 --out c.h5:/C',
                         program="sh")
        self.wait_for_partial(job)
        for number in (signal.SIGHUP, signal.SIGINT):
            job.process.send_signal(number)
        self.assertEqual(job.wait().code, 0)


if __name__ == "__main__":
    tessera.main()
