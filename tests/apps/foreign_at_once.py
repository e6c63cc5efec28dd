"""Adding outputs to foreign files while others use them, and killed runs."""

import os
import random
import signal
import subprocess
import sys
import time

import tessera
from foreign_files import PRODUCT, QUICK, Foreign, write_six
from tessera import CANNOT_CREATE, IO, OK, h5py, numpy


class AtOnce(Foreign):
    LONG = ("matmul", "--n", 400, "--kernel", "naive", "--repetitions", 3, "--out",
            "mine.h5:/result")

    def stopped(self, *more):
        """Starts a run and stops it while it writes; the test ends it."""
        job = tessera.Job((*self.LONG, *more), folder=self.folder)
        self.addCleanup(job.end)
        while not any(name.startswith(".mine.h5.partial") for name in os.listdir(self.folder)):
            self.assertIsNone(job.process.poll(), "it has ended")
            time.sleep(0.002)
        os.kill(job.process.pid, signal.SIGSTOP)
        return job

    def go_on(self, job):
        os.kill(job.process.pid, signal.SIGCONT)
        return job.wait()

    def test_another_run(self):
        job = self.stopped()
        self.fail_with(IO, *PRODUCT[:-1], "mine.h5:/second", words=("another run", "'mine.h5'"))
        result = self.go_on(job)
        self.assertEqual(result.code, OK, str(result))
        self.succeed(*PRODUCT[:-1], "mine.h5:/second")
        self.assert_kept("result", "second")
        self.assert_nothing_beside()

    def test_a_program_that_writes(self):
        environment = {"HDF5_USE_FILE_LOCKING": "TRUE"}
        holder = subprocess.Popen([sys.executable, "-c",
                                   "import h5py, sys\nwith h5py.File('mine.h5', 'r+'):\n "
                                   "print('open', flush=True)\n"
                                   " sys.stdin.read()"], cwd=self.folder, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, env={**os.environ, **environment})
        self.addCleanup(holder.stdout.close)
        self.assertEqual(holder.stdout.readline(), b"open\n")
        result = self.run_tessera(*PRODUCT, environment=environment)
        holder.stdin.close()
        holder.wait()
        if result.code == OK:
            self.skipTest("the library keeps no locks here")
        self.assert_failed(result, IO, ("'mine.h5'", "open for writing in another program"))
        with h5py.File(self.mine):  # readers do not matter
            self.succeed(*PRODUCT, environment=environment)
        self.assert_kept("result")

    def test_a_stopped_run_goes_on_beside_what_was_there(self):
        """If the file is unchanged since it was copied; otherwise all is written again, into a new
        copy."""
        words = ("transpose", "--out-of-core", "always", "--memory", "64KiB", "--out", "mine.h5:/T",
                 "--resume", "auto")
        for changes in (False, True):
            # a fast machine may finish before the signal arrives
            for n in (2000, 4000, 8000, 16000):
                write_six(self.mine)
                job = tessera.Job((*words, "--n", n, "--m", n // 2), folder=self.folder)
                if job.stop(self.has_begun_to_write(job)).code == tessera.STOPPED:
                    break
            self.assertIn(".mine.h5.stopped", os.listdir(self.folder))
            self.assert_kept()
            if changes:
                with h5py.File(self.mine, "r+") as file:
                    file["seventh"] = [7.0]
            result = self.succeed(*words, "--n", n, "--m", n // 2)
            self.assertEqual("resumed" in result.out, not changes, str(result))
            self.assert_kept("T", *(["seventh"] if changes else []))
            self.succeed("transpose", "--n", n, "--m", n // 2, "--out", "alone.h5:/T",
                         "--overwrite")
            self.assertTrue(numpy.array_equal(tessera.read_matrix(self.mine, "T"),
                                              tessera.read_matrix(self.path("alone.h5"), "T")))
            self.assert_nothing_beside("alone.h5")

    def test_a_file_that_changed_meanwhile(self):
        job = self.stopped()
        write_six(self.path("new.h5"), seed=2)
        os.rename(self.path("new.h5"), self.mine)
        whole = tessera.digest(self.mine)
        self.assert_failed(self.go_on(job), CANNOT_CREATE,
                           ("'mine.h5'", "concurrently modified"))
        self.assertEqual(tessera.digest(self.mine), whole)
        self.assert_nothing_beside()

    def test_a_file_of_others_that_came_meanwhile(self):
        os.rename(self.mine, self.path("kept.h5"))
        for more in ((), ("--overwrite",)):
            job = self.stopped(*more)
            write_six(self.mine, seed=3)
            whole = tessera.digest(self.mine)
            self.assert_failed(self.go_on(job), CANNOT_CREATE,
                               ("mine.h5'", "concurrently created"))
            self.assertEqual(tessera.digest(self.mine), whole)
            os.unlink(self.mine)


class Killed(Foreign):
    """kill -9 at times spread over runs that add 8 MB: the six others are unchanged, and h5py opens
    the file."""

    ADD = ("matmul", "--m", 1000, "--n", 1000, "--k", 60, *QUICK, "--out", "mine.h5:/result",
           "--overwrite")

    def test_random_kills(self):
        rng = random.Random(tessera.SEED)
        count, kills, added = 100 if tessera.SLOW else 10, 0, 0
        lasts = self.succeed(*self.ADD, ranks=2).seconds
        for attempt in range(5 * count):
            if kills == count:
                break
            job = tessera.Job((*self.ADD, "--seed", attempt), folder=self.folder, ranks=2)
            self.addCleanup(job.end)
            # Half of the kills occur while the copy is created or written, which starts late.
            if attempt % 2:
                while not any(".partial" in name
                              for name in os.listdir(self.folder)) and job.process.poll() is None:
                    time.sleep(0.001)
                time.sleep(rng.random() * 0.5 * lasts)
            else:
                time.sleep(rng.random() * lasts)
            alive = job.process.poll() is None
            old = tessera.digest(self.mine)
            for pid in list(job.ranks().values()):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            result = job.wait()
            kills += alive and result.code != OK
            added += old != tessera.digest(self.mine)
            self.assert_kept("result")
            self.assertEqual(tessera.read_matrix(self.mine, "result").shape, (1000, 1000))
        print(f"  {kills} kills, after {added} of which the new dataset was there", flush=True)
        self.assertGreaterEqual(kills, count // 2)
        self.succeed(*self.ADD, ranks=2)
        self.assert_kept("result")
        self.succeed("verify", "mine.h5")
        self.assertEqual([name for name in os.listdir(self.folder) if "partial" in name], [])


if __name__ == "__main__":
    tessera.main()
