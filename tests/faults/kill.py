"""Killed ranks and launchers, stopped ranks: everything ends soon, and no file is incomplete."""

import os
import random
import signal
import time
import unittest

from fault import GONE_SECONDS, RANKS, Fault
import tessera
from tessera import OK, STALLED

NEVER_STARTS = os.environ.get("TESSERA_NEVER_STARTS", "")


class Killed(Fault):
    """kill -9 and other signals at times spread over a run that writes 40 MB."""

    PRODUCT = ["matmul", "--m", 2500, "--n", 2000, "--k", 100, "--repetitions", 3, "--out",
               "c.h5:/C"]

    def product(self, seed, *more, ranks=RANKS):
        return self.start(*self.PRODUCT, "--seed", seed, *more, ranks=ranks)

    def kill_at(self, job, victim, moment, number):
        """Sends the signal to a rank (0...) or to "mpirun", at `moment` seconds after the start, or
        as soon as it exists; returns whether it was still alive."""
        time.sleep(max(0, job.started + moment - time.monotonic()))
        pid = None
        while pid is None and job.process.poll() is None:
            pid = job.process.pid if victim == "mpirun" else job.ranks().get(victim)
        if pid is None:
            return False
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        return True

    def test_random_kills(self):
        rng = random.Random(tessera.SEED)
        lasts = min(self.measure(1), self.measure(1, "--overwrite"))
        count = 100 if tessera.SLOW else 12
        kills, attempts, outcomes = 0, 0, {"none": 0, "old": 0, "new": 0}
        while kills < count and attempts < 3 * count:
            attempts += 1
            replace = attempts % 2 == 1
            if not replace and os.path.exists(self.out):
                os.unlink(self.out)
            before = tessera.digest(self.out) if os.path.exists(self.out) else None
            victim = rng.choice([*range(RANKS), "mpirun"])
            number = signal.SIGKILL if rng.random() < 0.8 else rng.choice([signal.SIGTERM,
                                                                           signal.SIGSEGV])
            moment = lasts * (kills + rng.random()) / count
            job = self.product(2 + attempts, *(["--overwrite"] if replace else []))
            hit = self.kill_at(job, victim, moment, number)
            at = time.monotonic()
            result = job.wait()
            ended = time.monotonic()
            told = f"signal {number} to {victim} after {moment:.2f} of {lasts:.2f} s\n{result}"
            self.assertIsNotNone(result.code, f"it hangs\n{told}")
            if hit:
                if not result.deserted:
                    self.assert_within(GONE_SECONDS, ended - at, told)
                kills += 1
            else:
                lasts = min(lasts, result.seconds)  # too late: repeats
            self.assert_gone(job, told)
            after = tessera.digest(self.out) if os.path.exists(self.out) else None
            if after is not None and after != before:
                self.assert_verified(self.out, told)
            if hit:
                outcomes["none" if after is None else "old" if after == before else "new"] += 1
        print(f"  {kills} kills of {attempts} within {lasts:.2f} s: {outcomes}", flush=True)
        self.assertGreaterEqual(kills, count // 2)
        self.assertEqual(self.product(1, "--overwrite").wait().code, OK)
        self.assertEqual(self.partials(), [], "a later run removes what killed ones left")
        self.assert_verified(self.out)

    def measure(self, seed, *more):
        result = self.product(seed, *more).wait()
        self.assertEqual(result.code, OK, str(result))
        return result.seconds

    def test_ended_launcher(self):
        """TERM and INT to mpirun end everything; no file remains."""
        for number in (signal.SIGTERM, signal.SIGINT):
            job = self.start("matmul", "--n", 200, "--repetitions", 1000000, "--out", "c.h5:/C",
                             ranks=RANKS)
            self.wait_for_partial(job)
            os.kill(job.process.pid, number)
            result = job.wait()
            self.assertNotIn(result.code, (OK, None), str(result))
            self.assert_gone(job, str(result))
            self.assertFalse(os.path.exists(self.out))
            # left by ranks without time to remove them, as the next job would
            for name in self.partials():
                os.unlink(self.path(name))


    @unittest.skipIf(tessera.SANITIZED, "a sanitizer must be the first library")
    def test_launcher_killed_during_start(self):
        """KILL to mpirun while MPI_Init waits: no rank remains."""
        job = self.start(f"LD_PRELOAD={NEVER_STARTS}", f"TESSERA_STARTING={self.path('starting')}",
                         tessera.PROGRAM, "matmul", "--n", 200, program="env", ranks=RANKS)
        end = time.monotonic() + tessera.PATIENCE
        while len([name for name in os.listdir(self.folder) if "starting" in name]) < RANKS:
            self.assertIsNone(job.process.poll(), "it has ended")
            self.assertLess(time.monotonic(), end, "it does not begin")
            time.sleep(0.02)
        os.kill(job.process.pid, signal.SIGKILL)
        job.wait()
        self.assert_gone(job)


class Stalled(Fault):
    LIMIT = 2

    def test_a_stopped_rank(self):
        """SIGSTOP to a rank: the others detect it, and the job ends with 75."""
        for rank in range(RANKS):
            job = self.start("matmul", "--n", 200, "--repetitions", 1000000, "--out", "c.h5:/C",
                             "--stall-limit",
                             self.LIMIT, ranks=RANKS)
            self.wait_for_partial(job)
            time.sleep(0.5)
            pid = job.ranks()[rank]
            os.kill(pid, signal.SIGSTOP)
            stopped = time.monotonic()
            result = job.wait()
            seconds = time.monotonic() - stopped
            self.assertEqual(result.code, STALLED, str(result))
            self.assert_within(self.LIMIT + 2, seconds, str(result))
            self.assertGreaterEqual(len(result.errors), 1, str(result))
            for line in result.errors:
                self.assertIn("no progress", line)
            self.assert_gone(job, str(result))
            self.assertFalse(os.path.exists(self.out))
            for name in self.partials():
                os.unlink(self.path(name))

    def test_a_suspended_job_goes_on(self):
        """Time during which the whole job is suspended, as by a batch system, does not count as a
        stall."""
        job = self.start("matmul", "--n", 200, "--repetitions", 1000, "--out", "c.h5:/C",
                         "--stall-limit", self.LIMIT, ranks=2)
        self.wait_for_partial(job)
        ranks = job.ranks()
        os.kill(ranks[1], signal.SIGSTOP)
        time.sleep(0.3)  # the other rank waits for it
        os.kill(ranks[0], signal.SIGSTOP)
        time.sleep(self.LIMIT)
        for pid in ranks.values():
            os.kill(pid, signal.SIGCONT)
        result = job.wait()
        self.assertEqual(result.code, OK, str(result))

    def test_a_long_computation(self):
        """A kernel that runs longer than the limit is no stall; a rank stopped in it is one."""
        product = ("matmul", "--n", 1400, "--kernel", "naive", "--warmups", 0, "--stall-limit", 0.5,
                   "--repetitions")
        result = self.start(*product, 1, ranks=1).wait()
        self.assertEqual(result.code, OK, str(result))
        self.assertGreater(result.seconds, 1, "the product is too small to show anything")
        job = self.start(*product, 1000, "--out", "c.h5:/C", ranks=2)
        self.wait_for_partial(job)
        time.sleep(0.5)  # in the product, or just before
        os.kill(job.ranks()[1], signal.SIGSTOP)
        result = job.wait()
        self.assertEqual(result.code, STALLED, str(result))
        self.assert_gone(job, str(result))


if __name__ == "__main__":
    tessera.main()
