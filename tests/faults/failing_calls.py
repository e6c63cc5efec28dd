"""Failing and lying system calls, one at a time: the result is the old file, no file at
all, or the complete new one."""

import concurrent.futures
import os
import random
import tempfile
import unittest

from fault import Fault
import tessera
from tessera import CANNOT_CREATE, IO, MEMORY, OK, h5py, numpy

FAILING_CALLS = os.environ.get("TESSERA_FAILING_CALLS", "")  # the library that makes calls fail
AT_ONCE = 4  # walks, each a sequence of short runs that mostly wait


@unittest.skipUnless(FAILING_CALLS, "TESSERA_FAILING_CALLS names no library")
class FailingCalls(Fault):
    """The n-th call of each kind fails, n = 1, 2, ..., until a run reaches no fault."""

    PRODUCT = ["matmul", "--m", 60, "--n", 50, "--k", 40, "--repetitions", 1, "--warmups", 0,
               "--seed", 5]
    NEEDED = ("fsync", "rename", "fallocate", "pread")  # every result requires them
    ERRORS = {"ENOMEM": 12, "EIO": 5, "EINVAL": 22, "ENOSPC": 28, "EINTR": 4, "EDQUOT": 122,
              "EROFS": 30, "EMFILE": 24, "EOPNOTSUPP": 95}

    def setUp(self):
        super().setUp()
        self.succeed(*self.PRODUCT, "--out", "want.h5:/C")
        self.want = tessera.read_matrix(self.path("want.h5"))

    def run_with_fault(self, folder, call, number, action, *arguments, path=".partial-", rank=None,
                       ranks=0):
        """Returns the result, and whether the fault occurred."""
        log = os.path.join(folder, "happened.log")
        environment = {"LD_PRELOAD": FAILING_CALLS, "FAULT_CALL": call, "FAULT_NUMBER": str(number),
                       "FAULT_PATH": path,
                       "FAULT_ACTION": str(self.ERRORS.get(action, action)), "FAULT_LOG": log}
        if rank is not None:
            environment["FAULT_RANK"] = str(rank)
        result = self.run_tessera(*arguments, folder=folder, environment=environment, ranks=ranks)
        happened = os.path.exists(log)
        if happened:
            os.unlink(log)
        return result, happened

    def judge(self, folder, result, told, legal, killed, codes=(CANNOT_CREATE, IO)):
        """Checks that the output is complete or absent; legal faults have no effect."""
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
            # a rank that dies alone leaves its partial file to the next run
            if codes != (MEMORY,) or result.command[0] != tessera.MPIRUN:
                self.assertEqual(self.partials(folder), [], told)
        for name in self.partials(folder):
            os.unlink(os.path.join(folder, name))

    def walk(self, call, action, rank=None, ranks=0, step=1):
        """Repeats until no fault occurs; returns the number of calls, and of runs that succeeded
        anyway."""
        step = 1 if tessera.SLOW else step
        folder = tempfile.mkdtemp(dir=self.folder)
        legal = action in ("short", "EINTR") or (call, action) in (("fallocate", "EOPNOTSUPP"),
                                                                   ("rename", "EINVAL"))
        passed = []
        for number in range(1, 200, step):
            result, happened = self.run_with_fault(folder, call, number, action, *self.PRODUCT,
                                                   "--out", "c.h5:/C",
                                                   rank=rank, ranks=ranks)
            told = f"{call} {number} gets {action} on rank {rank} of {ranks}\n{result}"
            # the code for exceeding ulimit -n
            codes = (CANNOT_CREATE, IO) + (MEMORY,) * (action == "EMFILE")
            self.judge(folder, result, told, legal or not happened, action.startswith("kill"),
                       codes)
            if not happened:
                self.assertGreater(number, 1, f"no {call} on rank {rank} of {ranks}")
                return f"{call} {action} on rank {rank} of {ranks}: {number - step} calls, " \
                       f"passed {passed}"
            if result.code == OK:
                self.assertTrue(legal or call not in self.NEEDED, told)
                passed.append(number)
        self.fail(f"no end of {call}")

    def calls_of(self, rank, ranks, *words, before=None):
        """Returns the system calls of a rank for an output, in order, as (call, path)."""
        folder = tempfile.mkdtemp(dir=self.folder)
        if before:
            before(folder)
        log = os.path.join(folder, "calls.log")
        environment = {"LD_PRELOAD": FAILING_CALLS, "FAULT_ACTION": "list", "FAULT_PATH": folder,
                       "FAULT_LOG": log}
        if ranks:
            environment["FAULT_RANK"] = str(rank)
        words = words or (*self.PRODUCT, "--out", "@/c.h5:/C")
        self.succeed(*[str(word).replace("@", folder) for word in words], folder=folder,
                     environment=environment, ranks=ranks)
        with open(log, encoding="utf-8") as file:
            calls = [tuple(line.split()[::2]) for line in file]
        os.unlink(log)
        return calls, folder

    def test_what_has_its_name_is_on_the_disk(self):
        """Every rank syncs its writes; the root syncs the file again before renaming it, then the
        folder."""
        for rank in (0, 2):
            calls, folder = self.calls_of(rank, 3)
            partial = next(path for call, path in calls if call == "pwrite")
            of_file = [call for call, path in calls if path == partial
                       and call in ("pwrite", "fsync", "rename")]
            last_write = len(of_file) - of_file[::-1].index("pwrite")
            self.assertEqual(of_file[last_write:], ["fsync"] + ["rename"] * (rank == 0), calls)
            if rank == 0:
                after = calls[calls.index(("rename", partial)):]
                self.assertIn(("fsync", folder), after, calls)

    def test_nothing_gets_its_name_before_it_is_on_the_disk(self):
        """Outputs, results, checkpoints, snapshots with XDMF, and datasets added to a foreign file:
        a sync follows the last write to a file before its rename, a sync of the folder the rename.
        """
        def foreign(folder):
            with h5py.File(os.path.join(folder, "mine.h5"), "w") as file:
                file["other"] = numpy.arange(10.0)
        quick = ("--repetitions", 1, "--warmups", 0)
        field = ("stencil", "--shape", "20x30", "--steps", 6)
        for words, wanted in (((*self.PRODUCT, "--results", "@/r.h5"), ["r.h5"]),
                              ((*self.PRODUCT, "--out", "@/mine.h5:/C"), ["mine.h5"]),
                              (("matmul", "--n", 9, *quick, "--results", "@/new/folder/r.h5"),
                               ["r.h5"]),
                              ((*field, "--checkpoint", "@/k.h5", "--checkpoint-every", 2),
                               ["k.h5"]),
                              ((*field, "--snapshots", "@/s.h5:/s", "--every", 2),
                               ["s.h5", "s.xdmf"])):
            calls, folder = self.calls_of(0, 0, *words, before=foreign)
            named = set()
            for at, (call, path) in enumerate(calls):
                if call != "rename" or ".partial-" not in path:
                    continue
                name = os.path.basename(path).partition(".partial-")[0][1:]
                named.add(name)
                of_file = [one for one, other in calls[:at] if other.endswith(path)
                           and one in ("pwrite", "fsync")]
                self.assertEqual(of_file[-1:], ["fsync"], (name, calls[-9:]))
                self.assertIn(("fsync", os.path.dirname(path)), calls[at:], (name, calls[-9:]))
            self.assertLessEqual(set(wanted), named, calls[-9:])

    def test_a_sync_that_fails(self):
        """EIO of a file or a folder is an error; a file system without fsync causes a one-line
        message and no error."""
        folder = tempfile.mkdtemp(dir=self.folder)
        for out, results in (("c.h5:/C", None), (None, "r.h5")):
            words = (*self.PRODUCT, *(("--out", out) if out else ("--results", results)))
            for action, code in (("EIO", IO), ("EINVAL", OK), ("38", OK), ("EROFS", OK)):
                told = 0
                for number in range(1, 20):
                    result, happened = self.run_with_fault(folder, "fsync", number, action, *words,
                                                           path=folder)
                    for name in os.listdir(folder):
                        os.unlink(os.path.join(folder, name))
                    if not happened:
                        break
                    self.assertEqual(result.code, code, f"fsync {number} gets {action}\n{result}")
                    self.assertEqual(len(result.errors), 0 if code == OK else 1, str(result))
                    notes = result.err.count("cannot be synced to the device")
                    told += notes
                    self.assertLessEqual(notes, 1, str(result))
                self.assertGreater(number, 2, f"{words} {action}")
                self.assertEqual(told > 1, code == OK, "of the file and of its folder")

    def walk_all(self, walks):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for line in pool.map(lambda w: self.walk(*w[:4], **(w[4] if len(w) > 4 else {})),
                                 walks):
                print(f"\n  {line}", end="", flush=True)

    def test_errors(self):
        self.walk_all([("pwrite", "EIO"), ("pwrite", "ENOSPC"), ("fsync", "EIO"), ("rename", "EIO"),
                       ("fallocate", "ENOSPC"), ("fallocate", "EDQUOT"), ("open", "EMFILE"),
                       ("open", "EROFS"), ("pread", "EIO")])

    def test_legal_surprises(self):
        """Short writes and reads, interruptions, a file system without reservation or renaming
        without replacement: the run succeeds."""
        self.walk_all([("pwrite", "short"), ("pread", "short"), ("fallocate", "EOPNOTSUPP"),
                       ("fallocate", "EINTR"),
                       ("rename", "EINVAL")])

    def test_a_device_that_lies(self):
        """A bit changed on writing with success reported: found by reading back, or harmless."""
        self.walk_all([("pwrite", "lie")])

    def test_killed_at_every_call(self):
        kills = ("kill", "kill_after") if tessera.SLOW else ("kill",)
        self.walk_all([(call, kill) for call in ("pwrite", "fsync", "fallocate") for kill in kills]
                      + [("rename", "kill"), ("rename", "kill_after")])

    def test_faults_of_one_rank_of_three(self):
        self.walk_all([("pwrite", "EIO", 2, 3), ("pwrite", "ENOSPC", 1, 3), ("pwrite", "lie", 1, 3),
                       ("fsync", "EIO", 2, 3), ("open", "EMFILE", 1, 3), ("rename", "EIO", 0, 3),
                       ("fallocate", "ENOSPC", 0, 3), ("pwrite", "kill", 1, 3)])

    def find_number(self, folder, call, rank, ranks, words):
        """Returns an upper bound of the calls of that kind in a run, a power of 2."""
        number = 1
        while self.run_with_fault(folder, call, number, "ENOMEM", *self.PRODUCT, *words, path="",
                                  rank=rank, ranks=ranks)[1]:
            number *= 2
        return number

    def walk_memory(self, call, rank, ranks, *words):
        rng = random.Random(f"{tessera.SEED} {call} {rank} {ranks}")
        folder = tempfile.mkdtemp(dir=self.folder)
        most = self.find_number(folder, call, rank, ranks, words)
        count = most - 1 if tessera.SLOW and not ranks else min(most - 1,
                                                                400 if tessera.SLOW else 25)
        drawn = sorted(rng.sample(range(1, most), count))
        outcomes = {}
        for number in drawn:
            result, happened = self.run_with_fault(folder, call, number, "ENOMEM", *self.PRODUCT,
                                                   *words, "--out", "c.h5:/C",
                                                   path="", rank=rank, ranks=ranks)
            told = f"{call} {number} gets no memory on rank {rank} of {ranks}\n{result}"
            self.judge(folder, result, told, not happened, False, (MEMORY,))
            outcomes[result.code] = outcomes.get(result.code, 0) + 1
        self.assertGreater(most, 1, f"no {call} was refused")
        return f"{call} without memory on rank {rank} of {ranks}: {len(drawn)} of fewer than " \
               f"{most} calls, ends {outcomes}"

    def test_no_memory(self):
        """Any memory request may fail: one line, code 71, and no file; or the request was optional.
        """
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for line in pool.map(lambda w: self.walk_memory(*w), [
                    ("allocate", None, 0), ("new", None, 0), ("new", 2, 3),
                    # recursive: the matrices are in shared memory
                    ("allocate", 1, 3, "--algorithm", "summa")]):
                print(f"\n  {line}", end="", flush=True)

    def test_overwriting_keeps_the_old_file(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        out = os.path.join(folder, "c.h5")
        self.succeed("matmul", "--n", 33, "--out", "c.h5:/C", folder=folder)
        old = tessera.digest(out)
        for call, action in (("pwrite", "EIO"), ("fsync", "EIO"), ("rename", "EIO"),
                             ("rename", "kill"),
                             ("fallocate", "ENOSPC")):
            result, happened = self.run_with_fault(folder, call, 1, action, *self.PRODUCT, "--out",
                                                   "c.h5:/C",
                                                   "--overwrite")
            self.assertTrue(happened)
            self.assertNotEqual(result.code, OK, str(result))
            self.assertEqual(tessera.digest(out), old, str(result))

    def walk_results(self, call, action):
        folder = tempfile.mkdtemp(dir=self.folder)
        results = os.path.join(folder, "r.h5")
        with open(results, "wb") as file:
            file.write(self.old_results)
        happened, number, step = True, 1, 1 if tessera.SLOW else 3
        while happened:
            result, happened = self.run_with_fault(folder, call, number, action, "matmul", "--n", 9,
                                                   "--repetitions", 1,
                                                   "--results", results, path=".r.h5.partial")
            told = f"{call} {number} gets {action}\n{result}"
            with open(results, "rb") as file:
                now = file.read()
            if result.code == OK:
                with h5py.File(results) as file:
                    for run in file.values():
                        self.assertGreater(len(run["summary/median"]), 0, told)
            else:
                self.assertIn(result.code, (CANNOT_CREATE, IO), told)
                self.assertEqual(len(result.errors), 1, told)
                if now != self.old_results:  # the points are stored, the last addition is not
                    with h5py.File(results) as file:
                        self.assertEqual(len(file), 2, told)
                        for run in file.values():
                            self.assertGreater(len(run["summary/median"]), 0, told)
            with open(results, "wb") as file:
                file.write(self.old_results)
            self.assertTrue(happened or number > 1, f"no {call}")
            number += step

    def test_results_stay_whole(self):
        """The results file is the old one, or has the new points, after any failing call."""
        self.succeed("matmul", "--n", 8, "--results", "r.h5")
        with open(self.path("r.h5"), "rb") as file:
            self.old_results = file.read()
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda w: self.walk_results(*w),
                          [("pwrite", "EIO"), ("pwrite", "ENOSPC"), ("fsync", "EIO"),
                                                            ("rename", "EIO"), ("ftruncate",
                                                                                "EIO")]))


if __name__ == "__main__":
    tessera.main()
