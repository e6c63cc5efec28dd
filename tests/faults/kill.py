"""Whatever happens to a writing run: under the final name there is no file, the old one, or the complete new one.

Killed ranks and launchers, full disks, failing and lying calls, a rank that stops.
"""

import concurrent.futures
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps"))
import tessera
from tessera import CANNOT_CREATE, IO, MEMORY, OK, STALLED, h5py, numpy

RANKS = 3
GONE_SECONDS = 5
FAILING_CALLS = os.environ.get("TESSERA_FAILING_CALLS", "")  # the library that makes calls fail


class Fault(tessera.Case):
    def setUp(self):
        super().setUp()
        self.out = self.path("c.h5")

    def start(self, *arguments, **how):
        job = tessera.Job(arguments, folder=self.folder, **how)
        self.addCleanup(job.end)
        return job

    def partials(self, folder=None):
        return [name for name in os.listdir(folder or self.folder) if ".partial" in name]

    def assert_verified(self, file, told=""):
        result = tessera.run("verify", file)
        self.assertEqual(result.code, OK, f"a file under its final name is wrong\n{result}\n{told}")

    def assert_gone(self, job, told=""):
        left = job.wait_gone(tessera.slack(GONE_SECONDS))
        self.assertEqual(left, {}, f"processes are left\n{told}")


class Killed(Fault):
    """kill -9 and other signals at moments spread over a run that writes 40 MB."""

    PRODUCT = ["matmul", "--m", 2500, "--n", 2000, "--k", 100, "--repetitions", 3, "--out", "c.h5:/C"]

    def product(self, seed, *more, ranks=RANKS):
        return self.start(*self.PRODUCT, "--seed", seed, *more, ranks=ranks)

    def kill_at(self, job, victim, moment, number):
        """Sends the signal to a rank (0...) or to "mpirun", so many seconds after the start; did it live still?"""
        time.sleep(max(0, job.started + moment - time.monotonic()))
        pid = job.process.pid if victim == "mpirun" else job.ranks().get(victim)
        if pid is None or job.process.poll() is not None:
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
            number = signal.SIGKILL if rng.random() < 0.8 else rng.choice([signal.SIGTERM, signal.SIGSEGV])
            moment = lasts * (kills + rng.random()) / count
            job = self.product(2 + attempts, *(["--overwrite"] if replace else []))
            hit = self.kill_at(job, victim, moment, number)
            at = time.monotonic()
            result = job.wait(timeout=60)
            told = f"signal {number} to {victim} after {moment:.2f} of {lasts:.2f} s\n{result}"
            self.assertIsNotNone(result.code, f"it hangs\n{told}")
            if hit:
                self.assertLess(time.monotonic() - at, tessera.slack(GONE_SECONDS), told)
                kills += 1
            else:
                lasts = min(lasts, result.seconds)  # too late, or before the rank was there: once more
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
        """TERM and INT to mpirun end everything; no file."""
        for number in (signal.SIGTERM, signal.SIGINT):
            job = self.start("matmul", "--n", 200, "--repetitions", 1000000, "--out", "c.h5:/C", ranks=RANKS)
            self.wait_for_partial()
            os.kill(job.process.pid, number)
            result = job.wait(timeout=30)
            self.assertNotIn(result.code, (OK, None), str(result))
            self.assert_gone(job, str(result))
            self.assertFalse(os.path.exists(self.out))

    def wait_for_partial(self):
        end = time.monotonic() + 30
        while not self.partials():
            self.assertLess(time.monotonic(), end, "the run does not begin")
            time.sleep(0.02)


class Stalled(Fault):
    LIMIT = 2

    def test_a_stopped_rank(self):
        """SIGSTOP to a rank: the others notice, and the job ends with 75."""
        for rank in range(RANKS):
            job = self.start("matmul", "--n", 200, "--repetitions", 1000000, "--out", "c.h5:/C", "--stall-limit",
                             self.LIMIT, ranks=RANKS)
            Killed.wait_for_partial(self)
            time.sleep(0.5)
            pid = job.ranks()[rank]
            os.kill(pid, signal.SIGSTOP)
            stopped = time.monotonic()
            result = job.wait(timeout=60)
            seconds = time.monotonic() - stopped
            self.assertEqual(result.code, STALLED, str(result))
            self.assertLess(seconds, self.LIMIT + tessera.slack(2), str(result))
            self.assertGreaterEqual(len(result.errors), 1, str(result))
            for line in result.errors:
                self.assertIn("no progress", line)
            self.assert_gone(job, str(result))
            self.assertFalse(os.path.exists(self.out))
            for name in self.partials():
                os.unlink(self.path(name))


    def test_a_long_computation(self):
        """A kernel that runs for longer than the limit is no stall; a rank that is stopped in it is one."""
        product = ("matmul", "--n", 1400, "--kernel", "naive", "--repetitions", 1, "--warmups", 0, "--stall-limit", 0.5)
        result = self.start(*product, ranks=1).wait(timeout=120)
        self.assertEqual(result.code, OK, str(result))
        self.assertGreater(result.seconds, 1, "the product is too small to show anything")
        job = self.start(*product, ranks=2)
        while len(job.ranks()) < 2:
            time.sleep(0.05)
        time.sleep(0.7)  # in the product, or just before
        os.kill(job.ranks()[1], signal.SIGSTOP)
        result = job.wait(timeout=60)
        self.assertEqual(result.code, STALLED, str(result))
        self.assert_gone(job, str(result))


class FullDisk(Fault):
    """A disk of a few MiB of memory."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can mount a small disk")
        self.disk = self.path("disk")
        os.mkdir(self.disk)
        self.mount(16 << 20)

    def mount(self, size):
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.disk], capture_output=True)
        if made.returncode != 0:
            self.skipTest(f"cannot mount a small disk here: {made.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", self.disk], check=False)

    def fill(self, leave):
        """Leaves so many bytes free."""
        state = os.statvfs(self.disk)
        with open(os.path.join(self.disk, "filler"), "wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, state.f_bavail * state.f_frsize - leave)

    def test_no_space_for_the_output(self):
        for ranks in (0, RANKS):
            result = self.fail_with(CANNOT_CREATE, "matmul", "--n", 2048, "--k", 8, "--out", f"{self.disk}/c.h5:/C",
                                    ranks=ranks, words=("c.h5", "No space left", "32.0 MiB"))
            self.assertLess(result.seconds, tessera.slack(3))
            self.assertEqual(os.listdir(self.disk), [])

    def test_hardly_any_space(self):
        """The disk fills at every place of the protocol: all or nothing."""
        need, outcomes = 256 * 256 * 8, []
        for spare in range(-4096, 32 * 4096, 4096):
            self.fill(need + spare)
            result = self.run_tessera("matmul", "--n", 256, "--repetitions", 1, "--out", f"{self.disk}/c.h5:/C")
            told = f"{spare} bytes to spare\n{result}"
            outcomes.append(result.code)
            if result.code == OK:
                self.assert_verified(f"{self.disk}/c.h5", told)
                os.unlink(f"{self.disk}/c.h5")
            else:
                self.assertIn(result.code, (CANNOT_CREATE, IO), told)
                self.assertEqual(len(result.errors), 1, told)
                self.assertIn("c.h5", result.errors[0], told)
            self.assertEqual(os.listdir(self.disk), ["filler"], told)
            os.unlink(os.path.join(self.disk, "filler"))
        self.assertIn(OK, outcomes)
        self.assertNotEqual(outcomes[0], OK)

    def test_no_space_for_the_results(self):
        """The results of earlier runs stay as they are."""
        results = f"{self.disk}/r.h5"
        self.succeed("matmul", "--n", 8, "--results", results)
        before, size = tessera.digest(results), os.path.getsize(results)
        codes = []
        for leave in (0, 4096, size // 2, size, size + 8192, size + 65536, size + 131072, 8 << 20):
            self.fill(leave)
            result = self.run_tessera("matmul", "--n", 9, "--results", results)
            codes.append(result.code)
            told = f"{leave} bytes left\n{result}"
            if result.code == OK:
                with h5py.File(results) as file:
                    self.assertEqual(len(file), 2, told)
            else:
                self.assertIn(result.code, (CANNOT_CREATE, IO), told)
                self.assertEqual(len(result.errors), 1, told)
                self.assertIn("r.h5", result.errors[0], told)
                self.assertEqual(tessera.digest(results), before, told)
            self.assertEqual(self.partials(self.disk), [], told)
            os.unlink(os.path.join(self.disk, "filler"))
            if result.code == OK:
                break
        self.assertNotEqual(codes[0], OK)
        self.assertEqual(codes[-1], OK)


class FileSizeLimit(Fault):
    @unittest.skipUnless(shutil.which("prlimit"), "needs prlimit")
    def test_larger_than_allowed(self):
        """ulimit -f: one line, and not the death by a signal."""
        self.fail_with(CANNOT_CREATE, f"--fsize={32 << 20}", tessera.PROGRAM, "matmul", "--n", 2300, "--k", 8, "--out",
                       "c.h5:/C", program="prlimit", words="c.h5")
        self.assertEqual(os.listdir(self.folder), [])


@unittest.skipUnless(FAILING_CALLS, "TESSERA_FAILING_CALLS names no library")
class FailingCalls(Fault):
    """The n-th call of each kind fails, n = 1, 2, ... until a run is not touched any more."""

    PRODUCT = ["matmul", "--m", 60, "--n", 50, "--k", 40, "--repetitions", 1, "--warmups", 0, "--seed", 5]
    MEMORY_CALLS = ("allocate", "new")
    ERRORS = {"ENOMEM": 12, "EIO": 5, "ENOSPC": 28, "EINTR": 4, "EDQUOT": 122, "EROFS": 30, "EMFILE": 24, "EOPNOTSUPP": 95}

    def setUp(self):
        super().setUp()
        self.succeed(*self.PRODUCT, "--out", "want.h5:/C")
        self.want = tessera.read_matrix(self.path("want.h5"))

    def run_with_fault(self, folder, call, number, action, *arguments, path=".partial-", rank=None, ranks=0):
        """The result, and whether the fault happened."""
        log = os.path.join(folder, "happened.log")
        environment = {"LD_PRELOAD": FAILING_CALLS, "FAULT_CALL": call, "FAULT_NUMBER": str(number), "FAULT_PATH": path,
                       "FAULT_ACTION": str(self.ERRORS.get(action, action)), "FAULT_LOG": log}
        if rank is not None:
            environment["FAULT_RANK"] = str(rank)
        result = self.run_tessera(*arguments, folder=folder, environment=environment, ranks=ranks)
        happened = os.path.exists(log)
        if happened:
            os.unlink(log)
        return result, happened

    def judge(self, folder, result, told, legal, killed, codes=(CANNOT_CREATE, IO)):
        """All or nothing; legal faults change nothing."""
        out = os.path.join(folder, "c.h5")
        if os.path.exists(out):
            self.assert_verified(out, told)
            numpy.testing.assert_array_equal(tessera.read_matrix(out), self.want, told)
            os.unlink(out)
        else:
            self.assertNotEqual(result.code, OK, told)
        if legal:
            self.assertEqual(result.code, OK, told)
        elif not killed and result.code != OK:
            self.assertIn(result.code, codes, told)
            self.assertEqual(len(result.errors), 1, told)
            if MEMORY not in codes or result.command[0] != "mpirun":  # a rank that dies alone leaves that to the next run
                self.assertEqual(self.partials(folder), [], told)
        for name in self.partials(folder):
            os.unlink(os.path.join(folder, name))

    def walk(self, call, action, rank=None, ranks=0, step=1):
        """Until untouched; returns how many calls there were, and how often the run went on nevertheless."""
        step = 1 if tessera.SLOW else step
        folder = tempfile.mkdtemp(dir=self.folder)
        legal = action in ("short", "EINTR") or (call, action) == ("fallocate", "EOPNOTSUPP")
        passed = []
        for number in range(1, 200, step):
            result, happened = self.run_with_fault(folder, call, number, action, *self.PRODUCT, "--out", "c.h5:/C",
                                                   rank=rank, ranks=ranks)
            told = f"{call} {number} gets {action} on rank {rank} of {ranks}\n{result}"
            self.judge(folder, result, told, legal or not happened, action.startswith("kill"))
            if not happened:
                return f"{call} {action} on rank {rank} of {ranks}: {number - step} calls, passed {passed}"
            if result.code == OK:
                passed.append(number)
        self.fail(f"no end of {call}")

    def walk_all(self, walks):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for line in pool.map(lambda w: self.walk(*w[:4], **(w[4] if len(w) > 4 else {})), walks):
                print(f"\n  {line}", end="", flush=True)

    def test_errors(self):
        self.walk_all([("pwrite", "EIO"), ("pwrite", "ENOSPC"), ("fsync", "EIO"), ("rename", "EIO"),
                       ("fallocate", "ENOSPC"), ("fallocate", "EDQUOT"), ("ftruncate", "EIO"), ("open", "EMFILE"),
                       ("open", "EROFS"), ("pread", "EIO")])

    def test_legal_surprises(self):
        """Short writes and reads, interruptions, a file system that cannot reserve: the run goes on."""
        self.walk_all([("pwrite", "short"), ("pread", "short"), ("fallocate", "EOPNOTSUPP"), ("fallocate", "EINTR")])

    def test_a_device_that_lies(self):
        """A changed bit in what was written, success told: found by reading back, or harmless."""
        self.walk_all([("pwrite", "lie")])

    def test_killed_at_every_call(self):
        kills = ("kill", "kill_after") if tessera.SLOW else ("kill",)
        self.walk_all([(call, kill) for call in ("pwrite", "fsync", "ftruncate", "fallocate") for kill in kills]
                      + [("rename", "kill"), ("rename", "kill_after")])

    def test_faults_of_one_rank_of_three(self):
        self.walk_all([("pwrite", "EIO", 2, 3), ("pwrite", "ENOSPC", 1, 3), ("pwrite", "lie", 1, 3),
                       ("fsync", "EIO", 2, 3), ("open", "EMFILE", 1, 3), ("rename", "EIO", 0, 3),
                       ("fallocate", "ENOSPC", 0, 3), ("pwrite", "kill", 1, 3)])

    def find_number(self, folder, call, rank, ranks):
        """How many calls of that kind there are in a run, up to a power of 2."""
        number = 1
        while self.run_with_fault(folder, call, number, "ENOMEM", *self.PRODUCT, path="", rank=rank, ranks=ranks)[1]:
            number *= 2
        return number

    def walk_memory(self, call, rank, ranks):
        rng = random.Random(f"{tessera.SEED} {call} {rank} {ranks}")
        folder = tempfile.mkdtemp(dir=self.folder)
        most = self.find_number(folder, call, rank, ranks)
        count = most - 1 if tessera.SLOW and not ranks else min(most - 1, 400 if tessera.SLOW else 25)
        drawn = sorted(rng.sample(range(1, most), count))
        outcomes = {}
        for number in drawn:
            result, happened = self.run_with_fault(folder, call, number, "ENOMEM", *self.PRODUCT, "--out", "c.h5:/C", path="",
                                                   rank=rank, ranks=ranks)
            told = f"{call} {number} gets no memory on rank {rank} of {ranks}\n{result}"
            self.judge(folder, result, told, not happened, False, (MEMORY,))
            outcomes[result.code] = outcomes.get(result.code, 0) + 1
        self.assertGreater(most, 1, f"no {call} was refused")
        return f"{call} without memory on rank {rank} of {ranks}: {len(drawn)} of fewer than {most} calls, ends {outcomes}"

    def test_no_memory(self):
        """Any request for memory may be refused: one line, code 71, and no file; or the request was no need."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for line in pool.map(lambda w: self.walk_memory(*w), [("allocate", None, 0), ("new", None, 0), ("allocate", 1, 3), ("new", 2, 3)]):
                print(f"\n  {line}", end="", flush=True)

    def test_overwriting_keeps_the_old_file(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        out = os.path.join(folder, "c.h5")
        self.succeed("matmul", "--n", 33, "--out", "c.h5:/C", folder=folder)
        old = tessera.digest(out)
        for call, action in (("pwrite", "EIO"), ("fsync", "EIO"), ("rename", "EIO"), ("rename", "kill"),
                             ("fallocate", "ENOSPC")):
            result, happened = self.run_with_fault(folder, call, 1, action, *self.PRODUCT, "--out", "c.h5:/C",
                                                   "--overwrite")
            self.assertTrue(happened)
            self.assertNotEqual(result.code, OK, str(result))
            self.assertEqual(tessera.digest(out), old, str(result))

    def test_results_stay_whole(self):
        """The results file is the old one or the new one after any failing call."""
        results = self.path("r.h5")
        self.succeed("matmul", "--n", 8, "--results", results)
        before = tessera.digest(results)
        for call, action in (("pwrite", "EIO"), ("pwrite", "ENOSPC"), ("fsync", "EIO"), ("rename", "EIO"),
                             ("ftruncate", "EIO")):
            happened, number, step = True, 1, 1 if tessera.SLOW else 3
            while happened:
                with open(results, "rb") as file:
                    whole = file.read()
                result, happened = self.run_with_fault(self.folder, call, number, action, "matmul", "--n", 9,
                                                       "--repetitions", 1, "--results", results, path=".r.h5.partial")
                told = f"{call} {number} gets {action}\n{result}"
                if result.code == OK:
                    with h5py.File(results) as file:
                        for run in file.values():
                            self.assertGreater(len(run["summary/median"]), 0, told)
                else:
                    self.assertIn(result.code, (CANNOT_CREATE, IO), told)
                    self.assertEqual(len(result.errors), 1, told)
                    self.assertEqual(tessera.digest(results), before, told)
                with open(results, "wb") as file:
                    file.write(whole)
                number += step


if __name__ == "__main__":
    tessera.main()
